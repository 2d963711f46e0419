// /v0/sparql as clients of the SPARQL 1.1 Protocol speak it. The first part has the W3C's protocol tests by their names
// (data-sparql11/protocol); of updates only those that must fail, for the service accepts none.
import { mkdtemp, rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Parser, Store } from "n3";
import { createNames } from "../graph/namespaces.ts";
import { startSparqlDoor } from "./support/sparql-door.ts";
import type { RunningDoor } from "./support/sparql-door.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { testStores } from "./support/stores.ts";
import type { RunningStore } from "./support/stores.ts";

const graph = (number: number) => `http://kasei.us/2009/09/sparql/data/data${number}.rdf`;
const typed = (number: number) => `<${graph(number)}> a ?type`;
const names = createNames({
  graphDataUrl: "https://data.example.org",
  namespaceUrl: "https://ontology.example.org/core#",
});
// So long that no answer runs into it, however busy the machine is.
const TIMEOUT_MS = 60_000;
const DIRECT = "application/sparql-query";
const FORM = "application/x-www-form-urlencoded";
const TURTLE = "text/turtle";

/** The parameters of a request; those with several values are repeated. */
const search = (parameters: Record<string, string | string[]>) => {
  const list = Object.entries(parameters).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return `?${new URLSearchParams(list).toString()}`;
};
const defaultGraphs = (...numbers: number[]) => ({ "default-graph-uri": numbers.map(graph) });
const namedGraphs = (...numbers: number[]) => ({ "named-graph-uri": numbers.map(graph) });

