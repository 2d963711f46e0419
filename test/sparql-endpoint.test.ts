// Whose turn a query is and what a store's failure is to its caller, before a store that does as it is told.
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { Piscina } from "piscina";
import {
  GraphFailed,
  GraphRejected,
  GraphTimeout,
  GraphTooExpensive,
  GraphUnavailable,
} from "../graph/store-errors.ts";
import type { GraphStore } from "../graph/store.ts";
import { failure, SparqlEndpoint } from "../server/sparql/endpoint.ts";
import { eventually } from "./support/eventually.ts";

/** A query that the store has been sent, and the beginning of whose answer it has not given. */
type Asked = {
  texts: unknown[];
  accept: string;
  dataset: unknown[];
  timeoutMs: number | undefined;
  signal: AbortSignal | undefined;
  answer: (body: Readable) => void;
  fail: (error: Error) => void;
  /** tells that the store has ended with it */
  end: () => void;
};

beforeEach(() => void jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] }));
afterEach(() => void jest.useRealTimers());
const turn = () => new Promise((done) => setImmediate(done));

/** An endpoint of two places, one for each caller, whose queries the store keeps. */
function endpointWith(concurrency = 2) {
  const asked: Asked[] = [];
  const query: GraphStore["query"] = async (
    text,
    { accept = "", endable, defaultGraphs, namedGraphs, timeoutMs, signal, place } = {},
  ) => {
    const end = await place!(signal);
    return new Promise((done, fail) => {
      const answer = (body: Readable) => done({ body } as Awaited<ReturnType<GraphStore["query"]>>);
      asked.push({
        texts: [text, endable],
        accept,
        dataset: [defaultGraphs, namedGraphs],
        timeoutMs,
        signal,
        answer,
        fail,
        end,
      });
    });
  };
  const warnings: string[] = [];
  const endpoint = new SparqlEndpoint({
    ...{ store: { query }, namedGraphs: [], timeoutMs: 60_000, readingMs: 20_000, concurrency },
    warn: (message) => void warnings.push(message),
  });
  const run = (caller: string, gone = new AbortController().signal, more = {}) => {
    const running = endpoint.run(
      { form: "select", text: "SELECT * {}" },
      { type: "text/csv", caller, gone, ...more },
    );
    running.catch(() => undefined);
    return running;
  };
  return { asked, run, endpoint, warnings };
}

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(30_000);

const code = (running: Promise<unknown>) =>
  running.then(
    () => "answered",
    (error: { code?: string; name: string }) => error.code ?? error.name,
  );
const read = async (body: Readable) => {
  for await (const _ of body);
};

test("a query goes to the store with the words in which it can end it", async () => {
  const { asked, endpoint } = endpointWith();
  const query = { form: "select", text: "SELECT * {}", endable: "SELECT * {{}}" } as const;
  const caller = { type: "text/csv", caller: "a", gone: new AbortController().signal };
  for (const each of [query, { form: query.form, text: query.text }])
    endpoint.run(each, caller).catch(() => undefined);
  await turn();
  asked[0]!.end();
  await turn();
  expect(asked.map(({ texts }) => texts)).toEqual([
    ["SELECT * {}", "SELECT * {{}}"],
    ["SELECT * {}", undefined],
  ]);
});

test.each([
  ['[{"s":{"type":"uri","value":"urn:s"}}]', "query_too_expensive", 1],
  ["[]", undefined, 2],
  ["0", "graph_unavailable", 1],
])("whether a DESCRIBE finds too much is asked before it: %s", async (bindings, refusal, questions) => {
  const { asked, endpoint } = endpointWith();
  const query = { form: "describe", text: "DESCRIBE ?s {}", excess: "SELECT ?s {}" } as const;
  const caller = { type: "text/turtle", caller: "a", gone: new AbortController().signal };
  const running = endpoint.run(query, { ...caller, defaultGraphs: ["urn:g"] });
  running.catch(() => undefined);
  await turn();
  expect(asked).toMatchObject([
    { texts: ["SELECT ?s {}", undefined], accept: "application/sparql-results+json" },
  ]);
  jest.advanceTimersByTime(20_000);
  const results = bindings === "0" ? "" : `{"results":{"bindings":${bindings}}}`;
  asked[0]!.answer(Readable.from([Buffer.from(results)]));
  asked[0]!.end();
  for (let n = 0; n < 10; n++) await turn();
  if (refusal !== undefined) await expect(running).rejects.toMatchObject({ code: refusal });
  expect(asked.map(({ dataset: [defaultGraphs] }) => defaultGraphs)).toEqual(
    Array.from({ length: questions }, () => ["urn:g"]),
  );
  expect(asked.at(-1)).toMatchObject(
    questions === 2
      ? { texts: ["DESCRIBE ?s {}", undefined], accept: "text/turtle", timeoutMs: 40_000 }
      : { timeoutMs: 60_000 },
  );
});

