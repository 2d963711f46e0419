// What is sent to a graph store and what each of its answers means; and the answers of the embedded store, for which
// another engine may stand in at any time.
import { getEventListeners, once } from "node:events";
import { ServerResponse } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Engine } from "../graph/embedded/engine.ts";
import { createHandler } from "../graph/embedded/http.ts";
import { TaskRefused, TaskTimeout, TaskTooLarge, ThreadGone } from "../graph/embedded/tasks.ts";
import type { Change, Question } from "../graph/embedded/tasks.ts";
import { createGraphStore, GraphRejected, GraphUnavailable, storeUrls } from "../graph/store.ts";
import { readAll } from "../graph/store-http.ts";
import type { GraphStore, QueryOptions } from "../graph/store.ts";
import { eventually } from "./support/eventually.ts";
import { listening } from "./support/listening.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);
const { listen, clients } = listening();

type Sent = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

/** A client of a store that answers everything alike, and what it was sent. */
async function storeThat(status: number, type: string, text: string | ((sent: Sent) => string)) {
  const all: Sent[] = [];
  const url = await listen((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const sent = { method: request.method!, url: request.url!, headers: request.headers, body };
      all.push(sent);
      response.writeHead(status, { "content-type": type }).end(typeof text === "string" ? text : text(sent));
    });
  });
  const store = createGraphStore(storeUrls(`${url}/ds`));
  clients.push(store);
  return { store, all, url: `${url}/ds` };
}

const JSON_TYPE = "application/sparql-results+json";

