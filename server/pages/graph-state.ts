// How far the graph is behind the tables, at /admin/graph, for the platform's operators.
import { html } from "hono/html";
import { enums } from "../../db/catalog.ts";
import { GRAPH_STATES } from "../../graph/states.ts";
import type { GraphStore } from "../../graph/store.ts";
import { RECORDS } from "../../records/index.ts";
import type { GraphStatus } from "../../worker/status.ts";
import { explorerLink } from "./overview/links.ts";
import { count, format, numbers } from "./overview/numbers.ts";
import type { Content, Page } from "./page.ts";
import { recordPath } from "./record/kinds.ts";
import { phrase } from "./parts/text.ts";
import { time } from "./parts/time.ts";

/** @param store asked only whether it answers, which is quick */
export function graphState(store: Pick<GraphStore, "isAvailable">): Page {
  return {
    path: "/admin/graph",
    show: async ({ ask }) => {
      // First, so that a visitor who may not see it is refused without waiting for the store.
      const status = await ask<GraphStatus>("select app_private.graph_status_for_operators()::text");
      const isThere = await store.isAvailable();
      return {
        title: "Graph",
        content: html`${summary(status, isThere)} ${facts(status)} ${records(status)} ${refused(status)}
        ${states()}`,
      };
    },
  };
}

function summary({ state, reason, since }: GraphStatus, isThere: boolean): Content {
  const isWhole = state === "current" || state === "rebuilding";
  return html`<section class="card" aria-labelledby="state">
    <h2 id="state"><span class="${isWhole ? "good" : "bad"}">${state}</span> since ${time(since)}</h2>
    <p>${sentence(GRAPH_STATES[state].means)}</p>
    ${reason === null ? "" : html`<p><bdi>${reason}</bdi></p>`}
    ${isThere ? "" : html`<p role="alert">The graph store does not answer.</p>`}
    <p class="quiet">What the service does by itself: ${phrase(GRAPH_STATES[state].does)}.</p>
  </section>`;
}

function facts(status: GraphStatus): Content {
  const {
    oldestPendingSeconds,
    lastSyncedAt,
    pendingLists,
    rebuild,
    verifiedAt,
    drift,
    verificationTrouble,
  } = status;
  const rows: [string, Content | string][] = [
    ["Oldest waiting change", `${oldestPendingSeconds.toFixed(1)} s`],
    ["Last written", lastSyncedAt === null ? "never" : time(lastSyncedAt)],
    ["Lists waiting to be written", pendingLists.length === 0 ? "none" : pendingLists.join(", ")],
    ["Last verified as a whole", verifiedAt === null ? "not yet" : time(verifiedAt)],
    ["Drift", drift === null ? "not known yet" : `${format(drift)} differences left`],
  ];
  if (verificationTrouble !== null)
    rows.push(["The verification fails", html`<bdi>${verificationTrouble}</bdi>`]);
  if (rebuild) {
    const done = rebuild.written + rebuild.rejected;
    rows.push(["Rebuild", `${format(done)} of ${format(rebuild.total)} records`]);
  }
  return html`<section class="card" aria-labelledby="facts">
    <h2 id="facts">Progress</h2>
    <dl>
      ${rows.map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
    </dl>
    <p class="quiet">
      For programs: <a href="/v0/health">/v0/health</a>; on the command line <code>graph status</code>.
    </p>
  </section>`;
}

const STATES = enums.graph_status;
const LISTS = { need: "needs", commitment: "commitments", engagement_claim: "engagementClaims" } as const;

function records({ graphs }: GraphStatus): Content {
  return html`<section class="card" aria-labelledby="records">
    <h2 id="records">Records</h2>
    ${numbers(
      "Records by their state in the graph",
      ["Kind", "All", ...STATES],
      graphs.map(({ kind, records, ...counts }) => ({
        name: RECORDS[kind].path,
        numbers: [
          count(records, explorerLink(listOf(LISTS[kind]))),
          ...STATES.map((state) =>
            count(counts[state], explorerLink(listOf(LISTS[kind], `graphStatus: { equalTo: ${state} }`))),
          ),
        ],
      })),
    )}
  </section>`;
}

function listOf(list: string, filter?: string): string {
  return `{
  ${list}(first: 50${filter === undefined ? "" : `, filter: { ${filter} }`}) {
    totalCount
    nodes {
      id
      orgName
      graphStatus
      graphErrors {
        path
        message
      }
    }
  }
}
`;
}

function refused({ rejected }: GraphStatus): Content {
  return html`<section class="card" aria-labelledby="refused">
    <h2 id="refused">Refused</h2>
    ${
      rejected.length === 0
        ? html`<p>The load check refuses no record.</p>`
        : html`<p>Latest first, at most twenty; a record recovers when it is changed.</p>
            <ul>
              ${rejected.map(
                ({ kind, id, errors }) =>
                  html`<li>
                    <a href="${recordPath(kind, id)}">${kind} ${id}</a>
                    <ul>
                      ${errors.map(({ path, message }) => html`<li><bdi>${path}</bdi>: <bdi>${message}</bdi></li>`)}
                    </ul>
                  </li>`,
              )}
            </ul>`
    }
  </section>`;
}

function states(): Content {
  return html`<section class="card" aria-labelledby="states">
    <h2 id="states">What the states mean</h2>
    <dl>
      ${Object.entries(GRAPH_STATES).map(
        ([state, { means, does }]) =>
          html`<dt><code>${state}</code></dt>
            <dd>${sentence(means)} By itself: ${phrase(does)}.</dd>`,
      )}
    </dl>
    <p class="quiet">More about each, and what to do: “The graph” in docs/operations.md.</p>
  </section>`;
}

function sentence(words: string): Content {
  return html`${phrase(`${words.charAt(0).toUpperCase()}${words.slice(1)}`)}.`;
}
