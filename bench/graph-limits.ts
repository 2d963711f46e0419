// How fast a store loads the same triples without the safeguards of a drain: the
// limit beside a drain's figures.
import { text } from "node:stream/consumers";
import { Store } from "oxigraph";
import { loadConfig } from "../config.ts";
import { createNames } from "../graph/namespaces.ts";
import type { GraphStore } from "../graph/store.ts";
import { inTurns, timed } from "./support.ts";

const N_TRIPLES = "application/n-triples";
const SCRATCH = "https://data.example.org/scratch/";

/** Loads the triples that a store holds of the needs once more. */
export type Load = (triples: string) => Promise<void>;

/** Into an Oxigraph in memory, which keeps no journal and has no copies. */
export const intoOxigraph: Load = (triples) => {
  new Store().load(triples, { format: N_TRIPLES });
  return Promise.resolve();
};

/** Into a named graph of the same store, by one request of the Graph Store Protocol. */
export const intoGraphOf =
  (store: GraphStore): Load =>
  async (triples) => {
    await store.update(`DROP SILENT GRAPH <${SCRATCH}>`);
    await store.putGraph(SCRATCH, triples, N_TRIPLES);
  };

/** How many records a load writes per second. */
export async function loadRate(store: GraphStore, load: Load, records: number): Promise<number> {
  const triples = await read(store);
  const { ms } = await inTurns(3, { ms: () => timed(() => load(triples)) });
  return (records * 1_000) / ms;
}

async function read(store: GraphStore): Promise<string> {
  const graph = await store.getGraph(createNames(loadConfig({})).graphs.need);
  if (!graph) throw new Error("The store holds no needs.");
  return text(graph.body);
}
