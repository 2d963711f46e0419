// The methods that /graphql supports, apart from the door itself, which is heavy and may not be loaded yet.

export const PATH = "/graphql";
/** As in the header Allow. */
export const METHODS = "GET, POST, OPTIONS";

const ALLOWED: ReadonlyMap<string, string> = new Map([
  [PATH, METHODS],
  ["/graphql/stream", "POST, OPTIONS"],
]);

/** @see Door; paths are matched in the same way as in Express */
export function allowedAt(path: string): string | undefined {
  return ALLOWED.get(path.toLowerCase().replace(/\/$/, ""));
}