describe("a store that answers", () => {
  test.each([
    [400, "no", "GraphRejected", "no"],
    [406, "no", "GraphRejected", "no"],
    [413, "", "GraphRejected", "The graph store refused the request."],
    [415, "no\nmore", "GraphRejected", "no"],
    [422, "  no  ", "GraphRejected", "no"],
    [400, "<html>no</html>", "GraphRejected", "The graph store refused the request."],
    [507, "", "GraphTooExpensive", "The request is too much for the store."],
    [408, "", "GraphTimeout", "The graph store ended the request at its own time limit."],
    [504, "", "GraphTimeout", "The graph store ended the request at its own time limit."],
    [503, "Query timed out", "GraphTimeout", "The graph store ended the request at its own time limit."],
    [503, "starting", "GraphUnavailable", "The graph store answered 503: starting"],
    [401, "", "GraphUnavailable", "The graph store answered 401: check FUSEKI_USER and FUSEKI_PASSWORD."],
    [403, "", "GraphUnavailable", "The graph store answered 403: check FUSEKI_USER and FUSEKI_PASSWORD."],
    [404, "", "GraphNotFound", "The graph store answered 404: check FUSEKI_URL."],
    [500, "heap", "GraphFailed", "The graph store answered 500: heap"],
    [500, "", "GraphFailed", "The graph store answered 500."],
    [502, "x".repeat(600), "GraphUnavailable", `The graph store answered 502: ${"x".repeat(500)}`],
    [409, "no", "GraphUnavailable", "The graph store answered 409: no"],
    [302, "", "GraphUnavailable", "The graph store answered 302."],
  ])("%i %j is told as %s", async (status, text, name, message) => {
    const { store } = await storeThat(status, "text/plain", text);
    await expect(store.query("ASK {}")).rejects.toMatchObject({ name, message });
    await expect(store.update("CLEAR ALL")).rejects.toMatchObject({ name, message });
  });

  test.each([
    ["Line 3, column 18: no", { line: 3, column: 18 }],
    ["error at 1:28: no", { line: 1, column: 28 }],
    ["error at line 2 between columns 23 and 24", { line: 2, column: 23 }],
    ["[line: 1, col: 4 ] no", { line: 1, column: 4 }],
    ["no at all", undefined],
  ])("400 %j: the place in the text is %j", async (text, position) => {
    const { store } = await storeThat(400, "text/plain", text);
    await expect(store.query("ASK {}")).rejects.toMatchObject({ name: "GraphRejected", position });
  });

  test("where the engine takes it a query carries its own time limit, in whole seconds", async () => {
    const { url, all } = await storeThat(200, JSON_TYPE, '{"boolean": true}');
    const limited = createGraphStore({ ...storeUrls(url), takesTimeout: true, timeoutMs: 29_001 });
    clients.push(limited);
    await limited.ask("ASK {}");
    await readAll((await limited.query("ASK {}", { timeoutMs: 3_600_000, defaultGraphs: ["urn:g"] })).body);
    const { store: usual, all: unlimited } = await storeThat(200, JSON_TYPE, '{"boolean": true}');
    await usual.ask("ASK {}");
    const asked = [...all, ...unlimited].map((sent) => new URL(sent.url, url).searchParams);
    expect(asked.map((each) => each.get("timeout"))).toEqual(["30", "3600", null]);
    expect(asked[1]!.get("default-graph-uri")).toBe("urn:g");
  });

  test.each([
    ["update", 200, true],
    ["update", 204, true],
    ["update", 201, false],
    ["update", 202, false],
    ["putGraph", 201, true],
    ["putGraph", 202, false],
  ] as const)("a change by %s with %i: done is %s", async (name, status, isDone) => {
    const { store } = await storeThat(status, "text/plain", "");
    const calls = {
      update: () => store.update("CLEAR ALL"),
      putGraph: () => store.putGraph("urn:g", "", "text/turtle"),
    };
    const done = calls[name]();
    if (isDone) await done;
    else await expect(done).rejects.toMatchObject({ name: "GraphUnavailable" });
  });

  test.each([
    ["Update failed: the disk is full.", false],
    ["java.lang.Exception", false],
    ["Success", true],
    ["terrors and unfailing", true],
  ])("a change with 200 and %j: done is %s", async (text, isDone) => {
    const { store } = await storeThat(200, "text/plain", text);
    const done = store.update("CLEAR ALL");
    if (isDone) await done;
    else await expect(done).rejects.toMatchObject({ name: "GraphUnavailable" });
  });

  test.each(["text/html", "text/csv", ""])(
    "a query with what it did not ask for (%j) has not",
    async (type) => {
      const { store } = await storeThat(200, type, '{"boolean":true}');
      const unasked = {
        name: "GraphUnavailable",
        message: expect.stringContaining("answered 200 with") as unknown,
      };
      await expect(store.query("ASK {}")).rejects.toMatchObject(unasked);
      await expect(store.getGraph("urn:g")).rejects.toMatchObject(unasked);
      await expect(store.ask("ASK {}")).rejects.toMatchObject(unasked);
    },
  );

  test.each([
    "null",
    "5",
    "[]",
    '{"a":5}',
    '{"a":null}',
    '{"a":{}}',
    '{"a":{"value":5}}',
    '{},{"a":{"value":true}}',
  ])("a SELECT with the row %s has not: it is none", async (rows) => {
    const { store } = await storeThat(200, JSON_TYPE, `{"results":{"bindings":[${rows}]}}`);
    await expect(store.select("SELECT ?a {}")).rejects.toMatchObject({ name: "GraphUnavailable" });
  });

  test("a SELECT with a triple or nothing in a row has", async () => {
    const triple = '{"type":"triple","value":{"subject":{},"predicate":{},"object":{}}}';
    const { store } = await storeThat(200, JSON_TYPE, `{"results":{"bindings":[{},{"a":${triple}}]}}`);
    expect(await store.select("SELECT ?a {}")).toHaveLength(2);
  });

  test.each([201, 202, 204, 206])("a query with %i has not, which is not all of it", async (status) => {
    const { store } = await storeThat(status, JSON_TYPE, '{"boolean":true}');
    await expect(store.query("ASK {}")).rejects.toMatchObject({ name: "GraphUnavailable" });
    await expect(store.getGraph("urn:g", { accept: JSON_TYPE })).rejects.toMatchObject({
      name: "GraphUnavailable",
    });
  });

  test("in a compressed form, which nobody asked for, has not", async () => {
    const url = await listen((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": JSON_TYPE, "content-encoding": "gzip" });
      response.end(gzipSync('{"boolean":true}'));
    });
    const store = createGraphStore(storeUrls(`${url}/ds`));
    clients.push(store);
    await expect(store.query("ASK {}")).rejects.toMatchObject({ name: "GraphUnavailable" });
    await expect(store.update("CLEAR ALL")).rejects.toMatchObject({ name: "GraphUnavailable" });
  });

  test("and what it refuses is told as without it; a change that it has made has been made", async () => {
    const compressed = async (status: number, encoding: string) => {
      const url = await listen((request, response) => {
        request.resume();
        const type = status === 200 ? JSON_TYPE : "text/plain";
        response.writeHead(status, { "content-type": type, "content-encoding": encoding });
        response.end(status === 200 ? '{"boolean":true}' : undefined);
      });
      const store = createGraphStore(storeUrls(`${url}/ds`));
      clients.push(store);
      return store;
    };
    await expect((await compressed(400, "gzip")).query("ASK {}")).rejects.toThrow(GraphRejected);
    expect(await (await compressed(404, "gzip")).getGraph("urn:g")).toBeUndefined();
    await (await compressed(204, "gzip")).update("CLEAR ALL");
    for (const none of ["Identity", " "]) await (await compressed(200, none)).query("ASK {}");
  });

  test("a question of the service's own without end has not, and is read no further than 64 MB", async () => {
    for (const ask of [
      (store: GraphStore) => store.select("SELECT ?a {}"),
      (store: GraphStore) => store.ask("ASK {}"),
    ]) {
      let sent = 0;
      const url = await listen((request, response) => {
        request.resume();
        response.writeHead(200, { "content-type": JSON_TYPE });
        const goOn = () => {
          sent += 1_000_000;
          return response.destroyed || response.write(" ".repeat(1_000_000), goOn);
        };
        goOn();
      });
      const store = createGraphStore(storeUrls(`${url}/ds`));
      clients.push(store);
      // What is cut off there is not looked at, whatever it would be as a whole.
      const message = "The graph store's answer has more than 64 MB.";
      await expect(ask(store)).rejects.toMatchObject({ name: "GraphUnavailable", message });
      expect(sent).toBeLessThan(100_000_000);
    }
  });

  test("that it has no such graph has none to give; an update there is another matter", async () => {
    const { store } = await storeThat(404, "text/plain", "");
    expect(await store.getGraph("urn:g")).toBeUndefined();
    await expect(store.update("CLEAR ALL")).rejects.toMatchObject({ name: "GraphNotFound" });
  });

  test("is there if it says so in so many words", async () => {
    for (const [text, isThere] of [
      ['{"boolean":true}', true],
      ['{"boolean":false}', false],
      ['{"boolean":1}', false],
    ] as const) {
      const { store } = await storeThat(200, JSON_TYPE, text);
      // Again where this process stood still for the two seconds in which it is to say so.
      await eventually(async () => expect(await store.isAvailable()).toBe(isThere));
    }
    for (const status of [400, 401, 404, 500, 503, 507]) {
      const { store } = await storeThat(status, JSON_TYPE, '{"boolean":true}');
      expect([status, await store.isAvailable()]).toEqual([status, false]);
    }
  });

  test("with what it has kept of another question is not believed", async () => {
    const row = (asked: string) =>
      `{"results":{"bindings":[{"asked":{"type":"literal","value":"${asked}"}}]}}`;
    const kept = await storeThat(200, JSON_TYPE, row("of yesterday"));
    await expect(kept.store.select("SELECT ?asked {}")).rejects.toMatchObject({ name: "GraphUnavailable" });
    const asked = ({ body }: Sent) => /"([^"]+)" \}$/.exec(body)![1]!;
    const { store } = await storeThat(200, JSON_TYPE, (sent) => row(asked(sent)));
    expect(await store.select("SELECT ?asked {}")).toHaveLength(1);
  });
});

