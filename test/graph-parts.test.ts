// The small parts of the way to the graph and back, each by itself and on both sides of its bounds.
import { Readable } from "node:stream";
import { describe, expect, jest, test } from "@jest/globals";
import { Parser } from "n3";
import { BatchDataset, BatchPointer } from "../graph/batch-dataset.ts";
import { PIECES_IN_FLIGHT } from "../graph/embedded/tasks.ts";
import { encodeRecord, readRecords, readSnapshot, snapshotHeader } from "../graph/embedded/format.ts";
import { Pieces } from "../graph/embedded/pieces.ts";
import { shapeOf } from "../graph/embedded/query-form.ts";
import { itemReader } from "../graph/items.ts";
import { createLoadCheck } from "../graph/load-check.ts";
import { mediaType, negotiate } from "../graph/media-types.ts";
import { createNames } from "../graph/namespaces.ts";
import { tripleText } from "../graph/ntriples.ts";
import { fitsXml, rdfXml } from "../graph/rdf-xml.ts";
import { CANCELLED_NOTICE, WholeBody } from "../graph/store-body.ts";
import {
  GraphFailed,
  GraphNotFound,
  GraphRejected,
  GraphTimeout,
  GraphTooExpensive,
  GraphUnavailable,
  GraphUnconfirmed,
  GraphUnreachable,
} from "../graph/store-errors.ts";
import { readAll } from "../graph/store-http.ts";
import { canonicalDecimal, literal, namedNode, triple, withoutTrailingZeros } from "../graph/terms.ts";
import { createTripleBuilder, LITERALS } from "../graph/triples.ts";
import { RECORDS } from "../records/index.ts";
import type { Field } from "../records/record.ts";

jest.setTimeout(60_000);
const NS = "https://ontology.example.org/core#";
const names = createNames({ graphDataUrl: "https://data.example.org", namespaceUrl: NS });
const id = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;

const SOLUTION = '{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"literal","value":"]}"}}';

