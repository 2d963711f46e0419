// The graph store and its client: the same suite for every engine that the service may use.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Parser } from "n3";
import { tripleText } from "../graph/ntriples.ts";
import { GraphRejected, GraphTimeout, GraphUnavailable, type StoreUrls } from "../graph/store.ts";
import { readAll } from "../graph/store-http.ts";
import { namedNode, triple } from "../graph/terms.ts";
import { LITERALS } from "../graph/triples.ts";
import { testStores } from "./support/stores.ts";
import { eventually } from "./support/eventually.ts";
import type { RunningStore } from "./support/stores.ts";

// Short, for those tests only that wait for it: a machine may well stand still for two seconds.
const SHORT_QUERY_TIMEOUT_MS = 2_000;
const LONG_QUERY_TIMEOUT_MS = 3_600_000;
const A = "https://data.example.org/a/";
const B = "https://data.example.org/b/";

/** More solutions than anybody could count. */
const RUNAWAY = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";

describe.each(testStores)("$name", ({ name, available, peculiarities, start }) => {
  const inEngine = available ? test : test.skip;
  let dir: string;
  let store: RunningStore;

  beforeAll(async () => {
    if (!available) return;
    dir = await mkdtemp(join(tmpdir(), "graph-store-"));
    store = await start({ dir, queryTimeoutMs: LONG_QUERY_TIMEOUT_MS });
  });
  afterAll(async () => {
    if (!available) return;
    await store.stop();
    await rm(dir, { recursive: true });
  });
  // Until it is done, as the worker would: a store that broke a query off may close the connection that it came by,
  // also under the next write.
  const set = (update: string) => eventually(() => store.client.update(update));
  beforeEach(async () => {
    if (available) await set("DROP ALL");
  });

  const count = async (pattern = "?s ?p ?o", options = {}) => {
    const [row] = await store.client.select(`SELECT (COUNT(*) AS ?n) { ${pattern} }`, options);
    return Number(row?.["n"]?.value);
  };
  const request = (door: keyof StoreUrls, init: RequestInit & { search?: Record<string, string> } = {}) => {
    const url = new URL(store.urls[door]);
    for (const [name, value] of Object.entries(init.search ?? {})) url.searchParams.append(name, value);
    return fetch(url, {
      ...init,
      headers: { ...store.headers, ...(init.headers as Record<string, string>) },
    });
  };
  /** What of the Graph Store Protocol the service itself does not use. */
  const change = (method: "POST" | "DELETE", graph: string, body?: string, type = "text/plain") =>
    request("graphStoreUrl", { method, search: { graph }, body, headers: { "content-type": type } });
  const inLine = (line: number) => (peculiarities.has("no place in a refusal") ? {} : { position: { line } });
  const OwnTimeLimit = peculiarities.has("its time limit looks like a failure")
    ? GraphUnavailable
    : GraphTimeout;
  const fill = async () => {
    await set(`INSERT DATA {
      GRAPH <${A}> { <urn:s> <urn:p> "in A", "also in A" }
      GRAPH <${B}> { <urn:s> <urn:p> "in B", "also in B" } }`);
  };

  inEngine(
    "gives every form of value back as it was written, so that it can be compared, and removes it",
    async () => {
      const values: [keyof typeof LITERALS, string[]][] = [
        ["date", ["2031-02-28", "0999-12-31"]],
        [
          "timestamp",
          ["2026-01-31T08:00:00.120000", "2026-01-31T08:00:00.000000", "2026-01-31T08:00:00.123456"],
        ],
        ["integer", ["0", "-7", "2147483648"]],
        ["number", ["1200.50", "12.000", "12", "0", "-0.001", "0.0000001", "123456789012345.6"]],
        ["boolean", ["true", "false"]],
      ];
      for (const [type, written] of values) {
        const lines = written.map((value) =>
          tripleText(triple(namedNode(`urn:${type}`), namedNode("urn:p"), LITERALS[type]!(value))),
        );
        await store.client.update(`INSERT DATA { GRAPH <${A}> { ${lines.join(" ")} } }`);
        const kept = await store.client.construct(
          `CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <${A}> { ?s ?p ?o FILTER(?s = <urn:${type}>) } }`,
        );
        const read = new Parser({ format: "N-Triples" }).parse(kept).map(tripleText);
        expect(read.toSorted()).toEqual([...new Set(lines)].toSorted());
      }
      // What was read is removed, as when a record has changed.
      await store.client.update(`DELETE { GRAPH <${A}> { ?s ?p ?o } } WHERE { GRAPH <${A}> { ?s ?p ?o } }`);
      expect(await count(`GRAPH <${A}> { ?s ?p ?o }`)).toBe(0);
    },
  );

  describe("SPARQL 1.1 Protocol", () => {
    const ask = `ASK { GRAPH <${A}> { <urn:s> <urn:p> "in A" } }`;
    const form = (fields: Record<string, string>) => ({
      method: "POST",
      body: new URLSearchParams(fields),
    });
    const direct = (type: string, body: string) => ({
      method: "POST",
      body,
      headers: { "content-type": type },
    });

    inEngine.each([
      ["GET", { search: { query: ask } }],
      ["POST, form", form({ query: ask })],
      ["POST, direct", direct("application/sparql-query", ask)],
    ])("query by %s", async (_name, init) => {
      await fill();
      const answer = await request("queryUrl", init);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ boolean: true });
    });

    inEngine.each<[string, (update: string) => RequestInit]>([
      ["form", (update) => form({ update })],
      ["direct", (update) => direct("application/sparql-update", update)],
    ])("update by POST, %s", async (_name, init) => {
      const answer = await request("updateUrl", init(`INSERT DATA { GRAPH <${A}> { <urn:s> <urn:p> 1 } }`));
      expect([200, 204]).toContain(answer.status);
      expect(await count()).toBe(1);
    });

    inEngine("an update sent to the query endpoint changes nothing", async () => {
      const update = `INSERT DATA { GRAPH <${A}> { <urn:s> <urn:p> 1 } }`;
      expect(
        (await request("queryUrl", direct("application/sparql-update", update))).status,
      ).toBeGreaterThanOrEqual(400);
      expect((await request("queryUrl", form({ update }))).status).toBeGreaterThanOrEqual(400);
      expect((await request("queryUrl", form({ query: update }))).status).toBe(400);
      expect(await count()).toBe(0);
    });

    inEngine.each([
      ["no query", {}],
      ["a query that breaks off", { query: "SELECT * {" }],
    ])("400 for %s", async (_name, fields) => {
      expect((await request("queryUrl", form(fields as Record<string, string>))).status).toBe(400);
    });
  });

  describe("relative IRIs", () => {
    const subjects = async () =>
      (await store.client.select("SELECT ?s { ?s ?p ?o } ORDER BY ?s")).map((row) => row["s"]?.value);
    const onlyGraphs = peculiarities.has("only graphs have a base");
    const withBase = onlyGraphs ? test.skip : inEngine;
    const withoutBase = onlyGraphs ? inEngine : test.skip;

    withoutBase("in a query and in an update are refused", async () => {
      await expect(store.client.ask("ASK { <x> ?p ?o }")).rejects.toThrow(GraphRejected);
      const update = store.client.update("INSERT DATA { GRAPH <g> { <x> <urn:p> 1 } }");
      await expect(update).rejects.toThrow(GraphRejected);
      expect(await subjects()).toEqual([]);
    });
    withBase("in a query have a base that no server has", async () => {
      const rows = await store.client.select(
        "SELECT ?x ?y ?z { VALUES (?x ?y) { (<x> </y>) } BIND(IRI('z') AS ?z) }",
      );
      expect(rows).toEqual([
        {
          x: { type: "uri", value: "http://server/unset-base/x" },
          y: { type: "uri", value: "http://server/y" },
          z: { type: "uri", value: "http://server/unset-base/z" },
        },
      ]);
      const { body } = await store.client.query("SELECT ?x { VALUES ?x { <x> } }", { accept: "text/csv" });
      expect(await readAll(body)).toContain("http://server/unset-base/x");
    });
    withBase("in an update have the same", async () => {
      await store.client.update("INSERT DATA { GRAPH <g> { <x> <urn:p> 1 } }");
      expect(await subjects()).toEqual(["http://server/unset-base/x"]);
      expect(await count("GRAPH <http://server/unset-base/g> { ?s ?p ?o }")).toBe(1);
    });
    inEngine.each(["PUT", "POST"])(
      "in a body that is %s are relative to where it is sent, or to its graph",
      async (method) => {
        const body = "<x> <urn:p> 1 . </y> <urn:p> 1 . <#z> <urn:p> 1 .";
        const headers = { "content-type": "text/turtle" };
        const answer = await request("graphStoreUrl", { method, body, headers, search: { graph: A } });
        expect(answer.ok).toBe(true);
        const sent = new URL(store.urls.graphStoreUrl);
        sent.searchParams.set("graph", A);
        const base = onlyGraphs ? A : sent;
        expect(await subjects()).toEqual(["x", "/y", "#z"].map((iri) => new URL(iri, base).href).toSorted());
      },
    );
    withBase("in BASE are relative themselves", async () => {
      const rows = await store.client.select("BASE <b/> SELECT ?x { VALUES ?x { <x> } }");
      expect(rows[0]?.["x"]?.value).toBe("http://server/unset-base/b/x");
    });
  });

  describe("datasets", () => {
    const values = async (
      query: string,
      options: { defaultGraphs?: string[]; namedGraphs?: string[] } = {},
    ) => {
      const { body } = await store.client.query(query, { ...options, accept: "text/csv" });
      return (await readAll(body)).trim().split(/\r?\n/).slice(1).toSorted();
    };
    const all = "SELECT ?o { ?s ?p ?o }";
    const named = "SELECT ?o { GRAPH ?g { ?s ?p ?o } }";

    inEngine("the default graph is the union of the named graphs", async () => {
      await fill();
      expect(await values(all)).toEqual(["also in A", "also in B", "in A", "in B"]);
      expect(await values(named)).toEqual(["also in A", "also in B", "in A", "in B"]);
    });
    inEngine("FROM and FROM NAMED choose", async () => {
      await fill();
      expect(await values(`SELECT ?o FROM <${A}> { ?s ?p ?o }`)).toEqual(["also in A", "in A"]);
      expect(
        await values(
          `PREFIX d: <https://data.example.org/>\nSELECT ?o FROM <${A}>\nFROM <${B}> { ?s ?p ?o }`,
        ),
      ).toEqual(["also in A", "also in B", "in A", "in B"]);
      expect(await values(`SELECT ?o FROM NAMED <${B}> { GRAPH ?g { ?s ?p ?o } }`)).toEqual([
        "also in B",
        "in B",
      ]);
    });
    inEngine("the word FROM inside a comment, a string, an IRI or a variable chooses nothing", async () => {
      await fill();
      expect(
        await values(
          `# FROM <${A}>\nSELECT ?o { ?s ?p ?o FILTER(?o != "FROM <urn:x>" && ?p != <urn:from>) }`,
        ),
      ).toHaveLength(4);
      expect(await values("SELECT ?o ?from { ?s ?p ?o OPTIONAL { ?o ?p ?from } }")).toHaveLength(4);
    });
    inEngine("the protocol's graphs take the place of the query's", async () => {
      await fill();
      expect(await values(`SELECT ?o FROM <${A}> { ?s ?p ?o }`, { defaultGraphs: [B] })).toEqual([
        "also in B",
        "in B",
      ]);
      expect(await values(all, { defaultGraphs: [A, B] })).toHaveLength(4);
      expect(await values(all, { namedGraphs: [A] })).toEqual([]);
      expect(await values(named, { namedGraphs: [A] })).toEqual(["also in A", "in A"]);
      expect(await values(named, { defaultGraphs: [A] })).toEqual([]);
    });
  });

  describe("formats", () => {
    inEngine.each([
      ["application/sparql-results+json", /"value"\s*:\s*"in A"/],
      ["application/sparql-results+xml", /<literal>in A<\/literal>/],
      ["text/csv", /^o\r?\nalso in A\r?\nin A/],
      [
        "text/tab-separated-values",
        peculiarities.has("strings without quotes in TSV")
          ? /^\?o\nalso in A\nin A/
          : /^\?o\n"also in A"\n"in A"/,
      ],
    ])("SELECT as %s", async (accept, expected) => {
      await fill();
      const answer = await store.client.query(`SELECT ?o FROM <${A}> { ?s ?p ?o } ORDER BY ?o`, { accept });
      expect(answer.contentType).toContain(accept);
      expect(await readAll(answer.body)).toMatch(expected);
    });
    inEngine.each([
      ["application/sparql-results+json", /"boolean"\s*:\s*true/],
      ["application/sparql-results+xml", /<boolean>true<\/boolean>/],
      ["text/csv", /true/],
      ["text/tab-separated-values", /true/],
    ])("ASK as %s", async (accept, expected) => {
      await fill();
      const asked = store.client.query("ASK { ?s ?p ?o }", { accept });
      if (accept.startsWith("text/") && peculiarities.has("no ASK as CSV or TSV"))
        await expect(asked).rejects.toMatchObject({ name: "GraphRejected", status: 406 });
      else expect(await readAll((await asked).body)).toMatch(expected);
    });
    inEngine.each([
      ["text/turtle", /^<urn:s>\s+<https:\/\/example.org\/p>\s+"(also )?in A"/m],
      ["application/n-triples", /^<urn:s> <https:\/\/example.org\/p> "in A" \.$/m],
      ["application/ld+json", /"in A"/],
      ["application/rdf+xml", />in A</],
    ])("CONSTRUCT as %s", async (accept, expected) => {
      await fill();
      const answer = await store.client.query(
        `CONSTRUCT { ?s <https://example.org/p> ?o } FROM <${A}> WHERE { ?s ?p ?o }`,
        {
          accept,
        },
      );
      expect(answer.contentType).toContain(accept);
      expect(await readAll(answer.body)).toMatch(expected);
    });
    inEngine("DESCRIBE", async () => {
      await fill();
      expect(await store.client.construct("DESCRIBE <urn:s>")).toContain('<urn:s> <urn:p> "in A" .');
    });
  });

  describe("Graph Store Protocol", () => {
    inEngine("put replaces, post adds, delete removes one graph and no other", async () => {
      await fill();
      await store.client.putGraph(A, '<urn:new> <urn:p> "1" .', "application/n-triples");
      expect(await count(`GRAPH <${A}> { ?s ?p ?o }`)).toBe(1);
      expect((await change("POST", A, '<urn:new> <urn:p> "2", "1" .', "text/turtle")).ok).toBe(true);
      expect(await count(`GRAPH <${A}> { ?s ?p ?o }`)).toBe(2);
      expect((await change("DELETE", A)).ok).toBe(true);
      expect(await count(`GRAPH <${A}> { ?s ?p ?o }`)).toBe(0);
      expect(await count(`GRAPH <${B}> { ?s ?p ?o }`)).toBe(2);
      expect([200, 204, 404]).toContain((await change("DELETE", A)).status);
    });
    inEngine("a graph is put from a stream and read as one", async () => {
      await fill();
      const lines = Array.from({ length: 5_000 }, (_, i) => `<urn:s${i}> <urn:p> "${i}" .\n`);
      await store.client.putGraph(A, Readable.from(lines), "application/n-triples");
      const answer = await store.client.getGraph(A);
      const read = (await readAll(answer!.body)).trim().split("\n");
      expect(read.toSorted()).toEqual(lines.map((line) => line.trim()).toSorted());
    });
    inEngine("a graph that is not there is undefined", async () => {
      const none = await store.client.getGraph("https://data.example.org/none/");
      // Read to its end, also where there should be none: what is left unread keeps the process from ending.
      const text = none && (await readAll(none.body));
      expect(text).toBe(peculiarities.has("every graph exists") ? "" : undefined);
    });
    inEngine("data that is malformed is refused whole, and the graph stays as it was", async () => {
      await fill();
      const put = store.client.putGraph(A, "<urn:a> <urn:b> 1 .\n<urn:a> <urn:b> oops .", "text/turtle");
      await expect(put).rejects.toThrow(GraphRejected);
      await expect(put).rejects.toMatchObject({ status: 400, ...inLine(2) });
      expect(await count(`GRAPH <${A}> { ?s ?p ?o }`)).toBe(2);
    });
    inEngine("a stream that fails on the way changes nothing", async () => {
      await fill();
      async function* broken() {
        yield '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">';
        yield '<rdf:Description rdf:about="urn:a"><p:b xmlns:p="urn:">1</p:b></rdf:Description>';
        // Long enough for the store to have it before the connection breaks off.
        await sleep(50);
        throw new Error("the source broke");
      }
      await expect(
        store.client.putGraph(A, Readable.from(broken()), "application/rdf+xml"),
      ).rejects.toThrow();
      await sleep(50);
      expect(await count(`GRAPH <${A}> { ?s ?p ?o }`)).toBe(2);
    });
  });

  describe("updates", () => {
    inEngine("are done whole or not at all", async () => {
      await fill();
      const update = `DROP GRAPH <${B}> ; INSERT DATA { GRAPH <${A}> { <urn:s> <urn:p> "half" } } ;
        LOAD <http://127.0.0.1:9/nothing> INTO GRAPH <${A}>`;
      await expect(store.client.update(update)).rejects.toThrow();
      expect(await count(`GRAPH <${A}> { ?s ?p ?o }`)).toBe(2);
      expect(await count(`GRAPH <${B}> { ?s ?p ?o }`)).toBe(2);
    });
    inEngine("that are malformed are rejected with their place", async () => {
      const update = store.client.update("INSERT DATA {\n GRAPH <urn:g> { <urn:s> <urn:p> }\n}");
      await expect(update).rejects.toThrow(GraphRejected);
      await expect(update).rejects.toMatchObject(inLine(2));
    });
    inEngine("are seen by every query that is asked after them", async () => {
      for (let i = 1; i <= 40; i++) {
        await store.client.update(`INSERT DATA { GRAPH <${A}> { <urn:s> <urn:p> ${i} } }`);
        const { body } = await store.client.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", {
          accept: "text/csv",
        });
        expect((await readAll(body)).trim().split(/\r?\n/)[1]).toBe(String(i));
      }
    });
    inEngine("of a thousand records at once replace what was there", async () => {
      const ids = Array.from({ length: 1_000 }, (_, i) => `<urn:record:${i}>`);
      for (const round of [1, 2]) {
        await store.client.update(`
          DELETE { GRAPH <${A}> { ?s ?p ?o } } WHERE { VALUES ?s { ${ids.join(" ")} } GRAPH <${A}> { ?s ?p ?o } } ;
          INSERT DATA { GRAPH <${A}> { ${ids.map((id) => `${id} <urn:p> ${round}, "a", "b" .`).join("\n")} } }`);
      }
      expect(await count()).toBe(3_000);
      expect(await count("?s <urn:p> 1")).toBe(0);
    });
  });

  describe("text", () => {
    const texts = {
      quotes: `"double" 'single' """three""" '''three'''`,
      backslashes: "\\ \\n \\u0041 \\\\",
      "control characters": "tab\tline\nfeed\rreturn \u0001\u001f\u007f",
      injection: `" . } } ; DROP ALL ; INSERT DATA { GRAPH <urn:x> { <urn:a> <urn:b> "`,
      emoji: "👩‍👩‍👧‍👦 🏳️‍🌈",
      "right to left": "שלום \u202eעולם\u202c العربية",
      "composed and decomposed": "\u00e9 e\u0301",
      "outside the BMP": "𝔘𐍈",
      "white space at the ends": "  x  ",
      angles: "<urn:x> & <!-- ]]> -->",
      percent: "100% %20 +",
    };
    const escape = (text: string) => JSON.stringify(text).replaceAll("\u007f", "\\u007F");

    inEngine.each(Object.entries(texts))("%s comes back byte for byte", async (_name, text) => {
      await store.client.update(`INSERT DATA { GRAPH <${A}> { <urn:s> <urn:p> ${escape(text)} } }`);
      await change("POST", A, `<urn:t> <urn:p> ${escape(text)} .`, "application/n-triples");
      const rows = await store.client.select("SELECT ?o { ?s ?p ?o }");
      expect(rows.map((row) => row["o"]?.value)).toEqual([text, text]);
      expect(await store.client.ask(`ASK { <urn:t> <urn:p> ${escape(text)} }`)).toBe(true);
    });
  });

  describe("a runaway query", () => {
    // On a store of its own: two that are there together are sooner started than one three times.
    let other: { store: RunningStore; dir: string };
    beforeAll(async () => {
      if (!available) return;
      other = { store, dir: await mkdtemp(join(tmpdir(), "graph-store-")) };
      store = await start({ dir: other.dir, queryTimeoutMs: SHORT_QUERY_TIMEOUT_MS });
    });
    afterAll(async () => {
      if (!available) return;
      await store.stop();
      await rm(other.dir, { recursive: true });
      ({ store } = other);
    });
    const runaway = () => store.client.query(RUNAWAY, { timeoutMs: 30_000 });
    /** Others are answered, also where a machine that stands still has one of them run into the engine's limit. */
    const answersOthers = () => eventually(async () => expect(await count("<urn:s1> ?p ?o")).toBe(1), 60_000);
    const someData = () =>
      eventually(() =>
        store.client.putGraph(
          A,
          Array.from({ length: 1_000 }, (_, i) => `<urn:s${i}> <urn:p> <urn:o${i}> .`).join("\n"),
          "application/n-triples",
        ),
      );

    inEngine("ends at the engine's own time limit, and harms nobody in the meantime", async () => {
      await someData();
      // Again where it was over sooner: a machine may stand still for as long as that.
      for (let isServedMeanwhile = false; !isServedMeanwhile;) {
        let isOver = false;
        const ended = expect(runaway().finally(() => (isOver = true))).rejects.toThrow(OwnTimeLimit);
        await answersOthers();
        await eventually(async () => {
          const { body } = await store.client.query("ASK { <urn:s2> ?p ?o }");
          expect(await readAll(body)).toContain("true");
        }, 60_000);
        await set(`INSERT DATA { GRAPH <${B}> { <urn:s> <urn:p> 1 } }`);
        isServedMeanwhile = !isOver;
        await ended;
      }
      await eventually(async () => expect(await count()).toBe(1_001), 60_000);
    });

    inEngine("whose answer has begun breaks off instead of ending", async () => {
      await someData();
      const streaming = async () =>
        readAll(
          (await store.client.query("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", { timeoutMs: 30_000 }))
            .body,
        );
      await expect(streaming()).rejects.toThrow(OwnTimeLimit);
    });

    inEngine("is given up at the client's time limit", async () => {
      await someData();
      // Again where the engine's own came first, for which this process has to stand still.
      await eventually(() =>
        expect(store.client.query(RUNAWAY, { timeoutMs: 300 })).rejects.toMatchObject({
          ...{ name: "GraphTimeout", message: "The graph store gave no answer within 300 ms." },
        }),
      );
      await answersOthers();
    });

    inEngine("is given up when its caller goes", async () => {
      await someData();
      await eventually(async () => {
        const caller = new AbortController();
        const query = store.client.query(RUNAWAY, { signal: caller.signal });
        setTimeout(() => caller.abort(), 200);
        await expect(query).rejects.toMatchObject({ name: "AbortError" });
      });
      await answersOthers();
    });
  });

  (available && name === "Fuseki" ? test : test.skip)(
    "a query ends at the limit that comes with it",
    async () => {
      const subjects = Array.from({ length: 100 }, (_, n) => `<urn:${n}> <urn:p> <urn:o>`);
      await set(`INSERT DATA { GRAPH <${A}> { ${subjects.join(" . ")} } }`);
      const answer = await request("queryUrl", {
        ...{ method: "POST", body: RUNAWAY, search: { timeout: "1" } },
        headers: { "content-type": "application/sparql-query" },
      });
      expect([answer.status, await answer.text()]).toEqual([503, expect.stringMatching(/tim(ed|e) ?out/i)]);
    },
  );

  inEngine("a stop and a second start keep what was there", async () => {
    await fill();
    await store.client.putGraph("https://data.example.org/c/", "<urn:c> <urn:p> 1 .", "text/turtle");
    await store.client.update(`DROP GRAPH <${B}>`);
    const before = await store.client.construct("CONSTRUCT WHERE { ?s ?p ?o }");
    await store.stop();
    expect(await store.client.isAvailable()).toBe(false);
    store = await start({ dir });
    const after = await store.client.construct("CONSTRUCT WHERE { ?s ?p ?o }");
    expect(after.split("\n").toSorted()).toEqual(before.split("\n").toSorted());
    expect(await count()).toBe(3);
    expect(name).toBeDefined();
  });
});