describe("of a store that is asked", () => {
  test("each question has its time, and a whole graph more of it", async () => {
    const { store } = await storeThat(200, JSON_TYPE, '{"boolean":true,"results":{"bindings":[]}}');
    const timers = jest.spyOn(globalThis, "setTimeout");
    const ends = jest.spyOn(globalThis, "clearTimeout");
    const limitOf = async (call: () => Promise<unknown>) => {
      timers.mockClear();
      await call().catch(() => undefined);
      // The connection has timers of its own.
      const limits = timers.mock.calls.flatMap(([, ms], i) =>
        ms !== undefined && LIMITS.has(ms)
          ? [{ ms, timer: timers.mock.results[i]!.value as NodeJS.Timeout }]
          : [],
      );
      // Nobody is kept from ending by a time that is over.
      await eventually(() => {
        const ended = ends.mock.calls.map(([timer]) => timer);
        expect(limits.filter(({ timer }) => !ended.includes(timer)).map(({ ms }) => ms)).toEqual([]);
      }, 30_000);
      return limits.map(({ ms }) => ms);
    };
    const LIMITS = new Set([2_000, 30_000, 600_000, 7]);
    try {
      expect(await limitOf(() => store.isAvailable())).toEqual([2_000]);
      expect(await limitOf(() => store.ask("ASK {}"))).toEqual([30_000]);
      expect(await limitOf(() => store.update("CLEAR ALL"))).toEqual([30_000]);
      expect(await limitOf(() => store.putGraph("urn:g", "", "text/turtle"))).toEqual([600_000]);
      const graph = async () => readAll((await store.getGraph("urn:g"))!.body);
      expect(await limitOf(graph)).toEqual([600_000]);
      expect(await limitOf(() => store.update("CLEAR ALL", { timeoutMs: 7 }))).toEqual([7]);
      expect(await limitOf(() => store.putGraph("urn:g", "", "text/turtle", { timeoutMs: 7 }))).toEqual([7]);
    } finally {
      timers.mockRestore();
      ends.mockRestore();
    }
  });

  test("nothing is left behind at a signal that outlives the answer", async () => {
    const { store } = await storeThat(200, JSON_TYPE, '{"boolean":true}');
    const { signal } = new AbortController();
    const call = { signal, timeoutMs: 30_000 };
    expect(await store.ask("ASK {}", call)).toBe(true);
    const { store: failing } = await storeThat(500, "text/plain", "no");
    await expect(failing.ask("ASK {}", call)).rejects.toThrow("500");
    const nobody = createGraphStore(storeUrls("http://127.0.0.1:9/ds"));
    clients.push(nobody);
    await expect(nobody.ask("ASK {}", call)).rejects.toThrow("cannot be reached");
    // Before its time would be over.
    await eventually(() => expect(getEventListeners(signal, "abort")).toEqual([]), 10_000);
  });

  test("nothing is sent for who has left before, and the work for who leaves meanwhile is ended", async () => {
    const arrived = Promise.withResolvers<void>();
    let asked = 0;
    let ended = 0;
    const url = await listen((_, response) => {
      asked += 1;
      response.on("close", () => (ended += 1));
      arrived.resolve();
    });
    const store = createGraphStore(storeUrls(`${url}/ds`));
    clients.push(store);
    const signal = AbortSignal.abort(new Error("left before"));
    await expect(store.update("CLEAR ALL", { signal })).rejects.toThrow("left before");
    await expect(store.ask("ASK {}", { signal })).rejects.toThrow("left before");
    // Nor is a graph sent, or asked for, by who has lost the right to it.
    const [graph, call] = ["urn:g", { signal, timeoutMs: 5_000 }] as const;
    for (const work of [
      () => store.getGraph(graph, call),
      () => store.putGraph(graph, "", "text/turtle", call),
    ])
      await expect(work()).rejects.toThrow("left before");
    const leaving = new AbortController();
    const asking = store.ask("ASK {}", { signal: leaving.signal });
    void arrived.promise.then(() => leaving.abort(new Error("left")));
    await expect(asking).rejects.toThrow("left");
    await eventually(() => expect([asked, ended]).toEqual([1, 1]));
  });

  test("whoever fails to make what is sent hears of that, and not of the store", async () => {
    const url = await listen((request, response) => {
      request.resume();
      request.on("end", () => response.writeHead(204).end());
    });
    const store = createGraphStore(storeUrls(`${url}/ds`));
    clients.push(store);
    const pieces = function* () {
      yield Buffer.from("<urn:s> <urn:p> 1 .");
      throw new Error("no more of it");
    };
    const putting = store.putGraph("urn:g", Readable.from(pieces()), "text/turtle");
    await expect(putting).rejects.toThrow("no more of it");
  });

  test("of a failure no more is read than is told", async () => {
    const url = await listen((request, response) => {
      request.resume();
      // It never ends.
      response.writeHead(500, { "content-type": "text/plain" }).write("x".repeat(20_000));
    });
    const store = createGraphStore(storeUrls(`${url}/ds`));
    clients.push(store);
    const failure = { name: "GraphFailed", message: `The graph store answered 500: ${"x".repeat(500)}` };
    await expect(store.query("ASK {}")).rejects.toMatchObject(failure);
  });

  test("an answer of a type that was not asked for is not waited for", async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const url = await listen((request, response) => {
      request.resume();
      response.on("close", () => end());
      // A page that never ends.
      response.writeHead(200, { "content-type": "text/html" }).write("<p>");
    });
    const store = createGraphStore(storeUrls(`${url}/ds`));
    clients.push(store);
    const asking = store.query("ASK {}", { timeoutMs: 3_600_000 });
    await expect(asking).rejects.toThrow("answered 200 with text/html");
    await ended;
  });
});