describe("a body", () => {
  const pass = (type: string, ...chunks: string[]) =>
    readAll(Readable.from(chunks.map((chunk) => Buffer.from(chunk))).pipe(new WholeBody(type, true)));

  test.each([255, 256, 257, 511, 512, 513])(
    "of %i bytes comes as it was sent, in whatever chunks",
    async (length) => {
      const text = `${Array.from({ length }, (_, i) => "abcdefghij"[i % 10])
        .join("")
        .slice(0, length - 1)}\n`;
      for (const size of [1, 100, 255, 256, 257, length]) {
        const chunks = Array.from({ length: Math.ceil(length / size) }, (_, i) =>
          text.slice(i * size, (i + 1) * size),
        );
        expect(await pass("text/csv", ...chunks)).toBe(text);
      }
    },
  );

  test.each([
    ["application/sparql-results+json", `${SOLUTION}]}}`, SOLUTION],
    ["application/sparql-results+json", `${SOLUTION}\n ]\n }\n}\n`, `${SOLUTION.slice(0, -1)}\n`],
    ["application/sparql-results+json", `${SOLUTION}] } }`, `${SOLUTION}] }`],
    ["application/sparql-results+json", '{"head":{},"boolean":true}', '{"head":{}'],
    ["application/sparql-results+json", '{"head":{},"boolean" : false }', '{"head":{},"boolean":false'],
    ["application/json", "[1]", "[1"],
    ["application/json", "{}\n", ""],
    ["application/json", "[{}, []]", "{} []"],
    ["application/json", '["]"]', '["]'],
    // As it breaks off within a text that looks like the end.
    [
      "application/sparql-results+json",
      `${SOLUTION.replace('"]}"', '"true}]}}"')}]}}`,
      SOLUTION.replace('"]}"}}', '"true}]}}'),
    ],
    [
      "application/ld+json",
      String.raw`[{"@id":"urn:a","urn:b":"\\\"]"}]`,
      String.raw`[{"@id":"urn:a","urn:b":"\\\"]`,
    ],
    ["application/ld+json", '[{"@id":"urn:a"},{"@id":"urn:b"}]', '[{"@id":"urn:a"}'],
    ["application/sparql-results+xml", "<sparql></sparql>", "<sparql></results>"],
    ["application/sparql-results+xml", "<s:sparql></s:sparql>\n", "<s:sparql>"],
    ["application/ld+json", "[]", "["],
    ["application/n-triples", "<urn:a> <urn:b> <urn:c> .\n", "<urn:a> <urn:b> <urn:c> .\n<urn:a>"],
    ["application/n-triples", "", "<urn:a>"],
    ["text/csv", "a\r\n1\r\n", "a\r\n1"],
    ["text/csv", "true", "tru"],
    ["text/tab-separated-values", "?a\n1\n", "?a\n1"],
    ["application/rdf+xml", "<rdf:RDF></rdf:RDF>\n", "<rdf:RDF><rdf:Description/>"],
  ])("of type %s is whole as %j, and not as %j", async (type, whole, half) => {
    expect(await pass(type, whole)).toBe(whole);
    await expect(pass(type, half)).rejects.toThrow(GraphUnavailable);
  });

  test("of JSON is whole however it is cut into pieces", async () => {
    const text = String.raw`{"a":"\\","b":["\"}]","ü"]}`;
    for (let size = 1; size < text.length; size += 1)
      expect(await pass("application/json", ...(text.match(new RegExp(`.{1,${size}}`, "g")) ?? []))).toBe(
        text,
      );
  });

  const LONG = "x".repeat(5_000);
  const TABLE = "?a\t?b\n<urn:a>\t1\n";
  const IN_CSV = "a,b\r\n1,2\r\n";
  test.each([
    ["text/csv", "a\r\n1\r\n", "urn:b is not a literal node\n"],
    ["text/csv", "a\r\n", "Illegal group reference\n"],
    ["text/csv", IN_CSV, `${LONG}\n`],
    ["text/csv", `a\r\n"1\n2"\r\n`, "\n"],
    ["text/tab-separated-values", TABLE, "urn:b is not a literal node\n"],
    ["text/tab-separated-values", TABLE, "<<( urn:a urn:b urn:c )>>\n"],
    ["text/tab-separated-values", "?a\n1\n", "urn:b is not a literal node\n"],
    ["text/tab-separated-values", "?a\n", "<<( urn:a urn:b urn:c )>> is not a literal node\n"],
    ["text/tab-separated-values", "?a\n", '"x" is no language\n'],
    ["text/tab-separated-values", TABLE, `${LONG}\t1\n`],
    ["text/tab-separated-values", "?a\n", `${LONG}\n`],
    ["text/tab-separated-values", `?a\t?${LONG}\n1\t2\n`, "urn:b is not a literal node\n"],
  ])("of type %s whose end is %j ends with what is no row if %j follows", async (type, rows, message) => {
    const bytes = (rows + message).split("");
    for (const chunks of [[rows, message], [rows + message], bytes])
      await expect(pass(type, ...chunks)).rejects.toThrow(GraphFailed);
    expect(await pass(type, rows)).toBe(rows);
  });

  test.each([
    ["text/csv", "a\n1\n"],
    ["text/csv", `${IN_CSV}"a\nb",${LONG}\r\n`],
    ["text/csv", "\r\n\r\n"],
    ["text/tab-separated-values", "?a\t?b\n"],
    ["text/tab-separated-values", "?a\n\n"],
    ["text/tab-separated-values", `${TABLE}\t\n`],
    ["text/tab-separated-values", `${TABLE}"a\\"\\t b"@en--ltr\t'1'^^<urn:x>\n`],
    ["text/tab-separated-values", `${TABLE}"a"^^xsd:int\t-1.5e10\n`],
    ["text/tab-separated-values", `${TABLE}_:b0\t<<( <urn:a> <urn:b> "c d" )>>\n`],
    ["text/tab-separated-values", `${TABLE}<urn:à>\t"à"^^<urn:à>\n`],
    ["text/tab-separated-values", `${TABLE}true\tfalse\r\n`],
    ["text/tab-separated-values", `${TABLE}"${LONG}"\t"é"\n`],
    ["text/tab-separated-values", `${TABLE}"é"\t"${LONG}"\n`],
    ["text/tab-separated-values", `?a\t?${LONG}\t?b\n"1 2"\t2\t3\n`],
  ])("of type %s that ends with what is a row is whole: %j", async (type, text) => {
    for (const size of [1, 7, text.length]) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        text.slice(i * size, (i + 1) * size),
      );
      expect(await pass(type, ...chunks)).toBe(text);
    }
  });

  test("of TSV ends with any row where it is not from Fuseki: others write texts as they are", async () => {
    const text = "?a\t?b\nsome text\t1\n";
    expect(
      await readAll(Readable.from([Buffer.from(text)]).pipe(new WholeBody("text/tab-separated-values"))),
    ).toBe(text);
    await expect(pass("text/tab-separated-values", text)).rejects.toThrow(GraphFailed);
  });

  test("that ends in the middle is one that Fuseki failed on; of another store nobody knows whether it did", async () => {
    const half = async (isFuseki: boolean): Promise<unknown> => {
      const body = new WholeBody("application/json", isFuseki);
      return readAll(Readable.from([Buffer.from("[1")]).pipe(body)).catch((error: unknown) => error);
    };
    expect(await half(true)).toBeInstanceOf(GraphFailed);
    const error = await half(false);
    expect(error).toBeInstanceOf(GraphUnavailable);
    expect(error).not.toBeInstanceOf(GraphFailed);
  });

  test("of a type that does not show its end is taken as it is", async () => {
    expect(await pass("text/n3", "<urn:a> <urn:b>")).toBe("<urn:a> <urn:b>");
  });

  test("that ends with the notice that time is over is a time limit, whatever its type", async () => {
    for (const type of ["text/csv", "text/turtle"])
      await expect(pass(type, "x".repeat(900), `\n${CANCELLED_NOTICE}\n`)).rejects.toThrow(GraphTimeout);
    // As Fuseki says it, on any system, behind a row or in the middle of one, or before the first.
    for (const end of ["\n", "\r\n"])
      for (const text of ["a\r\n1\r\n", "a", ""]) {
        const notice = `${end}${CANCELLED_NOTICE} during execution   ##${end}##  **** Incomplete ****   ##${end}`;
        await expect(pass("text/csv", text, notice)).rejects.toThrow(GraphTimeout);
      }
  });

  test.each([
    ["application/sparql-results+json", `{"results":{"bindings":[{"a":{"value":"${CANCELLED_NOTICE}"}}]}}`],
    ["application/sparql-results+xml", `<sparql><literal>a\n${CANCELLED_NOTICE}</literal></sparql>`],
    ["text/csv", `a\r\n${CANCELLED_NOTICE}\r\n`],
    ["text/csv", `a\r\n"1\n${CANCELLED_NOTICE}"\r\n`],
    ["text/csv", `a\r\n"1\n${CANCELLED_NOTICE}\n"\r\n`],
    ["text/tab-separated-values", `?a\n"${CANCELLED_NOTICE}"\n`],
    ["text/turtle", `<urn:a> <urn:b> """\n${CANCELLED_NOTICE}""" .\n`],
  ])("of type %s that only quotes the notice is whole: %j", async (type, text) => {
    expect(await pass(type, text)).toBe(text);
  });

  test("is read to a limit and no further", async () => {
    const body = () => Readable.from([Buffer.from("abc"), Buffer.from("def"), Buffer.from("ghi")]);
    expect(await readAll(body())).toBe("abcdefghi");
    expect(await readAll(body(), 6)).toBe("abcdef");
    expect(await readAll(body(), 4)).toBe("abcd");
  });
});

