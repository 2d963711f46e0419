// Entry point of the thread that serves the embedded store on a loopback port.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { MOST_MEMORY_BYTES } from "./copy.ts";
import { Engine } from "./engine.ts";
import { createHandler } from "./http.ts";
import { createPassword, isAllowed, lockDirectory, PROBE_PATH, StoreInUse } from "./lock.ts";

export interface FrontOptions {
  dir: string;
  port: number;
  queryTimeoutMs: number;
}

export type FrontMessage =
  | { kind: "listening"; port: number; password: string }
  | { kind: "warning"; message: string }
  | { kind: "failed"; message: string; inUseAt?: string };

setFlagsFromString(`--wasm-max-mem-pages=${MOST_MEMORY_BYTES / (64 * 1024)}`);

const HOST = "127.0.0.1";
const STOP_GRACE_MS = 5_000;

function tell(message: FrontMessage): void {
  parentPort?.postMessage(message, []);
}

async function main({ dir, port, queryTimeoutMs }: FrontOptions): Promise<void> {
  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, resolve);
  });
  const password = createPassword();
  const actualPort = (server.address() as AddressInfo).port;
  let handle: ReturnType<typeof createHandler> | undefined;
  server.on("request", (request, response) => {
    if (request.url === PROBE_PATH) return;
    if (!isAllowed(request, password)) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="graph"' });
      response.end("This store only answers programs of the user who runs it.\n");
    } else if (handle) void handle(request, response);
    else response.writeHead(503).end("The store is starting.\n");
  });
  const lock = await lockDirectory(dir, { url: `http://${HOST}:${actualPort}`, password }, server);
  const engine = await Engine.open({
    dir,
    queryTimeoutMs,
    warn: (message) => tell({ kind: "warning", message }),
  });
  handle = createHandler(engine);
  tell({ kind: "listening", port: actualPort, password });

  parentPort?.once("message", () => {
    void (async () => {
      const closed = server[Symbol.asyncDispose]();
      setTimeout(() => server.closeAllConnections(), STOP_GRACE_MS).unref();
      await engine.stop();
      server.closeAllConnections();
      await closed;
      await lock.release();
      parentPort?.close();
    })();
  });
}

main(workerData as FrontOptions).catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  tell({ kind: "failed", message, inUseAt: error instanceof StoreInUse ? error.url : undefined });
  setTimeout(() => process.exit(1), 50);
});
