// How the embedded store answers: in pieces while a query runs, with the same text as its engine would give at once.
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { BINDING_TYPES, GRAPH_TYPES } from "../graph/media-types.ts";
import { startSparqlDoor } from "./support/sparql-door.ts";
import { testStores, type RunningStore } from "./support/stores.ts";

const TERMS = "https://data.example.org/terms/";
const MANY = "https://data.example.org/many/";
/** More than are serialized at once, and no multiple of it. */
const TRIPLES = 2_345;
const ENDLESS = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }";

let dir: string;
let store: RunningStore;
/** For the one test that waits for the end of a query's time. */
let hasty: RunningStore;
/** With time to fill memory on a slow machine. */
let ample: RunningStore;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "embedded-store-"));
  const embedded = testStores.find(({ name }) => name === "embedded")!;
  store = await embedded.start({ dir: join(dir, "store") });
  hasty = await embedded.start({ dir: join(dir, "hasty"), queryTimeoutMs: 5_000 });
  ample = await embedded.start({ dir: join(dir, "ample"), queryTimeoutMs: 120_000 });
  await store.client.update(String.raw`PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    INSERT DATA { GRAPH <${TERMS}> { <urn:s> <urn:p> 1, -7, +1, 1.5, .5, 1.0e3, true, "1 2"^^xsd:integer, "maybe"^^xsd:boolean,
      "plain", "", "with \"quotes\" and 'others'", "tab\tline\nfeed\rreturn", "back\\slash \\n \\\"", "a, b; <c> & d",
      "\"@en", "\"^^<urn:x>", "deutsch"@de-CH, "left"@en--ltr, "typed"^^<urn:type>, "2031-02-28"^^xsd:date, "👩‍👩‍👧 שלום",
      <urn:o>, <https://example.org/ä?a=b&c='d'>, _:blank, <<( _:blank <urn:b> "c" )>> } }`);
  const lines = Array.from(
    { length: TRIPLES },
    (_, i) => `<https://example.org/s${i}> <https://example.org/p> "${i}" .`,
  );
  for (const { client } of [store, hasty])
    await client.putGraph(MANY, lines.join("\n"), "application/n-triples");
});
afterAll(async () => {
  await Promise.all([store, hasty, ample].map((each) => each.stop()));
  await rm(dir, { recursive: true });
});

const ask = (query: string, accept: string, headers: Record<string, string> = {}, asked = store) =>
  fetch(asked.urls.queryUrl, {
    method: "POST",
    body: query,
    headers: { ...asked.headers, "content-type": "application/sparql-query", accept, ...headers },
  });
/** The service's own questions are answered by the engine at once. */
const AT_ONCE = { priority: "u=1" };
const text = async (query: string, accept: string, headers?: Record<string, string>) =>
  (await ask(query, accept, headers)).text();

test.each(BINDING_TYPES)("solutions as %s are written as the engine writes them", async (type) => {
  for (const query of [
    `SELECT ?o ?unbound ?s FROM <${TERMS}> { ?s ?p ?o } ORDER BY ?o`,
    `SELECT * FROM <${MANY}> { ?s ?p ?o } ORDER BY ?s`,
    "SELECT * { FILTER(false) }",
    "SELECT * {}",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "ASK { ?s ?p ?o }",
  ]) {
    expect(await text(query, type)).toBe(await text(query, type, AT_ONCE));
  }
  // Which is answered without asking the engine where it can be.
  expect(await text("ASK {}", type)).toBe(await text("ASK { FILTER(true) }", type, AT_ONCE));
});

test.each(GRAPH_TYPES)("triples as %s are one document, of a query and of a whole graph", async (type) => {
  const copies = ["https://data.example.org/copy/1/", "https://data.example.org/copy/2/"];
  const query = `CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <${MANY}> { ?s ?p ?o } }`;
  const graph = await fetch(`${store.urls.graphStoreUrl}?graph=${encodeURIComponent(MANY)}`, {
    headers: { ...store.headers, accept: type },
  });
  const documents = [await text(query, type), await graph.text()];
  for (const [i, copy] of copies.entries()) {
    await store.client.putGraph(copy, documents[i]!, type);
    const rows = await store.client.select(
      `SELECT (COUNT(*) AS ?n) { GRAPH <${MANY}> { ?s ?p ?o } GRAPH <${copy}> { ?s ?p ?o } }`,
    );
    expect(Number(rows[0]?.["n"]?.value)).toBe(TRIPLES);
    await store.client.update(`DROP GRAPH <${copy}>`);
  }
  const none = await text("CONSTRUCT WHERE { <urn:none> ?p ?o }", type);
  await store.client.putGraph(copies[0]!, none, type);
  expect(await store.client.getGraph(copies[0]!)).toBeUndefined();
});

test.each([
  ["SELECT", ENDLESS, "text/csv"],
  [
    "CONSTRUCT",
    `CONSTRUCT { ?a ?e ?i } WHERE { ${ENDLESS.slice(ENDLESS.indexOf("{") + 1)}`,
    "application/n-triples",
  ],
])(
  "the answer to a %s begins long before the query ends, and a hang-up ends both",
  async (_form, query, type) => {
    for (let i = 0; i < 5; i++) {
      const answer = await ask(query, type);
      expect(answer.status).toBe(200);
      const reader = answer.body!.getReader();
      expect((await reader.read()).value?.length).toBeGreaterThan(0);
      await reader.cancel();
    }
    // There are fewer readers than that.
    expect((await ask("ASK {}", "text/csv")).status).toBe(200);
  },
);

