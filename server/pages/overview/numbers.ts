// Tables of numbers: beside a drawing, or with a bar in each row.
import { html } from "hono/html";
import type { Content } from "../page.ts";

const NUMBER = new Intl.NumberFormat("en");

export function format(number: number): string {
  return NUMBER.format(number);
}

/** A number that leads to the list behind it. */
export function count(number: number, href: string): Content {
  return html`<a href="${href}">${format(number)}</a>`;
}

type Row = {
  name: Content | string;
  numbers: readonly Content[];
  /** Of the longest, from 0 to 1. */ bar?: number;
};

/**
 * A table of numbers, the first column of which names the row.
 * @param about the caption, for screen readers
 */
export function numbers(about: string, columns: readonly string[], rows: readonly Row[]): Content {
  const [first, ...others] = columns;
  const hasBars = rows.some(({ bar }) => bar !== undefined);
  return html`<table class="numbers">
    <caption class="hidden">
      ${about}
    </caption>
    <thead>
      <tr>
        <th scope="col">${first}</th>
        ${others.map((column) => html`<th scope="col" class="number">${column}</th>`)}
        ${hasBars ? html`<td class="bar"></td>` : ""}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ({ name, numbers, bar }) =>
          html`<tr>
            <th scope="row"><bdi>${name}</bdi></th>
            ${numbers.map((number) => html`<td class="number">${number}</td>`)}
            ${bar === undefined ? "" : html`<td class="bar" aria-hidden="true">${drawBar(bar)}</td>`}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function drawBar(part: number): Content {
  return html`<svg viewBox="0 0 100 10" preserveAspectRatio="none" focusable="false">
    <rect width="${(part * 100).toFixed(2)}" height="10" />
  </svg>`;
}
