// One PostgreSQL for the whole run, with a migrated template that each test file clones. TEST_DATABASE_URL names
// another one to test against, as a superuser; TEST_POSTGRES another release to start.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
// The threads and commands that tests start begin with what Node has compiled for the ones before.
import "../../process/compiled.ts";
import { startEmbeddedPostgres } from "../../db/embedded.ts";
import { migrate } from "../../db/migrate.ts";
import type { EmbeddedPostgres } from "../../db/embedded.ts";
import { publishDocuments } from "../../worker/documents.ts";
import { keepTemporaryFilesInMemory } from "./in-memory.ts";
import { chosenPrograms } from "./postgres-releases.ts";

declare global {
  var testPostgres: EmbeddedPostgres | undefined;
  var testFolder: string | undefined;
}

export const TEMPLATE = "engagement_template";
export const SERVER_PASSWORD = "server-password-of-the-tests";

export default async function globalSetup(): Promise<void> {
  globalThis.testFolder = await keepTemporaryFilesInMemory();
  const url = process.env["TEST_DATABASE_URL"] ?? (await startPostgres());
  process.env["TEST_POSTGRES_URL"] = url;

  const template = new URL(url);
  template.pathname = `/${TEMPLATE}`;
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`drop database if exists ${TEMPLATE} with (force)`);
  await client.query(`create database ${TEMPLATE}`);
  await migrate(template.href);
  const inTemplate = new pg.Client(template.href);
  await inTemplate.connect();
  await publishDocuments(inTemplate);
  await inTemplate.end();
  await client.query(`alter role engagement_server login password '${SERVER_PASSWORD}'`);
  await client.end();
}

async function startPostgres(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-test-"));
  // Nothing here has to survive a crash of the machine.
  const settings = {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_connections: "300",
  };
  const postgres = await startEmbeddedPostgres(dir, settings, chosenPrograms());
  globalThis.testPostgres = postgres;
  process.env["TEST_POSTGRES_DIR"] = dir;
  return postgres.urlOf("postgres");
}
