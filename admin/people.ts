import type { Command } from "commander";
import { othersToEnd } from "../db/patience.ts";
import { EXIT } from "./context.ts";
import type { AdminContext } from "./context.ts";

const PATIENCE_MS = 120_000;

type Remains = { table: string; row: Record<string, unknown>; column: string; reason: string };
type Erasure = { pseudonym: string | null; changed: Record<string, number>; remains: Remains[] };

/** people export, erase. */
export function registerPeople(program: Command, context: AdminContext): void {
  const people = program.command("people").description("Export or erase what is stored about a person");

  people
    .command("export")
    .description(
      "Print everything that is stored about a person, as JSON by table; review it before you pass it on",
    )
    .requiredOption("--email <email>", "the person")
    .action(async ({ email }: { email: string }) => {
      const pool = await context.pool();
      const { rows } = await pool.query<{ kept: Record<string, unknown[]> }>(
        "select app_private.export_person($1) as kept",
        [email],
      );
      const [{ kept }] = rows as [{ kept: Record<string, unknown[]> }];
      context.print({ email, kept }, JSON.stringify({ email, kept }, null, 2));
    });

  people
    .command("erase")
    .description("Replace a person's address with a pseudonym, everywhere and for good; records stay")
    .requiredOption("--email <email>", "the person")
    .option("--force", "even if that leaves an organization, or the platform, without an administrator")
    .action(async ({ email, force }: { email: string; force?: boolean }) => {
      await erase(context, email, force ?? false);
    });
}

async function erase(context: AdminContext, email: string, forced: boolean): Promise<void> {
  const client = await (await context.pool()).connect();
  try {
    const { rows: begun } = await client.query<{ bereft: string[] }>(
      "select app_private.begin_erasure($1, $2) as bereft",
      [email, forced],
    );
    // Requests that were admitted before may still be writing the address.
    await othersToEnd(client, {
      ms: PATIENCE_MS,
      onWait: (line) => context.note(line),
      meanwhile: "the person can no longer act, but their address is still there",
      again: "this",
    });
    await client.query("select app_private.close_claims($1)", [email]);
    const { rows: finished } = await client.query<{ erasure: Erasure }>(
      "select app_private.finish_erasure($1) as erasure",
      [email],
    );
    const { rows: directory } = await client.query<{ churches: number }>(
      "select app_private.churches_naming($1)::integer as churches",
      [email],
    );
    const { pseudonym, changed, remains } = finished[0]!.erasure;
    const { bereft } = begun[0]!;
    const { churches } = directory[0]!;
    const rows = Object.values(changed).reduce((sum, count) => sum + count, 0);
    if (remains.length > 0) context.exitCode = EXIT.partly;
    context.print({ pseudonym, changed, remains, bereft, churches }, [
      pseudonym === null
        ? `Nothing ${remains.length > 0 ? "else " : ""}is stored about this person.`
        : `The person is ${pseudonym} now, in ${rows} rows of ${Object.keys(changed).join(", ")}.`,
      ...remains.map(
        ({ table, row, column, reason }) =>
          `The address remains in ${table}, ${column} of ${JSON.stringify(row)}: ${reason}`,
      ),
      ...bereft.map((place) => `Nobody administers ${place} any more.`),
      ...(churches > 0
        ? [`${churches} churches of the directory have the address: correct it where it is imported from.`]
        : []),
    ]);
  } finally {
    client.release(true);
  }
}
