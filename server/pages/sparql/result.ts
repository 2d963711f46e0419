// Reads as much of the answer to a query as a page shows: the first rows or triples, as they arrive.
import { pipeline } from "node:stream";
import type { Duplex, Readable } from "node:stream";
import { StreamParser } from "n3";
import type { Quad } from "n3";
import { Assembler } from "stream-json/assembler.js";
import { parser } from "stream-json/parser.js";
import type { Token } from "stream-json/parser.js";
import { RESULTS_JSON, TURTLE } from "../../../graph/media-types.ts";
import type { GuardedQuery } from "../../../graph/sparql-guard.ts";
import { GraphRejected, GraphUnavailable } from "../../../graph/store.ts";
import type { Row } from "../../../graph/store.ts";

/** The answer to a query, up to a limit. */
export type Result =
  | { kind: "rows"; columns: readonly string[]; rows: readonly Row[]; isWhole: boolean }
  | { kind: "triples"; triples: readonly Quad[]; isWhole: boolean }
  | { kind: "truth"; isTrue: boolean };

/** In rows or triples. */
const MOST = 500;
const CHARACTERS = 1_000_000;

/** The answer is longer than a page shows. */
class Cut extends Error {}

/** The media type in which the answer to a query is read. */
export function typeFor(form: GuardedQuery["form"]): string {
  return form === "construct" || form === "describe" ? TURTLE : RESULTS_JSON;
}

/**
 * Reads an answer, in the type for its query.
 * @throws what ended it early
 */
export function readResult(form: GuardedQuery["form"], body: Readable): Promise<Result> {
  return typeFor(form) === TURTLE ? readTriples(body) : readBindings(body);
}

async function readBindings(body: Readable): Promise<Result> {
  const json = new Assembler();
  let whole: { head?: { vars?: string[] }; boolean?: boolean } = {};
  let rows: Row[] = [];
  const isWhole = await readUntilCut(body, parser.asStream({ streamValues: false }), (token) => {
    json.consume(token as Token);
    const { current, depth, stack } = json;
    if (depth === 1) whole = current as typeof whole;
    // The array contains a row once that is complete.
    if (depth === 3 && stack[3] === "bindings") rows = current as Row[];
    return rows.length > MOST;
  });
  const { head, boolean } = whole;
  if (boolean !== undefined) return { kind: "truth", isTrue: boolean };
  return { kind: "rows", columns: head?.vars ?? [], rows: rows.slice(0, MOST), isWhole };
}

async function readTriples(body: Readable): Promise<Result> {
  const triples: Quad[] = [];
  const isWhole = await readUntilCut(
    body,
    new StreamParser({ format: TURTLE }),
    (triple) => triples.push(triple as Quad) > MOST,
  );
  return { kind: "triples", triples: triples.slice(0, MOST), isWhole };
}

/**
 * Parses a body, until there is enough.
 * @param take returns whether that was enough
 * @returns whether the body was read to its end
 */
async function readUntilCut(
  body: Readable,
  made: Duplex,
  take: (part: unknown) => boolean,
): Promise<boolean> {
  let length = 0;
  async function* bounded(source: AsyncIterable<string>) {
    for await (const text of source) {
      length += text.length;
      if (length > CHARACTERS) throw new Cut();
      yield text;
    }
  }
  // If one of them ends early, so do the others, and the loop below.
  pipeline(body.setEncoding("utf8"), bounded, made, () => undefined);
  try {
    for await (const part of made as AsyncIterable<unknown>) if (take(part)) return false;
    return true;
  } catch (error) {
    if (error instanceof Cut) return false;
    if (error instanceof GraphUnavailable || error instanceof GraphRejected) throw error;
    throw new GraphUnavailable("The graph store's answer broke off.", { cause: error });
  }
}