describe("a media type", () => {
  test.each([
    ["Text/Turtle; charset=UTF-8", "text/turtle"],
    [" application/SPARQL-Results+JSON ;q=1", "application/sparql-results+json"],
    ["", ""],
    [undefined, ""],
  ])("%j is %j, whatever is said beside it", (header, type) => {
    expect(mediaType(header)).toBe(type);
  });

  test.each([
    [undefined, "text/csv"],
    ["", "text/csv"],
    ["*/*", "text/csv"],
    ["TEXT/TURTLE", "text/turtle"],
    ["text/turtle;charset=utf-8, text/csv;q=0.5", "text/turtle"],
    ["text/turtle;q=0.5, text/csv;q=0.6", "text/csv"],
    ["text/turtle; q=0.5, text/csv; q=0.6", "text/csv"],
    ["text/turtle; q=0, text/csv", "text/csv"],
    ["text/turtle;q=0, text/csv;q=0", undefined],
    ["image/png", undefined],
  ])("who accepts %j gets %j", (accept, type) => {
    expect(negotiate(accept, ["text/csv", "text/turtle"])).toBe(type);
  });
});

describe("an item of the graph", () => {
  const read = itemReader(RECORDS.commitment, names);
  const one = (property: string, ...values: string[]) => read(new Map([[names.iri(property), values]]));
  const linkOf = (link: string) => one(link, names.record("need", id(1)))["concernsNeedId"];

  test("has what the graph says, and null where it says nothing; what it says twice nobody knows", () => {
    expect(one("ns:none")["concernsNeedId"]).toBeNull();
    expect(linkOf("ns:concernsNeed")).toBe(id(1));
    const twice = one("ns:concernsNeed", names.record("need", id(1)), names.record("need", id(2)));
    expect(twice["concernsNeedId"]).toBeUndefined();
  });

  test("has times as the tables have them, and codes in order", () => {
    const codes = RECORDS.commitment.fields["concernsCountryCode"]!.graph as { code: string };
    expect(one(codes.code, "UG", "KE", "TZ")["concernsCountryCode"]).toEqual(["KE", "TZ", "UG"]);
    expect(one("ns:none")["concernsCountryCode"]).toEqual([]);
    const { createdAt } = RECORDS.commitment.fields as unknown as Record<string, { graph: string }>;
    expect(one(createdAt!.graph, "2026-01-02T03:04:05.12Z")["createdAt"]).toBe(
      "2026-01-02T03:04:05.12+00:00",
    );
  });
});

