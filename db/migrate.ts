// Brings a database to the current schema: each migration once, the rules in full every time.
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runMigrations } from "graphile-worker";
import pg from "pg";
import { closePool } from "./close.ts";
import { requireNoOutsiders } from "./outsiders.ts";
import { handOver, requireOwn, SCHEMAS } from "./ownership.ts";
import { inTurns, inTurnsOf, lockAll, takeAdvisoryLock } from "./patience.ts";
import type { Patience } from "./patience.ts";
import { createOwnerPool } from "./pool.ts";
import { editionOf } from "./release.ts";
import { carryOut, MigrationError, migrationsIn, rulesIn } from "./sql-files.ts";

// Any number will do as long as all versions of this program agree on it.
export const MIGRATION_LOCK = 7203544;

/** How long a migration waits for locks that other sessions hold. */
const PATIENCE_MS = 600_000;

export type Migration = { version: string; sql: string; checksum: string };

/** Options of both migrating and planning. */
export type MigrateOptions = {
  /** the directory with the folders migrations and rules */
  directory?: string;
  /** called with one line that says what is being waited for */
  onWait?: (line: string) => void;
  /** how long to wait in all */
  patienceMs?: number;
};

/**
 * Migrates a database to the current schema and applies the rules. Safe to run from many processes at once.
 * @param connectionString of the role that owns, or will own, the schema
 * @returns the versions that were applied by this call
 * @throws MigrationError when the database is newer than this program, an applied migration was edited, or something in
 *   the database is in the way
 * @throws OutOfPatience when another session kept a lock; steps applied until then stay, none is half done
 */
export async function migrate(connectionString: string, options: MigrateOptions = {}): Promise<string[]> {
  return alone(connectionString, options, async ({ client, directory, patience }) => {
    await openBook(client);
    const pending = await pendingMigrations(client, directory);
    for (const migration of pending) {
      await inTurns(client, patience, async () => {
        await applyMigration(client, migration, directory);
        await client.query("insert into app_migrations.applied (version, checksum) values ($1, $2)", [
          migration.version,
          migration.checksum,
        ]);
      });
    }
    await applyWorkerMigrations(client, connectionString, patience);
    await inTurns(client, patience, () => applyRules(client, directory));
    return pending.map((migration) => migration.version);
  });
}

/** Creates the table that records which migrations have been applied. */
export async function openBook(client: pg.ClientBase): Promise<void> {
  await client.query(`
    create schema if not exists app_migrations;
    create table if not exists app_migrations.applied (
      version text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`);
}

type Surroundings = { client: pg.PoolClient; directory: string; patience: Patience };

/** Runs work on a connection while no other migration or plan is running. */
export async function alone<Result>(
  connectionString: string,
  options: MigrateOptions,
  work: (surroundings: Surroundings) => Promise<Result>,
): Promise<Result> {
  const { directory = import.meta.dirname, onWait = () => undefined, patienceMs = PATIENCE_MS } = options;
  const patience = { ms: patienceMs, onWait };
  const pool = createOwnerPool(connectionString, { max: 1 });
  try {
    const client = await pool.connect();
    try {
      await takeAdvisoryLock(client, MIGRATION_LOCK, patience);
      await requireOwn(client);
      return await work({ client, directory, patience });
    } finally {
      // Ends the session and, with it, the lock.
      client.release(true);
    }
  } finally {
    await closePool(pool);
  }
}

/** Creates the roles that a dump refers to, before it is restored into a cluster that lacks them. */
export async function makeRoles(connectionString: string): Promise<void> {
  const pool = createOwnerPool(connectionString, { max: 1 });
  try {
    await pool.query(await readFile(join(import.meta.dirname, "rules/roles.sql"), "utf8"));
  } finally {
    await closePool(pool);
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const folder = join(directory, "migrations");
  return Promise.all(
    (await migrationsIn(folder)).map(async (version) => {
      const sql = await readFile(join(folder, `${version}.sql`), "utf8");
      return { version, sql, checksum: hash("sha256", sql, "hex") };
    }),
  );
}

/** The migrations that the database does not have yet, in order. */
export async function pendingMigrations(client: pg.ClientBase, directory: string): Promise<Migration[]> {
  const migrations = await readMigrations(directory);
  const { rows } = await client.query<{ any: boolean }>(
    "select to_regclass('app_migrations.applied') is not null as any",
  );
  if (!rows[0]!.any) return migrations;
  const { rows: applied } = await client.query<{ version: string; checksum: string }>(
    "select version, checksum from app_migrations.applied order by version",
  );
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const { version, checksum } of applied) {
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
  const done = new Set(applied.map((row) => row.version));
  return migrations.filter((migration) => !done.has(migration.version));
}

/** Applies a migration, within the caller's transaction. */
export async function applyMigration(
  client: pg.ClientBase,
  { version, sql }: Pick<Migration, "version" | "sql">,
  directory: string,
): Promise<void> {
  await dropEarlierRules(client, directory);
  await carryOut(client, `db/migrations/${version}.sql`, sql);
}

/** Applies graphile-worker's own migrations, each a transaction that would wait for locks without a limit. */
async function applyWorkerMigrations(
  client: pg.PoolClient,
  connectionString: string,
  patience: Patience,
): Promise<void> {
  await inTurnsOf(client, patience, async (lock_timeout) => {
    const pool = createOwnerPool(connectionString, { max: 1 });
    // Not as a parameter of the connection's start, which a pooler of sessions refuses.
    pool.on(
      "connect",
      (opened) => void opened.query(`set lock_timeout = ${lock_timeout}`).catch(() => undefined),
    );
    try {
      await runMigrations({ pgPool: pool });
    } finally {
      await closePool(pool);
    }
  });
}

/** Drops the rules that db/rules/reset.sql has kept: they depend on columns that a migration may change. */
async function dropEarlierRules(client: pg.ClientBase, directory: string): Promise<void> {
  const { rows } = await client.query<{ drops: string | null }>(
    `select string_agg(format('drop schema %I cascade', nspname), ';') as drops
     from pg_namespace where nspname = any (select 'earlier_' || unnest($1::text[]))`,
    [SCHEMAS],
  );
  const { drops } = rows[0]!;
  if (drops === null) return;
  await requireNoOutsiders(client, SCHEMAS, await readMigrations(directory));
  await client.query(drops);
}

/** Applies all rules, within the caller's transaction. */
export async function applyRules(client: pg.ClientBase, directory: string): Promise<void> {
  const folder = join(directory, "rules");
  const files = await rulesIn(folder);
  await lockAll(client, SCHEMAS);
  await requireNoOutsiders(client, SCHEMAS, await readMigrations(directory));
  // Created together with the rules, which read it, so that an upgrade that gives up leaves nothing behind.
  await client.query(`
    create table if not exists app_migrations.editions (
      number bigint generated always as identity primary key,
      edition text not null unique,
      applied_at timestamptz not null default now()
    )`);
  for (const file of files) {
    await carryOut(client, `db/rules/${file}`, await readFile(join(folder, file), "utf8"));
  }
  await noteEdition(client, await editionOf(folder));
  await handOver(client);
}

/** Records the edition. Going back to the rules of an earlier version removes the editions after it. */
async function noteEdition(client: pg.ClientBase, edition: string): Promise<void> {
  await client.query(
    `with there as (select number from app_migrations.editions where edition = $1),
     taken_back as (delete from app_migrations.editions where number > (select number from there))
     insert into app_migrations.editions (edition) select $1 where not exists (select from there)`,
    [edition],
  );
}
