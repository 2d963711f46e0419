// The embedded database and graph store, shared by several processes: the service, and the operator's tool alongside
// it or on its own. The last one to leave PostgreSQL stops it; the graph store lives in the process that started it.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import { findEmbeddedStore, startEmbeddedStore } from "../graph/embedded/index.ts";
import { takeLock } from "./lock.ts";
import { revive } from "./revive.ts";
import type { Concerns } from "./revive.ts";

/** A part that this process uses, perhaps together with others. */
export type Joined = {
  url: string;
  /** Stops using the part; it ends if no other process uses it. */
  leave: () => Promise<void>;
};

/** An embedded part is held by another process and cannot be shared; the message is for the operator. */
class EmbeddedPartError extends Error {
  override name = "EmbeddedPartError";
}

/** How long one process waits for another to finish starting or stopping a part, in milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * Joins the PostgreSQL of a data directory, starting it if it is not running.
 * @param concerns if given, it is kept running from now on, as the service needs it
 * @returns its URL as the role that owns the schema
 */
export async function joinEmbeddedPostgres(dataDir: string, concerns?: Concerns): Promise<Joined> {
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
  const start = (port = "0") => startEmbeddedPostgres(join(dataDir, "postgres"), { port });
  return oneAtATime(async () => {
    const postgres = await start();
    const { port } = new URL(postgres.url);
    // A server that ended, because it was stopped or its disk was full, is restarted on the same port.
    const rest = concerns && revive(postgres, () => oneAtATime(() => start(port)), concerns);
    const use = await takeLock(usersFile, "shared", 0);
    return {
      url: postgres.url,
      leave: async () => {
        await rest?.();
        await oneAtATime(async () => {
          use?.release();
          const last = await takeLock(usersFile, "exclusive", 0);
          try {
            if (last) await postgres.stop();
          } finally {
            last?.release();
          }
        });
      },
    };
  });
}

/**
 * Starts the graph store of a data directory in this process, or joins the process that serves it.
 * @param options.own wait for the other process to end instead of joining it, as the service does
 * @param options.onFailure called when a store of this process ends unexpectedly
 * @param options.onWarning called with messages for the operator, such as that a damaged file was set aside
 */
export async function joinEmbeddedStore(
  dataDir: string,
  options: {
    queryTimeoutMs: number;
    own?: boolean;
    onFailure?: (error: Error) => void;
    onWarning?: (message: string) => void;
  },
): Promise<Joined> {
  const dir = join(dataDir, "graph");
  const deadline = performance.now() + PATIENCE_MS;
  do {
    const lock = await takeLock(join(dataDir, "graph.lock"), "exclusive", 0);
    if (lock) {
      try {
        const { queryTimeoutMs, onFailure, onWarning } = options;
        const store = await startEmbeddedStore({ dir, port: 0, queryTimeoutMs, onFailure, onWarning });
        return { url: store.url, leave: () => store.stop().finally(() => lock.release()) };
      } catch (error) {
        lock.release();
        throw error;
      }
    }
    const url = options.own ? undefined : await findEmbeddedStore(dir);
    if (url) return { url, leave: () => Promise.resolve() };
    await sleep(50);
  } while (performance.now() < deadline);
  throw new EmbeddedPartError(`Another process has held ${dir} for a minute.`);
}