test("a field of any type is in an item what it is in JSON", () => {
  const described = (type: Field["type"], graph: string) => ({ type, graph, description: "" });
  const fields: Record<string, Field> = {
    recordId: described("uuid", "dct:identifier"),
    budget: described("number", "ns:budget"),
    people: described("integer", "ns:people"),
    isUrgent: described("boolean", "ns:isUrgent"),
    isOver: described("boolean", "ns:isOver"),
    dueDate: described("date", "ns:dueDate"),
  };
  const said = Object.entries({
    budget: "1.5",
    people: "7",
    isUrgent: "true",
    isOver: "false",
    dueDate: "2030-05-03",
  });
  const properties = new Map(said.map(([name, value]) => [names.ns(name), [value]]));
  const record = { ...RECORDS.need, fields: { ...fields, status: RECORDS.need.fields.status } };
  expect(itemReader(record, names)(properties)).toEqual({
    ...{
      recordId: null,
      budget: 1.5,
      people: 7,
      isUrgent: true,
      isOver: false,
      dueDate: "2030-05-03",
      status: null,
    },
  });
});

test("a record's values are in the graph in the one form in which every store gives them back", () => {
  const row = {
    ...{ commitment_id: id(1), org_uri: "https://river.example/", concerns_need_id: id(2) },
    ...{ created_at: "2026-01-02T03:04:05.120000", updated_at: "2026-01-02T03:04:05.000000" },
    ...{ target_completion_date: "2030-05-03", commitment_description: null },
  };
  const { iri, quads } = createTripleBuilder(names)({ kind: "commitment", row }, new Map());
  const values = new Map(quads.map(({ predicate, object }) => [predicate.value, object]));
  const value = (property: string) => {
    const object = values.get(names.iri(property))!;
    return object.termType === "Literal" ? [object.value, object.datatype.value.split("#")[1]] : object.value;
  };
  expect(iri).toBe(`${names.graphs.commitment}${id(1)}`);
  expect(value("prov:wasAttributedTo")).toBe("https://river.example/");
  expect(value("ns:concernsNeed")).toBe(`${names.graphs.need}${id(2)}`);
  expect(value("prov:generatedAtTime")).toEqual(["2026-01-02T03:04:05.12Z", "dateTime"]);
  expect(value("dct:modified")).toEqual(["2026-01-02T03:04:05Z", "dateTime"]);
  expect(value("ns:targetCompletionDate")).toEqual(["2030-05-03", "date"]);
  expect(value("dct:identifier")).toEqual([id(1), "string"]);
  expect(values.has(names.iri("ns:commitmentDescription"))).toBe(false);
});

describe("numbers and times", () => {
  test.each([
    ["12.000", "12"],
    ["12.50", "12.5"],
    ["100", "100"],
    ["0.10", "0.1"],
    ["2026-01-01T10:20:30.120000", "2026-01-01T10:20:30.12"],
    ["2026-01-01T10:20:30.000000", "2026-01-01T10:20:30"],
    ["10", "10"],
  ])("%s is %s without zeros that add nothing", (value, expected) => {
    expect(withoutTrailingZeros(value)).toBe(expected);
  });

  test.each([
    ["12", "12.0"],
    ["12.000", "12.0"],
    ["-0.50", "-0.5"],
    ["0", "0.0"],
  ])("a decimal %s is written as %s", (value, expected) => {
    expect(canonicalDecimal(value)).toBe(expected);
    expect(LITERALS.number!(value).value).toBe(expected);
  });

  test("only decimals are compared without them", () => {
    const line = (value: string, type: string) =>
      tripleText(
        triple(
          namedNode("urn:s"),
          namedNode("urn:p"),
          literal(value, namedNode(`http://www.w3.org/2001/XMLSchema#${type}`)),
        ),
      );
    expect(line("12.0", "decimal")).toBe(line("12", "decimal"));
    expect(line("12.0", "string")).not.toBe(line("12", "string"));
    expect(line("10", "integer")).not.toBe(line("1", "integer"));
  });
});

