// A proxy between the worker and its graph store that can be made to fail.
import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { storeUrls, type StoreUrls } from "../../graph/store.ts";

/**
 * What happens to updates; everything else always passes.
 * closed: the connection breaks; status500; lie: 200 with an error in the body; half: an answer cut in the
 * middle; silent: no answer at all; held: passed on when released; poison: refused when it contains POISON;
 * breaks: 500 when it contains POISON; quote400, quote500: refused with a quotation of it.
 * The following answer whole graphs as well, in the store's place: page: 200 with a page; empty: 200 without anything;
 * swallow: 204, as the store would.
 * These concern whole graphs alone: swallowGraph: 204, in the store's place; replayGraph: passed on, and again when
 * released; lateGraph: the connection breaks, and it is passed on when released.
 * And these everything but whole graphs that are sent. cache: what was asked before in the same words is answered as it
 * was then; normalizingCache: also what differs only in what comes in no answer of the cache's own; hang: nothing is
 * answered before it is released.
 */
export type Mode =
  | "ok"
  | "closed"
  | "status500"
  | "lie"
  | "half"
  | "silent"
  | "held"
  | "poison"
  | "breaks"
  | "quote400"
  | "quote500"
  | "page"
  | "empty"
  | "swallow"
  | "cache"
  | "normalizingCache"
  | "hang"
  | keyof typeof OF_GRAPHS;

/** What is done with whole graphs at once. */
const OF_GRAPHS = { swallowGraph: "swallow", replayGraph: "ok", lateGraph: "closed" } as const;
const isOfGraphs = (mode: Mode): mode is keyof typeof OF_GRAPHS => mode in OF_GRAPHS;
const IN_PLACE: ReadonlySet<Mode> = new Set(["page", "empty", "swallow"]);

const ANYWHERE: ReadonlySet<Mode> = new Set(["cache", "normalizingCache", "hang"]);
const NONCE = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

export const POISON = "this text is poison";

/** A store, and what it must be sent with each request. */
type Behind = { urls: StoreUrls; headers: Record<string, string> };

export type FaultyProxy = {
  /** the dataset's URL, through this proxy: whatever the store behind it, its doors are named as Fuseki's */
  url: string;
  mode: Mode;
  /** the store behind it; may change */
  target: StoreUrls;
  /** updates that have arrived */
  updates: number;
  /** a second store, which answers queries, and what each change waits for before it is copied there; may change */
  copy: (Behind & { ready: Promise<void> }) | undefined;
  /** a graph that is cut off after so many bytes whenever it is sent whole, and the connection with it */
  cut: { graph: string; after: number } | undefined;
  /** what is passed on of an update */
  truncate: ((update: string) => string) | undefined;
  /** which requests are held back as well, by their bodies */
  holds: ((body: string) => boolean) | undefined;
  /** which requests the store refuses, by the graph that they send whole and by their bodies, and with which status */
  refuses: ((graph: string | null, body: string) => number | undefined) | undefined;
  /** Breaks off, without closing the connection, every answer that is on its way. */
  pause: () => void;
  /**
   * Passes on what was held back, even if its sender is gone; resolves when the store has answered.
   * @param graph of whole graphs only this one
   */
  release: (graph?: string) => Promise<void>;
  stop: () => Promise<void>;
};

