import type pg from "pg";

/**
 * Tells the rules what they need to know about the environment; called whenever the service is started or migrated.
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
