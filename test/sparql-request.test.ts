// What a request to /v0/sparql asks, in each of the forms of the protocol: the text, and the graphs of its dataset in their order.
import { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import type { Request } from "express";
import { readSparqlRequest } from "../server/sparql/request.ts";

const MOST = 8_000;
const [A, B, C, D] = ["urn:a", "HTTP://b.example/x?y", "x+1.2-3:c", "urn:d"];

function reading(method: string, query = "", type?: string, body = "", more: Record<string, string> = {}) {
  const headers: Record<string, string | undefined> = { "content-type": type, ...more };
  const request = Object.assign(Readable.from([Buffer.from(body)]), {
    ...{ method, originalUrl: `/v0/sparql${query && `?${query}`}`, get: (name: string) => headers[name] },
  });
  return readSparqlRequest(request as unknown as Request, MOST);
}
const refusal = (read: Promise<unknown>) =>
  read.then(
    () => "taken",
    ({ code, details = [] }: { code: string; details?: { path: string; message: string }[] }) =>
      [code, ...details.map(({ path, message }) => `${path} ${message}`)].join("; "),
  );

const form = (...pairs: [string, string][]) => new URLSearchParams(pairs).toString();
const inAddress = form(["default-graph-uri", A], ["named-graph-uri", B]);
const FORM = "application/x-www-form-urlencoded";
const DIRECT = "application/sparql-query";
const JSON_TYPE = "application/json";
const Q = "ASK { ?é ?p '+ &' }";
const ALL = form(["named-graph-uri", D], ["query", Q], ["default-graph-uri", C]);

describe("a query", () => {
  test.each<[string, () => Promise<unknown>, string[], string[]]>([
    ["in the address", () => reading("GET", `${form(["query", Q])}&${inAddress}`), [A], [B]],
    ["in the address of HEAD", () => reading("HEAD", form(["query", Q])), [], []],
    ["as it is", () => reading("POST", inAddress, DIRECT, Q), [A], [B]],
    ["as it is, whatever the address says of one", () => reading("POST", "query=ASK", DIRECT, Q), [], []],
    ["in a form", () => reading("POST", inAddress, FORM, ALL), [A, C], [B, D]],
    ["in JSON", () => reading("POST", "", JSON_TYPE, JSON.stringify({ query: Q })), [], []],
    [
      "in JSON, with one graph",
      () => reading("POST", inAddress, JSON_TYPE, JSON.stringify({ query: Q, "default-graph-uri": C })),
      ...(([[A, C], [B]] as const).map((graphs) => [...graphs]) as [string[], string[]]),
    ],
    [
      "in JSON, with several graphs",
      () => reading("POST", inAddress, JSON_TYPE, JSON.stringify({ query: Q, "named-graph-uri": [D, C] })),
      ...(([[A], [B, D, C]] as const).map((graphs) => [...graphs]) as [string[], string[]]),
    ],
  ])("%s is asked of the graphs that are named", async (_, read, defaultGraphs, namedGraphs) => {
    expect(await read()).toEqual({ text: Q, defaultGraphs, namedGraphs });
  });

  test("is none in an address that says nothing of one", async () => {
    expect(await reading("GET")).toBeUndefined();
    expect(await reading("GET", "unknown=1")).toBeUndefined();
  });

  test.each<[string, () => Promise<unknown>, string]>([
    [
      "without a text, in an address",
      () => reading("GET", inAddress),
      "validation_failed; query is required",
    ],
    [
      "without a text, in a form",
      () => reading("POST", "query=ASK", FORM, "a=b"),
      "validation_failed; query is required",
    ],
    [
      "with two texts",
      () => reading("GET", form(["query", Q], ["query", Q])),
      "validation_failed; query is given more than once",
    ],
    ["that updates, in an address", () => reading("GET", "update=x"), "read_only"],
    ["that updates, in a form", () => reading("POST", "", FORM, "update=x&query=ASK"), "read_only"],
    ["that updates, as it is", () => reading("POST", "", "application/sparql-update", "x"), "read_only"],
    [
      "of a graph without a scheme",
      () => reading("GET", form(["query", Q], ["default-graph-uri", "a"], ["named-graph-uri", "1:b"])),
      "validation_failed; default-graph-uri must be an absolute IRI; named-graph-uri must be an absolute IRI",
    ],
    [
      "with a space in a graph",
      () => reading("GET", form(["query", Q], ["named-graph-uri", "urn:a b"])),
      "validation_failed; named-graph-uri must be an absolute IRI",
    ],
    ["of another type", () => reading("POST", "", "text/plain", Q), "unsupported_media_type"],
    ["of no type", () => reading("POST", "", undefined, Q), "unsupported_media_type"],
    [
      "that is packed",
      () => reading("POST", "", DIRECT, Q, { "content-encoding": "gzip" }),
      "unsupported_media_type",
    ],
    [
      "in JSON with another field",
      () => reading("POST", "", JSON_TYPE, JSON.stringify({ query: Q, base: "x" })),
      "validation_failed; base is not a field of this request",
    ],
    [
      "in JSON without a text, of what is no graph",
      () => reading("POST", "", JSON_TYPE, JSON.stringify({ "named-graph-uri": 5 })),
      "validation_failed; query is required; named-graph-uri must be an IRI or a list of IRIs",
    ],
    [
      "in JSON whose text is none",
      () => reading("POST", "", JSON_TYPE, JSON.stringify({ query: 5 })),
      "validation_failed; query must be a string",
    ],
    [
      "that updates, in JSON",
      () => reading("POST", "", JSON_TYPE, JSON.stringify({ update: "x" })),
      "read_only",
    ],
    [
      "in JSON that is no object",
      () => reading("POST", "", JSON_TYPE, "null"),
      expect.stringMatching(/^validation_failed/) as unknown as string,
    ],
    [
      "in JSON with a graph that is no text",
      () => reading("POST", "", JSON_TYPE, JSON.stringify({ query: Q, "named-graph-uri": ["urn:a", 1] })),
      "validation_failed; named-graph-uri must be an IRI or a list of IRIs",
    ],
  ])("%s is refused", async (_, read, said) => {
    expect(await refusal(read())).toEqual(said);
  });

  test("may be as long as is configured, and no longer", async () => {
    for (const type of [DIRECT, FORM]) {
      const start = type === FORM ? "query=" : "";
      const taken = start + "x".repeat(MOST - start.length);
      expect(await refusal(reading("POST", "", type, taken))).toBe("taken");
      expect(await refusal(reading("POST", "", type, `${taken}x`))).toBe("payload_too_large");
    }
    const address = "/v0/sparql?query=";
    const longest = "x".repeat(MOST - address.length);
    expect(await refusal(reading("GET", `query=${longest}`))).toBe("taken");
    expect(await refusal(reading("GET", `query=${longest}x`))).toBe("payload_too_large");
  });

  test("names graphs of six thousand characters in all, as they stand in an address", async () => {
    // default-graph-uri=urn%3A…&default-graph-uri=urn%3A…
    const rest = 6_000 - 2 * "default-graph-uri=urn%3A".length - 1;
    for (const [more, said] of [
      [0, "taken"],
      [1, "payload_too_large"],
    ] as const) {
      const graphs = form(
        ["default-graph-uri", `urn:${"a".repeat(rest - 10 + more)}`],
        ["named-graph-uri", `urn:${"b".repeat(10)}`],
      );
      expect(await refusal(reading("POST", "", FORM, `query=ASK&${graphs}`))).toBe(said);
    }
  });
});