export async function startFaultyProxy(
  target: StoreUrls,
  headers: Record<string, string>,
): Promise<FaultyProxy> {
  // Its callers are in this process, which may be busy for longer than they and Node would keep a connection open.
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const body = Buffer.concat(chunks);
      const isCut = proxy.truncate && incoming.url!.startsWith("/update");
      answer(incoming, outgoing, isCut ? Buffer.from(proxy.truncate!(body.toString())) : body);
    });
  });

  let copied = Promise.resolve();
  let held: { graph: string | null; pass: () => Promise<void> }[] = [];
  function answer(incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer): void {
    const isUpdate = incoming.url!.startsWith("/update");
    if (isUpdate) proxy.updates += 1;
    const isGraph = incoming.method === "PUT";
    const graph = new URL(incoming.url!, "http://proxy").searchParams.get("graph");
    const mode = modeOf(isUpdate, isGraph);
    const { copy, cut } = proxy;
    if (copy && (isUpdate || isGraph)) {
      const { ready } = copy;
      copied = copied.then(() => ready).then(() => forward(copy, incoming, undefined, body));
    }
    if (isGraph && cut && graph === cut.graph) {
      passBeginning(incoming, body.subarray(0, cut.after));
      return;
    }
    const isQuery = incoming.url!.startsWith("/query");
    const pass = () =>
      forward(copy && isQuery ? copy : { urls: proxy.target, headers }, incoming, outgoing, body);
    if (isGraph && (proxy.mode === "replayGraph" || proxy.mode === "lateGraph")) {
      const late = () => forward({ urls: proxy.target, headers }, incoming, undefined, body);
      held.push({ graph, pass: late });
    }
    const refused = isUpdate || isGraph ? proxy.refuses?.(graph, body.toString()) : undefined;
    if (refused !== undefined) outgoing.writeHead(refused).end("No");
    else if (proxy.holds?.(body.toString())) held.push({ graph, pass });
    else if (mode === "cache" || mode === "normalizingCache") {
      const asked = `${incoming.method} ${incoming.url} ${body.toString()}`;
      void fromCache(mode === "cache" ? asked : asked.replaceAll(NONCE, ""), incoming, outgoing, body);
    } else if (mode === "closed") incoming.socket.destroy();
    else if (mode === "status500") outgoing.writeHead(500).end("Internal Server Error");
    else if (mode === "lie")
      outgoing.writeHead(200).end("Error 500: TransactionException: not in a transaction");
    else if (mode === "half") {
      outgoing.writeHead(200, { "content-length": "1000" });
      outgoing.write("<html>");
      setTimeout(() => incoming.socket.destroy(), 20);
    } else if (mode === "held" || mode === "hang") held.push({ graph, pass });
    else if (mode === "page")
      outgoing.writeHead(200, { "content-type": "text/html" }).end("<h1>Sign in</h1>");
    else if (mode === "empty") outgoing.writeHead(200).end();
    else if (mode === "swallow") outgoing.writeHead(204).end();
    else if (mode === "quote400" || mode === "quote500")
      outgoing
        .writeHead(Number(mode.slice(-3)))
        .end(`Cannot take ${body.toString().replaceAll(/\s+/g, " ")}`);
    else if (mode === "breaks" && body.includes(POISON)) outgoing.writeHead(500).end("Stack overflow");
    else if (mode === "poison" && body.includes(POISON)) outgoing.writeHead(400).end("Parse error");
    else if (mode !== "silent") void pass();
  }

  function modeOf(isUpdate: boolean, isGraph: boolean): Exclude<Mode, keyof typeof OF_GRAPHS> {
    const { mode } = proxy;
    if (isOfGraphs(mode)) return isGraph ? OF_GRAPHS[mode] : "ok";
    return isUpdate || (isGraph ? IN_PLACE : ANYWHERE).has(mode) ? mode : "ok";
  }

  const passing = new Set<IncomingMessage>();
  const kept = new Map<string, { status: number; type: string | null; body: Buffer }>();
  async function fromCache(
    asked: string,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    body: Buffer,
  ): Promise<void> {
    let answer = kept.get(asked);
    if (!answer) {
      const { accept, "content-type": type } = incoming.headers;
      const told = await fetch(behind(incoming, proxy.target), {
        method: incoming.method!,
        headers: { ...headers, ...(accept && { accept }), ...(type && { "content-type": type }) },
        ...(body.length > 0 && { body }),
      });
      answer = {
        status: told.status,
        type: told.headers.get("content-type"),
        body: Buffer.from(await told.arrayBuffer()),
      };
      if (told.ok) kept.set(asked, answer);
    }
    outgoing.writeHead(answer.status, answer.type ? { "content-type": answer.type } : {}).end(answer.body);
  }

  /** @param outgoing where the answer goes, if anybody wants it */
  function forward(
    to: Behind,
    incoming: IncomingMessage,
    outgoing: ServerResponse | undefined,
    body: Buffer,
  ): Promise<void> {
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const url = behind(incoming, to.urls);
    const { host: _, "content-length": length, ...rest } = incoming.headers;
    const onward = request(
      url,
      {
        method: incoming.method,
        headers: { ...rest, ...to.headers, ...(length && { "content-length": body.length }) },
      },
      (response) => {
        response.on("end", resolve);
        passing.add(response);
        response.on("close", () => passing.delete(response));
        outgoing?.writeHead(response.statusCode!, response.headers);
        // To nobody if the sender is gone: what the store says is read all the same.
        if (!outgoing || outgoing.destroyed) response.resume();
        else response.pipe(outgoing);
      },
    );
    onward.on("error", () => {
      outgoing?.destroy();
      resolve();
    });
    onward.end(body);
    return answered;
  }

  /** Sends the beginning of a body as a client would that dies in the middle. */
  function passBeginning(incoming: IncomingMessage, beginning: Buffer): void {
    const { "content-length": _length, host: _host, ...rest } = incoming.headers;
    const onward = request(behind(incoming, proxy.target), {
      method: incoming.method,
      headers: { ...rest, ...headers, "transfer-encoding": "chunked" },
    });
    onward.on("error", () => undefined);
    onward.write(beginning, () => {
      onward.socket?.end();
      incoming.socket.destroy();
    });
  }

  /** The same door of a store behind, with the parameters of both. */
  function behind(incoming: IncomingMessage, urls: StoreUrls): URL {
    const asked = new URL(incoming.url!, proxy.url);
    const doors = Object.entries(storeUrls(proxy.url)) as [keyof StoreUrls, string][];
    const [door] = doors.find(([, url]) => url === asked.origin + asked.pathname)!;
    const url = new URL(urls[door]);
    for (const [name, value] of asked.searchParams) url.searchParams.append(name, value);
    return url;
  }

  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: "ok",
    target,
    updates: 0,
    copy: undefined,
    cut: undefined,
    release: async (graph) => {
      const isWanted = (each: (typeof held)[number]) => graph === undefined || each.graph === graph;
      const released = held.filter(isWanted);
      held = held.filter((each) => !isWanted(each));
      await Promise.all(released.map(({ pass }) => pass()));
    },
    truncate: undefined,
    holds: undefined,
    refuses: undefined,
    pause: () => passing.forEach((response) => response.unpipe().pause()),
    stop: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
