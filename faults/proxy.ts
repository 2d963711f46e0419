// What stands between the service and its store in production, and can go wrong there. Unlike the proxy of the tests it
// passes bodies on as they come, so that one can be cut off at a given byte.
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/** Fuseki's names of what a dataset offers. */
type Door = "query" | "update" | "data";

/** What becomes of a request: it reaches the store, or it is answered here, or never, or its connection is reset. */
export type Treatment = "pass" | "hang" | "reset" | { status: number; type?: string; body?: string };

/** A store behind the proxy. */
export type Upstream = { url: string; authorization: string };

/** Once changes have carried so many bytes, and the rest of a statement if so wanted, none follows, and this happens. */
type Cut = { at: number; statementEnd: boolean; strike: () => void };

export type StoreProxy = {
  /** the dataset's URL */
  url: string;
  upstream: Upstream;
  /** asked for every request */
  treat: (door: Door, changes: boolean) => Treatment;
  /** bytes that changes have carried to the store */
  written: number;
  cut: Cut | undefined;
  /** answers queries in place of the store, and is told of each change after a while */
  replica: { upstream: Upstream; lagMs: number } | undefined;
  /** resolves when the replica knows all changes so far */
  caughtUp: () => Promise<void>;
  stop: () => Promise<void>;
};

// Of Turtle, N-Triples and RDF/XML.
const STATEMENT_END = /[.>]\n/;

export const passAll = (): Treatment => "pass";

export async function startStoreProxy(upstream: Upstream): Promise<StoreProxy> {
  let replaying: Promise<unknown> = Promise.resolve();

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const door = incoming.url!.slice(1).split("?")[0] as Door;
    const changes = door === "update" || (door === "data" && incoming.method !== "GET");
    const treatment = proxy.treat(door, changes);
    if (treatment === "reset") incoming.socket.resetAndDestroy();
    else if (treatment === "pass") pass(incoming, outgoing, changes);
    else {
      for await (const _ of incoming);
      if (treatment === "hang") return;
      outgoing.writeHead(treatment.status, treatment.type ? { "content-type": treatment.type } : {});
      outgoing.end(treatment.body);
    }
  }

  function pass(incoming: IncomingMessage, outgoing: ServerResponse, changes: boolean): void {
    const { replica } = proxy;
    const body: Buffer[] = [];
    const onward = send(changes || !replica ? proxy.upstream : replica.upstream, incoming);
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => {
      if (outgoing.writableFinished) return;
      // The system closes the connections of a killed process in good order; a reset would warn the store.
      if (changes && onward.socket) onward.socket.end();
      else onward.destroy();
    });
    onward.on("response", (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      response.on("error", () => outgoing.destroy()).pipe(outgoing);
      if (changes && replica && response.statusCode! < 300) repeat(incoming, Buffer.concat(body), replica);
    });
    const sent = Readable.from(changes ? watched(incoming, outgoing, replica ? body : undefined) : incoming);
    sent.on("error", () => outgoing.destroy()).pipe(onward);
  }

  /** The body of a change, up to where it is to be cut. */
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
      // Whoever sends is about to be killed, or the store is: nobody hears of the rest.
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
      const onward = send(upstream, original);
      onward.end(body);
      const [response] = (await once(onward, "response")) as [IncomingMessage];
      for await (const _ of response);
    };
    replaying = replaying.then(replay).catch(() => undefined);
  }

  const server = createServer((incoming, outgoing) => {
    // A caller that has gone is what many a scenario is about.
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
