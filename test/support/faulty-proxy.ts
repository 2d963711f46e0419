// A proxy between the worker and its graph store that can be made to fail.
import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * What happens to updates; everything else always passes.
 * closed: the connection breaks; status500; lie: 200 with an error in the body; half: an answer cut in the
 * middle; silent: no answer at all; slow: passed on after two seconds; poison: refused when it contains POISON;
 * breaks: 500 when it contains POISON.
 * The following answer whole graphs as well, in the store's place: page: 200 with a page; empty: 200 without anything;
 * swallow: 204, as the store would.
 */
export type Mode =
  | "ok"
  | "closed"
  | "status500"
  | "lie"
  | "half"
  | "silent"
  | "slow"
  | "poison"
  | "breaks"
  | "page"
  | "empty"
  | "swallow";

const IN_PLACE: ReadonlySet<Mode> = new Set(["page", "empty", "swallow"]);

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
  /** a second store, which answers queries, and how far it is behind */
  copy: { target: string; headers: Record<string, string>; behindMs: number } | undefined;
  /** whole graphs are cut off after this many bytes, and the connection with them */
  cutAfter: number | undefined;
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
    const isGraph = incoming.method === "PUT";
    const mode = isUpdate || (isGraph && IN_PLACE.has(proxy.mode)) ? proxy.mode : "ok";
    const { copy, cutAfter } = proxy;
    if (copy && (isUpdate || isGraph))
      setTimeout(() => forward(copy, incoming, undefined, body), copy.behindMs);
    if (isGraph && cutAfter !== undefined) {
      cut(incoming, body.subarray(0, cutAfter));
      return;
    }
    const isQuery = incoming.url!.startsWith("/query");
    const pass = () =>
      forward(copy && isQuery ? copy : { target: proxy.target, headers }, incoming, outgoing, body);
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
    } else if (mode === "page")
      outgoing.writeHead(200, { "content-type": "text/html" }).end("<h1>Sign in</h1>");
    else if (mode === "empty") outgoing.writeHead(200).end();
    else if (mode === "swallow") outgoing.writeHead(204).end();
    else if (mode === "poison" && body.includes(POISON)) outgoing.writeHead(400).end("Parse error");
    else if (mode === "breaks" && body.includes(POISON)) outgoing.writeHead(500).end("Stack overflow");
    else if (mode !== "silent") pass();
  }

  function forward(
    to: { target: string; headers: Record<string, string> },
    incoming: IncomingMessage,
    outgoing: ServerResponse | undefined,
    body: Buffer,
  ): void {
    const url = new URL(to.target + incoming.url!);
    const { host: _, ...rest } = incoming.headers;
    const onward = request(
      url,
      { method: incoming.method, headers: { ...rest, ...to.headers } },
      (response) => {
        if (!outgoing) {
          response.resume();
          return;
        }
        outgoing.writeHead(response.statusCode!, response.headers);
        response.pipe(outgoing);
      },
    );
    onward.on("error", () => outgoing?.destroy());
    onward.end(body);
  }

  /** Sends the beginning of a body as a client would that dies in the middle. */
  function cut(incoming: IncomingMessage, beginning: Buffer): void {
    const { "content-length": _length, host: _host, ...rest } = incoming.headers;
    const onward = request(new URL(proxy.target + incoming.url!), {
      method: incoming.method,
      headers: { ...rest, ...headers, "transfer-encoding": "chunked" },
    });
    onward.on("error", () => undefined);
    onward.write(beginning, () => {
      onward.socket?.end();
      incoming.socket.destroy();
    });
  }

  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: "ok",
    target,
    updates: 0,
    held: 0,
    copy: undefined,
    cutAfter: undefined,
    stop: () =>
      new Promise((closed) => {
        stopped = true;
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
