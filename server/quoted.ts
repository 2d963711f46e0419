// Shortens what answers quote of callers' input to what is needed to recognize it.

/** In characters, of a name or a value. */
const LONGEST_QUOTE = 60;

/** In characters, of a message from a library, which may quote a name or a value of any length. */
export const LONGEST_SAID = 1_000;

/** A text as it is quoted: the beginning of a long one, with an ellipsis. */
export function quoted(text: string, longest = LONGEST_QUOTE): string {
  // Not ending in half of a surrogate pair.
  return text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…` : text;
}

/** Names as they are quoted: the first five. */
export function quotedNames(names: readonly string[]): string {
  const some = names.slice(0, 5).map((name) => quoted(name));
  return [...some, ...(names.length > some.length ? ["…"] : [])].join(", ");
}