describe("RDF/XML", () => {
  const about = (value: string, predicate = "urn:p#q") => [
    triple(namedNode("https://a.example/s"), namedNode(predicate), literal(value)),
  ];
  test.each([
    ["a tab", "\t", true],
    ["a line feed", "\n", true],
    ["the last character below a space", "\u001f", false],
    ["a vertical tab", "\u000b", false],
    ["the last before the surrogates", "\ud7ff", true],
    ["half a surrogate pair", "\ud800", false],
    ["the first after them", "\ue000", true],
    ["the last of the plane", "\ufffd", true],
    ["no character", "\ufffe", false],
    ["one of another plane", "👩", true],
  ])("holds text with %s: %j, %s", (_, value, fits) => {
    expect(fitsXml(about(value))).toBe(fits);
  });

  test("holds predicates that end in a name, and no blank nodes", () => {
    expect(fitsXml(about("x", "urn:p#1"))).toBe(false);
    expect(fitsXml(about("x", "https://a.example/b/c"))).toBe(true);
    expect(fitsXml(new Parser().parse("<https://a.example/s> <urn:p#q> [] ."))).toBe(false);
  });

  test.each([
    ["https://a.example/", true],
    ["http://localhost:3000", true],
    [`http://${"a".repeat(63)}.b-2.c/d%C3%A9?e=f&g#h/i`, true],
    ["urn:a", false],
    ["https://a.example/b c", false],
    ["https://a.example/a<b", false],
    ["https://a.example/%zz", false],
    ["https://a.example/é", false],
    ["https://é.example/", false],
    ["http://-a.example/", false],
    ["http://a-/", false],
    ["http://a_b.example/", false],
    ["http://xn--a.example/", false],
    ["http://a.xn--b/", false],
    [`http://${"a".repeat(64)}.example/`, false],
    ["http://1.2.3.4:80/", true],
    ["http://250.10.0.1", true],
    ["http://1.2.3.400/", false],
    ["http://01.2.3.4/", false],
    ["http://1.2.3/", false],
    ["http://1.2.3.4.5/", false],
    ["http://1.2.3.4./", false],
    ["http://a.example:65535/", true],
    ["http://a.example:655350/", false],
    ["http://[::1]/", false],
    ["http://a@b.example/", false],
    ["http://a.example/#b#c", false],
    ["xhttp://a.example/", false],
  ])("holds the IRI %s, of which no engine's reader makes anything else: %s", (iri, fits) => {
    const [s, p, o] = [namedNode("https://a.example/s"), namedNode("urn:p#q"), namedNode(iri)];
    expect([fitsXml([triple(s, p, o)]), fitsXml([triple(o, p, s)])]).toEqual([fits, fits]);
  });

  test("has no end when what it is made of breaks off: nobody takes half of it for the whole", async () => {
    async function* groups() {
      yield [[triple(namedNode("urn:s"), namedNode("urn:p"), literal("o"))]];
      await Promise.resolve();
      throw new Error("broken off");
    }
    let text = "";
    const reading = (async () => {
      for await (const piece of rdfXml(groups())) text += piece;
    })();
    await expect(reading).rejects.toThrow("broken off");
    expect(text).toContain("urn:s");
    expect(text).not.toContain("</rdf:RDF>");
  });

  test("has each group about its subject, with what XML gives a meaning to written out", async () => {
    const inSwahili = literal("maji", "sw");
    async function* groups() {
      const group = [...about(`<&"\r\n\t`), ...about("x", 'urn:"&#r')];
      yield [[...group, triple(namedNode("urn:s"), namedNode("urn:p#q"), inSwahili)], []];
      await Promise.resolve();
    }
    let text = "";
    for await (const piece of rdfXml(groups())) text += piece;
    expect(text).toContain("&#60;&#38;&#34;&#13;&#10;&#9;");
    expect(text).toContain(' xml:lang="sw">maji</p:q>');
    expect(text).toContain('<p:r xmlns:p="urn:&#34;&#38;#" ');
    expect(text.match(/rdf:Description rdf:about/g)).toHaveLength(1);
    expect(text.endsWith("</rdf:RDF>\n")).toBe(true);
  });
});

