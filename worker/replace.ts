// Replaces a whole named graph, so that a connection cut at any byte leaves the old one or the new one.
import { Readable } from "node:stream";
import type { Quad } from "@rdfjs/types";
import { RDF_XML } from "../graph/media-types.ts";
import type { GraphName, Names } from "../graph/namespaces.ts";
import { tripleText } from "../graph/ntriples.ts";
import { fitsXml, rdfXml } from "../graph/rdf-xml.ts";
import type { GraphSession } from "../graph/session.ts";
import { GraphTimeout, GraphUnconfirmed } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import type { Turn } from "../graph/turns.ts";

export interface ReplaceOptions {
  store: GraphStore;
  session: GraphSession;
  names: Names;
  /** which graph */
  name: GraphName;
  /** its new content: groups of triples, each about one subject, in portions */
  subjects: AsyncIterable<readonly (readonly Quad[])[]>;
  signal?: AbortSignal;
}

const SUBJECTS_PER_UPDATE = 200;
// How long a store may stop reading, or work after the last byte. The time for the whole transfer depends on
// the size of the graph, which has no limit.
const STALLED_MS = 600_000;
const NO_LIMIT_MS = 2 ** 31 - 1;

/** The two numbers of a replacement. */
export interface Replaced {
  /** of what was sent: a graph with this number or a higher one holds all of it */
  turn: Turn;
  /** of the update that showed that it had arrived */
  shown: Turn;
}

/**
 * Replaces a graph, and makes sure afterwards that the store shows this version of it and all of its triples.
 * @throws GraphUnavailable, GraphRejected, and what `subjects` throws; the graph is then unchanged, or it is
 *   replaced but lacks triples that cannot be written in XML
 */
export async function replaceGraph(options: ReplaceOptions): Promise<Replaced> {
  const { store, session, name, signal } = options;
  const graph = options.names.contents[name];
  let triples = 0;
  const unfit: Quad[][] = [];

  const stalled = new AbortController();
  const onStall = () => stalled.abort(new GraphTimeout("The graph store has stopped reading."));

  async function* counted(mark: Quad[], timer: NodeJS.Timeout): AsyncGenerator<Quad[][]> {
    for await (const portion of marked(mark, options.subjects)) {
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

  const send = async (mark: Quad[]) => {
    const timer = setTimeout(onStall, STALLED_MS);
    try {
      await store.putGraph(graph, Readable.from(rdfXml(counted(mark, timer))), RDF_XML, {
        signal: signal ? AbortSignal.any([signal, stalled.signal]) : stalled.signal,
        timeoutMs: NO_LIMIT_MS,
      });
    } finally {
      clearTimeout(timer);
    }
  };
  let turn = await session.replace(name, send, signal);
  for (let start = 0; start < unfit.length; start += SUBJECTS_PER_UPDATE) {
    const lines = unfit
      .slice(start, start + SUBJECTS_PER_UPDATE)
      .flat()
      .map(tripleText);
    turn = await session.update(
      [name],
      ({ note, condition }) =>
        `${note} ;\nINSERT { GRAPH <${graph}> {\n${lines.join("\n")}\n} } WHERE { ${condition} }`,
      signal,
    );
  }
  // Has no effect, and is not shown, unless the graph is the one that was sent.
  const shown = await session.update([name], ({ note }) => note, signal);
  const there = await countTriples(store, graph, signal);
  if (there !== triples) {
    throw new GraphUnconfirmed(
      `The graph store was given ${triples} triples for <${graph}> and shows ${there}.`,
    );
  }
  return { turn, shown };
}

async function* marked(
  mark: Quad[],
  subjects: ReplaceOptions["subjects"],
): AsyncGenerator<readonly (readonly Quad[])[]> {
  yield [mark];
  yield* subjects;
}

async function countTriples(store: GraphStore, graph: string, signal?: AbortSignal): Promise<number> {
  const rows = await store.select(`SELECT (COUNT(*) AS ?n) WHERE { GRAPH <${graph}> { ?s ?p ?o } }`, {
    signal,
    timeoutMs: STALLED_MS,
  });
  return Number(rows[0]?.["n"]?.value ?? Number.NaN);
}
