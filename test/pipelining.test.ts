// Callers who send more over a connection before what they have sent is answered.
import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { WebSocket } from "ws";
import { Listener } from "../server/listener.ts";
import { Pipelining } from "../server/pipelining.ts";
import { eventually } from "./support/eventually.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let listener: Listener;
let port: number;
const begun: { path: string; response: ServerResponse }[] = [];
const refused: string[] = [];
const sockets: Socket[] = [];
beforeAll(async () => {
  service = await startTestService({
    world: false,
    patience: { headersMs: 1_000, requestMs: 1_000, checkMs: 50, answerMs: 60_000 },
  });
  listener = new Listener((request, response) => void begun.push({ path: request.url!, response }), {
    keepAliveMs: 60_000,
    onRefused: ({ code }) => refused.push(code),
  });
  port = await listener.listen(0, "127.0.0.1");
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  begun.length = 0;
  refused.length = 0;
});
afterAll(async () => {
  await listener.drain({ delayMs: 0, timeoutMs: 0 });
  await service.stop();
});

const get = (path: string, headers = "") => `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`;
const UPGRADE =
  "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n" +
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: graphql-transport-ws\r\n";

/** Sends something over a new connection, in one packet. */
function send(packet: string, to = port): Socket {
  const socket = connect(to, "127.0.0.1");
  sockets.push(socket.on("error", () => undefined));
  socket.write(packet);
  return socket;
}
/** Left alone it would be closed as well, but not as soon. */
const closed = (socket: Socket) =>
  eventually(() => expect(socket.closed || socket.destroyed).toBe(true), 30_000);
const paths = () => begun.map(({ path }) => path);

test("one request after the other is begun, and others have their turn meanwhile", async () => {
  const answers = text(send(get("/1") + get("/2") + get("/3", "connection: close\r\n")));
  await eventually(() => expect(paths()).toEqual(["/1"]));
  send(get("/other"));
  await eventually(() => expect(paths()).toEqual(["/1", "/other"]));
  begun[0]!.response.end("first");
  await eventually(() => expect(paths()).toEqual(["/1", "/other", "/2"]));
  begun[2]!.response.end("second");
  await eventually(() => expect(paths()).toHaveLength(4));
  begun[3]!.response.end("third");
  expect(await answers).toMatch(/first[^]*second[^]*third/);
});

test("what waits begins in a turn of its own, however soon what came before is answered", async () => {
  const pipelining = new Pipelining();
  const socket = new PassThrough();
  const order: string[] = [];
  const [first, second] = [1, 2].map(() => Object.assign(new EventEmitter(), { closed: false }));
  const take = (response: object, name: string) =>
    pipelining.take(socket, response as ServerResponse, () => void order.push(name));
  expect([take(first!, "first"), take(second!, "second")]).toEqual([true, true]);
  first!.emit("close");
  order.push("somebody else");
  await new Promise(setImmediate);
  expect(order).toEqual(["first", "somebody else", "second"]);
});

test("twenty may wait on a connection; with one more it is cut, and that is told", async () => {
  const patient = send(get("/").repeat(21));
  await eventually(() => expect(begun).toHaveLength(1));
  const greedy = send(get("/").repeat(30));
  const cut = once(greedy, "close");
  // Its packet has been looked at once something of it is begun.
  await eventually(() => expect(begun).toHaveLength(2));
  expect(refused).toEqual(["service_busy"]);
  await cut;
  expect(patient.closed).toBe(false);
  await eventually(() => {
    for (const { response } of begun) response.end();
    expect(begun.filter(({ response }) => response.writableFinished)).toHaveLength(21);
  });
});

test("what waits behind the last answer of a connection, or of who has gone, is not begun", async () => {
  const socket = send(get("/last", "connection: close\r\n") + get("/never"));
  await eventually(() => expect(paths()).toEqual(["/last"]));
  begun[0]!.response.end();
  await once(socket.resume(), "close");
  const gone = send(get("/gone") + get("/never"));
  await eventually(() => expect(paths()).toEqual(["/last", "/gone"]));
  gone.destroy();
  await once(begun[1]!.response, "close");
  await new Promise(setImmediate);
  expect(paths()).toEqual(["/last", "/gone"]);
});

test("what has begun is finished when the server ends, also where something waits behind it", async () => {
  const ending = new Listener((request, response) => void begun.push({ path: request.url!, response }), {
    keepAliveMs: 60_000,
    onRefused: () => undefined,
  });
  const to = await ending.listen(0, "127.0.0.1");
  const answer = text(send(get("/first") + get("/second"), to));
  await eventually(() => expect(paths()).toEqual(["/first"]));
  const silent = send("", to);
  await once(silent, "connect");
  const drained = ending.drain({ delayMs: 0, timeoutMs: 86_400_000 });
  // Both connections are looked at then. It may not have been taken yet, and is cut then.
  await closed(silent.resume());
  begun[0]!.response.end("here it is");
  expect(await answer).toMatch(/here it is$/);
  await drained;
});

test("what is not HTTP, behind a request, has that one answered as the last", async () => {
  const answer = text(send(get("/first") + "nonsense\r\n\r\n"));
  await eventually(() => expect(paths()).toEqual(["/first"]));
  begun[0]!.response.end("here it is");
  expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n(?=[^]*connection: close)[^]*here it is$/i);
});

