// The graph stores that every graph test runs against.
import { startEmbeddedStore } from "../../graph/embedded/index.ts";
import { createGraphStore, storeUrls, type GraphStore } from "../../graph/store.ts";
import { fusekiIsAvailable, startFuseki } from "./fuseki.ts";

/** A running store, and a client of it. */
export type RunningStore = {
  /** the dataset's URL */
  url: string;
  headers: Record<string, string>;
  client: GraphStore;
  stop: () => Promise<void>;
};

/** A kind of store; a second start on the same folder finds what the first one left. */
export type TestStore = {
  name: "embedded" | "Fuseki";
  available: boolean;
  start: (options: { dir: string; queryTimeoutMs?: number }) => Promise<RunningStore>;
};

export const testStores: readonly TestStore[] = [
  {
    name: "embedded",
    available: true,
    start: async (options) => {
      const store = await startEmbeddedStore(options);
      return running(store.url, {}, () => store.stop());
    },
  },
  {
    name: "Fuseki",
    available: fusekiIsAvailable,
    start: async (options) => {
      const fuseki = await startFuseki(options);
      return running(fuseki.url, fuseki, () => fuseki.stop());
    },
  },
];

function running(
  url: string,
  credentials: { user?: string; password?: string },
  stop: () => Promise<void>,
): RunningStore {
  const client = createGraphStore({ ...storeUrls(url), ...credentials });
  const { user, password } = credentials;
  return {
    url,
    headers: user ? { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` } : {},
    client,
    stop: async () => {
      client.close();
      await stop();
    },
  };
}