describe("what is sent to a store", () => {
  test("by the service goes first and past every cache; what partners ask comes after it", async () => {
    const { store, all } = await storeThat(200, JSON_TYPE, '{"boolean":true,"results":{"bindings":[]}}');
    await store.select("SELECT * {}");
    await store.ask("ASK {}");
    await readAll((await store.query("ASK {}")).body);
    await store.update("CLEAR ALL").catch(() => undefined);
    await store.update("CLEAR ALL").catch(() => undefined);
    const [select, ask, query, update, again] = all;
    expect([select, ask, query].map((sent) => sent!.headers["priority"])).toEqual(["u=1", "u=1", "u=4"]);
    for (const sent of [select, ask, update])
      expect(sent!.headers["cache-control"]).toBe("no-cache, no-store");
    expect(query!.headers["cache-control"]).toBeUndefined();
    expect(query!.body).toBe("ASK {}");
    expect(select!.body).toMatch(/^SELECT \* \{\}\nVALUES \?asked \{ "[\w-]{36}" \}$/);
    expect(select!.body.slice(-40)).not.toBe(ask!.body.slice(-40));
    expect(update!.body).not.toBe(again!.body);
    expect(update!.headers["content-type"]).toBe("application/sparql-update; charset=utf-8");
    expect(query!.headers["content-type"]).toBe("application/sparql-query; charset=utf-8");
  });

  test("first and past every cache goes also what makes a graph of another, as triples unless it is said otherwise", async () => {
    const { store, all } = await storeThat(200, "application/n-triples", "<urn:s> <urn:p> 1 .\n");
    const make = "CONSTRUCT WHERE { ?s ?p ?o }";
    expect(await store.construct(make)).toBe("<urn:s> <urn:p> 1 .\n");
    await store.construct(make);
    await expect(store.construct(make, { accept: "text/turtle" })).rejects.toThrow("answered 200 with");
    expect(all.map(({ headers }) => [headers["priority"], headers["cache-control"], headers.accept])).toEqual(
      ["application/n-triples", "application/n-triples", "text/turtle"].map((accept) => [
        ...["u=1", "no-cache, no-store", accept],
      ]),
    );
    // Nobody can have kept an answer to the same words.
    expect(new Set(all.map(({ body }) => body)).size).toBe(3);
  });

  test("past every cache goes also what asks for a graph, or sends one", async () => {
    const { store, all } = await storeThat(200, "application/n-triples", "");
    await readAll((await store.getGraph("urn:g"))!.body);
    await store.putGraph("urn:g", "", "application/n-triples");
    expect(all.map(({ headers }) => [headers["cache-control"], headers["pragma"]])).toEqual(
      Array.from({ length: 2 }, () => ["no-cache, no-store", "no-cache"]),
    );
  });

  test("names its graphs", async () => {
    const { store, all } = await storeThat(200, JSON_TYPE, '{"boolean":true}');
    const graphs = { defaultGraphs: ["urn:a", "urn:b"], namedGraphs: ["urn:c"] };
    await readAll((await store.query("ASK {}", graphs)).body);
    expect([...new URL(all[0]!.url, "http://x").searchParams]).toEqual([
      ["default-graph-uri", "urn:a"],
      ["default-graph-uri", "urn:b"],
      ["named-graph-uri", "urn:c"],
    ]);
    await store.putGraph("urn:a b&c", "", "text/turtle").catch(() => undefined);
    expect(new URL(all[1]!.url, "http://x").searchParams.get("graph")).toBe("urn:a b&c");
    expect(all[1]!.method).toBe("PUT");
    expect(storeUrls("http://x/ds/")).toEqual(storeUrls("http://x/ds"));
  });
});

