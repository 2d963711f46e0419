// The embedded database and graph store as several processes share them: the service, and the operator's tool
// beside it or alone. The last one to leave PostgreSQL stops it; the graph store lives in the process that has it.
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbeddedPostgres } from "./db/embedded.ts";
import { takeLock } from "./lock.ts";

/** A part that runs for this process and maybe for others too. */
export type Joined = {
  url: string;
  /** Lets go of it; it stops when nobody else uses it. */
  leave: () => Promise<void>;
};

/** An embedded part is held by another process and cannot be shared; the message is for the operator. */
export class EmbeddedPartError extends Error {
  override name = "EmbeddedPartError";
}

/** How long one process waits for another to finish starting or stopping a part, in milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * Joins the PostgreSQL of a data directory, starting it when nobody has.
 * @returns its URL as the role that owns the schema
 */
export async function joinEmbeddedPostgres(dataDir: string): Promise<Joined> {
  const usersFile = join(dataDir, "postgres.users.lock");
  const oneAtATime = async <T>(work: () => Promise<T>): Promise<T> => {
    const turn = await takeLock(join(dataDir, "postgres.turn.lock"), "exclusive", PATIENCE_MS);
    if (!turn)
      throw new EmbeddedPartError(
        `Another process has been starting or stopping ${dataDir}/postgres for a minute.`,
      );
    try {
      return await work();
    } finally {
      turn.release();
    }
  };
  return oneAtATime(async () => {
    const postgres = await startEmbeddedPostgres(join(dataDir, "postgres"));
    const use = await takeLock(usersFile, "shared", 0);
    return {
      url: postgres.url,
      leave: () =>
        oneAtATime(async () => {
          use?.release();
          const last = await takeLock(usersFile, "exclusive", 0);
          try {
            if (last) await postgres.stop();
          } finally {
            last?.release();
          }
        }),
    };
  });
}

/** What starts the graph store of a directory and answers where it listens. */
export type StartStore = (dir: string) => Promise<{ url: string; stop: () => Promise<void> }>;

/**
 * Starts the graph store of a data directory in this process, or joins the process that has it.
 * @param start called when no other process has the store
 * @param options.own wait for the other process to end instead of joining it: what the service does
 */
export async function joinEmbeddedStore(
  dataDir: string,
  start: StartStore,
  options: { own?: boolean } = {},
): Promise<Joined> {
  const announcement = join(dataDir, "graph.json");
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const lock = await takeLock(join(dataDir, "graph.lock"), "exclusive", options.own ? PATIENCE_MS : 0);
    if (lock) {
      try {
        const store = await start(join(dataDir, "graph"));
        await writeFile(announcement, JSON.stringify({ url: store.url }));
        return {
          url: store.url,
          leave: async () => {
            await rm(announcement, { force: true });
            await store.stop();
            lock.release();
          },
        };
      } catch (error) {
        lock.release();
        throw error;
      }
    }
    const url = options.own ? undefined : await announcedUrl(announcement);
    if (url) return { url, leave: () => Promise.resolve() };
    if (Date.now() >= deadline) {
      throw new EmbeddedPartError(`Another process has held ${dataDir}/graph for a minute.`);
    }
    await sleep(50);
  }
}

async function announcedUrl(path: string): Promise<string | undefined> {
  try {
    const { url } = JSON.parse(await readFile(path, "utf8")) as { url: string };
    // Any answer tells that somebody listens; what a crash left behind is refused.
    await fetch(url, { signal: AbortSignal.timeout(2000) });
    return url;
  } catch {
    return undefined;
  }
}
