import type pg from "pg";
import { closePool } from "./close.ts";
import { requireOwn } from "./ownership.ts";
import { createOwnerPool } from "./pool.ts";

/** The prefixes of all IRIs in the graph. */
type GraphSettings = {
  /** prefix of the URIs of records and new organizations, without a trailing slash */
  graphDataUrl: string;
  /** what the prefix `ns:` stands for */
  namespaceUrl: string;
};

/** The name of each setting in the database, in the environment and in this program. */
const VARIABLES = [
  ["graph_data_url", "GRAPH_DATA_URL", "graphDataUrl"],
  ["namespace_url", "NAMESPACE_URL", "namespaceUrl"],
] as const;

/** Thrown when a process would read or write the graph with other prefixes than the rest of the service. */
export class OtherNames extends Error {
  override name = "OtherNames";

  /**
   * @param variable of the environment, with its values here and in the database
   * @param consequence what follows from it, and what to do
   */
  constructor(variable: string, here: string, there: string, consequence: string) {
    super(`${variable} is ${here} here, and was ${there} when the service was last migrated; ${consequence}`);
  }
}

/**
 * Stores the environment's settings for the rules; called whenever the service is started or migrated.
 * @param db of the role that owns the schema
 */
export async function saveSettings(db: pg.Pool | pg.ClientBase, settings: GraphSettings): Promise<void> {
  for (const [name, , key] of VARIABLES) {
    await db.query(
      "update app_private.settings set value = to_jsonb($2::text) where name = $1 and value <> to_jsonb($2::text)",
      [name, settings[key]],
    );
  }
}

/** What is wrong with settings that were stored before the rules checked them: a sentence each. */
export async function oddSettings(db: Pick<pg.ClientBase, "query">): Promise<string[]> {
  const { rows } = await db.query<{ said: string }>(
    "select format('The setting %s %s.', name, problem) as said from app_private.odd_settings order by name",
  );
  return rows.map(({ said }) => said);
}

/**
 * Refuses settings other than the database's: two processes would each take the other's writes for errors, and a server would look
 * for records where there are none.
 * @throws OtherNames when these are not what the service was migrated with
 */
export async function requireSameNames(
  db: Pick<pg.ClientBase, "query">,
  settings: GraphSettings,
): Promise<void> {
  const { rows } = await db.query<Setting>("select * from app_private.graph_names()");
  compare(rows, settings, "no process reads or writes the graph until the two values agree");
}

/**
 * Refuses settings that would give other names to a graph that has been written: everything in it is named by them. Asked before a
 * migration, of whatever version the database is.
 * @param connectionString as the role that owns the schema
 * @throws OtherNames when these are not what the service was migrated with; MigrationError where the login may not read them
 */
export async function keepNames(connectionString: string, settings: GraphSettings): Promise<void> {
  const pool = createOwnerPool(connectionString, { max: 1 });
  try {
    await requireOwn(pool);
    const { rows } = await pool.query<{ known: boolean }>(
      "select to_regclass('app_private.graph_store') is not null as known",
    );
    if (!rows[0]?.known) return;
    const { rows: named } = await pool.query<Setting>(
      `select name, value #>> '{}' as value from app_private.settings
       where exists (select from app_private.graph_store where turn > 0)`,
    );
    compare(
      named,
      settings,
      "set it to that value. If everything in the graph is to be named anew, run npm run migrate -- --rename, and see docs/operations.md",
    );
  } finally {
    await closePool(pool);
  }
}

/** A row of app_private.graph_names(). */
export type Setting = { name: string; value: string };

/** The first setting that is another in the database, with its variable and its value there; undefined if all are the same. */
export function differenceOf(
  rows: readonly Setting[],
  settings: GraphSettings,
): { variable: string; here: string; there: string } | undefined {
  for (const [name, variable, key] of VARIABLES) {
    const here = settings[key];
    const there = rows.find((row) => row.name === name)?.value;
    if (there !== undefined && there !== here) return { variable, here, there };
  }
  return undefined;
}

function compare(rows: readonly Setting[], settings: GraphSettings, consequence: string): void {
  const found = differenceOf(rows, settings);
  if (found) throw new OtherNames(found.variable, found.here, found.there, consequence);
}