test("a question is answered by whatever name its caller knows the machine, also one that is none", async () => {
  const status = await new Promise((resolve, reject) => {
    const headers = { ...store.headers, host: "the store" };
    const asking = get(`${store.urls.queryUrl}?query=ASK%7B%7D`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asking.on("error", reject);
  });
  expect(status).toBe(200);
});

test("no more is made than the caller takes, and what was begun ends with a notice that time is over", async () => {
  // 35 MB: more than sockets hold, and soon made for a caller who takes it.
  const factor = Array.from({ length: 150 }, (_, n) => n).join(" ");
  const query = `SELECT * { GRAPH <${MANY}> { ?s ?p ?o } VALUES ?n { ${factor} } VALUES ?t { "${"x".repeat(40)}" } }`;
  const answer = await ask(query, "text/csv", {}, hasty);
  await new Promise((resolve) => setTimeout(resolve, 5_500));
  expect(await answer.text()).toMatch(/\n## {2}Query cancelled due to timeout\n$/);
});

/** A text of 10 bytes, doubled so many times. */
function doubled(times: number): string {
  const doublings = Array.from({ length: times }, (_, i) => `BIND(CONCAT(?v${i}, ?v${i}) AS ?v${i + 1})`);
  return `SELECT (STRLEN(?v${times}) AS ?n) { BIND("0123456789" AS ?v0) ${doublings.join(" ")} }`;
}

test("what a query names as its dataset is asked, and what it asks for answered, however its IRIs are written", async () => {
  const counted = async (dataset: string) =>
    (await text(`SELECT (COUNT(*) AS ?n) ${dataset} { ?s ?p ?o }`, "text/csv")).trim().split(/\s+/)[1];
  const inTerms = await counted(`FROM <${TERMS}>`);
  expect(inTerms).not.toBe(await counted(""));
  for (const written of [TERMS.replace("t", "\\u0074"), TERMS.replace("t", "\\U00000074")])
    expect(await counted(`FROM <${written}>`)).toBe(inTerms);
  // There is no such graph.
  expect(await counted("FROM <https://data.example.org/a\u00a0b>")).toBe("0");
  expect(await counted("FROM NAMED <https://data.example.org/\\u00e9>")).toBe("0");
  expect(await counted("# from <urn:a\u00a0b>\n")).toBe(await counted(""));
  for (const prologue of ["PREFIX p: <http://x/\\u00e9/select>", "BASE <http://x/\\u00e9/select>"])
    expect((await ask(`${prologue} CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }`, "text/turtle")).status).toBe(200);
  const fromPrefix = await text(
    "PREFIX from: <https://example.org/> SELECT * { from:s1 from:p ?o }",
    "text/csv",
  );
  expect(fromPrefix.trim()).toBe("o\r\n1");
});

test("a query that needs more memory than there is says so, at the store and at the door", async () => {
  const door = await startSparqlDoor({ store: ample.client, timeoutMs: 120_000 });
  // One text of 560 MB. That doublings alone would make it is refused before.
  const numbers = Array.from({ length: 250 }, (_, n) => n).join(" ");
  const query = `SELECT (STRLEN(GROUP_CONCAT(?t)) AS ?n) {
    VALUES ?t { "${"x".repeat(9_000)}" } VALUES ?a { ${numbers} } VALUES ?b { ${numbers} } }`;
  try {
    expect((await ask(query, "text/csv", {}, ample)).status).toBe(507);
    const answer = await fetch(door.url, {
      method: "POST",
      body: query,
      headers: { "content-type": "application/sparql-query" },
    });
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ error: "query_too_expensive", statusCode: 504 });
    expect(await ample.client.ask("ASK { FILTER(true) }")).toBe(true);
  } finally {
    await door.stop();
  }
}, 400_000);

test("a query has a few hundred megabytes, whatever it is after, and several at once leave the store in order", async () => {
  // Its texts together: 42 MB, and 671 MB.
  expect(await (await ask(doubled(21), "text/csv", {}, ample)).text()).toContain(String(10 * 2 ** 21));
  expect((await ask(doubled(25), "text/csv", {}, ample)).status).toBe(507);
  const before = process.memoryUsage().rss;
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 10);
  try {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => ask(doubled(40), "text/csv", {}, ample)),
    );
    expect(answers.map(({ status }) => status)).toEqual([507, 507, 507, 507]);
  } finally {
    clearInterval(watch);
  }
  expect(most - before).toBeLessThan(2_000_000_000);
  expect(await ample.client.ask("ASK { FILTER(true) }")).toBe(true);
}, 400_000);

test("a store that grows by more than the memory of one query answers every question meanwhile", async () => {
  const growing = `${TERMS}growing`;
  const batches = 100;
  const perBatch = 6_000;
  let written = 0;
  const over = new AbortController();
  const reader = async (): Promise<number[]> => {
    const statuses: number[] = [];
    while (!over.signal.aborted) {
      const known = written;
      const answer = await ask(
        `SELECT (COUNT(*) AS ?n) { GRAPH <${growing}> { ?s ?p ?o } }`,
        "text/csv",
        {},
        ample,
      );
      const [, count] = (await answer.text()).split("\r\n");
      if (answer.ok) expect(Number(count)).toBeGreaterThanOrEqual(known * perBatch);
      statuses.push(answer.status);
    }
    return statuses;
  };
  const readers = [reader(), reader(), reader()];
  for (; written < batches; written++) {
    const lines = Array.from(
      { length: perBatch },
      (_, i) => `<https://example.org/${written}/${i}> <https://example.org/p> "${i}" .`,
    );
    await ample.client.update(`INSERT DATA { GRAPH <${growing}> { ${lines.join("\n")} } }`);
  }
  over.abort();
  const statuses = (await Promise.all(readers)).flat();
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect(statuses.length).toBeGreaterThan(10);
}, 400_000);
