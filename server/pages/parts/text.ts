// Texts that somebody has written: each by itself, whichever way it is read, and no longer than there is room for.
import { html } from "hono/html";
import type { Content } from "../page.ts";

const CHARACTERS = new Intl.Segmenter("en", { granularity: "grapheme" });
/** What is one character to a reader may be any number of them. */
const LONGEST_CHARACTER = 20;

/** As much of a text as there may be, its last character whole: in the database there is no half of one. */
export function atMost(text: string, most: number): string {
  const begun = text.slice(0, most);
  return begun.isWellFormed() ? begun : begun.slice(0, -1);
}

/** The beginning of a text, in at most as many characters. */
export function begin(text: string, most: number): string {
  const [line] = atMost(text, most * LONGEST_CHARACTER).split(/[\r\n]/, 1);
  const shown = [...CHARACTERS.segment(line!)].slice(0, most);
  const begun = shown.map(({ segment }) => atMost(segment, LONGEST_CHARACTER)).join("");
  return begun === text ? text : `${begun.trimEnd()}…`;
}

/** A text; a long one as its beginning, with the rest behind it. */
export function cut(text: string, most = 240): Content {
  const begun = begin(text, most);
  if (begun === text) return html`<bdi>${text}</bdi>`;
  return html`<details class="cut">
    <summary><bdi>${begun}</bdi> <span class="more">more</span></summary>
    <p class="text"><bdi>${text}</bdi></p>
  </details>`;
}

/** A code of one of the closed lists, as a word. */
export function word(code: string): string {
  return code.replaceAll("_", " ");
}

/** A sentence of ours: what stands between backticks is code, as in a document. */
export function phrase(words: string): Content {
  return html`${words.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