const FAILURES = { GraphUnreachable, GraphNotFound, GraphTimeout, GraphFailed, GraphUnconfirmed };
const REFUSALS = { GraphRejected, GraphTooExpensive };
test.each([
  ...Object.entries(FAILURES).map(([name, kind]) => [name, true, new kind("no")] as const),
  ...Object.entries(REFUSALS).map(([name, kind]) => [name, false, new kind(400, "no")] as const),
])("%s: trying again later may help is %s", (name, mayHelp, error) => {
  expect(error instanceof GraphUnavailable).toBe(mayHelp);
  expect(error instanceof GraphRejected).toBe(!mayHelp);
  expect(error.name).toBe(name);
});

describe("a batch that is checked", () => {
  const quads = new Parser().parse(
    `<urn:a> a <urn:C> ; <urn:p> 1, 2 . <urn:b> a <urn:C> ; <urn:q> <urn:a> .`,
  );
  const batch = () => {
    const data = new BatchDataset();
    data.addRecord(quads);
    data.addContext(new Parser().parse("<urn:x> a <urn:C> .")[0]!);
    return data;
  };
  const TYPE = namedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type");

  test("has its records as instances, and what they point to only for whoever asks for it", () => {
    const data = batch();
    const subjects = (found: Iterable<{ subject: { value: string } }>) =>
      [...found].map(({ subject }) => subject.value);
    expect(subjects(data.match(null, TYPE, namedNode("urn:C")))).toEqual(["urn:a", "urn:b"]);
    expect(subjects(data.match(namedNode("urn:x"), TYPE))).toEqual(["urn:x"]);
    expect(data.size).toBe(6);
    expect([...data]).toHaveLength(6);
  });

  test("finds by subject, predicate and object", () => {
    const data = batch();
    expect(data.match(namedNode("urn:a")).size).toBe(3);
    expect(data.match(namedNode("urn:a"), namedNode("urn:p")).size).toBe(2);
    expect(data.match(null, namedNode("urn:q"), namedNode("urn:a")).size).toBe(1);
    expect(data.match(null, namedNode("urn:q"), namedNode("urn:b")).size).toBe(0);
    const [urnP, one] = [quads[1]!.predicate, quads[1]!.object];
    expect(data.match(namedNode("urn:a"), urnP, one).size).toBe(1);
    expect(data.match(namedNode("urn:a"), null, one).size).toBe(1);
    expect(data.has(quads[1]!)).toBe(true);
    expect(data.has(triple(namedNode("urn:a"), namedNode("urn:p"), literal("1")))).toBe(false);
    expect(data.match(namedNode("urn:nobody")).size).toBe(0);
  });

  test("is followed along properties both ways", () => {
    const at = new BatchPointer(batch()).node(namedNode("urn:a"));
    expect(at.out(namedNode("urn:p")).terms.map(({ value }) => value)).toEqual(["1", "2"]);
    expect(at.in(namedNode("urn:q")).term?.value).toBe("urn:b");
    expect(at.out(namedNode("urn:p")).term).toBeUndefined();
    expect(at.out(namedNode("urn:p")).toArray()).toHaveLength(2);
  });

  test("says of each record what is wrong, with the place in a list, once, and of the others nothing", async () => {
    const build = createTripleBuilder(names);
    const moment = "2026-05-03T10:00:00.000000";
    const need = (number: number, more: object) =>
      build(
        {
          kind: "need",
          row: {
            ...{ need_id: id(number), org_uri: "https://data.example.org/org/a", org_name: "River" },
            ...{
              need_description: "Wells",
              accelerators: ["PRA"],
              status: "open",
              created_at: moment,
              updated_at: moment,
            },
            ...more,
          },
        },
        new Map([["PRA", names.ns("PRA")]]),
      );
    const long = "X".repeat(300);
    const records = [need(1, { accelerators: ["PRA", long] }), need(2, {}), need(3, { org_name: "" })];
    // Neither an IRI nor like one, which is one thing to mend.
    const fourth = need(4, {});
    const organization = namedNode(names.iri("prov:wasAttributedTo"));
    const nowhere = triple(namedNode(fourth.iri), organization, literal("nowhere"));
    records.push({
      ...fourth,
      quads: fourth.quads.map((quad) => (quad.predicate.equals(organization) ? nowhere : quad)),
    });
    const errors = await createLoadCheck(names)(records, {
      ...{ concepts: [names.ns("PRA")], peopleGroups: undefined, targets: [] },
    });
    expect([...errors.keys()].toSorted()).toEqual([0, 2, 3].map((place) => records[place]!.iri));
    expect(errors.get(fourth.iri)!.map(({ path }) => path)).toEqual(["orgUri"]);
    const first = errors.get(records[0]!.iri)!;
    expect(first.map(({ path }) => path)).toContain("accelerators[1]");
    expect(new Set(first.map((error) => JSON.stringify(error))).size).toBe(first.length);
    expect(first.every(({ message }) => /Found: .{1,200}$/.test(message))).toBe(true);
    expect(first.some(({ message }) => /Found: .{200}$/.test(message))).toBe(true);
    expect(errors.get(records[2]!.iri)!.map(({ path }) => path)).toEqual(["orgName"]);
  });
});

