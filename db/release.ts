// Whether a database has the migrations and rules of this program's version.
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { closePool } from "./close.ts";
import { createPool } from "./pool.ts";
import { migrationsIn } from "./sql-files.ts";

/** How soon a database that lacks something is checked again. */
const LOOK_MS = 500;

/** No such schema, no such function: the database has no rules, or none that can answer this. */
const NOTHING_TO_ASK: readonly (string | undefined)[] = ["3F000", "42883"];

const MAY_NOT_ASK = "42501";

/** The database is not of this program's version; the message is one line. */
class OtherVersion extends Error {
  override name = "OtherVersion";
}

/**
 * Identifies the edition of a folder's rules, by their checksums as released. An operator who changes a rule
 * and applies it stays with the same edition, so that programs of that edition keep running.
 */
export async function editionOf(rules: string): Promise<string> {
  return hash("sha256", await readFile(join(rules, "SHA256SUMS")), "hex");
}

/** What this program needs and a database lacks: the path of a migration, db/rules, or undefined. */
export async function lackingIn(db: Pick<pg.Pool, "query">): Promise<string | undefined> {
  const migrations = await migrationsIn(join(import.meta.dirname, "migrations"));
  const edition = await editionOf(join(import.meta.dirname, "rules"));
  try {
    const { rows } = await db.query<{ lacking: string | null }>("select app_private.lacking($1, $2)", [
      migrations,
      edition,
    ]);
    return rows[0]?.lacking ?? undefined;
  } catch (error) {
    if (error instanceof pg.DatabaseError && NOTHING_TO_ASK.includes(error.code)) return "db/rules";
    throw error;
  }
}

/** How a process waits for a migration. */
type Waiting = {
  /** for how long at most */
  waitMs: number;
  /** called with one line that says what is being waited for */
  onWait: (line: string) => void;
  /** ends the wait without an error */
  stop: AbortSignal;
};

async function problemOf(db: pg.Pool): Promise<Error | undefined> {
  try {
    const lacking = await lackingIn(db);
    return lacking === undefined
      ? undefined
      : new OtherVersion(`the database lacks ${lacking} of this version; run npm run migrate`);
  } catch (error) {
    // During the first migration no login has rights yet; a wrong login ends with this error after the wait.
    if (error instanceof pg.DatabaseError && error.code === MAY_NOT_ASK) return error;
    throw error;
  }
}

/**
 * Waits until a database has the migrations and rules of this program's version; it may have later ones too.
 * @throws OtherVersion when it does not in time; PostgreSQL's error for a login that may not check
 */
export async function requireRelease(
  connectionString: string,
  { waitMs, onWait, stop }: Waiting,
): Promise<void> {
  const until = performance.now() + waitMs;
  const pool = createPool(connectionString, { max: 1 });
  try {
    let isTold = false;
    while (!stop.aborted) {
      const problem = await problemOf(pool);
      if (!problem) return;
      if (performance.now() >= until) throw problem;
      if (!isTold) onWait(`waiting: ${problem.message}`);
      isTold = true;
      await sleep(LOOK_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  } finally {
    await closePool(pool);
  }
}
