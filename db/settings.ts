import type pg from "pg";

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
 * @param mayRename whether a graph that has been written may get other names: everything in it is named by them
 * @throws OtherNames if it would, and may not
 */
export async function saveSettings(
  db: pg.Pool | pg.ClientBase,
  settings: GraphSettings,
  mayRename = false,
): Promise<void> {
  if (!mayRename) {
    const { rows } = await db.query("select from app_private.graph_store where turn > 0");
    const consequence =
      "set it to that value. If everything in the graph is to be named anew, run npm run migrate -- --rename, and see docs/operations.md";
    if (rows.length > 0) await requireSameNames(db, settings, consequence);
  }
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
 * @param consequence for the error
 * @throws OtherNames when these are not what the service was migrated with
 */
export async function requireSameNames(
  db: Pick<pg.ClientBase, "query">,
  settings: GraphSettings,
  consequence = "no process reads or writes the graph until the two values agree",
): Promise<void> {
  const { rows } = await db.query<{ name: string; value: string }>("select * from app_private.graph_names()");
  for (const [name, variable, key] of VARIABLES) {
    const there = rows.find((row) => row.name === name)?.value;
    if (there !== undefined && there !== settings[key]) {
      throw new OtherNames(variable, settings[key], there, consequence);
    }
  }
}
