// One PostgreSQL for the whole run, with a migrated template that each test file clones.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../db/embedded.ts";
import { migrate } from "../../db/migrate.ts";
import type { EmbeddedPostgres } from "../../db/embedded.ts";

declare global {
  var testPostgres: EmbeddedPostgres | undefined;
}

export const TEMPLATE = "engagement_template";
export const SERVER_PASSWORD = "server-password-of-the-tests";

export default async function globalSetup(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-test-"));
  const postgres = await startEmbeddedPostgres(dir, {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_connections: "300",
  });
  globalThis.testPostgres = postgres;
  process.env["TEST_POSTGRES_DIR"] = dir;
  process.env["TEST_POSTGRES_URL"] = postgres.urlOf("postgres");

  const client = new pg.Client(postgres.urlOf("postgres"));
  await client.connect();
  await client.query(`create database ${TEMPLATE}`);
  await migrate(postgres.urlOf(TEMPLATE));
  await client.query(`alter role engagement_server login password '${SERVER_PASSWORD}'`);
  await client.end();
}
