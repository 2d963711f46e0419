// A graph store within the test itself: the engine of the embedded store, without its threads, files and doors. A test can
// stand between the service and the store, and hold or fail any call.
import { Readable } from "node:stream";
import * as oxigraph from "oxigraph";
import { RESULTS_JSON } from "../../graph/media-types.ts";
import { GraphRejected } from "../../graph/store.ts";
import type { GraphStore, Row, StoreResponse } from "../../graph/store.ts";
import { readAll } from "../../graph/store-http.ts";

/** What is called, and with which text. */
type Call = { name: "query" | "select" | "update" | "putGraph"; text: string };

export interface MemoryStore extends GraphStore {
  /** every call so far */
  calls: Call[];
  /** comes before each call; what it throws is what the call throws */
  before: (call: Call) => Promise<void> | void;
  /** comes after each call has been done, as if its answer were on the way */
  after: (call: Call) => Promise<void> | void;
  /** the number of calls */
  count: (name: Call["name"], containing?: string) => number;
}

export function createMemoryStore(): MemoryStore {
  const engine = new oxigraph.Store();
  const options = { use_default_graph_as_union: true };
  const answer = (sparql: string, type: string) =>
    engine.query(sparql, { ...options, results_format: type }) as string;

  async function call<T>(name: Call["name"], text: string, work: () => T): Promise<T> {
    store.calls.push({ name, text });
    await store.before({ name, text });
    let result: T;
    try {
      result = work();
    } catch (error) {
      throw new GraphRejected(400, (error as Error).message);
    }
    await store.after({ name, text });
    return result;
  }
  const asked = (sparql: string) => `${sparql}\nVALUES ?asked { "now" }`;
  const whole = (text: string, contentType: string): StoreResponse => ({
    status: 200,
    contentType,
    body: Readable.from([Buffer.from(text)]),
  });
  const drop = (graph: string) => engine.update(`DROP SILENT GRAPH <${graph}>`);
  const load = (graph: string, text: string, format: string) =>
    engine.load(text, { format, to_graph_name: oxigraph.namedNode(graph) });

  const store: MemoryStore = {
    calls: [],
    before: () => undefined,
    after: () => undefined,
    count: (name, containing = "") =>
      store.calls.filter((each) => each.name === name && each.text.includes(containing)).length,
    query: (sparql, { accept = RESULTS_JSON, fresh = false } = {}) =>
      call("query", sparql, () => whole(answer(fresh ? asked(sparql) : sparql, accept), accept)),
    select: (sparql) =>
      call("select", sparql, () => {
        const { results } = JSON.parse(answer(asked(sparql), RESULTS_JSON)) as {
          results: { bindings: Row[] };
        };
        return results.bindings;
      }),
    ask: (sparql) => Promise.resolve(engine.query(sparql, options) as boolean),
    construct: (sparql) =>
      Promise.resolve(
        engine.query(sparql, { ...options, results_format: "application/n-triples" }) as string,
      ),
    update: (sparql) => call("update", sparql, () => engine.update(sparql)),
    getGraph: async (graph) => {
      const text = await store.construct(`CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <${graph}> { ?s ?p ?o } }`);
      return whole(text, "application/n-triples");
    },
    async putGraph(graph, body, contentType) {
      const text = typeof body === "string" ? body : await readAll(body.map((piece) => Buffer.from(piece)));
      await call("putGraph", text, () => {
        drop(graph);
        load(graph, text, contentType);
      });
    },
    isAvailable: () => Promise.resolve(true),
    close: () => undefined,
  };
  return store;
}
