// Brings a database to the current schema: each migration once, the rules in full every time.
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { runMigrations } from "graphile-worker";
import pg from "pg";
import { createPool } from "./pool.ts";

// Any number will do as long as all versions of this program agree on it.
const MIGRATION_LOCK = 7203544;

/** The database and this program do not match; the message says how. */
export class MigrationError extends Error {
  override name = "MigrationError";
}

type Migration = { version: string; sql: string; checksum: string };

/**
 * Migrates a database to the current schema and applies the rules. Safe to run from many processes at once.
 * @param connectionString of the role that owns, or will own, the schema
 * @param directory where the folders migrations and rules are
 * @returns the versions that were applied by this call
 * @throws MigrationError when the database is newer than this program or an applied migration was edited
 */
export async function migrate(connectionString: string, directory = import.meta.dirname): Promise<string[]> {
  const pool = createPool(connectionString, { max: 2 });
  try {
    const client = await pool.connect();
    try {
      await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
      const applied = await applyMigrations(client, await readMigrations(join(directory, "migrations")));
      await runMigrations({ pgPool: pool });
      await applyRules(client, join(directory, "rules"));
      return applied;
    } finally {
      // Ends the session and, with it, the lock.
      client.release(true);
    }
  } finally {
    await pool.end();
  }
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).toSorted();
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(join(folder, file), "utf8");
      return { version: file.slice(0, -4), sql, checksum: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

async function applyMigrations(client: pg.PoolClient, migrations: Migration[]): Promise<string[]> {
  await client.query(`
    create schema if not exists app_migrations;
    create table if not exists app_migrations.applied (
      version text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`);
  const { rows } = await client.query<{ version: string; checksum: string }>(
    "select version, checksum from app_migrations.applied order by version",
  );
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const { version, checksum } of rows) {
    const migration = known.get(version);
    if (!migration) {
      throw new MigrationError(
        `The database has migration ${version}, which this program does not know; run a newer version of this program.`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new MigrationError(
        `db/migrations/${version}.sql was edited after it was applied; restore it and add a new migration instead.`,
      );
    }
  }
  const done = new Set(rows.map((row) => row.version));
  const pending = migrations.filter((migration) => !done.has(migration.version));
  for (const { version, sql, checksum } of pending) {
    await inTransaction(client, `db/migrations/${version}.sql`, async () => {
      await client.query(sql);
      await client.query("insert into app_migrations.applied (version, checksum) values ($1, $2)", [
        version,
        checksum,
      ]);
    });
  }
  return pending.map((migration) => migration.version);
}

async function applyRules(client: pg.PoolClient, folder: string): Promise<void> {
  const index = await readFile(join(folder, "index.sql"), "utf8");
  const files = [...index.matchAll(/^\\ir (\S+)$/gm)].map((match) => match[1]!);
  await inTransaction(client, "db/rules", async () => {
    // If somebody keeps a table locked, this call must fail rather than make every caller queue behind it.
    await client.query("set local lock_timeout = '10s'");
    for (const file of files) {
      const sql = await readFile(join(folder, file), "utf8");
      try {
        await client.query(sql);
      } catch (error) {
        throw describe(error, `db/rules/${file}`, sql);
      }
    }
  });
}

async function inTransaction(
  client: pg.PoolClient,
  source: string,
  work: () => Promise<void>,
): Promise<void> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error instanceof MigrationError ? error : describe(error, source);
  }
}

function describe(error: unknown, source: string, sql?: string): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const line = sql && error.position ? `:${sql.slice(0, Number(error.position)).split("\n").length}` : "";
  return new MigrationError(`${source}${line}: ${error.message}`, { cause: error });
}
