import { readDocuments } from "../graph/documents.ts";
import type { Queryable } from "./records.ts";

/**
 * Publishes the ontology and the shapes of this version of the service in the graph; called whenever the
 * service is started or migrated.
 * @param db connected as the role that owns the schema
 */
export async function publishDocuments(db: Queryable): Promise<void> {
  const documents = readDocuments();
  await db.query(
    "select app_private.publish_document(name, document) from unnest($1::text[], $2::text[]) as d (name, document)",
    [Object.keys(documents), Object.values(documents)],
  );
}