describe("a place", () => {
  test.each([
    "an answer is read to its end",
    "the store has refused",
    "the caller has gone before an answer",
    "the time is over",
    "the caller has gone while it read",
  ])("is free for the next as soon as the store is done, and not because %s", async (why) => {
    const { asked, run } = endpointWith();
    const caller = new AbortController();
    const first = run("a", caller.signal);
    await turn();
    void run("a");
    if (why === "the time is over") asked[0]!.fail(new GraphTimeout("late"));
    else if (why === "the store has refused") asked[0]!.fail(new GraphRejected(400, "no"));
    else if (why === "the caller has gone before an answer") {
      caller.abort();
      asked[0]!.fail(new GraphUnavailable("gone"));
    } else {
      asked[0]!.answer(Readable.from(["x", "y"]));
      const body = await first;
      if (why === "the caller has gone while it read") body.destroy();
      else await read(body);
    }
    await turn();
    jest.advanceTimersByTime(4_999);
    await turn();
    expect(asked).toHaveLength(1);
    asked[0]!.end();
    await turn();
    expect(asked).toHaveLength(2);
  });

  test("that a query keeps beyond its time is told of, once", async () => {
    const { asked, run, warnings } = endpointWith();
    for (const caller of ["a", "b"]) void run(caller);
    await turn();
    asked[0]!.end();
    jest.advanceTimersByTime(69_999);
    expect(warnings).toEqual([]);
    jest.advanceTimersByTime(60_000);
    expect(warnings).toEqual([expect.stringContaining("still runs a query past its timeout")]);
  });

  test("is one of half of them for a caller, for whom eight more wait, and of any for others", async () => {
    const { asked, run } = endpointWith(4);
    const running = Array.from({ length: 11 }, () => code(run("a")));
    await turn();
    expect(asked).toHaveLength(2);
    const underWay = Promise.resolve("under way");
    const outcomes = await Promise.all(running.map((each) => Promise.race([each, underWay])));
    expect(outcomes).toEqual([...Array<string>(10).fill("under way"), "ServiceBusy"]);
    void run("b");
    await turn();
    expect(asked).toHaveLength(3);
    for (const { end } of asked.splice(0)) end();
    await turn();
    expect(asked).toHaveLength(2);
  });

  test("is waited for for five seconds", async () => {
    const { run } = endpointWith();
    void run("a");
    const second = run("a");
    let said: unknown;
    void code(second).then((outcome) => (said = outcome));
    await turn();
    jest.advanceTimersByTime(4_999);
    await turn();
    expect(said).toBeUndefined();
    jest.advanceTimersByTime(1);
    await turn();
    expect(said).toBe("ServiceBusy");
  });
});

test("a long text waits to be read as a query does to run: eight of a caller, for five seconds, and none of who has gone", async () => {
  const { endpoint } = endpointWith();
  const long = `ASK { ${"<urn:s> <urn:p> <urn:o> .".repeat(100)} }`;
  const leaving = new AbortController();
  const reads = (caller: string, text = long, gone = new AbortController().signal) =>
    code(endpoint.guard(text, { caller, gone }));
  const first = reads("a", `${"a.".repeat(22_000)}:a`, leaving.signal);
  const hangingUp = new AbortController();
  const others = [reads("a", long, hangingUp.signal), ...Array.from({ length: 8 }, () => reads("a"))];
  await turn();
  const underWay = Promise.resolve("under way");
  const outcomes = () => Promise.all(others.map((each) => Promise.race([each, underWay])));
  const waiting = Array<string>(8).fill("under way");
  expect(await outcomes()).toEqual([...waiting, "ServiceBusy"]);
  expect(await reads("b")).toBe("answered");
  // In the place of one who has gone another one waits.
  hangingUp.abort();
  await turn();
  others.push(reads("a"));
  await turn();
  expect(await outcomes()).toEqual(["CallerGone", ...waiting.slice(1), "ServiceBusy", "under way"]);
  others[0] = others.pop()!;
  jest.advanceTimersByTime(4_999);
  await turn();
  expect(await outcomes()).toEqual([...waiting, "ServiceBusy"]);
  jest.advanceTimersByTime(1);
  await turn();
  expect(await outcomes()).toEqual(Array<string>(9).fill("ServiceBusy"));
  leaving.abort();
  expect(await first).toBe("CallerGone");
  // A thread would read on, for a quarter of a minute: its time begins when it does, beside that of one that is idle.
  await eventually(() => expect(jest.getTimerCount()).toBe(2));
  jest.advanceTimersByTime(20_000);
});

