// The right to change the graph for the length of one drain. An update counts when queries show it: a proxy may answer
// in the store's place, and a store may accept what it then loses.
import { setTimeout as sleep } from "node:timers/promises";
import type { Names } from "./namespaces.ts";
import { GraphRejected, GraphTimeout, GraphUnavailable, GraphUnconfirmed } from "./store-errors.ts";
import type { GraphStore } from "./store.ts";
import { adoption, isShownAsGraph, numbered, readMark, turnOf } from "./turns.ts";
import type { Numbered, Turn } from "./turns.ts";

export interface GraphSessionOptions {
  store: GraphStore;
  names: Names;
  /** of the database; see graph/turns.ts */
  identity: string;
  /** the number of the drain */
  drain: bigint;
  /** the last update that the store was seen to hold */
  last: Turn;
  /** how long queries may take to show an update, in milliseconds; PATIENCE_MS by default */
  patienceMs?: number;
  /** called when queries turn out to be answered from a copy that is behind */
  onLag?: () => void;
}

/** All methods throw GraphUnavailable, of which GraphUnconfirmed is one, and GraphRejected. */
export interface GraphSession {
  /**
   * Sends an update and waits until queries show it.
   * @param build makes its text; every operation must carry the condition, and the note comes first
   * @returns its number
   */
  update(build: (parts: Numbered) => string, signal?: AbortSignal): Promise<Turn>;
  /** Makes the store the one of this database, whatever it says of itself, and waits until queries show that. */
  adopt(signal?: AbortSignal): Promise<Turn>;
}

export const PATIENCE_MS = 2_000;
// For a copy that is known to lag. Nothing is lost by waiting: the next update could not be confirmed either.
const LAG_PATIENCE_MS = 60_000;
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

export function createSession(options: GraphSessionOptions): GraphSession {
  const { store, names, identity, drain, patienceMs = PATIENCE_MS, onLag } = options;
  let updates = 0;
  let { last } = options;

  async function send(
    build: (parts: { turn: Turn; identity: string; last: Turn }) => string,
    signal?: AbortSignal,
  ): Promise<Turn> {
    const turn = turnOf(drain, (updates += 1));
    await updateOnceMore(store, build({ turn, identity, last }), signal);
    await confirm(turn, signal);
    last = turn;
    return turn;
  }

  async function confirm(turn: Turn, signal?: AbortSignal): Promise<void> {
    const start = performance.now();
    let allowedMs = patienceMs;
    for (let pauseMs = SHORTEST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const mark = await readMark(store, names, { signal });
      if (mark.hasOverlap) throw new GraphUnconfirmed("Two updates have overlapped in the graph store.");
      if (mark.turn === turn && mark.identity === identity) return;
      if (mark.turn > turn) throw new GraphUnconfirmed("Another process has written to the graph since.");
      if (performance.now() - start >= allowedMs) {
        if (allowedMs === LAG_PATIENCE_MS || !(await isShownAsGraph(store, names, turn, { signal }))) break;
        allowedMs = LAG_PATIENCE_MS;
        onLag?.();
      }
      await sleep(pauseMs, undefined, { signal });
    }
    throw new GraphUnconfirmed(
      allowedMs === LAG_PATIENCE_MS
        ? `The graph store answers queries from a copy that is more than ${LAG_PATIENCE_MS / 1_000} s behind.`
        : "The graph store accepted an update that its queries do not show.",
    );
  }

  return {
    update: (build, signal) => send((mark) => build(numbered(names, mark)), signal),
    adopt: (signal) => send((mark) => adoption(names, mark), signal),
  };
}

/**
 * Tells a store that is at odds with what it was just sent from one that takes nothing, by an update without content.
 * @throws GraphUnavailable if it takes nothing
 */
export async function requireUpdates(session: GraphSession, signal?: AbortSignal): Promise<void> {
  try {
    await session.update(({ note }) => note, signal);
  } catch (error) {
    if (!(error instanceof GraphRejected)) throw error;
    throw new GraphUnavailable(`The graph store refuses every update: ${error.message}`, { cause: error });
  }
}

/** The store may have closed a kept-alive connection in the meantime; an update can safely be sent again. */
async function updateOnceMore(store: GraphStore, update: string, signal?: AbortSignal): Promise<void> {
  try {
    await store.update(update, { signal });
  } catch (error) {
    if (!(error instanceof GraphUnavailable) || error instanceof GraphTimeout || signal?.aborted) throw error;
    await store.update(update, { signal });
  }
}
