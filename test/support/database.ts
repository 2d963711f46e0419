import { createHash, randomBytes } from "node:crypto";
import pg from "pg";
import { createOwnerPool } from "../../db/pool.ts";
import { eventually } from "./eventually.ts";
import { SERVER_PASSWORD, TEMPLATE } from "./global-setup.ts";

/** A database for one test file. */
export type TestDatabase = {
  /** URL as the role that owns the schema: what the worker and the operator's tool use. */
  url: string;
  /** URL as the server's login, which can only become an API role. */
  serverUrl: string;
  /** A pool of the owning role. */
  owner: pg.Pool;
  drop: () => Promise<void>;
};

/**
 * Clones the migrated template into a new database.
 * @param options.template false: an empty database instead, for tests of the migration itself
 */
export async function createTestDatabase(options: { template?: boolean } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const admin = new URL(process.env["TEST_POSTGRES_URL"]!);
  await asAdmin(async (client) => {
    // Only one session at a time may copy a template, and test files run side by side.
    await client.query("select pg_advisory_lock(1)");
    await client.query(`create database ${name} ${options.template === false ? "" : `template ${TEMPLATE}`}`);
  });
  const at = (user: string, password: string) => {
    const url = new URL(admin);
    url.pathname = `/${name}`;
    url.username = user;
    url.password = password;
    return url.href;
  };
  const url = at(admin.username, admin.password);
  const owner = createOwnerPool(url, { max: 4 });
  return {
    url,
    serverUrl: at("engagement_server", SERVER_PASSWORD),
    owner,
    drop: async () => {
      // It would wait for a connection that a test has kept when it failed, and the failure would not be told.
      void owner.end();
      // PostgreSQL waits five seconds for the sessions that it ends, which on a busy machine may take longer.
      await asAdmin((client) =>
        eventually(() => client.query(`drop database if exists ${name} with (force)`)),
      );
    },
  };
}

async function asAdmin(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(process.env["TEST_POSTGRES_URL"]);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** For whom, as whom and from where a key may be used. */
export type KeyBounds = {
  readonly organizations?: readonly string[];
  readonly persons?: readonly string[];
  readonly networks?: readonly string[];
};

/** The id of a key by its text. */
export async function keyIdOf(db: pg.Pool, key: string): Promise<string> {
  const { rows } = await db.query<{ key_id: string }>(
    "select key_id from app_private.api_keys where key_hash = sha256(convert_to($1, 'utf8'))",
    [key],
  );
  return rows[0]!.key_id;
}

/** Puts an API key into a database and returns its text. */
export async function issueTestKey(
  db: pg.Pool,
  scope: "api_read" | "api_write" | "api_review",
  options: { expiresAt?: string; ratePerMinute?: number } & KeyBounds = {},
): Promise<string> {
  const key = `ek_${randomBytes(32).toString("base64url")}`;
  await db.query(
    `insert into app_private.api_keys
       (label, key_hash, scope, expires_at, rate_per_minute, organizations, persons, networks)
     values ('test', $1, $2, $3, $4, $5, $6, $7)`,
    [
      createHash("sha256").update(key).digest(),
      scope,
      options.expiresAt ?? null,
      options.ratePerMinute ?? 1_000_000,
      ...[options.organizations, options.persons, options.networks],
    ],
  );
  return key;
}
