// A proxy between the worker and its graph store that can be made to fail.
import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * What happens to updates; everything else always passes.
 * closed: the connection breaks; status500; lie: 200 with an error in the body; half: an answer cut in the
 * middle; silent: no answer at all; slow: passed on after two seconds; poison: refused when it contains POISON.
 */
export type Mode = "ok" | "closed" | "status500" | "lie" | "half" | "silent" | "slow" | "poison";

export const POISON = "this text is poison";

export type FaultyProxy = {
  /** the dataset's URL, through this proxy */
  url: string;
  mode: Mode;
  /** the dataset's URL behind it; may change */
  target: string;
  /** updates that have arrived */
  updates: number;
  /** updates that are being held back */
  held: number;
  stop: () => Promise<void>;
};

export async function startFaultyProxy(
  target: string,
  headers: Record<string, string>,
): Promise<FaultyProxy> {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => answer(incoming, outgoing, Buffer.concat(chunks)));
  });

  let stopped = false;
  function answer(incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer): void {
    const isUpdate = incoming.url!.startsWith("/update");
    if (isUpdate) proxy.updates += 1;
    const mode = isUpdate ? proxy.mode : "ok";
    const pass = () => forward(incoming, outgoing, body);
    if (mode === "closed") incoming.socket.destroy();
    else if (mode === "status500") outgoing.writeHead(500).end("Internal Server Error");
    else if (mode === "lie")
      outgoing.writeHead(200).end("Error 500: TransactionException: not in a transaction");
    else if (mode === "half") {
      outgoing.writeHead(200, { "content-length": "1000" });
      outgoing.write("<html>");
      setTimeout(() => incoming.socket.destroy(), 20);
    } else if (mode === "slow") {
      proxy.held += 1;
      setTimeout(() => {
        if (!stopped) pass();
        proxy.held -= 1;
      }, 2_000);
    } else if (mode === "poison" && body.includes(POISON)) outgoing.writeHead(400).end("Parse error");
    else if (mode !== "silent") pass();
  }

  function forward(incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer): void {
    const url = new URL(proxy.target + incoming.url!);
    const { host: _, ...rest } = incoming.headers;
    const onward = request(url, { method: incoming.method, headers: { ...rest, ...headers } }, (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      response.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    onward.end(body);
  }

  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: "ok",
    target,
    updates: 0,
    held: 0,
    stop: () =>
      new Promise((closed) => {
        stopped = true;
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
