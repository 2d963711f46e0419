// What npm run generate writes, what a migration says, and the commands that pages name.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

export const GENERATING: readonly Mistake[] = [
  ...slips(
    "generating",
    "generate/main.ts",
    [
      "stale or missing",
      "what is stale is written",
      "if (wanted !== written) await",
      "if (wanted === written) await",
    ],
    ["stale or missing", "a generated file that is missing is made", '"utf8").catch(() => "")', '"utf8")'],
    [
      "stale or missing",
      "what was written is told apart from what was right",
      'wanted === written ? "unchanged" : "written  "',
      'wanted !== written ? "unchanged" : "written  "',
    ],
    [
      "stale or missing",
      "the database of which things are generated is removed",
      "  await rm(dir, { recursive: true, force: true });\n",
      "",
    ],
  ),
  ...slips(
    "generating",
    "generate/tables.ts",
    [
      "without a place",
      "a table without a place is not left out without a word",
      "if (missing.length > 0) throw",
      "if (missing.length > 1) throw",
    ],
    [
      "without a place",
      "a place without a table is not emptied",
      "    if (table === undefined) throw new Error(`There is no table ${name} for its place.`);\n",
      "",
    ],
    ["fills each place", "the name of a table may have a hyphen", "([\\w-]+) -->\\n", "(\\w+) -->\\n"],
    [
      "fills each place",
      "a table ends where its place ends",
      "[\\s\\S]*?<!-- end -->",
      "[\\s\\S]*<!-- end -->",
    ],
    [
      "fills each place",
      "a column of a generated table has room for its line",
      "    Math.max(3, heading.length",
      "    Math.max(heading.length",
    ],
  ),
  ...slips(
    "cli",
    "admin/migrate.ts",
    [
      "says what it applied",
      "a migration counts what it has applied",
      "migrated (${applied.length} new)",
      "migrated (${applied.length - 1} new)",
    ],
    [
      "not told right",
      "a setting that is wrong is told apart from a migration that fails",
      'error instanceof ConfigError ? "configuration" : "migrate"',
      'error instanceof ConfigError ? "migrate" : "configuration"',
    ],
  ),
  ...slips("documented-commands", "docs/operations.md", [
    "each command that is named",
    "the pages name options that a command takes",
    "keys rotate <keyId> --overlap 24",
    "keys rotate <keyId> --hours 24",
  ]),
  ...slips("documented-commands", "docs/authorization.md", [
    "each command that is named",
    "the pages name commands that there are",
    "users grant --email <email> --role admin`",
    "users appoint --email <email> --role admin`",
  ]),
  ...slips("documented-commands", "docker-compose.yml", [
    "each command that is named",
    "the examples of the compose file are commands of the tool",
    "admin people-groups import",
    "admin peoplegroups import",
  ]),
  ...slips("documented-commands", "admin/churches.ts", [
    "each command that is named",
    "a command that a page names is not called something else",
    '.command("import")',
    '.command("load")',
  ]),
];
