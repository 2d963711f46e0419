// npm run migrate: brings the database to the current schema and rules, and reports what it did. With --plan
// it only reports what it would do; with --roles it only creates the roles, which a dump does not contain.
import { parseArgs } from "node:util";
import type { ClientBase, Pool } from "pg";
import { ConfigError, processConfig } from "../config.ts";
import type { Config } from "../config.ts";
import { makeRoles, migrate } from "../db/migrate.ts";
import { changesAnything, planMigration } from "../db/plan.ts";
import { requireDatabase } from "../db/reach.ts";
import { keepNames, oddSettings, saveSettings } from "../db/settings.ts";
import { explain } from "../process/explain.ts";
import { publishDocuments } from "../worker/documents.ts";
import { AdminContext, EXIT } from "./context.ts";
import { writeOut } from "./output.ts";
import { planReport } from "./plan-report.ts";

const HELP = `Brings the database to the current schema and rules, and says what it did. Repeating it changes nothing more.

Usage: npm run migrate -- [--rename] [--plan [--markdown] | --roles]

  --plan      says what it would change and changes nothing; exit code 1 if anything would change, 2 if that could not be tried
  --markdown  with --plan: as Markdown, for a pull request
  --roles     creates only the roles, which a dump refers to but does not contain
  --rename    allows GRAPH_DATA_URL or NAMESPACE_URL, which name everything in the graph, to differ from before
  -h, --help  shows this
`;

async function main(): Promise<number> {
  process.stderr.on("error", () => undefined);
  let context: AdminContext | undefined;
  try {
    const { values } = parseArgs({
      options: {
        ...{ roles: { type: "boolean" }, plan: { type: "boolean" }, markdown: { type: "boolean" } },
        rename: { type: "boolean", default: false },
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help) {
      writeOut(HELP);
      return EXIT.done;
    }
    if (values.markdown && !values.plan) throw new Error("--markdown goes with --plan");
    const config = processConfig();
    context = new AdminContext(config);
    const onWait = (line: string) => void process.stderr.write(`migrate: ${line}\n`);
    await requireDatabase(await context.databaseUrl());
    const url = await context.sessionUrl();
    if (values.roles) {
      await makeRoles(url);
      context.print(null, "The cluster has the roles that the service uses.");
      return EXIT.done;
    }
    if (!values.rename) await keepNames(url, config);
    if (values.plan) {
      const plan = await planMigration(url, {
        onWait,
        afterwards: (client) => settle(client, config),
      });
      context.print(null, planReport(plan, values.markdown ? "markdown" : "text"));
      return changesAnything(plan) ? EXIT.partly : EXIT.done;
    }
    const applied = await migrate(url, { onWait });
    for (const version of applied) context.print(version, `applied db/migrations/${version}.sql`);
    const pool = await context.pool();
    await settle(pool, config);
    for (const said of await oddSettings(pool))
      process.stderr.write(`migrate: ${said} Set it: requests that depend on it may fail.\n`);
    context.print(
      null,
      applied.length > 0
        ? `The database is migrated (${applied.length} new), and the rules are applied.`
        : "The database was up to date; the rules are applied.",
    );
    return EXIT.done;
  } catch (error) {
    const name = error instanceof ConfigError ? "configuration" : "migrate";
    process.stderr.write(`${name}: ${explain(error)}\n`);
    return EXIT.failed;
  } finally {
    await context?.close();
  }
}

/** The part of a migration that comes from outside of the database: settings and documents. */
async function settle(db: Pool | ClientBase, config: Config): Promise<void> {
  await saveSettings(db, config);
  await publishDocuments(db);
}

process.exitCode = await main();
