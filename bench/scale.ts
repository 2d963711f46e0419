// What grows with the tables: every list, every count, the chain and a write, at three sizes side by side.
import { contributor, ORG } from "../test/support/world.ts";
import { fillRecords } from "../test/support/filling.ts";
import { percentile, round, startBenchDatabase, startChild, timed } from "./support.ts";
import type { Figure } from "./support.ts";

/** Records at the largest size, a third of each kind. */
const ROWS = 3_000_000;
const REQUESTS = 60;
const WARMING = 10;

type Site = { each: number; url: string; key: string; filledMs: number; stop: () => Promise<void> };

async function startSite(each: number): Promise<Site> {
  const database = await startBenchDatabase();
  const filledMs = await timed(() => fillRecords(database.owner, each));
  const served = await startChild("served.ts", { DATABASE_URL: database.serverUrl });
  const stop = async () => {
    await served.stop();
    await database.stop();
  };
  return { each, url: served.url, key: database.key, filledMs, stop };
}

type Request = { path: string; body?: object };

const list = (path: string, query: Record<string, string> = {}): Request => ({
  path: `/v0/${path}?${new URLSearchParams(query).toString()}`,
});
const after = (share: number, each: number): Request =>
  list("needs", { offset: String(Math.floor(share * each)) });
const graphql = (query: string): Request => ({ path: "/graphql", body: { query } });
const ORGANIZATION = { orgUri: ORG };

/** The requests, and the aim for each: a time, or a multiple of the time at a hundredth of the size. */
const CASES: [subject: string, ask: (site: Site) => Request, aim: { ms: number } | { times: number }][] = [
  ["needs: all", () => list("needs"), { times: 2 }],
  ["needs: in a usual status", () => list("needs", { status: "open" }), { times: 2 }],
  ["needs: in a rare status", () => list("needs", { status: "withdrawn" }), { times: 2 }],
  ["needs: of an organization with a tenth", () => list("needs", ORGANIZATION), { times: 2 }],
  ["needs: with a usual accelerator", () => list("needs", { accelerator: "ACC-1" }), { ms: 60 }],
  ["needs: with a rare accelerator", () => list("needs", { accelerator: "ACC-60" }), { ms: 60 }],
  ["needs: of a usual country", () => list("needs", { countryCode: "AD" }), { ms: 60 }],
  ["needs: of a rare country", () => list("needs", { countryCode: "ZW" }), { ms: 60 }],
  [
    "needs: with an accelerator and of a country",
    () => list("needs", { accelerator: "ACC-1", countryCode: "AD" }),
    { ms: 60 },
  ],
  [
    "needs: with an accelerator, of a country, in a rare status",
    () => list("needs", { accelerator: "ACC-1", countryCode: "AD", status: "withdrawn" }),
    { ms: 60 },
  ],
  [
    "needs: with an accelerator, of an organization with a tenth",
    () => list("needs", { ...ORGANIZATION, accelerator: "ACC-1" }),
    { ms: 60 },
  ],
  [
    "needs: with an accelerator, of an organization with a thousandth",
    () => list("needs", { orgUri: `${ORG}-5`, accelerator: "ACC-1" }),
    { ms: 60 },
  ],
  ["needs: after a tenth of them", ({ each }) => after(0.1, each), { ms: 60 }],
  ["needs: after nine tenths of them", ({ each }) => after(0.9, each), { ms: 300 }],
  ["engagement claims: all", () => list("engagement-claims"), { times: 2 }],
  [
    "engagement claims: of a usual country",
    () => list("engagement-claims", { countryCode: "AD" }),
    { ms: 60 },
  ],
  ["GraphQL: totalCount", () => graphql("{ needs(first: 1) { totalCount } }"), { ms: 15 }],
  [
    "GraphQL: by status",
    () => graphql("{ needs { groupedAggregates(groupBy: [STATUS]) { keys count } } }"),
    { ms: 15 },
  ],
  [
    "GraphQL: by accelerator",
    () => graphql("{ needs { groupedAggregates(groupBy: [ACCELERATORS]) { keys count } } }"),
    { ms: 15 },
  ],
  [
    "GraphQL: by country",
    () => graphql("{ needs { groupedAggregates(groupBy: [CONCERNS_COUNTRY_CODE]) { keys count } } }"),
    { ms: 15 },
  ],
  [
    "GraphQL: the chain of 20 needs",
    () =>
      graphql(`
        {
          needs(first: 20) {
            nodes {
              needId
              commitments(first: 5) {
                nodes {
                  commitmentId
                  engagementClaims(first: 5) {
                    nodes {
                      claimId
                    }
                  }
                }
              }
            }
          }
        }
      `),
    { times: 2 },
  ],
  ["health", () => list("health"), { ms: 5 }],
  [
    "a write",
    () => ({
      path: "/v0/needs",
      body: {
        ...ORGANIZATION,
        orgName: "River Mission",
        declaredByEmail: contributor,
        needDescription: "Audio Scriptures",
        accelerators: ["PRA"],
        concernsCountryCode: ["KE"],
      },
    }),
    { times: 2 },
  ],
];