describe("the embedded store", () => {
  const signals: AbortSignal[] = [];
  beforeEach(() => {
    signals.length = 0;
  });

  /** The doors, with an engine that only notes what it is asked. */
  async function doors(
    fail?: () => Error,
    existed = true,
    answer: () => Readable | Promise<Readable | Uint8Array> = () => Readable.from([Buffer.from("answer")]),
  ) {
    const asked: (Question | Change)[] = [];
    const engine = {
      ask: (question: Question, signal: AbortSignal) => {
        asked.push(question);
        signals.push(signal);
        if (fail) return Promise.reject(fail());
        return Promise.resolve(existed ? answer() : undefined);
      },
      change: (change: Change) => {
        asked.push(change);
        return fail ? Promise.reject(fail()) : Promise.resolve({ sequence: 1, existed });
      },
    } as unknown as Engine;
    const handle = createHandler(engine);
    const url = await listen((request, response) => void handle(request, response));
    const call = async (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) => {
      const response = await fetch(`${url}/${path}`, init);
      const headers = Object.fromEntries(response.headers);
      return {
        status: response.status,
        headers,
        allow: headers["allow"] ?? null,
        text: await response.text(),
      };
    };
    return { call, asked, url, handle };
  }
  const direct = (type: string, body: string) => ({
    method: "POST",
    headers: { "content-type": type },
    body,
  });
  const query = (more: Record<string, string> = {}) => ({
    ...direct("application/sparql-query", "SELECT * { ?s ?p ?o }"),
    headers: { "content-type": "application/sparql-query", ...more },
  });

  test.each([
    ["a refusal", new TaskRefused("no"), 400],
    ["what is too large", new TaskTooLarge("no"), 507],
    ["its time limit", new TaskTimeout("no"), 504],
    ["that its thread is gone", new ThreadGone("no"), 503],
    ["its own failure", new TypeError("no"), 500],
  ])("tells %s", async (_, error, status) => {
    const { call } = await doors(() => error);
    expect(await call("ds/query", query())).toMatchObject({ status, text: "no\n" });
    expect((await call("ds/update", direct("application/sparql-update", "CLEAR ALL"))).status).toBe(status);
    expect((await call("ds/data?graph=urn:g", { method: "DELETE" })).status).toBe(status);
  });

  test.each<[string, string, RequestInit, number, string | null]>([
    ["nothing there", "ds/nothing", {}, 404, null],
    ["an update by GET", "ds/update?update=CLEAR+ALL", {}, 405, "POST"],
    ["a query by PUT", "ds/query?query=ASK+%7B%7D", { method: "PUT" }, 405, "GET, POST"],
    ["two queries", "ds/query?query=ASK+%7B%7D&query=ASK+%7B%7D", {}, 400, null],
    ["a query of another type", "ds/query", direct("text/plain", "ASK {}"), 415, null],
    ["an update as a query", "ds/query", direct("application/sparql-update", "CLEAR ALL"), 415, null],
    [
      "an update that uses graphs of the protocol",
      "ds/update?using-graph-uri=urn:g",
      direct("application/sparql-update", "CLEAR ALL"),
      400,
      null,
    ],
    [
      "an update that uses named graphs of the protocol",
      "ds/update?using-named-graph-uri=urn:g",
      direct("application/sparql-update", "CLEAR ALL"),
      400,
      null,
    ],
    [
      "an update in a form that uses named graphs of the protocol",
      "ds/update",
      direct("application/x-www-form-urlencoded", "update=CLEAR+ALL&using-named-graph-uri=urn:g"),
      400,
      null,
    ],
    ["a type that there is not", "ds/query", query({ accept: "image/png" }), 406, null],
    ["a graph and the default graph", "ds/data?graph=urn:g&default", {}, 400, null],
    ["no graph", "ds/data", {}, 400, null],
    ["a relative graph", "ds/data?graph=g", {}, 400, null],
    ["a graph that breaks out of its name", "ds/data?graph=urn:g%3E", {}, 400, null],
    [
      "a body that is no graph",
      "ds/data?graph=urn:g",
      { ...direct("image/png", "x"), method: "PUT" },
      415,
      null,
    ],
    ["a graph by PATCH", "ds/data?graph=urn:g", { method: "PATCH" }, 405, "GET, HEAD, PUT, POST, DELETE"],
  ])("refuses %s", async (_, path, init, status, allow) => {
    const { call, asked } = await doors();
    expect(await call(path, init as never)).toMatchObject({ status, allow });
    expect(asked).toEqual([]);
  });

  const ASKED = "SELECT * { ?s ?p ?o }";
  const FORM = "application/x-www-form-urlencoded";
  const form = (fields: Record<string, string>) => direct(FORM, new URLSearchParams(fields).toString());
  const select = { kind: "query", sparql: ASKED, answersGraph: false, quick: false, dataset: "union" };
  const data = Buffer.from('<s> <urn:p> "ä" .');
  const put = (type?: string) => ({
    method: "PUT",
    body: data,
    headers: type === undefined ? undefined : { "content-type": type },
  });
  const held = { kind: "load", replace: true, type: "text/turtle", data: new Uint8Array(data) };
  test.each<[string, string, RequestInit | undefined, object]>([
    ["a query by GET", `query?query=${encodeURIComponent(ASKED)}`, undefined, { ...select, type: JSON_TYPE }],
    ["a query by its other name", "sparql", query({ accept: "text/csv" }), { ...select, type: "text/csv" }],
    ["a query in a form", "query", form({ query: ASKED }), { ...select, type: JSON_TYPE }],
    [
      "the graphs of a form, not of its address",
      "query?default-graph-uri=urn:a",
      form({ query: ASKED, "named-graph-uri": "urn:b" }),
      { ...select, type: JSON_TYPE, dataset: { defaultGraphs: [], namedGraphs: ["urn:b"] } },
    ],
    [
      "a plain name of a format",
      "query",
      query({ accept: "application/xml" }),
      { ...select, type: "application/sparql-results+xml" },
    ],
    [
      "a query for a graph",
      "query",
      { ...query({ accept: "application/n-triples" }), body: "DESCRIBE <urn:s>" },
      { ...select, sparql: "DESCRIBE <urn:s>", answersGraph: true, type: "application/n-triples" },
    ],
    [
      "an update",
      "update",
      direct("application/sparql-update", "CLEAR ALL"),
      { kind: "update", sparql: "CLEAR ALL" },
    ],
    ["an update in a form", "update", form({ update: "CLEAR ALL" }), { kind: "update", sparql: "CLEAR ALL" }],
    [
      "a graph to read",
      "data?graph=urn:g",
      undefined,
      { kind: "graph", graph: "urn:g", type: "text/turtle" },
    ],
    [
      "the default graph to look at",
      "data?default",
      { method: "HEAD", headers: { accept: "application/ld+json" } },
      { kind: "graph", graph: null, type: "application/ld+json" },
    ],
    [
      "a graph to hold, in Turtle if nobody says in what",
      "data?graph=urn:g",
      put(),
      { ...held, graph: "urn:g" },
    ],
    [
      "the default graph to hold",
      "data?default",
      put("Application/N-Triples; charset=utf-8"),
      { ...held, graph: null, type: "application/n-triples" },
    ],
    ["a graph to drop", "data?graph=urn:g", { method: "DELETE" }, { kind: "drop", graph: "urn:g" }],
    ["the default graph to drop", "data?default", { method: "DELETE" }, { kind: "drop", graph: null }],
  ])("hands on %s as it was sent", async (_, path, init, expected) => {
    const { call, asked, url } = await doors();
    expect((await call(`ds/${path}`, init as never)).status).toBeLessThan(300);
    const base = "data" in expected ? { base: `${url}/ds/${path}` } : {};
    expect(asked).toEqual([{ ...expected, ...base }]);
  });

  test("tells a graph that was there from one that is new, and one that is not there", async () => {
    for (const [existed, statuses] of [
      [true, [204, 204, 204, 200]],
      [false, [201, 201, 404, 404]],
    ] as const) {
      const { call, asked } = await doors(undefined, existed);
      const graph = "ds/data?graph=urn:g";
      const turtle = direct("text/turtle", "<urn:a> <urn:b> 1 .");
      const put = await call(graph, { ...turtle, method: "PUT" });
      const post = await call(graph, turtle);
      const gone = await call(graph, { method: "DELETE" });
      const got = await call(graph);
      expect([put, post, gone, got].map(({ status }) => status)).toEqual(statuses);
      expect(asked.map((each) => ("replace" in each ? each.replace : each.kind))).toEqual([
        true,
        false,
        "drop",
        "graph",
      ]);
    }
  });

  test("takes what the protocol says for the graphs of a query, then what the query says, then all", async () => {
    const { call, asked } = await doors();
    const from = direct("application/sparql-query", "SELECT * FROM <urn:g> { ?s ?p ?o }");
    await call("ds/query?default-graph-uri=urn:a&named-graph-uri=urn:b", from);
    await call("ds/query?named-graph-uri=urn:b", from);
    await call("ds/query?default-graph-uri=urn:a", query());
    await call("ds/query", from);
    await call("ds/query", query());
    expect(asked.map((each) => (each as { dataset: unknown }).dataset)).toEqual([
      { defaultGraphs: ["urn:a"], namedGraphs: ["urn:b"] },
      { defaultGraphs: [], namedGraphs: ["urn:b"] },
      { defaultGraphs: ["urn:a"], namedGraphs: [] },
      "query",
      "union",
    ]);
  });

  test.each([
    [
      "with a notice where its time is over",
      new TaskTimeout("no"),
      "answer\n##  Query cancelled due to timeout\n",
    ],
    ["by breaking off where it fails", new TaskTooLarge("no"), undefined],
    ["by breaking off where its thread is gone", new ThreadGone("no"), undefined],
  ])("ends an answer that has begun %s", async (_, error, expected) => {
    const { call } = await doors(undefined, true, () =>
      Readable.from(
        (function* () {
          yield Buffer.from("answer");
          throw error;
        })(),
      ),
    );
    const answer = call("ds/query", query({ accept: "text/csv" }));
    if (expected === undefined) await expect(answer).rejects.toThrow();
    else expect(await answer).toMatchObject({ status: 200, text: expected });
  });

  test.each<[string, string, () => RequestInit]>([
    ["an answer", "ds/query", query],
    ["a graph", "ds/data?graph=urn:g", () => ({})],
  ])("lets go of %s whose caller has left before it began", async (_, path, init) => {
    const { promise, resolve } = Promise.withResolvers<Readable>();
    const { url, asked } = await doors(undefined, true, () => promise);
    const caller = new AbortController();
    const answer = fetch(`${url}/${path}`, { ...init(), signal: caller.signal });
    await eventually(() => expect(asked).toHaveLength(1));
    // The engine is told, and need not go on for nobody.
    expect(signals).toEqual([expect.any(AbortSignal)]);
    caller.abort();
    await expect(answer).rejects.toThrow();
    await eventually(() => expect(signals[0]!.aborted).toBe(true));
    const body = new Readable({ read: () => undefined });
    resolve(body);
    await eventually(() => expect(body.destroyed).toBe(true));
  });

  test("lets go at once of an answer whose caller has left in the middle, though nothing more of it comes", async () => {
    const body = new Readable({ read: () => undefined });
    body.push("begun");
    const { url } = await doors(undefined, true, () => body);
    const caller = new AbortController();
    const answer = await fetch(`${url}/ds/query`, { ...query(), signal: caller.signal });
    expect(Buffer.from((await answer.body!.getReader().read()).value).toString()).toBe("begun");
    caller.abort();
    await eventually(() => expect(signals[0]!.aborted).toBe(true));
    expect(body.destroyed).toBe(true);
  });

  test("refuses a body by the length that it is said to have, before anything of it is there", async () => {
    const { handle, asked } = await doors();
    const request = Object.assign(Readable.from([]), {
      ...{ method: "PUT", url: "/ds/data?graph=urn:g" },
      headers: { "content-type": "text/turtle", "content-length": String(2 ** 30 + 1) },
    }) as unknown as IncomingMessage;
    const response = new ServerResponse(request);
    await handle(request, response);
    expect([response.statusCode, asked]).toEqual([413, []]);
  });

  test("says in which characters a text is written, and of what is whole how long it is", async () => {
    const { call } = await doors(undefined, true, () => Promise.resolve(Buffer.from("ä")));
    expect((await call("ds/query", query({ accept: "text/csv" }))).headers).toMatchObject({
      "content-type": "text/csv; charset=utf-8",
      "content-length": "2",
    });
    expect((await call("ds/query", query({ accept: JSON_TYPE }))).headers["content-type"]).toBe(JSON_TYPE);
  });

  test("answers at once what is urgent, and what asks nothing by itself", async () => {
    const { call, asked } = await doors();
    for (const priority of ["u=0", "u=2", "u=3", "u=4", "i, u=1"])
      await call("ds/query", query({ priority }));
    await call("ds/query", query());
    expect(asked.map((each) => (each as { quick: boolean }).quick)).toEqual([
      true,
      true,
      false,
      false,
      true,
      false,
    ]);
    asked.length = 0;
    expect(await call("ds/query", { ...query({ accept: JSON_TYPE }), body: "ASK {}" })).toMatchObject({
      ...{ status: 200, text: '{"head":{},"boolean":true}' },
    });
    expect(asked).toEqual([]);
    await call("ds/query", { ...query({ accept: "text/csv" }), body: "ASK {}" });
    expect(asked).toHaveLength(1);
  });
});

