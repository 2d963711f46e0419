// Reads one text after another, in a thread of its own.
import { guardQuery, QueryRefused } from "../../graph/sparql-guard.ts";
import type { GuardedQuery } from "../../graph/sparql-guard.ts";

/** An error would lose its class on the way between threads. */
export type Read =
  { query: GuardedQuery } | { refused: Pick<QueryRefused, "reason" | "message" | "position"> };

export default function read(text: string): Read {
  try {
    return { query: guardQuery(text) };
  } catch (error) {
    if (!(error instanceof QueryRefused)) throw error;
    const { reason, message, position } = error;
    return { refused: { reason, message, position } };
  }
}
