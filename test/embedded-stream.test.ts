// An answer of the embedded store is made piece by piece, and gives back what the engine holds for each of them.
import { afterEach, expect, jest, test } from "@jest/globals";
import * as oxigraph from "oxigraph";
import { eachResult, isQuad, isSolution } from "../graph/embedded/each-result.ts";
import { streamBindings, streamQuads } from "../graph/embedded/stream.ts";
import { JSON_LD, N_TRIPLES, RESULTS_JSON, RESULTS_XML, TURTLE } from "../graph/media-types.ts";

afterEach(() => {
  jest.restoreAllMocks();
});

const CSV = "text/csv";

function filled(): oxigraph.Store {
  const store = new oxigraph.Store();
  store.load("<urn:a> <urn:p> 1 . <urn:b> <urn:p> 2 . <urn:c> <urn:p> 3 .", { format: TURTLE });
  return store;
}

function bindings(sparql: string, type: string, options = {}): string[] {
  const pieces: string[] = [];
  streamBindings(filled(), sparql, options, type, (text) => void pieces.push(text));
  return pieces;
}

function quads(sparql: string, type: string): string[] {
  const pieces: string[] = [];
  streamQuads(filled(), sparql, {}, type, (text) => void pieces.push(text));
  return pieces;
}

const EVERY = "CONSTRUCT WHERE { ?s ?p ?o }";

test("each solution is a piece of its own, between a head and an end, with its variables in their order", () => {
  expect(bindings("SELECT ?o ?s { ?s ?p ?o } ORDER BY ?o", CSV)).toEqual([
    "o,s\r\n",
    ...["1,urn:a\r\n", "2,urn:b\r\n", "3,urn:c\r\n"],
    "",
  ]);
  const pieces = bindings("SELECT ?s { ?s ?p ?o }", RESULTS_JSON);
  expect(pieces).toHaveLength(5);
  const answer = JSON.parse(pieces.join("")) as { results: { bindings: unknown[] } };
  expect(answer.results.bindings).toHaveLength(3);
});

test("a SELECT whose names and values are called true and false is no ASK, whose answer is one of them", () => {
  const sparql = 'SELECT ?trueOrfalse { VALUES ?trueOrfalse { true "false" } }';
  expect(bindings(sparql, CSV)).toEqual(["trueOrfalse\r\n", "true\r\n", "false\r\n", ""]);
  expect([bindings("ASK {}", CSV), bindings("ASK { FILTER(false) }", CSV)]).toEqual([["true"], ["false"]]);
});

test("what XML gives a meaning to is escaped in names, texts and datatypes, as the engine does it", () => {
  const sparql = `SELECT * { VALUES ?x {
    <urn:x?a=b&c='d'> "a & <b> 'd'" '"' "&"^^<urn:type?a=b&c='d'> <<( <urn:a&b> <urn:p> "&"^^<urn:t&u> )>> } }`;
  const text = bindings(sparql, RESULTS_XML).join("");
  expect(text).toBe(new oxigraph.Store().query(sparql, { results_format: RESULTS_XML }));
  expect(text).toContain('<literal datatype="urn:type?a=b&amp;c=&apos;d&apos;">&amp;</literal>');
});

test.each([CSV, "text/tab-separated-values"])(
  "whatever would end a value or a row in %s is told apart from that, each by itself, as the engine does it",
  (type) => {
    const sparql = String.raw`SELECT * { VALUES ?x { "a" "a,b" "\"" "a\nb" "a\rb" "a\tb" } }`;
    const text = bindings(sparql, type).join("");
    expect(text).toBe(new oxigraph.Store().query(sparql, { results_format: type }));
    if (type === CSV) expect(text).toContain('\r\n"a\rb"\r\n');
  },
);

test("relative names of a query that is answered in pieces are relative to its base", () => {
  const base = { base_iri: "urn:x/" };
  expect(bindings("SELECT ?o { ?s ?p ?o FILTER(?s != <x>) } ORDER BY ?o", CSV, base)).toHaveLength(5);
  expect(bindings("ASK { <x> ?p ?o }", CSV, base)).toEqual(["false"]);
});

test("each triple is a piece of its own in the formats that are lines, and a document is written at once", () => {
  for (const type of [N_TRIPLES, TURTLE]) {
    const lines = ["a", "b", "c"].map(
      (name, i) => `<urn:${name}> <urn:p> "${i + 1}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n`,
    );
    expect(quads(EVERY, type).toSorted()).toEqual(lines);
  }
  expect(quads(EVERY, JSON_LD)).toHaveLength(1);
});

test("what the engine holds is given back: each term of each solution, each triple, and the store that only reads a query", () => {
  const free = (type: { prototype: unknown }) => jest.spyOn(type.prototype as { free: () => void }, "free");
  const [names, literals, triples, stores] = [
    free(oxigraph.NamedNode),
    free(oxigraph.Literal),
    free(oxigraph.Quad),
    free(oxigraph.Store),
  ];
  bindings("SELECT * { ?s ?p ?o }", CSV);
  expect([names, literals, stores].map(({ mock }) => mock.calls.length)).toEqual([6, 3, 1]);
  quads(EVERY, N_TRIPLES);
  expect(triples).toHaveBeenCalledTimes(3);
});

test("arrays are what they were afterwards, also after a query that fails", () => {
  // oxlint-disable-next-line typescript/unbound-method -- it is only compared
  const { push } = Array.prototype;
  expect(() => quads("CONSTRUCT { ?s ?p ?o", N_TRIPLES)).toThrow();
  const fail = () => {
    throw new Error("taken no further");
  };
  expect(() => eachResult(() => filled().query(EVERY), isQuad, fail)).toThrow("taken no further");
  expect(Array.prototype.push).toBe(push);
});

test("what is no result is appended to its array as ever while a query runs", () => {
  const others: number[] = [];
  const taken: unknown[] = [];
  eachResult(
    () => {
      others.push(1, 2);
      return filled().query("SELECT * { ?s ?p ?o }");
    },
    isSolution,
    (solution) => void (taken[taken.length] = solution),
  );
  expect([others, taken.length]).toEqual([[1, 2], 3]);
});

test("an engine that gives its results some other way is asked for its array", () => {
  const solutions = [new Map(), new Map()];
  const taken: unknown[] = [];
  eachResult(
    () => solutions,
    isSolution,
    (solution) => void taken.push(solution),
  );
  expect(taken).toEqual(solutions);
});
