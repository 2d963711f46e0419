// The graph stores that every graph test runs against.
import { startEmbeddedStore } from "../../graph/embedded/index.ts";
import { createGraphStore, storeUrls } from "../../graph/store.ts";
import type { GraphStore, GraphStoreOptions, StoreUrls } from "../../graph/store.ts";
import { fusekiIsAvailable, startFuseki } from "./fuseki.ts";
import { rdf4jIsAvailable, startRdf4j } from "./rdf4j.ts";

/** A running store, and a client of it. */
export type RunningStore = {
  urls: StoreUrls;
  headers: Record<string, string>;
  /** what a process of the service finds in its environment to use it */
  environment: Record<string, string>;
  client: GraphStore;
  /** Another client, for which the engine itself ends a query after so many seconds, or when its caller leaves. */
  clientWithin: (seconds: number) => GraphStore;
  stop: () => Promise<void>;
};

/** Where an engine goes its own way by design; docs/operations.md says what follows from it. */
type Peculiarity =
  | "strings without quotes in TSV"
  | "no ASK as CSV or TSV"
  | "every graph exists"
  | "no place in a refusal"
  | "its time limit looks like a failure"
  | "only graphs have a base";

/** A kind of store; a second start on the same folder finds what the first one left. */
export type TestStore = {
  name: "embedded" | "Fuseki" | "RDF4J";
  available: boolean;
  peculiarities: ReadonlySet<Peculiarity>;
  start: (options: { dir: string; queryTimeoutMs?: number }) => Promise<RunningStore>;
};

export const testStores: readonly TestStore[] = [
  {
    name: "embedded",
    available: true,
    peculiarities: new Set(),
    start: async (options) => {
      const store = await startEmbeddedStore(options);
      const { username: user, password } = new URL(store.url);
      const urls = { ...storeUrls(withoutCredentials(store.url)), endsWhenLeft: true };
      return running(urls, { user, password }, () => store.stop());
    },
  },
  {
    name: "Fuseki",
    available: fusekiIsAvailable,
    peculiarities: new Set(),
    start: async (options) => {
      const fuseki = await startFuseki(options);
      return running({ ...storeUrls(fuseki.url), takesTimeout: true }, fuseki, () => fuseki.stop());
    },
  },
  {
    name: "RDF4J",
    available: rdf4jIsAvailable,
    peculiarities: new Set([
      "strings without quotes in TSV",
      "no ASK as CSV or TSV",
      "every graph exists",
      "no place in a refusal",
      "its time limit looks like a failure",
      "only graphs have a base",
    ]),
    start: async (options) => {
      const rdf4j = await startRdf4j(options);
      return running(rdf4j.urls, {}, () => rdf4j.stop());
    },
  },
];

/** A URL as `fetch` takes it. */
export function withoutCredentials(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

function running(
  urls: StoreUrls & Pick<GraphStoreOptions, "takesTimeout" | "endsWhenLeft">,
  { user, password }: { user?: string; password?: string },
  stop: () => Promise<void>,
): RunningStore {
  const client = createGraphStore({ ...urls, user, password });
  const others: GraphStore[] = [];
  return {
    urls,
    headers: user ? { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` } : {},
    environment: {
      SPARQL_QUERY_URL: urls.queryUrl,
      SPARQL_UPDATE_URL: urls.updateUrl,
      SPARQL_GRAPH_STORE_URL: urls.graphStoreUrl,
      ...(user && { FUSEKI_USER: user, FUSEKI_PASSWORD: password ?? "" }),
    },
    client,
    clientWithin: (seconds) => {
      const queryUrl = urls.queryUrl.replace(/timeout=\d+/, `timeout=${seconds}`);
      const other = createGraphStore({ ...urls, queryUrl, user, password });
      others.push(other);
      return other;
    },
    stop: async () => {
      for (const each of [client, ...others]) each.close();
      await stop();
    },
  };
}
