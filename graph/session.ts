// Changes the graph for the length of one drain. An update counts only once queries show it: a proxy may
// answer in the store's place, and a store may accept an update and then lose it.
import { setTimeout as sleep } from "node:timers/promises";
import type { Quad } from "@rdfjs/types";
import type { GraphName, Names } from "./namespaces.ts";
import { GraphRejected, GraphTimeout, GraphUnavailable, GraphUnconfirmed } from "./store-errors.ts";
import type { GraphStore } from "./store.ts";
import { adoption, isShownAsGraph, markTriples, numbered, readMark, turnOf } from "./turns.ts";
import type { GraphMarks, GraphTurns, Numbered, Origin, Turn } from "./turns.ts";

export interface GraphSessionOptions {
  store: GraphStore;
  names: Names;
  /** see graph/turns.ts */
  origin: Origin;
  /** the number of the drain */
  drain: bigint;
  /** the last update that the store was seen to hold */
  last: Turn;
  /** the last update that was seen to change each named graph */
  graphs: GraphTurns;
  /** how long queries may take to show an update, in milliseconds; PATIENCE_MS by default */
  patienceMs?: number;
  /** called when queries turn out to be answered from a copy that is behind */
  onLag?: () => void;
}

/** All methods throw GraphUnavailable, or its subclass GraphUnconfirmed, and GraphRejected. */
export interface GraphSession {
  /**
   * Sends an update and waits until queries show it.
   * @param graphs the named graphs that it changes
   * @param build makes its text without the last operation: the note comes first, and every other operation
   *   must contain the condition
   * @returns its number
   */
  update(
    graphs: readonly GraphName[],
    build: (parts: Numbered) => string,
    signal?: AbortSignal,
  ): Promise<Turn>;
  /**
   * Sends a named graph whole. It is confirmed by the next update of that graph, which has no effect if the
   * store holds anything but what was sent.
   * @param send sends the graph, including the given triples
   * @returns its number
   */
  replace(graph: GraphName, send: (mark: Quad[]) => Promise<void>, signal?: AbortSignal): Promise<Turn>;
  /**
   * Claims the store for this database, whatever its marks say, and waits until queries show that.
   * @param seen see graph/turns.ts
   */
  adopt(seen: GraphMarks, signal?: AbortSignal): Promise<Turn>;
  /** the last update that the store was seen to hold */
  last(): Turn;
}

export const PATIENCE_MS = 2_000;
// For a copy that is known to lag. Nothing is lost by waiting: the next update could not be confirmed either.
const LAG_PATIENCE_MS = 60_000;
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

export function createSession(options: GraphSessionOptions): GraphSession {
  const { store, names, origin, drain, patienceMs = PATIENCE_MS, onLag } = options;
  const { identity, run } = origin;
  let updates = 0;
  let { last } = options;
  const graphs = new Map(options.graphs);

  const next = () => turnOf(drain, (updates += 1));

  async function send(turn: Turn, text: string, signal?: AbortSignal): Promise<void> {
    await updateOnceMore(store, text, signal);
    await confirm(turn, signal);
    last = turn;
  }

  async function update(
    changed: readonly GraphName[],
    build: (parts: Numbered) => string,
    signal?: AbortSignal,
  ): Promise<Turn> {
    const turn = next();
    const known = new Map(changed.map((name) => [name, graphs.get(name)]));
    const { close, ...parts } = numbered(names, origin, { turn, last, graphs: known });
    await send(turn, `${build(parts)} ;\n${close}`, signal);
    for (const name of changed) graphs.set(name, turn);
    return turn;
  }

  async function confirm(turn: Turn, signal?: AbortSignal): Promise<void> {
    const start = performance.now();
    let allowedMs = patienceMs;
    for (let pauseMs = SHORTEST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const mark = await readMark(store, names, { signal });
      if (mark.hasOverlap) throw new GraphUnconfirmed("Two updates have overlapped in the graph store.");
      if (mark.turn === turn && mark.run === run && mark.identity === identity) return;
      if (mark.turn > turn) throw new GraphUnconfirmed("Another process has written to the graph since.");
      if (performance.now() - start >= allowedMs) {
        if (allowedMs === LAG_PATIENCE_MS || !(await isShownAsGraph(store, names, turn, run, { signal })))
          break;
        allowedMs = LAG_PATIENCE_MS;
        onLag?.();
      }
      await sleep(pauseMs, undefined, { signal });
    }
    throw new GraphUnconfirmed(
      allowedMs === LAG_PATIENCE_MS
        ? `The graph store answers queries from a copy that is more than ${LAG_PATIENCE_MS / 1_000} s behind.`
        : "The graph store accepted an update that its queries do not show, or only in part.",
    );
  }

  return {
    update,

    async replace(graph, sendGraph, signal) {
      // From here on, updates that an earlier process still has under way have no effect.
      await update([], ({ note }) => note, signal);
      const turn = next();
      await sendGraph(markTriples(names, graph, turn, run));
      graphs.set(graph, turn);
      return turn;
    },

    async adopt(seen, signal) {
      const turn = next();
      await send(turn, adoption(names, origin, { turn, seen }), signal);
      return turn;
    },

    last: () => last,
  };
}

/**
 * Sends an update without content, to tell a store that refuses one particular graph or update from
 * one that refuses everything.
 * @param graph gets a new number, so that what was refused is out of date if it arrives after all
 * @throws GraphUnavailable if the store refuses everything
 */
export async function requireUpdates(
  session: GraphSession,
  graph: GraphName | undefined,
  signal?: AbortSignal,
): Promise<Turn> {
  try {
    return await session.update(graph ? [graph] : [], ({ note }) => note, signal);
  } catch (error) {
    if (!(error instanceof GraphRejected)) throw error;
    throw new GraphUnavailable(`The graph store refuses every update: ${error.message}`, { cause: error });
  }
}

/**
 * Tries twice, because the store may have closed a kept-alive connection; an update can safely be sent again.
 */
async function updateOnceMore(store: GraphStore, update: string, signal?: AbortSignal): Promise<void> {
  try {
    await store.update(update, { signal });
  } catch (error) {
    if (!(error instanceof GraphUnavailable) || error instanceof GraphTimeout || signal?.aborted) throw error;
    await store.update(update, { signal });
  }
}
