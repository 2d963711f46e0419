// Cursors: where a page of a list ended, so that an index finds the next one, however far down the list.
import { hash } from "node:crypto";

/** A record's place in the order of its list: when it was created, or updated, in microseconds since 1970, and its id. */
export type Place = { at: number; id: string };

/** In characters: a mark, a time and an id. */
const LONGEST = 200;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
// Within what both PostgreSQL and JavaScript represent exactly.
const LATEST = 8e15;

/** @param filtered the kind and filters of the list; the cursor is valid for no other */
export function cursorOf({ at, id }: Place, filtered: unknown): string {
  return encode([markOf(filtered), at, id]);
}

/** @returns undefined if it is not a cursor of this list */
export function readCursor(cursor: string, filtered: unknown): Place | undefined {
  if (cursor.length > LONGEST) return undefined;
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    return undefined;
  }
  // Many texts decode to the same bytes; only the one that was given out counts.
  if (!Array.isArray(read) || encode(read) !== cursor) return undefined;
  const [mark, at, id, ...others] = read as unknown[];
  const isPlace =
    others.length === 0 &&
    mark === markOf(filtered) &&
    Number.isSafeInteger(at) &&
    Math.abs(at as number) <= LATEST &&
    typeof id === "string" &&
    UUID.test(id);
  return isPlace ? { at: at as number, id: id } : undefined;
}

function markOf(filtered: unknown): string {
  return hash("sha256", JSON.stringify(filtered), "base64url").slice(0, 8);
}

function encode(values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}
