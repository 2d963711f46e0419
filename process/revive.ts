// Keeps the embedded PostgreSQL running while this process needs it: if it ends, it is started again.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { EmbeddedPostgresError } from "../db/embedded.ts";
import type { EmbeddedPostgres } from "../db/embedded.ts";

/** How long a server may take to answer again, in milliseconds. */
const PATIENCE_MS = 60_000;
/** A server that ends more often than this within an hour is not restarted: something is wrong with it. */
const MOST_RESTARTS = 10;
const HOUR_MS = 3_600_000;

/** Called when the server had to be restarted, or cannot be. */
export type Concerns = { onWarning: (message: string) => void; onFailure: (error: Error) => void };

/**
 * Watches a server through a connection of its own, which costs nothing while all is well.
 * @param start starts the server, or joins the one that runs
 * @returns ends the watch
 */
export function revive(
  postgres: EmbeddedPostgres,
  start: () => Promise<EmbeddedPostgres>,
  { onWarning, onFailure }: Concerns,
): () => Promise<void> {
  const restarts: number[] = [];
  const stopping = new AbortController();
  let client: pg.Client | undefined;
  let returning: Promise<void> | undefined;

  async function connect(): Promise<void> {
    const next = new pg.Client({ connectionString: postgres.url, application_name: "engagement-watch" });
    next.on("error", () => undefined);
    await next.connect();
    next.once("end", lost);
    client = next;
    if (stopping.signal.aborted) await next.end();
  }

  function lost(): void {
    if (stopping.signal.aborted) return;
    returning = bringBack().catch((error: unknown) => {
      if (!stopping.signal.aborted) onFailure(error as Error);
    });
  }

  async function bringBack(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!stopping.signal.aborted) {
      try {
        const again = await start();
        if (again.url !== postgres.url) {
          throw new EmbeddedPostgresError("The embedded PostgreSQL came back at another port; start again.");
        }
        if (!again.wasRunning) count();
        return await connect();
      } catch (error) {
        if (error instanceof EmbeddedPostgresError || performance.now() >= deadline) throw error;
        // It answers but is not ready, as after a crash of one of its processes.
        await sleep(100);
      }
    }
  }

  function count(): void {
    const now = performance.now();
    restarts.push(now);
    if (restarts.filter((at) => at > now - HOUR_MS).length > MOST_RESTARTS) {
      throw new EmbeddedPostgresError(
        "The embedded PostgreSQL ends again and again; see postgres.log in its folder.",
      );
    }
    onWarning("The embedded PostgreSQL had ended, and was started again.");
  }

  connect().catch(lost);
  return async () => {
    stopping.abort();
    // Otherwise a server would be started after its last user has left.
    await returning;
    await client?.end().catch(() => undefined);
  };
}
