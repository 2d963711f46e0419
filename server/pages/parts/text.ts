// Texts written by users: isolated, whatever their writing direction, and cut to the available space.
import { html } from "hono/html";
import type { Content } from "../page.ts";

const CHARACTERS = new Intl.Segmenter("en", { granularity: "grapheme" });
/** In code units: one character as readers see it may consist of any number of them. */
const LONGEST_CHARACTER = 20;

/** The beginning of a text, without half a surrogate pair at its end, which the database would refuse. */
export function atMost(text: string, most: number): string {
  const begun = text.slice(0, most);
  return begun.isWellFormed() ? begun : begun.slice(0, -1);
}

/** The beginning of a text's first line, in at most so many characters. */
export function begin(text: string, most: number): string {
  const [line] = atMost(text, most * LONGEST_CHARACTER).split(/[\r\n]/, 1);
  const shown = [...CHARACTERS.segment(line!)].slice(0, most);
  const begun = shown.map(({ segment }) => atMost(segment, LONGEST_CHARACTER)).join("");
  return begun === text ? text : `${begun.trimEnd()}…`;
}

/** A text; of a long one the beginning, which opens to show all of it. */
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

/** A sentence of the service's own: what stands between backticks becomes code, as in Markdown. */
export function phrase(words: string): Content {
  return html`${words.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