describe.each(testStores)("$name", ({ name, available, start }) => {
  const inEngine = available ? test : test.skip;
  let dir: string;
  let store: RunningStore;
  let door: RunningDoor;

  beforeAll(async () => {
    if (!available) return;
    dir = await mkdtemp(join(tmpdir(), "sparql-protocol-"));
    store = await start({ dir, queryTimeoutMs: TIMEOUT_MS });
    for (const number of [1, 2, 3]) {
      await store.client.update(
        `INSERT DATA { GRAPH <${graph(number)}> { <${graph(number)}> a <http://xmlns.com/foaf/0.1/Document> } }`,
      );
    }
    door = await startSparqlDoor({
      store: store.client,
      namedGraphs: names.namedGraphs,
      timeoutMs: TIMEOUT_MS,
    });
  });
  afterAll(async () => {
    if (!available) return;
    await door.stop();
    await store.stop();
    await rm(dir, { recursive: true });
  });

  const get = (parameters: string, headers: Record<string, string> = {}) =>
    fetch(door.url + parameters, { headers });
  const post = (type: string | undefined, body: string, parameters = "") =>
    fetch(door.url + parameters, {
      method: "POST",
      // As bytes, because fetch gives a text a type.
      body: Buffer.from(body),
      headers: type === undefined ? {} : { "content-type": type },
    });

  describe("the W3C's tests of queries", () => {
    const inBoth = `ASK { ${typed(1)} . ${typed(2)} . }`;
    const inNamed = `ASK { GRAPH ?g1 { ${typed(1)} } GRAPH ?g2 { ${typed(2)} } }`;
    inEngine.each<[string, () => Promise<Response>]>([
      ["query_post_form", () => post(FORM, "query=ASK%20%7B%7D", search(defaultGraphs(0)))],
      ["query_dataset_default_graphs_get", () => get(search({ query: inBoth, ...defaultGraphs(1, 2) }))],
      ["query_dataset_default_graphs_post", () => post(DIRECT, inBoth, search(defaultGraphs(1, 2)))],
      ["query_dataset_named_graphs_post", () => post(DIRECT, inNamed, search(namedGraphs(1, 2)))],
      ["query_dataset_named_graphs_get", () => get(search({ query: inNamed, ...namedGraphs(1, 2) }))],
      [
        "query_dataset_full",
        () =>
          post(
            DIRECT,
            `ASK { ${typed(3)} GRAPH ?g1 { ${typed(1)} } GRAPH ?g2 { ${typed(2)} } }`,
            search({ ...defaultGraphs(3), ...namedGraphs(1, 2) }),
          ),
      ],
      [
        "query_multiple_dataset",
        () => post(DIRECT, inNamed.replace("ASK", `ASK FROM <${graph(3)}>`), search(namedGraphs(1, 2))),
      ],
      ["query_get", () => get(search({ query: "ASK {}", ...defaultGraphs(0) }))],
      ["query_post_direct", () => post(DIRECT, "ASK {}")],
    ])("%s", async (_name, send) => {
      const answer = await send();
      expect(answer.headers.get("content-type")).toBe("application/sparql-results+json");
      expect(await answer.json()).toMatchObject({ boolean: true });
    });

    inEngine.each([
      ["query_content_type_select", "SELECT (1 AS ?value) {}", "application/sparql-results+json"],
      ["query_content_type_ask", "ASK {}", "application/sparql-results+json"],
      ["query_content_type_describe", "DESCRIBE <http://example.org/>", "text/turtle; charset=utf-8"],
      [
        "query_content_type_construct",
        // The suite's <s> and <p> leave it to the store what they are relative to.
        "CONSTRUCT { <urn:s> <urn:p> 1 } WHERE {}",
        "text/turtle; charset=utf-8",
      ],
    ])("%s", async (_name, query, type) => {
      const answer = await post(DIRECT, query, search(defaultGraphs(0)));
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
    });

    const update = "CLEAR NAMED";
    inEngine.each<[string, number, string, () => Promise<Response>]>([
      [
        "bad_query_method",
        405,
        "method_not_allowed",
        () => fetch(door.url + search({ query: "ASK {}", ...defaultGraphs(0) }), { method: "PUT" }),
      ],
      [
        "bad_multiple_queries",
        400,
        "validation_failed",
        () => get(search({ query: ["ASK {}", "SELECT * {}"] })),
      ],
      ["bad_query_wrong_media_type", 415, "unsupported_media_type", () => post("text/plain", "ASK {}")],
      [
        "bad_query_missing_form_type",
        415,
        "unsupported_media_type",
        () => post(undefined, "query=ASK%20%7B%7D"),
      ],
      ["bad_query_missing_direct_type", 415, "unsupported_media_type", () => post(undefined, "ASK {}")],
      [
        "bad_query_non_utf8",
        415,
        "unsupported_media_type",
        () => post(`${DIRECT}; charset=UTF-16`, "ASK {}"),
      ],
      ["bad_query_syntax", 400, "malformed_query", () => get(search({ query: "ASK {" }))],
      ["bad_update_get", 403, "read_only", () => get(search({ update: "CLEAR ALL" }))],
      [
        "bad_multiple_updates",
        403,
        "read_only",
        () => post(FORM, "update=CLEAR%20NAMED&update=CLEAR%20DEFAULT"),
      ],
      ["bad_update_wrong_media_type", 415, "unsupported_media_type", () => post("text/plain", update)],
      [
        "bad_update_missing_form_type",
        415,
        "unsupported_media_type",
        () => post(undefined, "update=CLEAR%20NAMED"),
      ],
      [
        "bad_update_non_utf8",
        403,
        "read_only",
        () => post("application/sparql-update; charset=UTF-16", update),
      ],
      ["bad_update_syntax", 403, "read_only", () => post(FORM, "update=CLEAR%20XYZ")],
      [
        "bad_update_dataset_conflict",
        403,
        "read_only",
        () =>
          post(
            "application/sparql-update",
            "WITH <http://example/addresses> DELETE { ?s ?p 'Bill' } INSERT { ?s ?p 'William' } WHERE { ?s ?p 'Bill' }",
            "?using-named-graph-uri=http%3A%2F%2Fexample%2Fpeople",
          ),
      ],
    ])("%s", async (_name, status, error, send) => {
      const answer = await send();
      expect([answer.status, await answer.json()]).toEqual([status, expect.objectContaining({ error })]);
      expect(await store.client.ask(`ASK { GRAPH <${graph(1)}> { ${typed(1)} } }`)).toBe(true);
    });
  });

  describe("a dataset in the request", () => {
    const count =
      "SELECT (COUNT(*) AS ?n) FROM <http://kasei.us/2009/09/sparql/data/data3.rdf> { ?s a ?type }";
    const form = (...graphs: [string, string][]) =>
      new URLSearchParams([["query", count], ...graphs]).toString();
    const json = (graphs: object) => JSON.stringify({ query: count, ...graphs });
    const two = search(defaultGraphs(1, 2));
    const pairs = [1, 2].map((number): [string, string] => ["default-graph-uri", graph(number)]);
    inEngine.each<[string, () => Promise<Response>]>([
      ["the address of a GET", () => get(search({ query: count, ...defaultGraphs(1, 2) }))],
      ["the address of a query", () => post(DIRECT, count, two)],
      ["the address of a form", () => post(FORM, form(), two)],
      ["a form", () => post(FORM, form(...pairs))],
      ["the address of JSON", () => post("application/json", json({}), two)],
      ["JSON", () => post("application/json", json(defaultGraphs(1, 2)))],
    ])("in %s takes the place of FROM", async (_name, send) => {
      const { results } = (await (await send()).json()) as {
        results: { bindings: { n: { value: string } }[] };
      };
      expect(results.bindings[0]?.n.value).toBe("2");
    });
    inEngine("of as many graphs as an address of the store has room for", async () => {
      const graphs = (many: number) => Array.from({ length: many }, (_, i) => graph(i + 1));
      const few = await post(
        "application/json",
        json({ "default-graph-uri": graphs(50), "named-graph-uri": graphs(10) }),
      );
      expect(few.status).toBe(200);
      const many = await post(
        "application/json",
        json({ "default-graph-uri": graphs(50), "named-graph-uri": graphs(50) }),
      );
      expect([many.status, await many.json()]).toEqual([
        413,
        expect.objectContaining({ error: "payload_too_large", message: expect.stringContaining("6000") }),
      ]);
      const short = await post("application/json", json({ "default-graph-uri": Array(300).fill("a:b") }));
      expect(short.status).toBe(413);
    });
    inEngine.each([
      ["that is no IRI", search({ query: count, "named-graph-uri": "data3.rdf" }), "named-graph-uri"],
      ["without a query", two, "query"],
    ])("%s is refused", async (_name, parameters, path) => {
      const answer = await get(parameters);
      expect([answer.status, await answer.json()]).toEqual([
        400,
        expect.objectContaining({ error: "validation_failed", details: [expect.objectContaining({ path })] }),
      ]);
    });
  });

  describe("GET", () => {
    const value = async (answer: Response) => {
      expect(answer.status).toBe(200);
      return (await answer.text()).trim().split(/\r?\n/)[1];
    };
    inEngine("is not to be kept by caches, and varies by what is asked for and who asks", async () => {
      const { headers } = await get(search({ query: "ASK {}" }));
      expect([headers.get("cache-control"), headers.get("vary")]).toEqual([
        "no-store",
        "Accept, Authorization, Cookie",
      ]);
    });
    inEngine.each([
      ["escaped", encodeURIComponent(`SELECT ("é 🙏 + %zz & = #" AS ?v) {}`), "é 🙏 + %zz & = #"],
      ["with plus signs for spaces", `SELECT+("a%2Bb"+AS+?v){}`, "a+b"],
    ])("takes text %s", async (_name, query, expected) => {
      expect(await value(await get(`?query=${query}`, { accept: "text/csv" }))).toBe(expected);
    });
    inEngine("refuses text that is not UTF-8 rather than run another query", async () => {
      for (const answer of [
        await get("?query=ASK{?s?p%22%FF%22}"),
        await post(FORM, "query=ASK{?s?p%22%FF%22}"),
      ]) {
        expect([answer.status, await answer.json()]).toEqual([
          400,
          expect.objectContaining({ error: "validation_failed", message: expect.stringContaining("UTF-8") }),
        ]);
      }
    });
    inEngine.each([
      ["application/rdf+xml", /<rdf:RDF/],
      ["application/n-triples", /^<urn:s> <https:\/\/example.org\/p> "o" \.$/m],
      ["application/ld+json", /"o"/],
      ["text/turtle", /"o"/],
    ])("answers CONSTRUCT as %s", async (accept, text) => {
      const query = `CONSTRUCT { <urn:s> <https://example.org/p> "o" } WHERE {}`;
      const answer = await get(search({ query }), { accept });
      expect(answer.headers.get("content-type")).toContain(accept);
      expect(await answer.text()).toMatch(text);
    });
  });

  describe("HEAD", () => {
    const head = (parameters: string, headers: Record<string, string> = {}) =>
      fetch(door.url + parameters, { method: "HEAD", headers });
    inEngine.each([
      [search({ query: "ASK {}" }), "*/*", 200, "application/sparql-results+json"],
      ["", "*/*", 200, "text/turtle; charset=utf-8"],
      [search({ query: "ASK {" }), "*/*", 400, "application/json; charset=utf-8"],
      [search({ query: "ASK {}" }), "text/turtle", 406, "application/json; charset=utf-8"],
    ])("%j, Accept: %s is GET without a body", async (parameters, accept, status, type) => {
      for (const answer of [await head(parameters, { accept }), await get(parameters, { accept })]) {
        expect([answer.status, answer.headers.get("content-type")]).toEqual([status, type]);
      }
      expect(await (await head(parameters, { accept })).text()).toBe("");
    });
    // The embedded store makes the whole answer before it sends any of it.
    (name === "Fuseki" ? inEngine : test.skip)(
      "takes its place no longer than the query does, though nobody takes the rest",
      async () => {
        const many = Array.from({ length: 2_000 }, (_, i) => `<urn:s${i}> <urn:p> ${i} .`).join(" ");
        await store.client.update(`INSERT DATA { GRAPH <urn:many> { ${many} } }`);
        const long = "SELECT * FROM <urn:many> { ?a ?b ?c . ?d ?e ?f } LIMIT 5000";
        // More of them than a key may have running, and more of each than is on its way.
        for (let i = 0; i < 10; i++) expect((await head(search({ query: long }))).status).toBe(200);
      },
    );
  });

  describe("the service description", () => {
    const SD = "http://www.w3.org/ns/sparql-service-description#";
    const read = async (answer: Response) => new Store(new Parser().parse(await answer.text()));
    const objects = (description: Store, property: string) =>
      description.getObjects(null, SD + property, null).map(({ value }) => value);

    inEngine("says where the service is, what it speaks, and what it holds", async () => {
      const description = await read(await get(""));
      expect(objects(description, "endpoint")).toEqual([door.url]);
      expect(objects(description, "supportedLanguage")).toEqual([`${SD}SPARQL11Query`]);
      expect(objects(description, "feature")).toEqual([`${SD}UnionDefaultGraph`]);
      expect(objects(description, "name").toSorted()).toEqual(names.namedGraphs.toSorted());
    });
    inEngine("names each format that a query can be answered in, and no other", async () => {
      const formats = objects(await read(await get("")), "resultFormat");
      expect(formats.map((iri) => iri.replace("http://www.w3.org/ns/formats/", "")).toSorted()).toEqual(
        [
          ...["SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV"],
          ...["Turtle", "N-Triples", "JSON-LD", "RDF_XML"],
        ].toSorted(),
      );
    });
    inEngine("is one connected thing", async () => {
      const description = await read(await get(""));
      const [service] = description.getSubjects(`${SD}endpoint`, null, null);
      const [dataset] = description.getObjects(service!, `${SD}defaultDataset`, null);
      const named = description.getObjects(dataset!, `${SD}namedGraph`, null);
      expect(named.flatMap((node) => description.getObjects(node, `${SD}name`, null))).toHaveLength(
        names.namedGraphs.length,
      );
    });
    inEngine.each([TURTLE, "application/n-triples", "application/ld+json", "application/rdf+xml"])(
      "comes as %s",
      async (accept) => {
        const answer = await get("", { accept });
        expect([answer.status, answer.headers.get("content-type")]).toEqual([
          200,
          expect.stringContaining(accept),
        ]);
        expect(await answer.text()).toContain(door.url);
      },
    );
    inEngine("does not come as results, nor as a page", async () => {
      for (const accept of ["application/sparql-results+json", "text/html"]) {
        expect((await get("", { accept })).status).toBe(406);
      }
    });
    inEngine.each(["https", "https, http", "https ,http"])(
      "says https where a proxy ends TLS, whatever comes behind it: %s",
      async (forwarded) => {
        const description = await read(await get("", { "x-forwarded-proto": forwarded }));
        expect(objects(description, "endpoint")).toEqual([door.url.replace("http:", "https:")]);
      },
    );
    inEngine("does not say https where a proxy behind the first one ends TLS", async () => {
      const description = await read(await get("", { "x-forwarded-proto": "http, https" }));
      expect(objects(description, "endpoint")).toEqual([door.url]);
    });
    inEngine("cannot be made to say anything else by a header", async () => {
      const { hostname, port } = new URL(door.url);
      const host = "a> ; <urn:x> <urn:y";
      const status = await new Promise((resolve, reject) => {
        httpRequest({ hostname, port, path: "/v0/sparql", headers: { host } }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        })
          .on("error", reject)
          .end();
      });
      expect(status).toBe(400);
    });
  });
});

