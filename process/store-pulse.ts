// Whether the graph store is alive: a trivial query tells a frozen store from one busy with a long query.
import type { Readable } from "node:stream";
import { GraphRejected, GraphTimeout, GraphUnavailable, GraphUnreachable } from "../graph/store.ts";
import type { CallOptions, GraphStore } from "../graph/store.ts";
import { Pulse } from "./pulse.ts";
import type { Attendance } from "./pulse.ts";

// Together below two seconds. Answers may take longer than a database's: a store stops to collect garbage.
const RHYTHM = { askAfterMs: 200, patienceMs: 1_300 };
// The pulse ends the query much sooner.
const NO_LIMIT_MS = 60_000;

/** The pulse of a graph store. */
export function pulseOf(store: GraphStore): Pulse {
  return new Pulse({
    ...RHYTHM,
    async ask(late) {
      try {
        return await store.ask("ASK {}", { signal: late, timeoutMs: NO_LIMIT_MS });
      } catch (error) {
        // A store that answers with an error is alive: each request learns by itself whether it is served.
        const isSilent = error instanceof GraphTimeout || error instanceof GraphUnreachable;
        if (isSilent || !(error instanceof GraphUnavailable || error instanceof GraphRejected)) throw error;
        return false;
      }
    },
  });
}

/**
 * The same store, with its pulse checked while any request waits for it.
 * @param isPatient go on waiting even without a sign of life, for callers whose change may still arrive;
 * otherwise requests under way then fail with GraphUnavailable, and later ones at once
 */
export function attended(store: GraphStore, pulse: Pulse, isPatient = false): GraphStore {
  async function attend<Call extends CallOptions, T>(
    call: Call | undefined,
    work: (call: Call | CallOptions) => Promise<T>,
    bodyOf?: (answer: T) => Readable | undefined,
  ): Promise<T> {
    if (pulse.isDown && !isPatient) throw silent();
    const lost = new AbortController();
    const attendance = pulse.attend((cause) => !isPatient && lost.abort(silent(cause)));
    const signal = call?.signal ? AbortSignal.any([call.signal, lost.signal]) : lost.signal;
    let body: Readable | undefined;
    try {
      const answer = await work({ ...call, signal });
      attendance.answered();
      body = bodyOf?.(answer);
      if (body?.closed) body = undefined;
      body?.once("close", () => ended(attendance, body));
      return answer;
    } finally {
      if (!body) attendance.end();
    }
  }

  return {
    query: (sparql, call) =>
      attend(
        call,
        (watched) => store.query(sparql, watched),
        ({ body }) => body,
      ),
    select: (sparql, call) => attend(call, (watched) => store.select(sparql, watched)),
    ask: (sparql, call) => attend(call, (watched) => store.ask(sparql, watched)),
    construct: (sparql, call) => attend(call, (watched) => store.construct(sparql, watched)),
    update: (sparql, call) => attend(call, (watched) => store.update(sparql, watched)),
    getGraph: (graph, call) =>
      attend(
        call,
        (watched) => store.getGraph(graph, watched),
        (answer) => answer?.body,
      ),
    putGraph: (graph, body, type, call) =>
      attend(call, (watched) => store.putGraph(graph, body, type, watched)),
    isAvailable: async () => !pulse.isDown && (await pulse.beat()),
    close: () => store.close(),
  };
}

function ended(attendance: Attendance, body: Readable | undefined): void {
  if (body?.readableEnded) attendance.answered();
  attendance.end();
}

const silent = (cause?: Error) => new GraphUnavailable("The graph store does not answer.", { cause });
