// What the client of the graph store makes of failing stores: a typed error, and never half an answer.
import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import {
  createGraphStore,
  GraphRejected,
  GraphTimeout,
  GraphUnavailable,
  storeUrls,
} from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { readAll } from "../graph/store-http.ts";
import { eventually } from "./support/eventually.ts";

const JSON_TYPE = "application/sparql-results+json";
const ROWS = `{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"urn:s"}}]}}`;

let server: Server | undefined;
let client: GraphStore | undefined;
afterEach(() => {
  client?.close();
  server?.closeAllConnections();
  server?.close();
});

/** Of tests that wait for it; others have more, or a machine that stands still would be their answer. */
const SOON_MS = 300;

/** A client of a store that answers everything with what it is given. */
async function storeThat(
  answer: RequestListener,
  more: { user?: string; password?: string; timeoutMs?: number } = {},
): Promise<GraphStore> {
  server = createServer(answer);
  await new Promise<void>((resolve) => void server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  client = createGraphStore({
    ...storeUrls(`http://127.0.0.1:${port}/ds`),
    ...{ timeoutMs: 60_000, ...more },
  });
  return client;
}

const answering = (status: number, type: string, body: string) =>
  storeThat((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": type }).end(body);
  });

const readers: [string, (store: GraphStore) => Promise<unknown>][] = [
  ["select", (store) => store.select("SELECT * { ?s ?p ?o }")],
  ["ask", (store) => store.ask("ASK {}")],
  ["construct", (store) => store.construct("CONSTRUCT WHERE { ?s ?p ?o }")],
  ["query", async (store) => readAll((await store.query("SELECT * { ?s ?p ?o }")).body)],
  ["getGraph", async (store) => readAll((await store.getGraph("urn:g"))!.body)],
];
// A graph has a time limit of its own, and not its client's.
type Write = (store: GraphStore, timeoutMs?: number) => Promise<unknown>;
const writers: [string, Write][] = [
  ["update", (store) => store.update("INSERT DATA { <urn:s> <urn:p> 1 }")],
  [
    "putGraph",
    (store, timeoutMs) => store.putGraph("urn:g", "<urn:s> <urn:p> 1 .", "text/turtle", { timeoutMs }),
  ],
];
const everything: [string, Write][] = [...readers, ...writers];

test.each(everything)("%s: nobody is listening", async (_name, call) => {
  const store = createGraphStore(storeUrls("http://127.0.0.1:9/ds"));
  await expect(call(store)).rejects.toThrow(GraphUnavailable);
  expect(await store.isAvailable()).toBe(false);
});

describe.each([500, 502, 503, 401, 403, 429])("status %i", (status) => {
  test.each(everything)("%s", async (_name, call) => {
    const store = await answering(status, "text/plain", "no");
    await expect(call(store)).rejects.toThrow(GraphUnavailable);
  });
});

describe("no answer until the time limit", () => {
  test.each(everything.filter(([name]) => name !== "getGraph"))("%s", async (_name, call) => {
    const store = await storeThat((request) => void request.resume(), { timeoutMs: SOON_MS });
    await expect(call(store, SOON_MS)).rejects.toThrow(GraphTimeout);
  });
});

describe("half an answer", () => {
  const cut: [string, RequestListener][] = [
    [
      "with a length that is not reached",
      (request, response) => {
        request.resume();
        response.writeHead(200, { "content-type": JSON_TYPE, "content-length": ROWS.length });
        response.write(ROWS.slice(0, 40), () => response.destroy());
      },
    ],
    [
      "in chunks without the last",
      (request, response) => {
        request.resume();
        response.writeHead(200, { "content-type": JSON_TYPE });
        response.write(ROWS, () => response.destroy());
      },
    ],
    [
      "with a proper end",
      (request, response) => {
        request.resume();
        response.writeHead(200, { "content-type": JSON_TYPE }).end(ROWS.slice(0, 40));
      },
    ],
    [
      "that stops coming",
      (request, response) => {
        request.resume();
        response.writeHead(200, { "content-type": JSON_TYPE }).write(ROWS.slice(0, 40));
      },
    ],
  ];
  test.each(cut)("%s", async (name, answer) => {
    const store = await storeThat(answer, name === "that stops coming" ? { timeoutMs: SOON_MS } : {});
    await expect(store.select("SELECT * { ?s ?p ?o }")).rejects.toThrow(GraphUnavailable);
    await expect(store.query("SELECT * { ?s ?p ?o }").then(({ body }) => readAll(body))).rejects.toThrow(
      GraphUnavailable,
    );
  });

  const turtle = async (text: string) => {
    const store = await answering(200, "text/turtle", text);
    const { body } = await store.query("CONSTRUCT WHERE { ?s ?p ?o }", { accept: "text/turtle" });
    return readAll(body);
  };

  test.each([
    '<urn:a> <urn:b> "unfin',
    '<urn:a> <urn:b> "c" ;',
    "<urn:a> <urn:b>",
    "@prefix a: <urn:a#> .\n<urn:a> a",
    "<urn:prefix urn:b",
    "this is <b>no</b> turtle",
    "# all\n<urn:a> <urn:b> <urn:c#d> ,\n  <urn:c#",
  ])("Turtle that ends with %j", async (text) => {
    await expect(turtle(text)).rejects.toThrow(GraphUnavailable);
  });

  test.each([
    "",
    " \n",
    "<urn:a> <urn:b> <urn:c>.",
    "<urn:a> <urn:b> 1 . \n\n",
    "PREFIX a: <urn:a#>\n",
    "base <urn:a>\nprefix b: <urn:b>",
    "<urn:a> a <urn:b> .\n# that is all",
  ])("is not Turtle that ends with %j", async (text) => {
    expect(await turtle(text)).toBe(text);
  });

  test("that Fuseki cancelled after its 200", async () => {
    const notice =
      "\n##  Query cancelled due to timeout during execution   ##\n##  ****          Incomplete results           ****   ##\n";
    const store = await answering(200, "text/csv", `s\r\nurn:s\r\n${notice}`);
    const { body } = await store.query("SELECT * { ?s ?p ?o }", { accept: "text/csv" });
    await expect(readAll(body)).rejects.toThrow(GraphTimeout);
  });

  test("is not mistaken for one when the text merely looks odd", async () => {
    const text = `s\r\n"##  Incomplete results  ##"\r\n${"x".repeat(5_000)}\r\n`;
    const store = await answering(200, "text/csv", text);
    const { body } = await store.query("SELECT * { ?s ?p ?o }", { accept: "text/csv" });
    expect(await readAll(body)).toBe(text);
  });
});

describe("200 with an error inside", () => {
  test.each([
    ["an HTML page", "text/html", "<h1>Error 500</h1>"],
    ["JSON of another kind", "application/json", `{"error":"out of memory"}`],
    ["JSON of the right type without results", JSON_TYPE, `{"error":"out of memory"}`],
    ["text under the right type", JSON_TYPE, "Virtuoso 42000 Error }"],
  ])("for a query: %s", async (_name, type, body) => {
    const store = await answering(200, type, body);
    await expect(store.select("SELECT * { ?s ?p ?o }")).rejects.toThrow(GraphUnavailable);
    await expect(store.ask("ASK {}")).rejects.toThrow(GraphUnavailable);
    expect(await store.isAvailable()).toBe(false);
  });
  test.each(writers)("for a change: %s", async (_name, call) => {
    const store = await answering(
      200,
      "text/html",
      "<h1>Error</h1> update failed: java.lang.OutOfMemoryError",
    );
    await expect(call(store)).rejects.toThrow(GraphUnavailable);
  });
  test.each(writers)("a page counts as none, whatever it says: %s", async (_name, call) => {
    const store = await answering(200, "text/html; charset=utf-8", "<h1>Welcome</h1><p>Sign in</p>");
    await expect(call(store)).rejects.toThrow(GraphUnavailable);
  });
  test("a redirect is not a confirmation", async () => {
    const store = await answering(302, "text/plain", "");
    await expect(store.update("CLEAR ALL")).rejects.toThrow(GraphUnavailable);
  });
});

describe("refusals", () => {
  test.each([
    ['Parse error: Encountered "<EOF>" at line 3, column 18.', { line: 3, column: 18 }],
    ["Parse error: Lexical error at line 1, column 13.  Encountered", { line: 1, column: 13 }],
    ["error at 2:28: expected one of", { line: 2, column: 28 }],
    ["Parser error at line 7 between columns 49 and 53: no", { line: 7, column: 49 }],
    ["[line: 5, col: 3 ] Undefined prefix: zz", { line: 5, column: 3 }],
    ["it is refused", undefined],
  ])("%s", async (text, position) => {
    const store = await answering(400, "text/plain", text);
    const refused = store.update("nonsense");
    await expect(refused).rejects.toThrow(GraphRejected);
    await expect(refused).rejects.toMatchObject({ status: 400, position, message: text });
  });
});

test("a connection that the store has closed in the meantime costs a query nothing", async () => {
  let requests = 0;
  const store = await storeThat((request, response) => {
    requests += 1;
    // The second request on a connection finds it closed.
    if (requests === 2) request.socket.destroy();
    else {
      request.resume();
      response.writeHead(200, { "content-type": JSON_TYPE }).end(ROWS);
    }
  });
  expect(await store.select("SELECT * { ?s ?p ?o }")).toHaveLength(1);
  const timers = jest.spyOn(globalThis, "setTimeout");
  // It is lost at once, also where this machine stands still in between.
  let now = performance.now();
  const clock = jest.spyOn(performance, "now").mockImplementation(() => (now += 1));
  try {
    expect(await store.select("SELECT * { ?s ?p ?o }", { timeoutMs: 77_777 })).toHaveLength(1);
    const limits = timers.mock.calls.map(([, ms = 0]) => ms).filter((ms) => ms > 70_000 && ms <= 77_777);
    // What is left of its time, and no more.
    expect(limits).toEqual([77_777, expect.any(Number)]);
    expect(limits[1]).toBeLessThan(77_777);
  } finally {
    timers.mockRestore();
    clock.mockRestore();
  }
  expect(requests).toBe(3);
});

test("a query whose connection is lost while the store works on it is not sent twice", async () => {
  let requests = 0;
  const store = await storeThat((request) => {
    requests += 1;
    setTimeout(() => request.socket.destroy(), 400);
  });
  // Its time limit is not what ends it.
  const lost = expect(store.select("SELECT * { ?s ?p ?o }", { timeoutMs: 60_000 })).rejects;
  await lost.toMatchObject({ name: "GraphUnreachable" });
  expect(requests).toBe(1);
});

test("a user and a password in the URL of a store are sent to it", async () => {
  const seen: (string | undefined)[] = [];
  const store = await storeThat((request, response) => {
    seen.push(request.headers.authorization);
    request.resume();
    response.writeHead(200, { "content-type": JSON_TYPE }).end(ROWS);
  });
  await store.select("SELECT * { ?s ?p ?o }");
  const { port } = server!.address() as AddressInfo;
  client = createGraphStore(storeUrls(`http://ana:p%40ss@127.0.0.1:${port}/ds`));
  await client.select("SELECT * { ?s ?p ?o }");
  expect(seen).toEqual([undefined, `Basic ${Buffer.from("ana:p@ss").toString("base64")}`]);
});

test.each(writers)("a change on such a connection is not sent twice: %s", async (_name, call) => {
  let changes = 0;
  const store = await storeThat((request, response) => {
    if (request.url !== "/ds/query") {
      changes += 1;
      request.socket.destroy();
    } else {
      request.resume();
      response.writeHead(200, { "content-type": JSON_TYPE }).end(ROWS);
    }
  });
  await store.select("SELECT * { ?s ?p ?o }");
  await expect(call(store)).rejects.toThrow(GraphUnavailable);
  expect(changes).toBe(1);
});

test("the time limit holds while the connection is being made", async () => {
  // Accepts the connection, and never says a word of TLS.
  let accepted: Socket | undefined;
  const silent = createTcpServer((socket) => (accepted = socket)).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  client = createGraphStore({ ...storeUrls(`https://127.0.0.1:${port}/ds`), timeoutMs: 300 });
  await expect(client.ask("ASK {}")).rejects.toThrow(GraphTimeout);
  accepted?.destroy();
  silent.close();
});

test("a stream that the store does not accept is released", async () => {
  const store = await storeThat((request) => void request.once("data", () => request.socket.destroy()));
  const source = Readable.from(
    (async function* () {
      for (;;) yield '<urn:s> <urn:p> "1" .\n'.repeat(1_000);
    })(),
  );
  await expect(store.putGraph("urn:g", source, "application/n-triples")).rejects.toThrow(GraphUnavailable);
  await eventually(() => expect(source.destroyed).toBe(true));
});

test("a password may contain any character", async () => {
  let authorization: string | undefined;
  const store = await storeThat(
    (request, response) => {
      ({ authorization } = request.headers);
      request.resume();
      response.writeHead(200, { "content-type": JSON_TYPE }).end('{"boolean":true}');
    },
    { user: "admin", password: "пароль" },
  );
  expect(await store.ask("ASK {}")).toBe(true);
  expect(authorization).toBe(`Basic ${Buffer.from("admin:пароль").toString("base64")}`);
});

test("a caller who leaves a body unread ends the store's work on it", async () => {
  let closed = false;
  const store = await storeThat((request, response) => {
    request.resume();
    response.on("close", () => (closed = true));
    response.writeHead(200, { "content-type": JSON_TYPE });
    const timer = setInterval(() => response.write(ROWS.repeat(1_000)), 5);
    response.on("close", () => clearInterval(timer));
  });
  const { body } = await store.query("SELECT * { ?s ?p ?o }", { timeoutMs: 10_000 });
  body.destroy();
  await eventually(() => expect(closed).toBe(true));
});
