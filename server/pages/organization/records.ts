// The needs, commitments and attestations of an organization: one list at a time.
import { html } from "hono/html";
import { RECORDS } from "../../../records/index.ts";
import type { Content, Visit } from "../page.ts";
import { format } from "../overview/numbers.ts";
import { DONE, pageOf, pager, withQuery } from "../parts/pager.ts";
import { begin, word } from "../parts/text.ts";
import { day } from "../parts/time.ts";
import { NAMES, recordPath } from "../record/kinds.ts";
import { listOf, PAGE } from "./data.ts";
import type { Found, Listed } from "./data.ts";
import type { RecordKind } from "../../../records/record.ts";

export function records(visit: Visit, { totals, records }: Found): Content {
  const shown = listOf(visit);
  const { many } = NAMES[shown.kind];
  const address = withQuery(visit.address, { page: undefined, [DONE]: undefined });
  return html`<section class="card" aria-labelledby="records">
    <h2 id="records">Needs, commitments, attestations</h2>
    <nav class="tabs" aria-label="Lists of records">
      ${Object.values(RECORDS).map(
        ({ kind, path }) =>
          html`<a
            href="${withQuery(address, { list: path })}#records"
            aria-current="${kind === shown.kind ? "true" : "false"}"
            >${NAMES[kind].title}: ${format(totals[kind])}</a
          >`,
      )}
    </nav>
    ${records.length === 0 ? html`<p>No ${many} here.</p>` : recordList(shown.kind, records)}
    ${pager(visit, { page: pageOf(visit), pages: Math.ceil(totals[shown.kind] / PAGE) }, many)}
  </section>`;
}

/** Records, each with a link to its chain. */
export function recordList(kind: RecordKind, records: readonly (Listed & { orgName?: string })[]): Content {
  return html`<ul class="rows">
    ${records.map(
      ({ id, text, status, at, orgName }) =>
        html`<li>
          <a href="${recordPath(kind, id)}"
            ><bdi>${text === null ? NAMES[kind].one : begin(text, 120)}</bdi></a
          >
          <span class="quiet"
            >${word(status)},
            ${day(at)}${orgName === undefined ? "" : html`, <bdi>${begin(orgName, 80)}</bdi>`}</span
          >
        </li>`,
    )}
  </ul>`;
}
