// How commitments ended, month by month.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { explorerLink } from "./links.ts";
import { count, format, numbers } from "./numbers.ts";
import { picture } from "./picture.ts";

type Group = { count: number; fulfilled: number; group: { changedAtTruncatedToMonth: string } };
type Answer = { statusChanges: { groupedAggregates: Group[] } };
type Month = { start: Date; ended: number; fulfilled: number };

const ENDED = "fulfilled, partially_fulfilled, abandoned, expired";
const FULFILLED = "fulfilled, partially_fulfilled";
const SHOWN = 12;
const [WIDTH, HEIGHT, FOOT, HEAD] = [360, 170, 18, 16];

export const months = picture<Answer>({
  id: "months",
  title: "Fulfilment by month",
  query: `{
  statusChanges(filter: { toStatus: { in: [${ENDED}] } }) {
    groupedAggregates(groupBy: [CHANGED_AT_TRUNCATED_TO_MONTH], orderBy: NEWEST, first: ${SHOWN}) {
      count
      fulfilled: count(toStatus: [${FULFILLED}])
      group {
        changedAtTruncatedToMonth
      }
    }
  }
}`,
  draw: ({ statusChanges: { groupedAggregates: groups } }) => {
    if (groups.length === 0) return html`<p>No commitment has ended yet.</p>`;
    const found = lastMonths(groups);
    return html`${columns(found)}
      <p class="legend quiet">
        <span class="key full"></span> fulfilled, at least in part <span class="key rest"></span> abandoned or
        expired
      </p>
      <details>
        <summary>As a table: ${found.length} months</summary>
        ${numbers(
          "Commitments that ended, by month",
          ["Month", "Ended", "Fulfilled"],
          found.map((month) => ({
            name: nameOf(month),
            numbers: [
              count(month.ended, explorerLink(changesIn(month, ENDED))),
              count(month.fulfilled, explorerLink(changesIn(month, FULFILLED))),
            ],
          })),
        )}
      </details>`;
  },
});

/** The months up to the newest, including those in which nothing ended. */
function lastMonths(groups: readonly Group[]): Month[] {
  const known = new Map(
    groups.map(({ count, fulfilled, group }) => [
      Date.parse(group.changedAtTruncatedToMonth),
      { ended: count, fulfilled },
    ]),
  );
  const newest = new Date(Math.max(...known.keys()));
  return Array.from({ length: SHOWN }, (_, index) => {
    const start = monthAfter(newest, index - SHOWN + 1);
    return { start, ...(known.get(start.getTime()) ?? { ended: 0, fulfilled: 0 }) };
  });
}

function monthAfter(start: Date, months: number): Date {
  return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + months));
}

function columns(found: readonly Month[]): Content {
  const most = Math.max(...found.map(({ ended }) => ended));
  const [room, each] = [HEIGHT - FOOT - HEAD, WIDTH / found.length];
  const heightOf = (number: number) => (number / most) * room;
  return html`<svg
    class="columns"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    role="img"
    aria-labelledby="months-name months-about"
  >
    <title id="months-name">Commitments that ended, by month</title>
    <desc id="months-about">
      ${found
        .filter(({ ended }) => ended > 0)
        .map(describe)
        .join("; ")}.
    </desc>
    ${found.map((month, index) => {
      const [x, top] = [index * each, HEIGHT - FOOT - heightOf(month.ended)];
      const full = heightOf(month.fulfilled);
      return html`<g>
        ${
          month.ended > 0
            ? html`<rect
                  class="rest"
                  x="${at(x + 3)}"
                  y="${at(top)}"
                  width="${at(each - 6)}"
                  height="${at(heightOf(month.ended))}"
                />
                <rect
                  class="full"
                  x="${at(x + 3)}"
                  y="${at(HEIGHT - FOOT - full)}"
                  width="${at(each - 6)}"
                  height="${at(full)}"
                />
                <text x="${at(x + each / 2)}" y="${at(top - 4)}">${format(month.ended)}</text>`
            : ""
        }
        <text class="foot" x="${at(x + each / 2)}" y="${HEIGHT - 4}">${MONTH.format(month.start)}</text>
      </g>`;
    })}
    <line x1="0" x2="${WIDTH}" y1="${HEIGHT - FOOT}" y2="${HEIGHT - FOOT}" />
  </svg>`;
}

const at = (length: number) => length.toFixed(1);
const MONTH = new Intl.DateTimeFormat("en", { month: "short", timeZone: "UTC" });
const LONG_MONTH = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });

function nameOf({ start }: Month): string {
  return LONG_MONTH.format(start);
}

function describe(month: Month): string {
  return `${nameOf(month)}: ${format(month.ended)} ended, ${format(month.fulfilled)} of them fulfilled`;
}

function changesIn({ start }: Month, statuses: string): string {
  return `{
  statusChanges(
    first: 50
    filter: {
      toStatus: { in: [${statuses}] }
      changedAt: { greaterThanOrEqualTo: "${start.toISOString()}", lessThan: "${monthAfter(start, 1).toISOString()}" }
    }
  ) {
    totalCount
    nodes {
      changedAt
      fromStatus
      toStatus
      commitment {
        commitmentDescription
        organization {
          name
        }
      }
    }
  }
}
`;
}