test.each([
  [
    "a text that there is no room to read is too expensive",
    "ERR_WORKER_OUT_OF_MEMORY",
    "query_too_expensive",
  ],
  ["another end of the thread is no fault of the text", "ERR_WORKER_INIT_FAILED", "ERR_WORKER_INIT_FAILED"],
])("%s", async (_, reason, told) => {
  const { endpoint } = endpointWith();
  const ended = Object.assign(new Error("The thread has ended."), { code: reason });
  const running = jest.spyOn(Piscina.prototype, "run").mockRejectedValue(ended);
  try {
    const long = `ASK { ${"<urn:s> <urn:p> <urn:o> .".repeat(100)} }`;
    expect(await code(endpoint.guard(long, { caller: "a", gone: new AbortController().signal }))).toBe(told);
  } finally {
    running.mockRestore();
  }
});

test("the store is asked for what the caller takes, of the dataset that was asked for", async () => {
  const { asked, run } = endpointWith(10);
  const gone = new AbortController().signal;
  void run("a", gone, { type: "application/json", defaultGraphs: ["urn:d"], namedGraphs: ["urn:n"] });
  void run("a", gone, { type: "text/xml" });
  void run("a");
  await turn();
  expect(asked.map(({ accept, dataset }) => [accept, dataset])).toEqual([
    ["application/sparql-results+json", [["urn:d"], ["urn:n"]]],
    ["application/sparql-results+xml", [undefined, undefined]],
    ["text/csv", [undefined, undefined]],
  ]);
  expect(asked[0]!.timeoutMs).toBe(60_000);
  expect(asked[0]!.signal).toBe(gone);
});

test("two hundred queries wait in all, of whomever; a caller is in the way of others only", async () => {
  const { run, endpoint } = endpointWith(1);
  const own = Array.from({ length: 9 }, () => code(run("caller 0")));
  await turn();
  expect(endpoint.isInTheWay("caller 0")).toBe(false);
  const others = Array.from({ length: 193 }, (_, place) => code(run(`caller ${1 + Math.floor(place / 8)}`)));
  await turn();
  expect(endpoint.isInTheWay("caller 0")).toBe(true);
  const underWay = Promise.resolve("under way");
  const outcomes = await Promise.all([...own, ...others].map((each) => Promise.race([each, underWay])));
  expect(outcomes).toEqual([...Array<string>(201).fill("under way"), "ServiceBusy"]);
});

test("what the store does not understand is told with its place in the text", () => {
  expect(failure(new GraphRejected(400, "what?", { line: 2, column: 3 }))).toMatchObject({
    details: [{ path: "query", message: "line 2, column 3" }],
  });
});

test.each([
  ["query_timeout", "is late", new GraphTimeout("late")],
  ["graph_unavailable", "is away", new GraphUnavailable("away")],
  ["query_failed", "fails on", new GraphFailed("500")],
  ["not_acceptable", "has no such format", new GraphRejected(406, "no such format")],
  ["query_too_expensive", "has no room for", new GraphTooExpensive(400, "too much")],
  ["malformed_query", "does not understand", new GraphRejected(400, "what?")],
])("%s is told of what a store %s", (told, _, error) => {
  expect(failure(error)).toMatchObject({ code: told });
});

test("an answer without a byte is one, also when it has ended before it was looked at", async () => {
  const { asked, run } = endpointWith();
  const running = run("a");
  await turn();
  const body = new Readable({ read: () => undefined });
  body.push(null);
  await turn();
  asked[0]!.answer(body);
  expect(
    await Promise.race([
      code(running),
      turn()
        .then(turn)
        .then(() => "nothing"),
    ]),
  ).toBe("answered");
});

test("an answer that fails before its first byte is refused, and one that failed before it was looked at as well", async () => {
  const { asked, run } = endpointWith(10);
  const late = run("a");
  await turn();
  const body = new Readable({ read: () => undefined });
  asked[0]!.answer(body);
  await turn();
  body.destroy(new GraphTimeout("late"));
  expect(await code(late)).toBe("query_timeout");
  const early = run("b");
  await turn();
  const broken = new Readable({ read: () => undefined });
  broken.on("error", () => undefined).destroy(new GraphTimeout("late"));
  await turn();
  asked[1]!.answer(broken);
  expect(await code(early)).toBe("query_timeout");
});
