// /v0/sparql against every engine: what it answers, in which form, and what it refuses. What the protocol asks for is in
// sparql-protocol.test.ts.
import { mkdtemp, rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually } from "./support/eventually.ts";
import { startSparqlDoor } from "./support/sparql-door.ts";
import type { RunningDoor } from "./support/sparql-door.ts";
import { testStores } from "./support/stores.ts";
import type { RunningStore } from "./support/stores.ts";

const A = "https://data.example.org/a/";
const B = "https://data.example.org/b/";
const RUNAWAY = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";
// So long that no answer runs into it, however busy the machine is.
const TIMEOUT_MS = 60_000;
const STORE_TIMEOUT_MS = 2 * TIMEOUT_MS;
const SOON_MS = 1_000;
const MANY_ROWS = 40_000;

describe.each(testStores)("$name", ({ available, peculiarities, start }) => {
  const inEngine = available ? test : test.skip;
  let dir: string;
  let store: RunningStore;
  let door: RunningDoor;
  let hastyDoor: RunningDoor;
  /** Why what was asked at the hasty door came to nothing. */
  const failures: string[] = [];

  beforeAll(async () => {
    if (!available) return;
    dir = await mkdtemp(join(tmpdir(), "sparql-door-"));
    store = await start({ dir, queryTimeoutMs: STORE_TIMEOUT_MS });
    await store.client.update(`INSERT DATA {
      GRAPH <${A}> { <https://example.org/s> <https://example.org/p> "in A" }
      GRAPH <${B}> { <https://example.org/s> <https://example.org/p> "in B" } }`);
    const rows = Array.from({ length: MANY_ROWS }, (_, i) => `<urn:s${i}> <urn:p> "${i}" .`).join("\n");
    await store.client.putGraph("https://data.example.org/many/", rows, "application/n-triples");
    door = await startSparqlDoor({ store: store.client, timeoutMs: TIMEOUT_MS });
    const query: typeof store.client.query = async (...args) => {
      try {
        return await store.client.query(...args);
      } catch (error) {
        failures.push((error as Error).message);
        throw error;
      }
    };
    hastyDoor = await startSparqlDoor({ store: { ...store.client, query }, timeoutMs: SOON_MS });
  });
  afterAll(async () => {
    if (!available) return;
    await door.stop();
    await hastyDoor.stop();
    await store.stop();
    await rm(dir, { recursive: true });
  });

  const post = (
    body: string | URLSearchParams,
    headers: Record<string, string> = {},
    search = "",
    to = door,
  ) =>
    fetch(to.url + search, {
      method: "POST",
      body,
      headers: {
        ...(typeof body === "string" && { "content-type": "application/sparql-query" }),
        ...headers,
      },
    });
  const refusal = async (answer: Response) => ({
    status: answer.status,
    body: (await answer.json()) as { error: string },
  });
  const some = `SELECT ?o FROM <${A}> { ?s ?p ?o }`;
  const valuesOf = async (answer: Response) => {
    expect(answer.status).toBe(200);
    const { results } = (await answer.json()) as { results: { bindings: { o: { value: string } }[] } };
    return results.bindings.map((row) => row.o.value).toSorted();
  };

  describe("the three bodies", () => {
    inEngine("application/sparql-query", async () =>
      expect(await valuesOf(await post(some))).toEqual(["in A"]),
    );
    inEngine("application/x-www-form-urlencoded", async () =>
      expect(await valuesOf(await post(new URLSearchParams({ query: some })))).toEqual(["in A"]),
    );
    inEngine("application/json", async () => {
      const body = JSON.stringify({ query: some });
      expect(await valuesOf(await post(body, { "content-type": "application/json; charset=utf-8" }))).toEqual(
        ["in A"],
      );
    });
  });

  describe("datasets", () => {
    const query = `SELECT ?o { <https://example.org/s> ?p ?o }`;
    const inB = `default-graph-uri=${encodeURIComponent(B)}`;
    inEngine("the union of all graphs", async () =>
      expect(await valuesOf(await post(query))).toEqual(["in A", "in B"]),
    );
    inEngine("default-graph-uri in the address", async () =>
      expect(await valuesOf(await post(query, {}, `?${inB}`))).toEqual(["in B"]),
    );
    inEngine("default-graph-uri in a form", async () =>
      expect(await valuesOf(await post(new URLSearchParams({ query, "default-graph-uri": B })))).toEqual([
        "in B",
      ]),
    );
    inEngine("default-graph-uri in JSON, several", async () => {
      const body = JSON.stringify({ query, "default-graph-uri": [A, B] });
      expect(await valuesOf(await post(body, { "content-type": "application/json" }))).toEqual([
        "in A",
        "in B",
      ]);
    });
    inEngine("default-graph-uri before FROM", async () =>
      expect(await valuesOf(await post(some, {}, `?${inB}`))).toEqual(["in B"]),
    );
    inEngine("named-graph-uri", async () => {
      const inNamed = `SELECT ?o { GRAPH ?g { ?s ?p ?o } }`;
      const search = `?named-graph-uri=${encodeURIComponent(A)}`;
      expect(await valuesOf(await post(inNamed, {}, search))).toEqual(["in A"]);
      expect(await valuesOf(await post(query, {}, search))).toEqual([]);
    });
    inEngine("something that is not an absolute IRI is refused", async () => {
      expect(await refusal(await post(query, {}, "?default-graph-uri=x%3E%20y"))).toMatchObject({
        status: 400,
        body: { error: "validation_failed", details: [{ path: "default-graph-uri" }] },
      });
    });
  });

  describe("formats", () => {
    const construct = `CONSTRUCT { ?s ?p ?o } FROM <${A}> WHERE { ?s ?p ?o }`;
    const tsv = peculiarities.has("strings without quotes in TSV") ? /^\?o\nin A/ : /^\?o\n"in A"/;
    inEngine.each([
      [some, undefined, "application/sparql-results+json", /"in A"/],
      [some, "*/*", "application/sparql-results+json", /"in A"/],
      [some, "application/json", "application/json; charset=utf-8", /"in A"/],
      [some, "application/sparql-results+xml", "application/sparql-results+xml", /<literal>in A</],
      [some, "text/xml", "text/xml; charset=utf-8", /<literal>in A</],
      [some, "application/xml", "application/xml", /<literal>in A</],
      [
        some,
        "text/csv;Q=0.5, application/sparql-results+xml;Q=0.9",
        "application/sparql-results+xml",
        /<sparql/,
      ],
      [some, "text/csv", "text/csv; charset=utf-8", /^o\r?\nin A/],
      [some, "text/tab-separated-values", "text/tab-separated-values; charset=utf-8", tsv],
      [
        some,
        "text/csv;q=0.5, application/sparql-results+xml;q=0.9, text/html",
        "application/sparql-results+xml",
        /<sparql/,
      ],
      [some, "text/*", "text/csv; charset=utf-8", /in A/],
      [some, "text/csv;charset=utf-8;q=0.5, text/html", "text/csv; charset=utf-8", /in A/],
      [some, "text/html, */*;q=0.8", "application/sparql-results+json", /"in A"/],
      [some, "application/sparql-results+json;q=0, */*", "application/sparql-results+xml", /<sparql/],
      [`ASK { ?s ?p "in A" }`, undefined, "application/sparql-results+json", /"boolean"\s*:\s*true/],
      [`ASK { ?s ?p "in A" }`, "text/csv", "text/csv; charset=utf-8", /true/],
      [construct, undefined, "text/turtle; charset=utf-8", /"in A"/],
      [
        construct,
        "application/n-triples",
        "application/n-triples",
        /^<https:\/\/example.org\/s> <[^>]+> "in A" \.$/m,
      ],
      [construct, "application/ld+json", "application/ld+json", /"in A"/],
      [construct, "application/rdf+xml", "application/rdf+xml", />in A</],
      ["DESCRIBE <https://example.org/s>", "text/turtle", "text/turtle; charset=utf-8", /"in B"/],
    ])("%s, Accept: %s", async (query, accept, type, text) => {
      // fetch sends */* by default.
      const answer = await post(query, accept === undefined ? {} : { accept });
      if (query.startsWith("ASK") && accept === "text/csv" && peculiarities.has("no ASK as CSV or TSV")) {
        expect(answer.status).toBe(406);
        return;
      }
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe(type);
      expect(await answer.text()).toMatch(text);
    });
    inEngine.each([
      [some, "text/turtle"],
      [some, "text/html"],
      [some, "application/sparql-results+json;q=0"],
      [construct, "application/sparql-results+json"],
      [construct, "text/csv"],
    ])("%s is not available as %s", async (query, accept) => {
      expect(await refusal(await post(query, { accept }))).toMatchObject({
        status: 406,
        body: { error: "not_acceptable" },
      });
    });
  });

  describe("an answer that is longer than memory should hold", () => {
    const all = "SELECT * { ?s <urn:p> ?o }";
    inEngine("streams whole", async () => {
      const lines = (await (await post(all, { accept: "text/csv" })).text()).trim().split(/\r?\n/);
      expect(lines).toHaveLength(MANY_ROWS + 1);
    });
    inEngine("waits for a caller who reads slowly", async () => {
      const answer = await post(all);
      let length = 0;
      let pauses = 0;
      for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
        length += chunk.length;
        if (pauses++ < 5) await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(length).toBeGreaterThan(MANY_ROWS * 50);
    });
    inEngine(
      "that breaks off at the time limit breaks the connection, so nobody takes it for complete",
      async () => {
        const endless = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";
        const answer = await post(endless, { accept: "text/csv" }, "", hastyDoor);
        if (answer.status === 504) expect(await answer.json()).toMatchObject({ error: "query_timeout" });
        else await expect(answer.text()).rejects.toThrow();
      },
    );
  });

  describe("a query that takes too long", () => {
    inEngine("is 504 at the limit", async () => {
      const before = failures.length;
      expect(await refusal(await post(RUNAWAY, {}, "", hastyDoor))).toMatchObject({
        status: 504,
        body: { error: "query_timeout", statusCode: 504 },
      });
      // It was the door that ended it, and not the store.
      expect(failures.slice(before)).toEqual([`The graph store gave no answer within ${SOON_MS} ms.`]);
    });
    inEngine("takes one of the places of its key, and of no other", async () => {
      const strict = await startSparqlDoor({ store: store.client, timeoutMs: 60_000, waitMs: 100 });
      const callers = new AbortController();
      const send = (body: string, key: string, signal?: AbortSignal) =>
        fetch(strict.url, {
          method: "POST",
          body,
          headers: { "content-type": "application/sparql-query", "x-key": key },
          signal,
        });
      try {
        const running = [1, 2].map(() => send(RUNAWAY, "busy", callers.signal).catch(() => undefined));
        await eventually(async () => {
          const third = await send("ASK {}", "busy");
          expect(third.headers.get("retry-after")).toMatch(/^\d+$/);
          expect(await refusal(third)).toMatchObject({ status: 503, body: { error: "service_busy" } });
        });
        expect((await send("ASK { FILTER(true) }", "other")).status).toBe(200);
        callers.abort();
        await Promise.all(running);
        await eventually(async () => expect((await send("ASK {}", "busy")).status).toBe(200));
      } finally {
        await strict.stop();
      }
    });
    inEngine("frees its place when its caller hangs up", async () => {
      for (let i = 0; i < 4; i++) {
        const caller = new AbortController();
        const answer = fetch(door.url, {
          method: "POST",
          body: RUNAWAY,
          headers: { "content-type": "application/sparql-query", "x-key": "leaving" },
          signal: caller.signal,
        });
        setTimeout(() => caller.abort(), 100);
        await expect(answer).rejects.toThrow();
      }
      await eventually(async () =>
        expect((await post("ASK { FILTER(true) }", { "x-key": "leaving" })).status).toBe(200),
      );
    });
  });

  describe("malformed queries", () => {
    inEngine.each([
      ["SELECT *\n{ ?s ?p ", "line 2, column 9"],
      ["SELEC * {}", "line 1, column 1"],
      ["SELECT * {} ; DROP ALL", "line 1, column 13"],
      ["", "line 1, column 1"],
      ["# nothing", "line 1, column 10"],
    ])("%j", async (query, where) => {
      expect(await refusal(await post(query))).toMatchObject({
        status: 400,
        body: { error: "malformed_query", details: [{ path: "query", message: where }] },
      });
    });
    inEngine.each([
      ["an unknown prefix", "SELECT * { ex:s ?p ?o }"],
      ["a variable selected twice", "SELECT ?s (1 AS ?s) { ?s ?p ?o }"],
      ["a variable that is not grouped", "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p"],
      ["groups without end", `SELECT * ${"{".repeat(10_000)}${"}".repeat(10_000)}`],
      ["brackets without end", `SELECT * { FILTER(${"(".repeat(10_000)}1${")".repeat(10_000)}) }`],
      ["a sum without end", `SELECT * { FILTER(${"1+".repeat(10_000)}1) }`],
      ["a NUL", "SELECT * { ?s ?p \u0000 }"],
    ])("%s", async (_name, query) => {
      expect(await refusal(await post(query))).toMatchObject({
        status: 400,
        body: { error: "malformed_query" },
      });
    });
    inEngine("the door still answers afterwards", async () =>
      expect(await valuesOf(await post(some))).toEqual(["in A"]),
    );
  });
});