/** @param rows of all three kinds together, at the largest size */
export async function benchScale(rows = ROWS): Promise<Figure[]> {
  const sites: Site[] = [];
  try {
    for (const share of [100, 10, 1]) sites.push(await startSite(Math.floor(rows / 3 / share)));
    const figures = [
      {
        subject: "Filling the tables, totals included",
        measured: sites
          .map(({ each, filledMs }) => `3 × ${round(each)}: ${round((3 * each) / (filledMs / 1000))} rows/s`)
          .join("; "),
      },
    ];
    for (const [subject, ask, aim] of CASES) figures.push(await measure(sites, subject, ask, aim));
    figures.push(
      await measure(sites, "needs: by its cursor, after nine tenths", await cursors(sites), { times: 2 }),
    );
    return figures;
  } finally {
    await Promise.all(sites.map((site) => site.stop()));
  }
}

async function measure(
  sites: readonly Site[],
  subject: string,
  ask: (site: Site) => Request,
  aim: { ms: number } | { times: number },
): Promise<Figure> {
  const taken = sites.map((): number[] => []);
  for (let turn = -WARMING; turn < REQUESTS; turn++) {
    for (const [at, site] of sites.entries()) {
      const ms = await timed(() => send(site, ask(site)));
      if (turn >= 0) taken[at]!.push(ms);
    }
  }
  const p95 = taken.map((ms) => percentile(ms, 0.95));
  const growth = p95.at(-1)! / p95[0]!;
  const isMet = "ms" in aim ? p95.at(-1)! <= aim.ms : growth <= aim.times;
  const measured = taken.map((ms, at) => `${round(percentile(ms, 0.5))}, ${round(p95[at]!)}`).join(" · ");
  return {
    subject: `${subject}: p50, p95 in ms at ${sites.map(({ each }) => round(each)).join(" · ")}`,
    measured: `${measured} (${round(growth)} ×)${isMet ? "" : ": **missed**"}`,
    aim: "ms" in aim ? `p95 ≤ ${aim.ms} ms` : `≤ ${aim.times} ×`,
  };
}

async function cursors(sites: readonly Site[]): Promise<(site: Site) => Request> {
  const found = new Map<Site, Request>();
  for (const site of sites) {
    const answer = await send(site, after(0.9, site.each));
    found.set(site, { path: /<(.*)>/.exec(answer.headers.get("link") ?? "")![1]! });
  }
  return (site) => found.get(site)!;
}

async function send({ url, key }: Site, { path, body }: Request): Promise<Response> {
  const answer = await fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok || text.startsWith('{"errors"')) throw new Error(`${path}: ${answer.status} ${text}`);
  return answer;
}
