import type pg from "pg";

/**
 * Tells the rules what they need of the environment; whoever starts or migrates the service calls it.
 * @param db of the role that owns the schema
 * @param settings.graphDataUrl what the URIs of new organizations begin with, without a trailing slash
 */
export async function saveSettings(
  db: pg.Pool | pg.ClientBase,
  settings: { graphDataUrl: string },
): Promise<void> {
  await db.query(
    `update app_private.settings set value = to_jsonb($1::text)
     where name = 'graph_data_url' and value <> to_jsonb($1::text)`,
    [settings.graphDataUrl],
  );
}
