// Replaces a whole named graph, so that a connection cut at any byte leaves the old one or the new one.
import { Readable } from "node:stream";
import type { Quad } from "@rdfjs/types";
import { RDF_XML } from "../graph/media-types.ts";
import { tripleText } from "../graph/ntriples.ts";
import { fitsXml, rdfXml } from "../graph/rdf-xml.ts";
import type { GraphSession } from "../graph/session.ts";
import { GraphTimeout, GraphUnconfirmed } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import type { Turn } from "../graph/turns.ts";

export interface ReplaceOptions {
  store: GraphStore;
  session: GraphSession;
  /** IRI of the graph */
  graph: string;
  /** what it shall hold: groups of triples, each about one subject, in portions */
  subjects: AsyncIterable<readonly (readonly Quad[])[]>;
  signal?: AbortSignal;
}

const SUBJECTS_PER_UPDATE = 200;
// How long a store may take without reading on, or for what it does after the last byte. How long all of it takes depends
// on the size of the graph, of which nobody knows an end.
const STALLED_MS = 600_000;
const NO_LIMIT_MS = 2 ** 31 - 1;

/**
 * Replaces a graph, and counts afterwards what the store shows of it.
 * @returns the update after which the store was seen to hold it all, and how many triples that is
 * @throws GraphUnavailable, GraphRejected, and what `subjects` throws; the graph is then as it was, or it is replaced
 * and what XML cannot hold is missing from it
 */
export async function replaceGraph(options: ReplaceOptions): Promise<{ turn: Turn; triples: number }> {
  const { store, session, graph, signal } = options;
  let triples = 0;
  const unfit: Quad[][] = [];

  const stalled = new AbortController();
  const onStall = () => stalled.abort(new GraphTimeout("The graph store does not read on."));

  async function* counted(): AsyncGenerator<Quad[][]> {
    for await (const portion of options.subjects) {
      timer.refresh();
      const fit: Quad[][] = [];
      for (const group of portion) {
        const distinct = [...new Map(group.map((quad) => [tripleText(quad), quad])).values()];
        triples += distinct.length;
        (fitsXml(distinct) ? fit : unfit).push(distinct);
      }
      yield fit;
    }
  }

  // Whatever an earlier process still has under way has no effect from here on.
  await session.update(({ note }) => note, signal);
  const timer = setTimeout(onStall, STALLED_MS);
  try {
    await store.putGraph(graph, Readable.from(rdfXml(counted())), RDF_XML, {
      signal: signal ? AbortSignal.any([signal, stalled.signal]) : stalled.signal,
      timeoutMs: NO_LIMIT_MS,
    });
  } finally {
    clearTimeout(timer);
  }
  for (let start = 0; start < unfit.length; start += SUBJECTS_PER_UPDATE) {
    const lines = unfit
      .slice(start, start + SUBJECTS_PER_UPDATE)
      .flat()
      .map(tripleText);
    await session.update(
      ({ note, condition }) =>
        `${note} ;\nINSERT { GRAPH <${graph}> {\n${lines.join("\n")}\n} } WHERE { ${condition} }`,
      signal,
    );
  }
  const turn = await session.update(({ note }) => note, signal);
  const shown = await countTriples(store, graph, signal);
  if (shown !== triples) {
    throw new GraphUnconfirmed(
      `The graph store was given ${triples} triples for <${graph}> and shows ${shown}.`,
    );
  }
  return { turn, triples };
}

async function countTriples(store: GraphStore, graph: string, signal?: AbortSignal): Promise<number> {
  const rows = await store.select(`SELECT (COUNT(*) AS ?n) WHERE { GRAPH <${graph}> { ?s ?p ?o } }`, {
    signal,
    timeoutMs: STALLED_MS,
  });
  return Number(rows[0]?.["n"]?.value ?? Number.NaN);
}