describe("without a store", () => {
  const NOWHERE = "http://127.0.0.1:9/ds";
  let door: RunningDoor;
  beforeAll(async () => {
    const { createGraphStore, storeUrls } = await import("../graph/store.ts");
    door = await startSparqlDoor({ store: createGraphStore(storeUrls(NOWHERE)), timeoutMs: TIMEOUT_MS });
  });
  afterAll(() => door.stop());

  const send = async (init: RequestInit) => {
    const answer = await fetch(door.url, init);
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };
  const query = (text: string) =>
    send({ method: "POST", body: text, headers: { "content-type": "application/sparql-query" } });

  test("503 graph_unavailable, and nothing about the cause", async () => {
    const answer = await query("ASK {}");
    expect(answer).toMatchObject({ status: 503, body: { error: "graph_unavailable", statusCode: 503 } });
    expect(answer.headers.get("retry-after")).toBe("5");
    expect(JSON.stringify(answer.body)).not.toContain("127.0.0.1");
  });

  test.each([
    ["default-graph-uri=urn:g", "query", "is required"],
    ["named-graph-uri=urn:g", "query", "is required"],
    ["query=ASK{}&default-graph-uri=g", "default-graph-uri", "must be an absolute IRI"],
    ["query=ASK{}&named-graph-uri=g", "named-graph-uri", "must be an absolute IRI"],
  ])("an address that lacks something is refused: %s", async (parameters, path, message) => {
    const answer = await fetch(`${door.url}?${parameters}`);
    expect([answer.status, await answer.json()]).toMatchObject([400, { details: [{ path, message }] }]);
  });

  test("of JSON that is refused the member is named", async () => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ query: "ASK {}", "named-graph-uri": 1 });
    const answer = await send({ method: "POST", body, headers });
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: "named-graph-uri" }] } });
  });

  describe("updates are 403 read_only", () => {
    test.each([
      "INSERT DATA { <urn:s> <urn:p> 1 }",
      "insert data { graph <urn:g> { <urn:s> <urn:p> 1 } }",
      "DELETE DATA { <urn:s> <urn:p> 1 }",
      "DELETE WHERE { ?s ?p ?o }",
      "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
      "INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
      "DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
      "WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
      "DELETE { ?s ?p ?o } USING <urn:g> WHERE { ?s ?p ?o }",
      "LOAD <http://127.0.0.1:9/x>",
      "LOAD SILENT <http://127.0.0.1:9/x> INTO GRAPH <urn:g>",
      "CLEAR ALL",
      "CLEAR SILENT GRAPH <urn:g>",
      "CREATE GRAPH <urn:g>",
      "DROP DEFAULT",
      "DROP NAMED",
      "COPY <urn:a> TO <urn:b>",
      "MOVE DEFAULT TO <urn:b>",
      "ADD SILENT <urn:a> TO <urn:b>",
      "PREFIX s: <urn:> # SELECT\nCLEAR ALL",
      "CLEAR ALL ;",
      "CLEAR ALL ; INSERT DATA { <urn:s> <urn:p> 1 }",
      "\\u0043LEAR ALL",
      "\\U00000043LEAR \\u0041LL",
    ])("%s", async (text) => {
      expect(await query(text)).toMatchObject({ status: 403, body: { error: "read_only" } });
      const json = JSON.stringify({ query: text });
      expect(
        await send({ method: "POST", body: json, headers: { "content-type": "application/json" } }),
      ).toMatchObject({ status: 403, body: { error: "read_only" } });
      expect(await send({ method: "POST", body: new URLSearchParams({ query: text }) })).toMatchObject({
        status: 403,
        body: { error: "read_only" },
      });
    });
    test("sent as updates", async () => {
      const update = "INSERT DATA { <urn:s> <urn:p> 1 }";
      const direct = {
        method: "POST",
        body: update,
        headers: { "content-type": "application/sparql-update" },
      };
      expect(await send(direct)).toMatchObject({ status: 403, body: { error: "read_only" } });
      const byGet = await fetch(`${door.url}?${new URLSearchParams({ update }).toString()}`);
      expect([byGet.status, await byGet.json()]).toMatchObject([403, { error: "read_only" }]);
      for (const form of [`update=${update}`, `query=ASK+{}&update=${update}`]) {
        expect(await send({ method: "POST", body: new URLSearchParams(form) })).toMatchObject({
          status: 403,
          body: { error: "read_only" },
        });
      }
    });
  });

  describe("SERVICE is 403 federation_disabled", () => {
    const service = "SERVICE <http://127.0.0.1:9/> { ?s ?p ?o }";
    test.each([
      `SELECT * { ${service} }`,
      `SELECT * { service <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { sErViCe SiLeNt <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { SERVICE ?where { ?s ?p ?o } }`,
      `PREFIX x: <http://127.0.0.1:9/> SELECT * { SERVICE x: { ?s ?p ?o } }`,
      `SELECT * { { SELECT * { { SELECT ?s { ${service} } } } } }`,
      `SELECT * { ?s ?p ?o FILTER EXISTS { ${service} } }`,
      `SELECT * { ?s ?p ?o FILTER NOT EXISTS { ${service} } }`,
      `SELECT (EXISTS { ${service} } AS ?e) {}`,
      `SELECT * { ?s ?p ?o BIND(EXISTS { ${service} } AS ?e) }`,
      `SELECT * { { ?s ?p 1 } UNION { ${service} } UNION { ?s ?p 2 } }`,
      `SELECT * { OPTIONAL { ${service} } }`,
      `SELECT * { ?s ?p ?o MINUS { ${service} } }`,
      `SELECT * { GRAPH ?g { ${service} } }`,
      `SELECT * FROM <urn:g> { VALUES ?x { 1 } ${service} }`,
      `ASK { ${service} }`,
      `CONSTRUCT { ?s ?p ?o } WHERE { ${service} }`,
      `DESCRIBE ?s { ${service} }`,
      `SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (EXISTS { ${service} })`,
      `SELECT ?s { ?s ?p ?o } ORDER BY (EXISTS { ${service} })`,
      `SELECT * { # a comment }\nSERVICE # another\n <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { ?s ?p "}" . ?s ?p '''#''' . ${service} }`,
      `SELECT * { \\u0053ERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { \\u0053\\u0045\\u0052\\u0056\\u0049\\u0043\\u0045 <http://127.0.0.1:9/> { ?s ?p ?o } }`,
      `SELECT * { S\\U00000045RVICE <http://127.0.0.1:9/> \\u007b ?s ?p ?o \\u007D }`,
      `SELECT * { ?s ?p "\\u0022 . SERVICE <http://127.0.0.1:9/> { ?a ?b "x" } }`,
      // In a comment, unless the escape in it ends the line; in a text, unless an escape is read within it.
      `SELECT * { # \\u000ASERVICE <http://127.0.0.1:9/> { ?s ?p ?o }\n}`,
      `SELECT * { ?s ?p "\\u0022" . SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } # """\n}`,
    ])("%s", async (text) => {
      expect(await query(text)).toMatchObject({ status: 403, body: { error: "federation_disabled" } });
    });
    test.each([
      `SELECT * { ?s ?p "SERVICE <http://127.0.0.1:9/> {}" }`,
      `SELECT * { ?s ?p ?service } # SERVICE <http://127.0.0.1:9/> {}`,
      `PREFIX service: <urn:> SELECT * { ?s service:service <urn:SERVICE> }`,
      `SELECT * { ?s ?p "\\u0053ERVICE" }`,
    ])("but not the mere word: %s", async (text) => {
      expect(await query(text)).toMatchObject({ status: 503 });
    });
  });

  describe("a text that is refused says where", () => {
    test.each([
      ["after a line that ends as on Windows", "SELECT *\r\n{ ?s ?p ", 2, 9],
      ["after one that ends as on old Macs", "SELECT *\r{ ?s ?p ", 2, 9],
      ["after an empty line", "SELECT *\n\n{ ?s ?p ", 3, 9],
      ["at an escape of what is no character of Unicode", "ASK { ?s ?p '\\U00110000' }", 1, 14],
    ])("%s", async (_, text, line, column) => {
      expect(await query(text)).toMatchObject({
        status: 400,
        body: {
          error: "malformed_query",
          details: [{ path: "query", message: `line ${line}, column ${column}` }],
        },
      });
    });

    test.each([
      ["The query is empty.", "PREFIX a: <urn:a>\n# nothing", 2, 10],
      ['Unexpected character "😀".', "ASK {}\n 😀", 2, 2],
    ])("and what: %s", async (message, text, line, column) => {
      const details = [{ path: "query", message: `line ${line}, column ${column}` }];
      expect(await query(text)).toMatchObject({ status: 400, body: { message, details } });
    });

    test("and quotes no more of it than forty characters", async () => {
      const { body } = await query(`ASK {} <urn:${"x".repeat(80)}>`);
      expect((body as { message: string }).message).toBe(`Unexpected "<urn:${"x".repeat(35)}".`);
    });
  });

  describe("a text that the parser would read for minutes", () => {
    const ENDLESS = `${"a.".repeat(22_000)}:a`;
    const LONG = `ASK { ${"<urn:s> <urn:p> <urn:o> .".repeat(100)} }`;
    let patient: RunningDoor;
    let usual: RunningDoor;
    beforeAll(async () => {
      const { createGraphStore, storeUrls } = await import("../graph/store.ts");
      const store = createGraphStore(storeUrls(NOWHERE));
      patient = await startSparqlDoor({ store, timeoutMs: 60_000, readingMs: 5_000, waitMs: 60_000 });
      usual = await startSparqlDoor({ store, timeoutMs: 60_000, readingMs: undefined });
    });
    afterAll(() => Promise.all([patient.stop(), usual.stop()]));

    const ask = async (key: string, body: string, signal?: AbortSignal, { url } = patient) => {
      const headers = { "content-type": "application/sparql-query", "x-key": key };
      const answer = await fetch(url, { method: "POST", body, headers, ...(signal && { signal }) });
      return [answer.status, ((await answer.json()) as { error: string }).error];
    };
    const READ = [503, "graph_unavailable"];

    test("is read for longer than its time by nobody, and meanwhile others are answered", async () => {
      let ended = 0;
      const endless = [ENDLESS, ENDLESS].map(async (text) => {
        const answer = await ask("one", text);
        ended += 1;
        return answer;
      });
      expect(await ask("another", "ASK {}")).toEqual(READ);
      expect(await ask("another", LONG)).toEqual(READ);
      expect(ended).toBe(0);
      const late = [504, "query_timeout"];
      expect(await Promise.all(endless)).toEqual([late, late]);
      expect(await ask("one", LONG)).toEqual(READ);
    });

    test("takes the time of a caller who hangs up as of one who stays, and of nobody else", async () => {
      const leaving = new AbortController();
      let isNext = false;
      const left = ask("two", ENDLESS, leaving.signal);
      await ask("two", "ASK {}");
      leaving.abort();
      await expect(left).rejects.toThrow();
      const next = ask("two", LONG).then((answer) => {
        isNext = true;
        return answer;
      });
      expect(await ask("three", LONG)).toEqual(READ);
      expect(isNext).toBe(false);
      expect(await next).toEqual(READ);
    });

    test("has all of its time, however long a thread takes that has to start first", async () => {
      const { createGraphStore, storeUrls } = await import("../graph/store.ts");
      const store = createGraphStore(storeUrls(NOWHERE));
      await eventually(async () => {
        // No thread starts in this time.
        const hasty = await startSparqlDoor({ store, timeoutMs: 60_000, readingMs: 50 });
        try {
          expect(await ask("four", LONG, undefined, hasty)).toEqual(READ);
        } finally {
          await hasty.stop();
        }
      });
    });

    test("is given up before others are refused, even if several callers send such texts", async () => {
      await Promise.all(["one", "two"].map((key) => ask(key, LONG, undefined, usual)));
      const endless = Promise.all(["one", "two"].map((key) => ask(key, ENDLESS, undefined, usual)));
      await ask("three", "ASK {}", undefined, usual);
      const third = await ask("three", LONG, undefined, usual);
      const late = [504, "query_timeout"];
      expect(await endless).toEqual([late, late]);
      // Read, or on a machine that is busy for seconds given up in its turn.
      expect([READ, late]).toContainEqual(third);
    });
  });

  test("a text is read alike however long it is", async () => {
    const long = "a".repeat(5_000);
    const name = "a".repeat(300);
    for (const text of [
      `PREFIX ${name}: <urn:${long}> ASK { ?s ${name}:${long} ?${long} . _:${long} ?p "${long}" }`,
      `ASK { ?s ?p """${long}"\\"""${long}""", '''${long}'${long}'''@${"a".repeat(60)} } # ${long}`,
    ])
      expect(await query(text)).toMatchObject({ status: 503 });
    const after = (text: string) => query(`# ${long}\n${text}`);
    expect(await after("ASK {} <urn:s>")).toMatchObject({
      status: 400,
      body: {
        error: "malformed_query",
        message: 'Unexpected "<urn:s>".',
        details: [{ message: "line 2, column 8" }],
      },
    });
    expect(await after("CLEAR ALL")).toMatchObject({ status: 403, body: { error: "read_only" } });
    expect(await after("ASK { SERVICE <urn:s> {} }")).toMatchObject({
      status: 403,
      body: { error: "federation_disabled" },
    });
  });

  test("a query has so many levels as any store answers, and no more", async () => {
    const sum = (terms: number) => `ASK { FILTER(${"1+".repeat(terms)}1) }`;
    expect(await query(sum(496))).toMatchObject({ status: 503 });
    // The last is too deep to be read at all.
    const nested = (levels: number) => `ASK { FILTER(${"(".repeat(levels)}1${")".repeat(levels)}) }`;
    for (const text of [sum(497), sum(600), sum(2_000), nested(30_000)])
      expect(await query(text)).toMatchObject({
        status: 400,
        body: { message: "The query is nested too deeply." },
      });
  });

  test.each([
    ["\\u0041SK {}", "ASK {}"],
    ["ASK { ?s ?p '\\U0010FFFF' }", "ASK { ?s ?p '\\U0010FFFF' }"],
    ["ASK { ?s ?p '\\u0041' }", "ASK { ?s ?p '\\u0041' }"],
  ])("%s is sent as a text that every store reads alike", async (text, sent) => {
    const { guardQuery } = await import("../graph/sparql-guard.ts");
    expect(guardQuery(text)).toEqual({ form: "ask", text: sent });
  });

  describe("bodies that are refused", () => {
    test.each<[string, number, string, string, string]>([
      ["no content type", 415, "unsupported_media_type", "", "ASK {}"],
      ["another content type", 415, "unsupported_media_type", "text/plain", "ASK {}"],
      [
        "another charset",
        415,
        "unsupported_media_type",
        "application/sparql-query; charset=utf-16",
        "ASK {}",
      ],
      ["malformed JSON", 400, "validation_failed", "application/json", "{"],
      ["JSON of another shape", 400, "validation_failed", "application/json", `["ASK {}"]`],
      ["JSON without a query", 400, "validation_failed", "application/json", "{}"],
      [
        "JSON with an unknown field",
        400,
        "validation_failed",
        "application/json",
        `{"query":"ASK {}","x":1}`,
      ],
      ["a form without a query", 400, "validation_failed", "application/x-www-form-urlencoded", "q=ASK"],
      [
        "a form with two queries",
        400,
        "validation_failed",
        "application/x-www-form-urlencoded",
        "query=ASK&query=ASK",
      ],
      ["65,537 bytes", 413, "payload_too_large", "application/sparql-query", " ".repeat(65_537)],
      ["10 MB", 413, "payload_too_large", "application/sparql-query", " ".repeat(10_000_000)],
    ])("%s", async (_name, status, error, type, body) => {
      const answer = await send({
        method: "POST",
        body: Buffer.from(body),
        headers: type ? { "content-type": type } : {},
      });
      expect(answer).toMatchObject({ status, body: { error, statusCode: status } });
      // What was not read of it would be taken for the next request.
      if (status === 413) expect(answer.headers.get("connection")).toBe("close");
    });
    test.each(["gzip", "br"])("one that is packed, as %s", async (encoding) => {
      const answer = await send({
        method: "POST",
        body: "ASK {}",
        headers: { "content-type": "application/sparql-query", "content-encoding": encoding },
      });
      expect(answer).toMatchObject({ status: 415, body: { error: "unsupported_media_type" } });
    });
    test("what is not UTF-8", async () => {
      const body = Buffer.from([0x41, 0x53, 0x4b, 0xff, 0xfe]);
      expect(
        await send({ method: "POST", body, headers: { "content-type": "application/sparql-query" } }),
      ).toMatchObject({ status: 400, body: { error: "validation_failed" } });
    });
    test("a caller who never finishes the body and hangs up leaves nothing behind", async () => {
      const request = httpRequest(door.url, {
        method: "POST",
        headers: { "content-type": "application/sparql-query", "content-length": 100 },
      });
      request.on("error", () => undefined);
      request.write("ASK");
      await new Promise((resolve) => setTimeout(resolve, 50));
      request.destroy();
      expect(await query("ASK {}")).toMatchObject({ status: 503 });
    });
  });

  test.each(["PUT", "DELETE", "PATCH"])("%s is 405", async (method) => {
    const answer = await send({ method });
    expect(answer).toMatchObject({ status: 405, body: { error: "method_not_allowed" } });
    expect(answer.headers.get("allow")).toBe("GET, HEAD, POST, OPTIONS");
  });
});
