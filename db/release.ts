// Whether a database has been brought to the version of this program.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { closePool } from "./close.ts";
import { createPool } from "./pool.ts";
import { migrationsIn } from "./sql-files.ts";

/** How soon a database that lacks something is asked again. */
const LOOK_MS = 500;

/** The database has no rules at all, or none that could be asked. */
const NOTHING_TO_ASK: readonly (string | undefined)[] = ["3F000", "42883"];

const MAY_NOT_ASK = "42501";

/** The database is not of this program's version; the message is one line. */
class OtherVersion extends Error {
  override name = "OtherVersion";
}

/**
 * The name of a folder's rules, by their checksums as they were released: whoever changes a rule and applies it has other
 * rules of the same edition, which programs of that edition go on with.
 */
export async function editionOf(rules: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(join(rules, "SHA256SUMS")))
    .digest("hex");
}

/** What a database lacks that this program relies on: a file or a folder of its, or undefined. */
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
  /** for how long */
  waitMs: number;
  /** is told in a line what is waited for */
  onWait: (line: string) => void;
  /** ends it without an error */
  stop: AbortSignal;
};

async function problemOf(db: pg.Pool): Promise<Error | undefined> {
  try {
    const lacking = await lackingIn(db);
    return lacking === undefined
      ? undefined
      : new OtherVersion(`the database lacks ${lacking} of this version; run npm run migrate`);
  } catch (error) {
    // During the first migration nobody is let in yet; a wrong login never will be, which it then says itself.
    if (error instanceof pg.DatabaseError && error.code === MAY_NOT_ASK) return error;
    throw error;
  }
}

/**
 * Waits until a database is of this program's version, or of a later one that came after it.
 * @throws OtherVersion when it is not in time, and what PostgreSQL says to a login that may not ask
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
