// npm run migrate: brings the database to the current schema and rules, and says what it did. With --roles it makes
// the roles alone, which a dump refers to and does not bring along.
import { parseArgs } from "node:util";
import { ConfigError, processConfig } from "../config.ts";
import { makeRoles, migrate } from "../db/migrate.ts";
import { requireDatabase } from "../db/reach.ts";
import { saveSettings } from "../db/settings.ts";
import { explain } from "../process/explain.ts";
import { publishDocuments } from "../worker/documents.ts";
import { AdminContext, EXIT } from "./context.ts";

async function main(): Promise<number> {
  let context: AdminContext | undefined;
  try {
    const { values } = parseArgs({ options: { roles: { type: "boolean" } } });
    context = new AdminContext(processConfig());
    const url = await context.databaseUrl();
    await requireDatabase(url);
    if (values.roles) {
      await makeRoles(url);
      context.print(null, "The cluster has the roles that the service uses.");
      return EXIT.done;
    }
    const applied = await migrate(url, { onWait: (line) => process.stderr.write(`migrate: ${line}\n`) });
    await saveSettings(await context.pool(), context.config);
    await publishDocuments(await context.pool());
    for (const version of applied) context.print(version, `applied db/migrations/${version}.sql`);
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

process.exitCode = await main();
