// npm run schema: writes schema.graphql anew, from the database that the migrations and rules of this tree make.
import "./environment.ts";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lexicographicSortSchema, printSchema } from "postgraphile/graphql";
import type { GraphQLSchema } from "postgraphile/graphql";
import { startEmbeddedPostgres } from "../../db/embedded.ts";
import { migrate } from "../../db/migrate.ts";
import { createPool } from "../../db/pool.ts";
import { createGraphql } from "./door.ts";

/** The committed schema. */
export const SCHEMA_FILE = join(import.meta.dirname, "../../schema.graphql");

/** The text of schema.graphql: sorted, so that it differs only where the schema does. */
export function schemaText(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}

if (import.meta.main) {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-schema-"));
  const postgres = await startEmbeddedPostgres(dir);
  try {
    await migrate(postgres.url);
    const password = randomBytes(24).toString("hex");
    const url = new URL(postgres.url);
    [url.username, url.password] = ["engagement_server", password];
    const owner = createPool(postgres.url);
    await owner.query(`alter role engagement_server login password '${password}'`);
    await owner.end();

    const pool = createPool(url.href);
    const graphql = await createGraphql({ pool, logger: console });
    await writeFile(SCHEMA_FILE, schemaText(await graphql.schema()));
    await graphql.release();
    await pool.end();
  } finally {
    await postgres.stop();
    await rm(dir, { recursive: true, force: true });
  }
}
