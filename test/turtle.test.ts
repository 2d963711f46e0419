// The text of the graph's terms: no value may end its literal or its IRI early, since the text becomes part of updates.
import { describe, expect, test } from "@jest/globals";
import type { Term } from "@rdfjs/types";
import { Parser } from "n3";
import { createNames } from "../graph/namespaces.ts";
import { readIri, termText } from "../graph/ntriples.ts";
import { literal, namedNode, triple } from "../graph/terms.ts";
import { createTurtleWriter, replaceRecords } from "../graph/turtle.ts";

const names = createNames({
  graphDataUrl: "https://data.example.org",
  namespaceUrl: "https://ontology.example.org/core#",
});
const writer = createTurtleWriter(names);
const subject = namedNode("urn:s");
const predicate = namedNode("urn:p");

test.each([
  ["an end", "urn:o> . <urn:a> <urn:b> <urn:c"],
  ["an end of the graph", "urn:o> } } ; DROP ALL #"],
  ["white space", "urn:o o\no\to"],
  ["a backslash", "urn:o\\u003E"],
  ["a quote", 'urn:o"'],
  ["a control character", "urn:o\u0001"],
])("an IRI with %s stays one IRI", (_name, iri) => {
  expect(termText(namedNode(iri))).toMatch(/^<[^<>"{}|^`\\\s]*(\\u[0-9A-F]{4}[^<>"{}|^`\\\s]*)+>$/);
});

test("an escape within an IRI is its own characters, not the one that it would stand for", () => {
  expect(termText(namedNode("urn:o\\u003E"))).toBe("<urn:o\\u005Cu003E>");
});

test("an IRI is read as it was written, by us or by a store, whatever characters it is made of", () => {
  for (const iri of ["urn:a", "urn:<>", String.raw`urn:\u0041`, "urn:\u{1f600}", "urn:\u{10fffd}"])
    expect(readIri(termText(namedNode(iri)))).toBe(iri);
  // Some write what is not ASCII as an escape.
  expect(readIri(String.raw`<urn:\u00e9\U0001F600\U0010FFFD>`)).toBe("urn:é\u{1f600}\u{10fffd}");
  for (const other of ['"<urn:a>"', "_:b0", "<<( <urn:a> <urn:b> <urn:c> )>>", ""])
    expect(readIri(other)).toBeUndefined();
});

test("one language is the same term in any case, whoever made the term", () => {
  const term = { ...{ termType: "Literal", value: "x", language: "en-GB" }, datatype: namedNode("urn:d") };
  expect(termText(term as unknown as Term)).toBe('"x"@en-gb');
});

test("a base direction is part of the term", () => {
  const read = new Parser({ format: "N-Triples" }).parse('<urn:s> <urn:p> "x"@en--rtl .')[0]!;
  expect(termText(read.object)).toBe('"x"@en--rtl');
});

test("the IRI of a datatype is written like any other", () => {
  const datatype = namedNode("urn:o> } } ; DROP ALL #");
  expect(termText(literal("x", datatype))).toBe(`"x"^^${termText(datatype)}`);
});

test("an IRI that looks like a prefixed name stays an IRI", () => {
  const text = writer.header + writer.write([triple(subject, predicate, namedNode("ns:Need"))]);
  expect(new Parser().parse(text).map((quad) => quad.object.value)).toEqual(["ns:Need"]);
});

test("a property with a prefix and more than a name behind it is written out", () => {
  const properties = ["Need", "shape/Need", "need-1", "1"].map((local) => names.ns(local));
  const quads = properties.map((property) => triple(subject, namedNode(property), literal("x")));
  const text = writer.write(quads);
  expect(text).toContain(" ns:Need ");
  for (const property of properties.slice(1)) expect(text).toContain(` <${property}> `);
});

test.each([
  `" . } } ; DROP ALL ; INSERT DATA { GRAPH <urn:x> { <urn:a> <urn:b> "`,
  '\\" \\u0022 \\',
  `""" ''' "`,
  "\b\t\n\f\r \u0000\u0001\u001a\u001f\u007f",
  "👩‍👩‍👧‍👦 \u202eעולם\u202c e\u0301",
])("the literal %j is read back unchanged", (value) => {
  const quads = [
    triple(subject, predicate, literal(value)),
    triple(subject, predicate, literal(value, "en")),
  ];
  const read = new Parser().parse(writer.header + writer.write(quads));
  expect(read.map(({ object }) => object)).toEqual(quads.map(({ object }) => object));
});

describe("an update that replaces records", () => {
  const need = (number: number) => {
    const id = `need-${number}`;
    const iri = names.record("need", id);
    return { kind: "need" as const, id, iri, quads: [triple(namedNode(iri), predicate, literal("x"))] };
  };
  const withdrawal = (number: number) => ({
    kind: "commitment" as const,
    iri: names.record("commitment", String(number)),
  });
  const update = (records: number, withdrawals = 0) =>
    replaceRecords(
      writer,
      names,
      { note: "NOTE", condition: "CONDITION" },
      Array.from({ length: records }, (_, number) => need(number)),
      Array.from({ length: withdrawals }, (_, number) => withdrawal(number)),
    );
  const count = (text: string, part: string) => text.split(part).length - 1;

  test.each([
    [100, 1],
    [101, 2],
    [250, 3],
  ])("has a hundred of them at most in each operation: %i in %i", (records, operations) => {
    const text = update(records);
    expect(count(text, "DELETE {")).toBe(operations);
    expect(count(text, "INSERT {")).toBe(operations);
    for (let number = 0; number < records; number += 1)
      expect(count(text, `${need(number).iri}> <${predicate.value}>`)).toBe(1);
  });

  test("notes first, and does nothing else unless that has happened", () => {
    const text = update(3, 2);
    expect(text.slice(writer.header.length)).toMatch(/^NOTE ;\n/);
    expect(count(text, "WHERE { CONDITION ")).toBe(count(text, "WHERE {"));
    expect(count(text, "WHERE {")).toBe(3);
  });

  test("removes what is withdrawn from the graph of its kind, and puts nothing in its place", () => {
    const text = update(0, 1);
    expect(text).toContain(`DELETE { GRAPH <${names.graphs.commitment}>`);
    expect(text).toContain(`VALUES ?s { <${withdrawal(0).iri}> }`);
    expect(text).not.toContain("INSERT");
    expect(text).not.toContain(names.graphs.need);
  });
});
