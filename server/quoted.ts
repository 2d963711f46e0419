// What answers repeat of what callers wrote: no more of it than tells them which of it is meant.

/** In characters, of a name or a value. */
const LONGEST_QUOTE = 60;

/** In characters, of what a library says, which may quote a name or a value of any length. */
export const LONGEST_SAID = 1_000;

/** A text as it is repeated: the beginning of a long one, with an ellipsis. */
export function quoted(text: string, longest = LONGEST_QUOTE): string {
  // Half of a surrogate pair is no character.
  return text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…` : text;
}

/** Names as they are repeated: the first five. */
export function quotedNames(names: readonly string[]): string {
  const some = names.slice(0, 5).map((name) => quoted(name));
  return [...some, ...(names.length > some.length ? ["…"] : [])].join(", ");
}
