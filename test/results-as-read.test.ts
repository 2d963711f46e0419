// The answer to a query of the graph as the page shows it, word by word; and where somebody is led after signing in.
import { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { html } from "hono/html";
import { XSD } from "../graph/namespaces.ts";
import { GraphRejected, GraphUnavailable } from "../graph/store.ts";
import { ApiError } from "../server/errors.ts";
import { readResult } from "../server/pages/sparql/result.ts";
import { showRefusal, showResult } from "../server/pages/sparql/show.ts";
import { ownPath } from "../server/pages/sign-in/own-path.ts";
import { asRead } from "./support/as-read.ts";

const NS = "https://ontology.example.org/core#";
const PREFIXES = { ns: NS, xsd: XSD };
const iri = (value: string) => ({ type: "uri", value });
const text = (value: string, more: object = {}) => ({ type: "literal", value, ...more });

async function shown(form: Parameters<typeof readResult>[0], body: unknown): Promise<string[]> {
  const whole = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  // In pieces, of which none ends where a letter does.
  const pieces = Array.from({ length: Math.ceil(whole.length / 997) }, (_, n) =>
    whole.subarray(n * 997, (n + 1) * 997),
  );
  const result = await readResult(form, Readable.from(pieces));
  return asRead(await showResult(result, PREFIXES, html`<p>Download</p>`));
}
const rows = (count: number) => ({
  head: { vars: ["é"] },
  results: { bindings: Array.from({ length: count }, (_, n) => ({ é: text(`row ${n}`) })) },
});
const MORE = "There is more than this page shows. Download all of it, or set a LIMIT.";

describe("an answer", () => {
  test.each(["select", "construct"] as const)(
    "of %s that the store breaks off fails as the store says, and otherwise as one that broke off",
    async (form) => {
      const brokenOff = (error: Error) =>
        readResult(
          form,
          Readable.from(
            (function* () {
              yield Buffer.from(form === "select" ? '{"head":' : "<urn:a> ");
              throw error;
            })(),
          ),
        );
      for (const said of [
        new GraphRejected(400, "It makes too much."),
        new GraphUnavailable("It took too long."),
      ])
        await expect(brokenOff(said)).rejects.toBe(said);
      const lost = new Error("read ECONNRESET");
      await expect(brokenOff(lost)).rejects.toBeInstanceOf(GraphUnavailable);
      await expect(brokenOff(lost)).rejects.toMatchObject({
        message: "The graph store's answer broke off.",
        cause: lost,
      });
    },
  );

  test("of rows has each value in the column of its variable, as what it is", async () => {
    const integer = text("5", { datatype: `${XSD}integer` });
    const bindings = [
      { a: iri(`${NS}Need`), b: text("Wells"), c: integer },
      { c: text("puits", { "xml:lang": "fr" }), a: { type: "bnode", value: "b0" } },
      { b: iri("urn:x"), c: text("5 m", { datatype: "urn:length" }) },
    ];
    expect(await shown("select", { head: { vars: ["a", "b", "c"] }, results: { bindings } })).toEqual([
      "3 rows",
      "a | b | c |",
      `[ns:Need](/sparql?query=DESCRIBE+%3C${encodeURIComponent(`${NS}Need`)}%3E) | Wells | 5 |`,
      "_:b0 | | puits fr |",
      "| [urn:x](/sparql?query=DESCRIBE+%3Curn%3Ax%3E) | 5 m |",
      "Download",
    ]);
  });

  test("of numbers has these under each other, and no texts that look like them", async () => {
    const typed = (type: string) => ({ n: text("5", { datatype: `${XSD}${type}` }) });
    const bindings = [
      ...["integer", "decimal", "double", "float", "string", "date"].map(typed),
      { n: text("5") },
    ];
    const result = await readResult(
      "select",
      Readable.from([JSON.stringify({ head: { vars: ["n"] }, results: { bindings } })]),
    );
    const markup = String(await showResult(result, PREFIXES, html``));
    const cells = Array.from(
      markup.matchAll(/<td( class="number")?>/g),
      ([, isNumber]) => isNumber !== undefined,
    );
    expect(cells).toEqual([true, true, true, true, false, false, false]);
  });

  test.each([
    [0, "0 rows", []],
    [1, "1 row", []],
    [500, "500 rows", []],
    [501, "The first 500 rows", [MORE]],
  ])("of %i rows is shown as far as a page goes", async (count, title, more) => {
    const [first, ...others] = await shown("select", rows(count));
    expect([first, others.slice(0, more.length)]).toEqual([title, more]);
    expect(others.filter((line) => line.startsWith("row "))).toHaveLength(Math.min(count, 500));
    if (count === 0) expect(others).toEqual(["Nothing in the graph matches.", "Download"]);
  });

  test.each([
    [1, "1 triple"],
    [500, "500 triples"],
    [501, "The first 500 triples"],
  ])("of %i triples is shown as far as a page goes", async (count, title) => {
    const triples = Array.from({ length: count }, (_, n) => `<urn:s${n}> <urn:p> "o" .`).join("\n");
    const [first, ...others] = await shown("construct", triples);
    expect(first).toBe(title);
    expect(others.includes(MORE)).toBe(count > 500);
    expect(others.join(" ").match(/urn:s\d+/g)).toHaveLength(Math.min(count, 500));
  });

  test("of more than a million characters is shown as far as these go", async () => {
    const long = (length: number) => ({
      head: { vars: ["a"] },
      results: { bindings: [{ a: text("short") }, { a: text("x".repeat(length)) }] },
    });
    const rest = JSON.stringify(long(0)).length;
    expect((await shown("select", long(1_000_000 - rest)))[0]).toBe("2 rows");
    expect((await shown("select", long(1_000_001 - rest))).slice(0, 2)).toEqual(["The first 1 row", MORE]);
  });

  test("of triples is Turtle with the prefixes that it needs, each subject once", async () => {
    const turtle = async (triples: string) =>
      (await shown("describe", triples)).join(" ").replaceAll("&lt;", "<").replaceAll("&gt;", ">");
    const said = await turtle(`<urn:a> a <${NS}Need> . <urn:b> <urn:p> 5 . <urn:a> <urn:p> "x"@fr .`);
    expect(said).toContain(`@prefix ns: <${NS}>`);
    expect(said).toMatch(/<urn:a> a ns:Need; <urn:p> "x"@fr\. <urn:b> <urn:p> 5/);
    const day = await turtle(`<urn:a> <urn:p> "2026-03-02"^^<${XSD}date> .`);
    expect(day).toMatch(/"2026-03-02"\^\^xsd:date/);
    expect(day).toContain(`@prefix xsd: <${XSD}>`);
    expect(day).not.toContain("@prefix ns:");
    expect(await shown("construct", "")).toEqual(["0 triples", "Nothing in the graph matches.", "Download"]);
  });

  test.each([
    [true, "Yes"],
    [false, "No"],
  ])("of %s is said in a word", async (boolean, word) => {
    expect(await shown("ask", { head: {}, boolean })).toEqual([word, "Download"]);
  });

  test("that is a refusal says why, and marks the place if there is one", async () => {
    const message = "The query cannot be read.";
    const at = async (details?: { path: string; message: string }[]) =>
      String(await showRefusal(new ApiError("malformed_query", { message, details })));
    const placed = await at([{ path: "query", message: "line 3, column 14" }]);
    expect(placed).toContain('data-line="3" data-column="14"');
    expect(await asRead(placed)).toEqual(["That did not work", `${message} (line 3, column 14)`]);
    expect(await at()).toContain('data-line="" data-column=""');
    expect(await asRead(await at())).toEqual(["That did not work", message]);
  });
});

test.each([
  ["/admin/claims?status=all&q=a%20b#c", "/admin/claims?status=all&q=a%20b#c"],
  ["/a/../b", "/b"],
  ["/", "/"],
  [`/sparql?query=${"x".repeat(19_986)}`, `/sparql?query=${"x".repeat(19_986)}`],
  [`/sparql?query=${"x".repeat(19_987)}`, "/"],
  ["", "/"],
  [undefined, "/"],
  [["/a"], "/"],
  ["admin/claims", "/"],
  ["https://elsewhere.example/", "/"],
  ["//elsewhere.example", "/"],
  ["//elsewhere.example/admin/claims", "/"],
  ["//[", "/"],
  ["/\\elsewhere.example", "/"],
  ["/.//elsewhere.example", "/"],
  ["/a/..//elsewhere.example", "/"],
  ["/\t/elsewhere.example", "/"],
  ["javascript:alert(1)", "/"],
])("after signing in %.60s leads to %.60s", (wanted, path) => {
  expect(ownPath(wanted)).toBe(path);
});