describe("the place of a query", () => {
  /** A store that answers when it is told to, and what became of the requests to it. */
  async function slowStore(more: { endsWhenLeft?: boolean } = {}) {
    const arrived: ServerResponse[] = [];
    const url = await listen((request, response) => {
      request.resume();
      arrived.push(response);
    });
    const store = createGraphStore({ ...storeUrls(`${url}/ds`), ...more });
    clients.push(store);
    let back = 0;
    const ask = (options: QueryOptions = {}) => {
      const answer = store.query("ASK {}", { place: () => Promise.resolve(() => void back++), ...options });
      answer.catch(() => undefined);
      return answer;
    };
    const arrives = () => eventually(() => expect(arrived).toHaveLength(1));
    return { arrived, arrives, ask, back: () => back };
  }
  const answers = (response: ServerResponse | undefined) =>
    response!.writeHead(200, { "content-type": JSON_TYPE }).end('{"boolean":true}');

  test("comes back when the answer is there, whether it is read or not", async () => {
    const { arrived, arrives, ask, back } = await slowStore();
    const asked = ask();
    await arrives();
    expect(back()).toBe(0);
    answers(arrived[0]);
    const { body } = await asked;
    await eventually(() => expect(back()).toBe(1));
    await readAll(body);
    expect(back()).toBe(1);
  });

  test.each(["whoever asked has left", "the time is over"])(
    "comes back with the answer, though %s",
    async (why) => {
      // However busy this machine is: of a short time, ten times as long could be over before all of it is taken.
      jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "performance"] });
      try {
        const { arrived, arrives, ask, back } = await slowStore();
        const leaving = new AbortController();
        const asked = ask({ signal: leaving.signal, timeoutMs: 60_000 });
        await arrives();
        if (why === "the time is over") jest.advanceTimersByTime(60_000);
        else leaving.abort();
        await expect(asked).rejects.toThrow();
        // More than is kept on the way: it is taken, though nobody wants it.
        arrived[0]!.writeHead(200, { "content-type": JSON_TYPE }).write(" ".repeat(10_000_000));
        await once(arrived[0]!, "drain");
        expect(back()).toBe(0);
        arrived[0]!.end();
        await eventually(() => expect(back()).toBe(1), 30_000);
      } finally {
        jest.useRealTimers();
      }
    },
  );

  test("comes back with the end of an answer whose beginning was enough", async () => {
    const { arrived, arrives, ask, back } = await slowStore();
    const asked = ask();
    await arrives();
    arrived[0]!.writeHead(200, { "content-type": JSON_TYPE }).write(" ".repeat(1_000));
    (await asked).body.destroy();
    // More than is kept on the way: it is taken, though nobody wants it.
    arrived[0]!.write(" ".repeat(10_000_000));
    await once(arrived[0]!, "drain");
    expect(back()).toBe(0);
    arrived[0]!.end();
    await eventually(() => expect(back()).toBe(1));
  });

  test("does not come back with an answer that goes on and on, which is read no further", async () => {
    const { arrived, arrives, ask, back } = await slowStore();
    const asked = ask();
    await arrives();
    const [response] = arrived as [ServerResponse];
    response.writeHead(200, { "content-type": JSON_TYPE }).write(" ".repeat(1_000));
    (await asked).body.destroy();
    const closed = once(response, "close");
    const goOn = () => response.destroyed || response.write(" ".repeat(1_000_000), goOn);
    goOn();
    await closed;
    expect(back()).toBe(0);
  });

  test("comes back when an answer that nobody reads has come by drops for ten times as long as it could take", async () => {
    const { arrived, arrives, ask, back } = await slowStore();
    const asked = ask({ timeoutMs: 1_000 });
    await arrives();
    const [response] = arrived as [ServerResponse];
    const since = performance.now();
    response.writeHead(200, { "content-type": JSON_TYPE }).write(" ");
    (await asked).body.destroy();
    const drops = setInterval(() => response.write(" "), 100);
    try {
      await once(response, "close");
    } finally {
      clearInterval(drops);
    }
    expect(performance.now() - since).toBeGreaterThan(9_900);
    await eventually(() => expect(back()).toBe(1));
  });

  test("leaves nothing behind of an answer that was whole", async () => {
    const timers = jest.spyOn(globalThis, "setTimeout");
    try {
      const { arrived, ask } = await slowStore();
      for (let n = 0; n < 3; n += 1) {
        const asked = ask({ timeoutMs: 4_321 });
        await eventually(() => expect(arrived).toHaveLength(n + 1));
        answers(arrived[n]);
        await readAll((await asked).body);
      }
      expect(timers.mock.calls.filter(([, ms]) => ms === 43_210)).toEqual([]);
    } finally {
      timers.mockRestore();
    }
  });

  test("comes back at once from a store that refuses, and from one that is not there", async () => {
    const { arrived, arrives, ask, back } = await slowStore();
    const asked = ask();
    await arrives();
    arrived[0]!.writeHead(400).end("no");
    await expect(asked).rejects.toThrow(GraphRejected);
    await eventually(() => expect(back()).toBe(1));
    const away = createGraphStore(storeUrls("http://127.0.0.1:9/ds"));
    clients.push(away);
    let isBack = false;
    const place = () => Promise.resolve(() => void (isBack = true));
    await expect(away.query("ASK {}", { place, timeoutMs: 600_000 })).rejects.toThrow(GraphUnavailable);
    await eventually(() => expect(isBack).toBe(true));
  });

  test("comes back with the answer to what was sent again, because the connection was lost at once", async () => {
    const { arrived, arrives, ask, back } = await slowStore();
    // However long this process stands still, it was lost at once.
    const now = jest.spyOn(performance, "now").mockReturnValue(performance.now());
    try {
      const asked = ask({ timeoutMs: 600_000 });
      await arrives();
      arrived[0]!.destroy();
      await eventually(() => expect(arrived).toHaveLength(2), 30_000);
      expect(back()).toBe(0);
      answers(arrived[1]);
      await readAll((await asked).body);
      await eventually(() => expect(back()).toBe(1), 30_000);
    } finally {
      now.mockRestore();
    }
  });

  test.each(["before the answer", "in the middle of it"])(
    "comes back only with the end of its time where the connection is lost %s, which tells nothing",
    async (when) => {
      jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "performance"] });
      // A whole number: what is left of the time is a difference, and timers leave out what is less than 1 ms.
      const started = Math.ceil(performance.now());
      const now = jest.spyOn(performance, "now").mockReturnValue(started);
      try {
        const { arrived, arrives, ask, back } = await slowStore();
        const asked = ask({ timeoutMs: 60_000 });
        await arrives();
        if (when === "before the answer") {
          // What is lost at once is sent again: a connection that was kept may have been closed meanwhile.
          now.mockReturnValue(started + 1_000);
          arrived[0]!.destroy();
          await expect(asked).rejects.toThrow("cannot be reached");
        } else {
          arrived[0]!.writeHead(200, { "content-type": JSON_TYPE }).write(" ".repeat(1_000));
          const { body } = await asked;
          now.mockReturnValue(started + 1_000);
          arrived[0]!.destroy();
          await new Promise((closed) => void body.once("close", closed));
        }
        // The store has another second to end it.
        jest.advanceTimersByTime(59_999);
        expect(back()).toBe(0);
        jest.advanceTimersByTime(1);
        await eventually(() => expect(back()).toBe(1), 30_000);
      } finally {
        now.mockRestore();
        jest.useRealTimers();
      }
    },
  );

  test.each<[string, (asked: Promise<{ body: Readable }>, leaving: AbortController) => Promise<void>]>([
    ["whoever asked has left", async (_, leaving) => leaving.abort()],
    ["a part of the answer was enough", async (asked) => void (await asked).body.destroy()],
  ])(
    "comes back from an engine that ends with its connection a second after that, as %s",
    async (_, leave) => {
      jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "performance"] });
      try {
        const { arrived, arrives, ask, back } = await slowStore({ endsWhenLeft: true });
        const leaving = new AbortController();
        const asked = ask({ signal: leaving.signal, timeoutMs: 600_000 });
        await arrives();
        arrived[0]!.writeHead(200, { "content-type": JSON_TYPE }).write(" ".repeat(1_000));
        await leave(asked, leaving);
        await eventually(() => expect(arrived[0]!.closed).toBe(true), 30_000);
        // It may still be at work, for as long as it takes to see that it has been left.
        jest.advanceTimersByTime(999);
        expect(back()).toBe(0);
        jest.advanceTimersByTime(1);
        expect(back()).toBe(1);
      } finally {
        jest.useRealTimers();
      }
    },
  );

  test("is waited for before anything is sent, and not by whoever has left", async () => {
    const { arrived, ask } = await slowStore();
    const leaving = new AbortController();
    const reason = new GraphUnavailable("gone");
    const asked = ask({
      signal: leaving.signal,
      place: (gone) =>
        new Promise((_, refuse) => {
          gone!.addEventListener("abort", () => refuse(new Error("left")));
        }),
    });
    await new Promise((turn) => setImmediate(turn));
    leaving.abort(reason);
    await expect(asked).rejects.toBe(reason);
    expect(arrived).toEqual([]);
  });
});
