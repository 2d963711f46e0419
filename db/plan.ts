// What npm run migrate would change, found out by doing it in a transaction that is rolled back.
import pg from "pg";
import { alone, applyMigration, applyRules, openBook, pendingMigrations } from "./migrate.ts";
import type { MigrateOptions } from "./migrate.ts";
import { SCHEMAS } from "./ownership.ts";
import { inTurns } from "./patience.ts";
import { snapshot } from "./snapshot.ts";
import type { Item, Kind } from "./snapshot.ts";

/** An object that would be added, removed or changed. */
export type Change = { kind: Kind; name: string; before: string | null; after: string | null };

/** How many rows of a table would be written. */
type Written = { table: string; added: number; changed: number; deleted: number };

export type Plan = {
  /** Migrations that would be applied. */
  pending: string[];
  changes: Change[];
  /** Tables whose rows would be written. */
  rows: Written[];
  /** The functions, policies and views that check each permission, by permission. */
  askedBy: Record<string, string[]>;
  /** The steps that could not be tried, each with the reason. */
  untried: { what: string; why: string }[];
};

/** Why a step can only be tried once those before it are committed, by PostgreSQL's error code. */
const LATER: Readonly<Record<string, string>> = {
  // A new value of an enumeration.
  "55P04": "it cannot be used before the migration that adds it is committed",
  // The schema of graphile-worker, whose own migrations are not tried.
  "3F000": "npm run migrate makes what is missing, as it begins with an empty database",
};

/**
 * Does what migrate would do, and rolls it back. Takes the locks that migrate takes, in the same short turns.
 * @param options.afterwards what a migration does after the rules, on the same connection
 */
export async function planMigration(
  connectionString: string,
  options: MigrateOptions & { afterwards?: (client: pg.ClientBase) => Promise<void> } = {},
): Promise<Plan> {
  const { afterwards = () => Promise.resolve() } = options;
  return alone(connectionString, options, async ({ client, directory, patience }) => {
    const pending = await pendingMigrations(client, directory);
    let plan: Plan | undefined;
    await inTurns(
      client,
      patience,
      async () => {
        await openBook(client);
        const before = await snapshot(client, SCHEMAS);
        const askedBefore = await askedBy(client);
        const untried = await inOrder(client, [
          ...pending.map((migration) => ({
            what: `db/migrations/${migration.version}.sql`,
            work: () => applyMigration(client, migration, directory),
          })),
          { what: "db/rules", work: () => applyRules(client, directory) },
          { what: "settings and documents", work: () => afterwards(client) },
        ]);
        plan = {
          pending: pending.map(({ version }) => version),
          changes: compare(before, await snapshot(client, SCHEMAS)),
          rows: await rowsWritten(client),
          askedBy: { ...askedBefore, ...(await askedBy(client)) },
          untried,
        };
      },
      "rollback",
    );
    return plan!;
  });
}

/** Whether migrating would leave anything different. */
export function changesAnything(plan: Plan): boolean {
  return plan.pending.length + plan.changes.length + plan.rows.length + plan.untried.length > 0;
}

type Step = { what: string; work: () => Promise<void> };

/** Runs the steps, up to the first that needs those before it to be committed; returns the ones not run. */
async function inOrder(client: pg.ClientBase, steps: readonly Step[]): Promise<Plan["untried"]> {
  for (const [at, { work }] of steps.entries()) {
    await client.query("savepoint step");
    try {
      await work();
    } catch (error) {
      const cause = error instanceof Error && !(error instanceof pg.DatabaseError) ? error.cause : error;
      const later = cause instanceof pg.DatabaseError && cause.code !== undefined && LATER[cause.code];
      if (!later) throw error;
      await client.query("rollback to savepoint step");
      const why = `${cause.message}: ${later}`;
      return steps.slice(at).map(({ what }) => ({ what, why }));
    }
    await client.query("release savepoint step");
  }
  return [];
}

function compare(before: readonly Item[], after: readonly Item[]): Change[] {
  const key = ({ kind, name }: Item) => `${kind} ${name}`;
  const was = new Map(before.map((item) => [key(item), item]));
  const is = new Map(after.map((item) => [key(item), item]));
  const gone = before.filter((item) => !is.has(key(item)));
  return [
    ...gone.map(({ kind, name, definition }) => ({ kind, name, before: definition, after: null })),
    ...after.flatMap((item) => {
      const old = was.get(key(item))?.definition ?? null;
      return old === item.definition
        ? []
        : [{ kind: item.kind, name: item.name, before: old, after: item.definition }];
    }),
  ].toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

/** The rows that this transaction has written, as counted by PostgreSQL. */
async function rowsWritten(client: pg.ClientBase): Promise<Written[]> {
  const { rows } = await client.query<Written>(
    `select format('%I.%I', schemaname, relname) as table, n_tup_ins::integer as added,
       n_tup_upd::integer as changed, n_tup_del::integer as deleted
     from pg_stat_xact_user_tables
     where schemaname = any ($1) and n_tup_ins + n_tup_upd + n_tup_del > 0 order by 1`,
    [SCHEMAS],
  );
  return rows;
}

async function askedBy(client: pg.ClientBase): Promise<Record<string, string[]>> {
  const { rows: there } = await client.query<{ any: boolean }>(
    "select to_regprocedure('app_private.permission_checks()') is not null as any",
  );
  if (!there[0]!.any) return {};
  const { rows } = await client.query<{ permission: string; names: string[] }>(
    `select permission, array_agg(name order by name) as names
     from app_private.permission_checks() group by permission`,
  );
  return Object.fromEntries(rows.map(({ permission, names }) => [permission, names]));
}
