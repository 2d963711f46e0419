// The right to write the graph, which one process has at a time. It is an advisory lock, which ends with its
// connection, so a process that is killed or cut off from the database leaves nothing behind.
import type { Pool, PoolClient } from "pg";
import { requireSameNames } from "../db/settings.ts";
import type { Names } from "../graph/namespaces.ts";
import { createSession } from "../graph/session.ts";
import type { GraphSession } from "../graph/session.ts";
import type { GraphStore } from "../graph/store.ts";
import { drawRun, noteTurns, readKnownTurns, readRuns } from "./marks.ts";

export interface HoldOptions {
  pool: Pool;
  store: GraphStore;
  projector: { names: Names };
  /** how long queries may take to show an update, in milliseconds */
  patienceMs?: number;
}

/** What the holder of the lock works with. */
export interface Hold {
  /** the connection that has the lock: a process that has lost it can no longer note anything */
  client: PoolClient;
  session: GraphSession;
  /** the number of the drain */
  drain: bigint;
  /** aborted when the connection, and with it the lock, is lost */
  lost: AbortSignal;
}

/** How often the holder notes that it is alive, so that others do not take it for frozen. */
const BEAT_MS = 10_000;
// Any number will do as long as all versions of this program agree on it.
const DRAIN_LOCK = 7203545;

const LOCKS = {
  try: "select case when pg_try_advisory_lock($1) then app_private.note_graph_held() else false end as locked",
  wait: "select case when pg_advisory_lock($1) is not null then app_private.note_graph_held() end as locked",
};

/**
 * Does some work while no other process writes the graph.
 * @throws OtherNames
 * @returns undefined if another process holds the lock now
 */
export function tryHold<T>(options: HoldOptions, work: (hold: Hold) => Promise<T>): Promise<T | undefined> {
  return withLock(options, "try", work);
}

/**
 * Does some work while no other process writes the graph; waits for the lock.
 * @throws OtherNames
 */
export async function hold<T>(options: HoldOptions, work: (hold: Hold) => Promise<T>): Promise<T> {
  return (await withLock(options, "wait", work)) as T;
}

async function withLock<T>(
  { pool, store, projector: { names }, patienceMs }: HoldOptions,
  how: keyof typeof LOCKS,
  work: (hold: Hold) => Promise<T>,
): Promise<T | undefined> {
  const client = await pool.connect();
  const lost = new AbortController();
  let beats: NodeJS.Timeout | undefined;
  const onError = (error: Error) => lost.abort(error);
  client.on("error", onError);
  try {
    // Without keepalives, a machine that disappears would keep the lock for hours. And a store may take
    // minutes to load what it was sent, while this connection is idle.
    await client.query(
      "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; set idle_session_timeout = 0",
    );
    const endSilent = () => pool.query("select app_private.end_silent_graph_holder($1)", [DRAIN_LOCK]);
    const looking = setInterval(() => void endSilent().catch(() => undefined), BEAT_MS);
    // The first sign of life is noted in the same statement, so that nobody takes the silence
    // before it for the new holder's.
    const { rows } = await client
      .query<{ locked: boolean }>(LOCKS[how], [DRAIN_LOCK])
      .finally(() => clearInterval(looking));
    if (!rows[0]!.locked) {
      await endSilent();
      return undefined;
    }
    beats = setInterval(() => {
      void pool.query("select app_private.note_graph_held()").catch(() => undefined);
    }, BEAT_MS);
    await requireSameNames(client, names);
    // A separate statement, which sees what the last holder noted.
    const { identity, drain, last, run } = await drawRun(client);
    const graphs = await readKnownTurns(client);
    const origin = { identity, run, runs: await readRuns(client, last, graphs) };
    const onLag = () =>
      void pool
        .query(
          "select app_private.note_graph_work('lagging', 'Queries are answered from a copy that is behind.')",
        )
        .catch(() => undefined);
    const session = createSession({
      ...{ store, names, origin, drain, patienceMs, onLag },
      ...{ last, graphs },
    });
    try {
      return await work({ client, session, drain, lost: lost.signal });
    } finally {
      // Also notes updates that changed no graph, or were confirmed before something failed: from now on the
      // store must not be behind them, and the next holder expects it to be no further ahead.
      if (session.last() > last && !lost.signal.aborted)
        await noteTurns(client, new Map(), { last: session.last() });
    }
  } finally {
    clearInterval(beats);
    client.off("error", onError);
    await release(client, lost.signal);
  }
}

async function release(client: PoolClient, lost: AbortSignal): Promise<void> {
  try {
    if (!lost.aborted) await client.query("select pg_advisory_unlock($1)", [DRAIN_LOCK]);
    client.release(lost.aborted);
  } catch {
    // With the connection, the lock ends as well.
    client.release(true);
  }
}
