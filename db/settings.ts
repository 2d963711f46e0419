import type pg from "pg";

/** What every IRI of the graph begins with, under the names of the settings that keep it. */
type GraphSettings = {
  /** what the URIs of records and new organizations begin with, without a trailing slash */
  graphDataUrl: string;
  /** what the prefix `ns:` stands for */
  namespaceUrl: string;
};

/** What the settings of the environment are called in the database. */
const VARIABLES = [
  ["graph_data_url", "GRAPH_DATA_URL", "graphDataUrl"],
  ["namespace_url", "NAMESPACE_URL", "namespaceUrl"],
] as const;

/** Thrown when a process would give the graph other names than the service has. */
class OtherNames extends Error {
  /** @param variable of the environment, and what it says here and there */
  constructor(variable: string, here: string, there: string) {
    super(
      `${variable} is ${here} here, and was ${there} when the service was last migrated; ` +
        "nothing is written to the graph until both say the same",
    );
  }
}

/**
 * Tells the rules what they need to know about the environment; called whenever the service is started or migrated.
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

/** What is wrong with settings that were made before the rules looked at them: a sentence each. */
export async function oddSettings(db: Pick<pg.ClientBase, "query">): Promise<string[]> {
  const { rows } = await db.query<{ said: string }>(
    "select format('The setting %s %s.', name, problem) as said from app_private.odd_settings order by name",
  );
  return rows.map(({ said }) => said);
}

/**
 * Two processes with different settings would each take what the other writes for wrong.
 * @throws OtherNames when these are not what the service was migrated with
 */
export async function requireSameNames(
  db: Pick<pg.ClientBase, "query">,
  settings: GraphSettings,
): Promise<void> {
  const { rows } = await db.query<{ name: string; value: string }>(
    "select name, value #>> '{}' as value from app_private.settings where name = any ($1)",
    [VARIABLES.map(([name]) => name)],
  );
  for (const [name, variable, key] of VARIABLES) {
    const there = rows.find((row) => row.name === name)?.value;
    if (there !== undefined && there !== settings[key]) throw new OtherNames(variable, settings[key], there);
  }
}
