// A proxy between the service and its store, as in production, where things can go wrong. Unlike the proxy of
// the tests it streams bodies, so that one can be cut off at a given byte.
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/** Fuseki's names for the endpoints of a dataset. */
type Door = "query" | "update" | "data";

/**
 * What happens to a request. "pass": it reaches the store. "cache": it is answered as the same request was
 * before. "hang": it is never answered. "reset": its connection is reset. "twice" and "late" keep it until it
 * is delivered: "twice" lets it reach the store now as well, "late" resets its connection now. An object is
 * the answer that is given here.
 */
export type Treatment =
  "pass" | "cache" | "hang" | "reset" | "twice" | "late" | { status: number; type?: string; body?: string };

/** A store behind the proxy. */
export type Upstream = { url: string; authorization: string };

/**
 * Once changes have carried this many bytes, plus the rest of a statement if wanted, nothing more is
 * passed on, and `strike` is called.
 */
type Cut = { at: number; statementEnd: boolean; strike: () => void };

export type StoreProxy = {
  /** the dataset's URL */
  url: string;
  upstream: Upstream;
  /** called for every request; `graph` is set if a whole graph is sent or asked for */
  treat: (door: Door, changes: boolean, graph: string | null) => Treatment;
  /** bytes that changes have carried to the store */
  written: number;
  cut: Cut | undefined;
  /** answers queries in place of the store, and receives each change after a delay */
  replica: { upstream: Upstream; lagMs: number } | undefined;
  /** Sends the kept requests to the store. */
  deliver: () => Promise<void>;
  /** resolves when the replica knows all changes so far */
  caughtUp: () => Promise<void>;
  stop: () => Promise<void>;
};

// In Turtle, N-Triples and RDF/XML.
const STATEMENT_END = /[.>]\n/;

export const passAll = (): Treatment => "pass";

export async function startStoreProxy(upstream: Upstream): Promise<StoreProxy> {
  let replaying: Promise<unknown> = Promise.resolve();
  let kept: { original: IncomingMessage; body: Buffer[] }[] = [];
  const answers = new Map<string, { status: number; type: string; body: Buffer }>();

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url!, "http://proxy");
    const door = pathname.slice(1) as Door;
    const changes = door === "update" || (door === "data" && incoming.method !== "GET");
    const treatment = proxy.treat(door, changes, searchParams.get("graph"));
    if (treatment === "reset") incoming.socket.resetAndDestroy();
    else if (treatment === "cache") await fromCache(incoming, outgoing);
    else if (treatment === "pass" || treatment === "twice") {
      pass(incoming, outgoing, changes, treatment === "twice");
    } else if (treatment === "late") {
      const body: Buffer[] = [];
      for await (const chunk of incoming as AsyncIterable<Buffer>) body.push(chunk);
      kept.push({ original: incoming, body });
      incoming.socket.resetAndDestroy();
    } else {
      for await (const _ of incoming);
      if (treatment === "hang") return;
      outgoing.writeHead(treatment.status, treatment.type ? { "content-type": treatment.type } : {});
      outgoing.end(treatment.body);
    }
  }

  async function fromCache(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const asked = Buffer.concat(await incoming.toArray());
    const key = `${incoming.method} ${incoming.url} ${asked.toString()}`;
    let answer = answers.get(key);
    if (!answer) {
      const onward = send(proxy.upstream, incoming);
      onward.end(asked);
      const [response] = (await once(onward, "response")) as [IncomingMessage];
      const body = Buffer.concat(await response.toArray());
      answer = { status: response.statusCode!, type: response.headers["content-type"] ?? "text/plain", body };
      if (answer.status === 200) answers.set(key, answer);
    }
    outgoing.writeHead(answer.status, { "content-type": answer.type }).end(answer.body);
  }

  function pass(incoming: IncomingMessage, outgoing: ServerResponse, changes: boolean, keep: boolean): void {
    const { replica } = proxy;
    const body: Buffer[] = [];
    if (keep) kept.push({ original: incoming, body });
    const onward = send(changes || !replica ? proxy.upstream : replica.upstream, incoming);
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => {
      if (outgoing.writableFinished) return;
      // The system closes the connections of a killed process normally; a reset would warn the store.
      if (changes && onward.socket) onward.socket.end();
      else onward.destroy();
    });
    onward.on("response", (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      response.on("error", () => outgoing.destroy()).pipe(outgoing);
      if (changes && replica && response.statusCode! < 300) repeat(incoming, Buffer.concat(body), replica);
    });
    const sent = Readable.from(
      changes ? watched(incoming, outgoing, replica || keep ? body : undefined) : incoming,
    );
    sent.on("error", () => outgoing.destroy()).pipe(onward);
  }

  /** The body of a change, up to where it must be cut. */
  async function* watched(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    copy: Buffer[] | undefined,
  ): AsyncGenerator<Buffer> {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      copy?.push(chunk);
      const { cut } = proxy;
      const end = cut && endOf(cut, chunk);
      const part = chunk.subarray(0, end);
      proxy.written += part.length;
      yield part;
      if (!cut || end === undefined) continue;
      proxy.cut = undefined;
      cut.strike();
      // The sender or the store is about to be killed, so the rest goes to nobody.
      if (!outgoing.closed) await once(outgoing, "close");
      throw new Error("cut off");
    }
  }

  /** Where in a chunk to cut; undefined: not in this one. */
  function endOf({ at, statementEnd }: Cut, chunk: Buffer): number | undefined {
    const left = Math.max(0, at - proxy.written);
    if (left > chunk.length) return undefined;
    const rest = statementEnd ? chunk.subarray(left).toString("latin1").search(STATEMENT_END) : -1;
    return rest === -1 ? left : left + rest + 2;
  }

  /** Changes reach the replica one after another, as they reached the store. */
  function repeat(
    original: IncomingMessage,
    body: Buffer,
    { upstream, lagMs }: { upstream: Upstream; lagMs: number },
  ) {
    const due = Date.now() + lagMs;
    const replay = async () => {
      await sleep(Math.max(0, due - Date.now()));
      await sendWhole(upstream, original, body);
    };
    replaying = replaying.then(replay).catch(() => undefined);
  }

  const server = createServer((incoming, outgoing) => {
    // In many scenarios the caller has gone.
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: StoreProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    upstream,
    treat: passAll,
    written: 0,
    cut: undefined,
    replica: undefined,
    deliver: async () => {
      const now = kept;
      kept = [];
      for (const { original, body } of now) await sendWhole(proxy.upstream, original, Buffer.concat(body));
    },
    caughtUp: async () => void (await replaying),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return proxy;
}

function send(
  { url, authorization }: Upstream,
  { method, url: path, headers }: IncomingMessage,
): ClientRequest {
  return request(url + path!, { method, headers: { ...headers, host: new URL(url).host, authorization } });
}

async function sendWhole(to: Upstream, original: IncomingMessage, body: Buffer): Promise<void> {
  const onward = send(to, original);
  onward.end(body);
  const [response] = (await once(onward, "response")) as [IncomingMessage];
  for await (const _ of response);
}
