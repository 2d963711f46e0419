// Reads one text after another, in a thread of its own.
import type { MessagePort } from "node:worker_threads";
import { guardQuery, QueryRefused } from "../../graph/sparql-guard.ts";
import type { GuardedQuery } from "../../graph/sparql-guard.ts";

/** A refusal is returned as data, since an error would lose its class between threads. */
export type Read =
  { query: GuardedQuery } | { refused: Pick<QueryRefused, "reason" | "message" | "position"> };

/** What a thread is given: a text, and the port on which to report that it has begun. */
export type Reading = { text: string; began: MessagePort };

export default function read({ text, began }: Reading): Read {
  began.postMessage(true, []);
  try {
    return { query: guardQuery(text) };
  } catch (error) {
    if (!(error instanceof QueryRefused)) throw error;
    const { reason, message, position } = error;
    return { refused: { reason, message, position } };
  }
}