describe("records of the journal", () => {
  const change = { kind: "drop", graph: "urn:g" } as const;
  const records = [1, 2, 3].map((sequence) => encodeRecord({ sequence, change }));
  const all = Buffer.concat(records);
  const [size] = records.map(({ length }) => length);
  const read = (bytes: Buffer) => {
    const { records: found, end, damaged } = readRecords(bytes, 2);
    return { numbers: found.map(({ sequence }) => sequence), end, damaged };
  };

  test("are read to the last, each at its place", () => {
    expect(read(all)).toEqual({ numbers: [1, 2, 3], end: 3 * size!, damaged: false });
    expect(readRecords(all, 2).records.map(({ offset }) => offset)).toEqual([0, size, 2 * size!]);
    expect(read(Buffer.alloc(0))).toEqual({ numbers: [], end: 0, damaged: false });
  });

  test("that break off anywhere in the last are read to the one before, and that is no damage", () => {
    for (let cut = 2 * size!; cut < 3 * size!; cut += 1)
      expect(read(all.subarray(0, cut))).toEqual({ numbers: [1, 2], end: 2 * size!, damaged: false });
  });

  test("with another byte anywhere in the second are read to the first, and that is damage", () => {
    for (let at = size!; at < 2 * size!; at += 1) {
      const bytes = Buffer.from(all);
      bytes[at]! ^= 1;
      expect([at, read(bytes)]).toEqual([at, { numbers: [1], end: size, damaged: true }]);
    }
  });

  test("after which there is only space were cut off; space with anything after it is damage", () => {
    const space = Buffer.alloc(200);
    expect(read(Buffer.concat([all, space]))).toMatchObject({ numbers: [1, 2, 3], damaged: false });
    expect(read(Buffer.concat([all, space, Buffer.from([1])]))).toMatchObject({ damaged: true });
  });

  test("of 0.1.0 after which there is only space were cut off as well", () => {
    const space = Buffer.alloc(200);
    expect(readRecords(space, 1)).toEqual({ records: [], end: 0, damaged: false });
    expect(readRecords(Buffer.concat([space, Buffer.from([1])]), 1)).toMatchObject({ damaged: true });
  });

  test("are followed by a snapshot that is only what was written", () => {
    const quads = Buffer.from("<urn:a> <urn:b> <urn:c> .\n");
    const whole = Buffer.concat([Buffer.from(snapshotHeader(quads)), quads]);
    expect(readSnapshot(whole, 2)).toEqual(quads);
    expect(readSnapshot(whole.subarray(0, -1), 2)).toBeUndefined();
    expect(readSnapshot(Buffer.concat([whole, Buffer.from("\n")]), 2)).toBeUndefined();
    const altered = Buffer.from(whole);
    altered[whole.length - 5]! ^= 1;
    expect(readSnapshot(altered, 2)).toBeUndefined();
    expect(readSnapshot(quads, 2)).toBeUndefined();
    expect(readSnapshot(quads, 1)).toEqual(quads);
  });

  test("are followed by a snapshot that is read whatever its checksum is", () => {
    const quads = Array.from({ length: 200 }, (_, i) => Buffer.from(`<urn:a> <urn:b> ${i} .\n`));
    const heads = quads.map(snapshotHeader);
    expect(heads.filter((head) => head.startsWith("# crc32 0"))).not.toEqual([]);
    const read = quads.map((each, i) => readSnapshot(Buffer.concat([Buffer.from(heads[i]!), each]), 2));
    expect(read).toEqual(quads);
  });
});

