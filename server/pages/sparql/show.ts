// Shows the answer to a query.
import { html } from "hono/html";
import { Writer } from "n3";
import type { Quad } from "n3";
import type { Binding } from "../../../graph/store.ts";
import type { ApiError } from "../../errors.ts";
import type { Content } from "../page.ts";
import { format } from "../overview/numbers.ts";
import type { Result } from "./result.ts";

type Prefixes = Readonly<Record<string, string>>;

/** The address of the page with a query in it. */
export const queryLink = (query: string) => `/sparql?${new URLSearchParams({ query }).toString()}`;

/** @param downloads links to the complete answer */
export async function showResult(result: Result, prefixes: Prefixes, downloads: Content): Promise<Content> {
  return html`<section class="card" id="result" tabindex="-1" aria-labelledby="result-title">
    <h2 id="result-title">${titleOf(result)}</h2>
    ${
      result.kind !== "truth" && !result.isWhole
        ? html`<p>There is more than this page shows. Download all of it, or set a LIMIT.</p>`
        : ""
    }
    ${result.kind === "rows" ? table(result, prefixes) : ""}
    ${result.kind === "triples" ? await turtle(result.triples, prefixes) : ""} ${downloads}
  </section>`;
}

/** A refusal; if the text breaks the grammar, the editor marks the line. */
export function showRefusal({ message, details = [] }: ApiError): Content {
  const places = details.map((detail) => detail.message).join("; ");
  const [, line, column] = /^line (\d+), column (\d+)$/.exec(places) ?? [];
  return html`<section class="card" id="result" tabindex="-1" aria-labelledby="result-title">
    <h2 id="result-title">That did not work</h2>
    <p class="bad" role="alert" id="problem" data-line="${line ?? ""}" data-column="${column ?? ""}">
      ${message}${places && ` (${places})`}
    </p>
  </section>`;
}

function titleOf(result: Result): string {
  if (result.kind === "truth") return result.isTrue ? "Yes" : "No";
  const { length } = result.kind === "rows" ? result.rows : result.triples;
  const what = result.kind === "rows" ? "row" : "triple";
  return `${result.isWhole ? "" : "The first "}${format(length)} ${what}${length === 1 ? "" : "s"}`;
}

function table({ columns, rows }: Result & { kind: "rows" }, prefixes: Prefixes): Content {
  if (rows.length === 0) return html`<p>Nothing in the graph matches.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Rows">
    <table class="rows">
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col"><bdi>${column}</bdi></th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map((column) => cell(row[column], prefixes))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

const NUMBER = /^http:\/\/www\.w3\.org\/2001\/XMLSchema#(?:integer|decimal|double|float)$/;

function cell(term: Binding | undefined, prefixes: Prefixes): Content {
  // The variable has no value in this row.
  if (!term) return html`<td></td>`;
  const { type, value, datatype, "xml:lang": language } = term;
  if (type === "uri")
    return html`<td><a href="${queryLink(`DESCRIBE <${value}>`)}">${shorten(value, prefixes)}</a></td>`;
  if (type === "bnode") return html`<td><bdi>_:${value}</bdi></td>`;
  if (type === "triple") return html`<td><bdi>${JSON.stringify(value)}</bdi></td>`;
  if (datatype !== undefined && NUMBER.test(datatype)) return html`<td class="number">${value}</td>`;
  return language === undefined
    ? html`<td><bdi>${value}</bdi></td>`
    : html`<td><bdi lang="${language}">${value}</bdi> <span class="quiet">${language}</span></td>`;
}

/** @returns a prefixed name, or the whole IRI */
function shorten(iri: string, prefixes: Prefixes): string {
  const known = Object.entries(prefixes).find(([, base]) => iri.startsWith(base));
  if (!known) return iri;
  const [prefix, base] = known;
  return `${prefix}:${iri.slice(base.length)}`;
}

async function turtle(triples: readonly Quad[], prefixes: Prefixes): Promise<Content> {
  if (triples.length === 0) return html`<p>Nothing in the graph matches.</p>`;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const writer = new Writer({ prefixes: usedBy(triples, prefixes) });
  // Group statements by subject, in the order in which the subjects first came.
  for (const part of Map.groupBy(triples, ({ subject }) => subject.id).values()) writer.addQuads(part);
  writer.end((error: Error | null, text: string) => (error ? reject(error) : resolve(text)));
  return html`<pre
    class="turtle"
    tabindex="0"
    role="region"
    aria-label="Turtle"
  ><code>${await promise}</code></pre>`;
}

function usedBy(triples: readonly Quad[], prefixes: Prefixes): Prefixes {
  const iris = triples.flatMap(({ subject, predicate, object }) => [
    ...[subject.value, predicate.value, object.value],
    object.termType === "Literal" ? object.datatype.value : "",
  ]);
  return Object.fromEntries(
    Object.entries(prefixes).filter(([, base]) => iris.some((iri) => iri.startsWith(base))),
  );
}
