// The graph store for a machine that has no other: Oxigraph in threads of this process, behind the same
// protocols. One difference from Fuseki: a triple that is in two named graphs appears twice in their union.
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { FrontMessage, FrontOptions } from "./front.ts";
import { findHolder, StoreInUse, withCredentials, type Address } from "./lock.ts";

export { StoreInUse } from "./lock.ts";

export interface EmbeddedStoreOptions {
  /** where the store keeps its files; created if it does not exist */
  dir: string;
  /** on loopback; 0, the default, means any free one */
  port?: number;
  /** 30,000 by default */
  queryTimeoutMs?: number;
  /** called when the store ends without having been stopped */
  onFailure?: (error: Error) => void;
  /** called with a sentence for the operator, such as that a damaged file has been set aside */
  onWarning?: (message: string) => void;
}

export interface EmbeddedStore {
  /** the dataset's URL, as in FUSEKI_URL, with the credentials of this run */
  url: string;
  port: number;
  /** Ends running queries, finishes changes, and resolves when the files are closed. */
  stop(): Promise<void>;
}

const FRONT = fileURLToPath(new URL("./front.ts", import.meta.url));
const DATASET_PATH = "/engagement";
const STOP_TIMEOUT_MS = 30_000;

/**
 * Starts the store on a directory; resolves when everything in the directory can be queried.
 * @throws StoreInUse when another process is serving the directory; Error when the port
 *   or the files cannot be used
 */
export async function startEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { dir, port = 0, queryTimeoutMs = 30_000 } = options;
  const front = new Worker(FRONT, {
    // Not the process's own options, some of which would keep a thread from starting.
    execArgv: [],
    workerData: { dir, port, queryTimeoutMs } satisfies FrontOptions,
  });
  const { promise: exited, resolve: onExit } = Promise.withResolvers<void>();
  const { promise: listening, resolve, reject } = Promise.withResolvers<{ port: number; password: string }>();
  let stopping = false;
  const failed = (error: Error) => {
    reject(error);
    if (!stopping) options.onFailure?.(error);
    stopping = true;
  };
  front.on("error", (error) => failed(error as Error));
  front.on("exit", () => {
    failed(new Error("The embedded graph store ended."));
    onExit();
  });
  front.on("message", (message: FrontMessage) => {
    if (message.kind === "listening") resolve(message);
    else if (message.kind === "warning") options.onWarning?.(message.message);
    else reject(message.inUseAt ? new StoreInUse(message.inUseAt) : new Error(message.message));
  });
  // A failure before the store listens is thrown by this function, and not reported to onFailure.
  stopping = true;
  const { port: actualPort, password } = await listening;
  stopping = false;
  return {
    url: datasetUrl({ url: `http://127.0.0.1:${actualPort}`, password }),
    port: actualPort,
    async stop() {
      stopping = true;
      front.postMessage("stop", []);
      const timer = setTimeout(() => void front.terminate(), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** The dataset's URL, with its credentials, in the process that is serving a directory, if there is one. */
export async function findEmbeddedStore(dir: string): Promise<string | undefined> {
  const holder = await findHolder(dir);
  return holder && datasetUrl(holder);
}

function datasetUrl(address: Address): string {
  return withCredentials(address) + DATASET_PATH;
}
