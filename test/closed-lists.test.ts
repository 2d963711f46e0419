// The database's closed lists are written down in the database alone: TypeScript takes them from db/catalog.ts.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { globSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { choices, enums } from "../db/catalog.ts";
import { ROOT } from "./support/process.ts";

// All but these is the source, whatever folders come to it.
const NOT_SOURCE = ["node_modules/**", "test/**", "bench/**"];
// The catalog itself; the demo, which uses some of each; and a SPARQL query whose variables are named as records are.
const EXEMPT = ["db/catalog.ts", "db/demo/records.ts", "server/openapi/protocols.ts"];

const LISTS = Object.entries<readonly string[]>({ ...enums, ...choices });

/** Runs of two or more quoted words in a row: ["a", "b"] or "a" | "b". */
const RUN = /"[\w-]+"(?:\s*[,|]\s*"[\w-]+")+/g;

test("no closed list of the database is written out in TypeScript", async () => {
  const files = globSync("**/*.ts", { cwd: ROOT, exclude: NOT_SOURCE }).filter(
    (file) => !EXEMPT.includes(file),
  );
  expect(files.length).toBeGreaterThan(100);
  const repeated: string[] = [];
  for (const file of files) {
    const text = await readFile(join(ROOT, file), "utf8");
    for (const [run] of text.matchAll(RUN)) {
      const words = [...run.matchAll(/"([\w-]+)"/g)].map(([, word]) => word!);
      const list = LISTS.find(([, values]) => words.every((word) => values.includes(word)));
      if (list) repeated.push(`${file}: ${run.replace(/\s+/g, " ")} is in db/catalog.ts as ${list[0]}`);
    }
  }
  expect(repeated).toEqual([]);
});

test("docs/authorization.md names every value that it explains", async () => {
  const page = await readFile(join(ROOT, "docs/authorization.md"), "utf8");
  const explained = {
    membership_status: enums.membership_status,
    platform_role: enums.platform_role,
    organization_role: enums.organization_role,
    "api_keys.scope": choices["api_keys.scope"],
    "organization_claims.result_variant": choices["organization_claims.result_variant"],
  };
  const missing = Object.entries<readonly string[]>(explained).flatMap(([list, values]) =>
    values
      .filter((value) => !page.includes(`\`${value}\``) && !page.includes(`**${value}**`))
      .map((value) => `docs/authorization.md does not name the ${list} ${value}`),
  );
  expect(missing).toEqual([]);
});