describe("in the service", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ world: false });
  });
  afterAll(() => service.stop());
  const get = (parameters: string, key = service.keys.read) =>
    call(`${service.url}/v0/sparql${parameters}`, "GET", key);

  test.each(["", search({ query: "ASK {}" })])("GET %j needs a key", async (parameters) => {
    const answer = await call(`${service.url}/v0/sparql${parameters}`, "GET", undefined);
    expect(answer).toMatchObject({ status: 401, body: { error: "missing_api_key" } });
    expect(await get(parameters, "ek_wrong")).toMatchObject({
      status: 401,
      body: { error: "invalid_api_key" },
    });
    // Its store is down.
    expect(await get(parameters)).toMatchObject({ status: 503, body: { error: "graph_unavailable" } });
  });

  test("a page from another origin may send GET with its key", async () => {
    const answer = await call(
      `${service.url}/v0/sparql${search({ query: "ASK {}" })}`,
      "OPTIONS",
      undefined,
      undefined,
      {
        origin: "https://app.example.org",
        "access-control-request-method": "GET",
        "access-control-request-headers": "authorization",
      },
    );
    expect(answer).toMatchObject({ status: 204, body: "" });
    expect(answer.headers.get("access-control-allow-methods")).toContain("GET");
    expect(answer.headers.get("access-control-allow-headers")).toContain("authorization");
  });

  test("an address may be as long as a body, and beyond that is refused in words", async () => {
    const ofLength = (length: number) => "?query=ASK{}".padEnd(length - "/v0/sparql".length, "+");
    expect(await get(ofLength(65_536))).toMatchObject({ status: 503 });
    for (const length of [65_537, 100_000]) {
      expect(await get(ofLength(length))).toMatchObject({
        status: 413,
        body: { error: "payload_too_large", message: "A query may have at most 65536 bytes." },
      });
    }
    expect(await get(ofLength(200_000))).toMatchObject({ status: 431 });
  });
});