describe("an answer in pieces", () => {
  const piece = (text: string) => Buffer.from(text);
  test("frees a place in the thread for each piece that is taken, and all of them at its end", async () => {
    let taken = 0;
    const pieces = new Pieces(() => (taken += 1));
    for (let i = 0; i < PIECES_IN_FLIGHT; i += 1) pieces.add(piece("x".repeat(20_000)));
    // Nobody reads.
    expect(taken).toBe(0);
    pieces.complete(piece("end"));
    expect(taken).toBe(PIECES_IN_FLIGHT);
    const text = await readAll(pieces);
    expect(text).toBe(`${"x".repeat(20_000 * PIECES_IN_FLIGHT)}end`);
    expect(taken).toBe(PIECES_IN_FLIGHT);
  });

  test("whose caller is gone keeps the thread from nothing", () => {
    let taken = 0;
    const pieces = new Pieces(() => (taken += 1));
    pieces.add(piece("a"));
    pieces.add(piece("b"));
    pieces.destroy();
    expect(taken).toBe(2);
    pieces.add(piece("c"));
    expect(taken).toBe(3);
  });
});

describe("the form of a query", () => {
  test.each([
    ["SELECT * { ?s ?p ?o }", false, false, false],
    ["ask { }", false, false, true],
    ['ASK {} VALUES ?asked { "a\\"b" }', false, false, true],
    ["ASK { ?s ?p ?o }", false, false, false],
    ["ASK {} VALUES ?asked { 1 }", false, false, false],
    ["PREFIX select: <urn:x> CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", true, false, false],
    ["BASE <urn:select> DESCRIBE <urn:x>", true, false, false],
    ["# construct\nSELECT ?x { ?x ?y ?z }", false, false, false],
    ["SELECT * FROM <urn:g> { ?s ?p ?o }", false, true, false],
    ["SELECT * FROM # the first\n<urn:g> { ?s ?p ?o }", false, true, false],
    ["SELECT * FROM # all\nNAMED # of them\n<urn:g> { ?s ?p ?o }", false, true, false],
    ["# anything?\nASK # nothing\n{} # at all", false, false, true],
    ["SELECT * from named ex:g { ?s ?p ?o }", false, true, false],
    ["SELECT ?from { ?from:a ?p 'from <urn:g>' }", false, false, false],
    ["SELECT ?àfrom { ?àfrom :p ?o }", false, false, false],
    ["ASK { ?s ?from ex:a . $from ex:b ?o }", false, false, false],
    [
      'ASK { VALUES ?o { "x"@from ex:a ex:\\,from ex:a ex:éfrom ex:a ex:e\u0301from ex:a ex:1from ex:a } }',
      false,
      false,
      false,
    ],
    ["ASK { VALUES ?o { :from ex:a ex:a.from ex:a ex:a-from ex:a ex:_from ex:a } }", false, false, false],
    ["SELECT * FROM :g { ?s ?p ?o }", false, true, false],
    ["SELECT * FROM named:g { ?s ?p ?o }", false, true, false],
    ["SELECT * FROM NAMED g: { ?s ?p ?o }", false, true, false],
    ["SELECT * FROM<urn:\\u0067>{ ?s ?p ?o }", false, true, false],
    ["SELECT * FROM NAMED<urn:\\U0001F600> { ?s ?p ?o }", false, true, false],
    ["SELECT * FROM <urn:a\u00a0b> { ?s ?p ?o }", false, true, false],
    ["PREFIX p: <http://x/\\u00e9/select> CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", true, false, false],
    ["BASE <http://x/\\u00e9/describe> SELECT * { ?s ?p ?o }", false, false, false],
    ["ASK { ?s ?p <urn:\\u0022> FILTER(?o < 1) } # from <urn:g>", false, false, false],
    ["PREFIX from: <urn:f#> SELECT * { ?s from:a ?o ; from:b ?x }", false, false, false],
    ['SELECT * { ?s ?p """from <urn:g> " \\""" from <urn:h>""" }', false, false, false],
  ])("%j", (sparql, answersGraph, namesDataset, asksNothing) => {
    expect(shapeOf(sparql)).toEqual({ answersGraph, namesDataset, asksNothing });
  });
});
