// By SPARQL an expression that fails on one value leaves its name unbound. Where a store ends its answer instead, nobody takes
// what came before for all of it, and nobody is told that the store is away.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { guardQuery } from "../graph/sparql-guard.ts";
import { RESULTS_JSON } from "../graph/media-types.ts";
import { GraphFailed, GraphUnavailable } from "../graph/store.ts";
import { readAll } from "../graph/store-http.ts";
import { SparqlEndpoint } from "../server/sparql/endpoint.ts";
import { testStores } from "./support/stores.ts";
import type { RunningStore } from "./support/stores.ts";

const ROWS = 3_000;

describe.each(testStores)("$name", ({ name, available, start }) => {
  const inEngine = available ? test : test.skip;
  let dir: string;
  let store: RunningStore;
  beforeAll(async () => {
    if (!available) return;
    dir = await mkdtemp(join(tmpdir(), "broken-answers-"));
    store = await start({ dir, queryTimeoutMs: 60_000 });
    const dates = Array.from(
      { length: ROWS },
      (_, i) =>
        `<urn:s${i}> <urn:p> "2026-01-01T0${i % 10}:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .`,
    );
    await store.client.putGraph("urn:many", dates.join("\n"), "application/n-triples");
    await store.client.putGraph(
      "urn:few",
      '<urn:a> <urn:q> <urn:b> .\n<urn:c> <urn:q> "$x" .',
      "application/n-triples",
    );
  });
  afterAll(async () => {
    if (!available) return;
    await store.stop();
    await rm(dir, { recursive: true });
  });

  /** One of many rows has a value that the expression does not fit, somewhere. */
  const among = (expression: string) =>
    `SELECT ?s (${expression} AS ?h) { { ?s <urn:p> ?o } UNION { ?s <urn:q> ?o } }`;
  const told = (text: string, accept: string) => {
    const { text: sent, endable } = guardQuery(text);
    return store.client.query(sent, { endable, accept }).then(({ body }) => readAll(body));
  };

  const EXPRESSIONS = [
    "HOURS(?o)",
    "MINUTES(?o)",
    "TIMEZONE(?o)",
    'REPLACE("abc", "b", STR(?o))',
    'STRLANG("a", STR(?o))',
  ];
  inEngine.each(
    EXPRESSIONS.flatMap((expression) =>
      ["text/csv", "text/tab-separated-values"].map((type) => [expression, type] as const),
    ),
  )("%s of what it does not fit is unbound, or the answer in %s no whole one", async (expression, type) => {
    const outcome = await told(among(expression), type).then(
      (answer) => answer.trimEnd().split("\n").length,
      (error: unknown) => error,
    );
    if (typeof outcome === "number") expect(outcome).toBe(1 + ROWS + 2);
    else expect(outcome).toBeInstanceOf(name === "Fuseki" ? GraphFailed : GraphUnavailable);
  });

  inEngine.each(["text/csv", "text/tab-separated-values", RESULTS_JSON])(
    "and whoever is answered nothing in %s is told that the store failed on it, as it does not on others",
    async (type) => {
      const endpoint = new SparqlEndpoint({
        store: store.client,
        namedGraphs: [],
        timeoutMs: 60_000,
        concurrency: 2,
      });
      const asking = { type, caller: "a", gone: new AbortController().signal };
      const asked = async (text: string) => readAll(await endpoint.run(guardQuery(text), asking));
      const first = asked("SELECT (HOURS(?o) AS ?h) { ?s <urn:q> ?o FILTER(isIRI(?o)) }");
      if (name === "Fuseki")
        await expect(first).rejects.toMatchObject({ code: "query_failed", statusCode: 500 });
      else expect(await first).toMatch(/\bh\b/);
      expect(await asked("SELECT ?o { <urn:a> <urn:q> ?o }")).toContain("urn:b");
    },
  );
});