test("a request to go on in another protocol, behind one that is not answered yet, ends the connection and nothing else", async () => {
  await closed(send(get("/first") + get("/graphql", UPGRADE)).resume());
  const { port: open } = new URL(service.url);
  await closed(send(get("/healthz") + get("/graphql", UPGRADE), Number(open)).resume());
  expect((await call(`${service.url}/healthz`, "GET", undefined)).status).toBe(200);
});

test.each(["", "x", "transfer-encoding"])(
  "who is answered and never sends the rest of the request (%s) ends the connection and nothing else",
  async (rest) => {
    const isChunked = rest === "transfer-encoding";
    const body = isChunked ? "transfer-encoding: chunked\r\n" : "content-length: 100\r\n";
    const port = Number(new URL(service.url).port);
    const socket = send(`GET /healthz HTTP/1.1\r\nhost: x\r\n${body}\r\n${isChunked ? "" : rest}`, port);
    const answer = text(socket);
    await once(socket, "data");
    if (isChunked) socket.write("this is no chunk\r\n");
    await closed(socket);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK[^]*ok/);
    expect((await call(`${service.url}/healthz`, "GET", undefined)).status).toBe(200);
  },
);

test("who does not hang up after a refused upgrade is hung up on", async () => {
  const { port: open } = new URL(service.url);
  const refusal = text(send(`GET /graphql HTTP/1.1\r\n${UPGRADE}\r\n`, Number(open)));
  expect(await refusal).toMatch(/^HTTP\/1\.1 400/);
  // The other side says no more, and the service does not wait for it to.
  const quiet = connect({ port: Number(open), host: "127.0.0.1", allowHalfOpen: true });
  sockets.push(quiet.on("error", () => undefined));
  quiet.resume().write(`GET /graphql HTTP/1.1\r\n${UPGRADE}\r\n`);
  await once(quiet, "end");
  await eventually(async () => {
    quiet.write("x");
    await new Promise(setImmediate);
    expect(quiet.destroyed).toBe(true);
  });
});

test("beyond so many connections the one on which nothing has been asked for longest is closed, and that is told", async () => {
  const told: string[] = [];
  const under: ServerResponse[] = [];
  const narrow = new Listener(
    (request, response) =>
      request.url === "/" ? void response.end("here it is") : void under.push(response),
    { keepAliveMs: 60_000, maxConnections: 3, onRefused: ({ code }) => told.push(code) },
  );
  const open = await narrow.listen(0, "127.0.0.1");
  const ask = async (socket: Socket, path = "/") => {
    socket.write(get(path));
    await once(socket, "data");
  };
  const isOpen = (socket: Socket) => !socket.closed && !socket.destroyed;
  try {
    const busy = send(get("/long"), open).resume();
    await eventually(() => expect(under).toHaveLength(1));
    const [older, newer] = [send("", open), send("", open)];
    await ask(newer);
    await ask(older);
    // Newer by its connection alone.
    const further = send("", open);
    await closed(newer.resume());
    await ask(further);
    expect([busy, older, further].map(isOpen)).toEqual([true, true, true]);
    expect(told).toEqual(["service_busy"]);
    // Where something is under way on all of them, nothing is cut.
    for (const socket of [older, further]) socket.resume().write(get("/long"));
    await eventually(() => expect(under).toHaveLength(3));
    await closed(send("", open).resume());
    expect([busy, older, further].map(isOpen)).toEqual([true, true, true]);
    expect(told).toEqual(["service_busy", "service_busy"]);
    busy.destroy();
    await eventually(async () =>
      expect(await text(send(get("/", "connection: close\r\n"), open))).toMatch("here it is"),
    );
  } finally {
    for (const socket of sockets.splice(0)) socket.destroy();
    await narrow.drain({ delayMs: 0, timeoutMs: 0 });
  }
});

test("a WebSocket is one on which nothing is asked until it is known whose it is, and is not closed for another after that", async () => {
  const narrow = await startTestService({ world: false, config: { maxConnections: 1 } });
  const open = Number(new URL(narrow.url).port);
  try {
    const nobody = send(`GET /graphql HTTP/1.1\r\nhost: x\r\n${UPGRADE}\r\n`, open);
    await once(nobody, "data");
    const asking = send(get("/v0/health", "connection: close\r\n"), open);
    expect(await text(asking)).toMatch("missing_api_key");
    await closed(nobody.resume());

    const somebody = new WebSocket(`ws://127.0.0.1:${open}/graphql`, "graphql-transport-ws");
    await eventually(() => expect(somebody.readyState).toBe(somebody.OPEN));
    const payload = { authorization: `Bearer ${narrow.keys.read}` };
    const acknowledged = once(somebody, "message");
    somebody.send(JSON.stringify({ type: "connection_init", payload }));
    expect(String((await acknowledged)[0])).toMatch("connection_ack");
    await closed(send("", open).resume());
    expect(somebody.readyState).toBe(somebody.OPEN);
    somebody.terminate();
  } finally {
    for (const socket of sockets.splice(0)) socket.destroy();
    await narrow.stop();
  }
});
