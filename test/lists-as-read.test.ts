// Lists, numbers and the overview word by word, of things of which no two are alike: each stands behind its own name.
import { describe, expect, test } from "@jest/globals";
import { html } from "hono/html";
import type { AskGraphql } from "../server/graphql/ask.ts";
import { graphState } from "../server/pages/graph-state.ts";
import { home } from "../server/pages/home.ts";
import { header } from "../server/pages/layout.ts";
import { organizations } from "../server/pages/organizations.ts";
import { countries } from "../server/pages/overview/countries.ts";
import { funnel } from "../server/pages/overview/funnel.ts";
import type { Picture } from "../server/pages/overview/picture.ts";
import type { Page, Shown, Visit } from "../server/pages/page.ts";
import { search } from "../server/pages/search.ts";
import { users } from "../server/pages/users.ts";
import type { Visitor } from "../server/pages/visitor.ts";
import { asRead } from "./support/as-read.ts";

type Query = Record<string, string>;
async function read({ show }: Page, query: Query, more: object = {}): Promise<string[]> {
  const visit = {
    ...{ address: `/x?${new URLSearchParams(query).toString()}`, query: (name: string) => query[name] },
    ...{ proof: html``, ...more },
  };
  return asRead(((await show(visit as unknown as Visit)) as Shown).content);
}
const answering = (answer: unknown) => ({ ask: () => Promise.resolve(answer) });
const visitorWith = (...permissions: string[]) =>
  ({ email: "ana@o.example", permissions: new Set(permissions) }) as unknown as Visitor;

const ORG = { orgUri: "https://o.example/1", orgName: "River Mission", orgType: "network" };
const KNOWN = { ...ORG, orgWebsite: "https://river.example", orgDomain: "mail.river.example" };
const KNOWN_LINE =
  "[River Mission](/organizations/https%3A%2F%2Fo.example%2F1) network · mail.river.example · https://river.example";

describe("people", () => {
  const items = [
    {
      ...{ email: "ana@o.example", firstName: "Ana", lastName: "Silva", roles: ["support"], belongsTo: 7 },
      since: "2026-01-02T03:04:05Z",
      memberships: [
        { orgUri: "https://o.example/1", orgName: "River", status: "active" },
        { orgUri: "https://o.example/2", orgName: "Lake", status: "revoked" },
      ],
    },
    {
      ...{
        email: "ben@o.example",
        firstName: null,
        lastName: null,
        roles: [],
        memberships: [],
        belongsTo: 0,
      },
      since: "2026-02-03T03:04:05Z",
    },
  ];
  const FOUND = [
    ["→ /admin/users", "Name or address {q=an search ≤200}", "{Search}", "1,234 found for “an”"],
    [
      "Ana Silva ana@o.example known since 2 Jan 2026; on the platform: support " +
        "[River](/organizations/https%3A%2F%2Fo.example%2F1)[Lake](/organizations/https%3A%2F%2Fo.example%2F2) (revoked) " +
        "and 5 more organizations",
    ],
    ["ben@o.example known since 3 Feb 2026"],
    ["Page 1 of 50 [Next](/x?q=an&page=2 next)"],
  ] as const;

  test("are told with names, roles and memberships, and with what may be changed to who may", async () => {
    const visitor = visitorWith("users:read", "roles:assign");
    const query = { q: "an", done: "grant" };
    const changes = (email: string, ...buttons: string[]) => [
      `Change the roles of ${email}`,
      ...["admin", "support"].flatMap((role, place) => [
        ...["→ /x?q=an", `{email=${email} hidden} {role=${role} hidden}`, buttons[place]],
      ]),
    ];
    const [top, ana, ben, pages] = FOUND;
    expect(await read(users, query, { visitor, ...answering({ items, total: 1234 }) })).toEqual([
      ...["The role was given.", ...top, ...ana],
      ...changes("ana@o.example", "{Give the role admin do=grant}", "{Take away the role support do=revoke}"),
      ...ben,
      ...changes("ben@o.example", "{Give the role admin do=grant}", "{Give the role support do=grant}"),
      ...pages,
    ]);
  });

  test("are told to who may only see them, and counted where nothing is searched for", async () => {
    const visitor = visitorWith("users:read");
    const asked = { visitor, ...answering({ items, total: 1234 }) };
    expect(await read(users, { q: "an" }, asked)).toEqual(FOUND.flat());
    expect(await read(users, {}, asked)).toContain("1,234 in all, newest first");
  });
});

describe("what is searched for", () => {
  const FORM = [
    "→ /search",
    "Words, names, an id or a URI {q=wells search ≤2048}",
    "{Search}",
    "All of the words, in any order; the beginning of a word is enough.",
  ];
  const find = (query: Query, totals: Query = {}) => {
    const record = { id: "r1", text: "Wells", status: "met", at: "2026-01-02T03:04:05Z", orgName: "River" };
    const ask = (statement: string, { most, page }: { most: number; page: number }) => {
      if (statement.includes("as place from")) return Promise.resolve(null);
      const [table = "organizations"] = /app_private\.(needs|commitments|engagement_claims)_with_words/
        .exec(statement)
        ?.slice(1) ?? [undefined];
      const items = table === "organizations" ? [KNOWN] : [{ ...record, text: `${most} on page ${page}` }];
      return Promise.resolve({ items, total: Number(totals[table] ?? 1) });
    };
    return read(search, query, { ask });
  };

  test("is counted by kind, and each kind leads to all of it where there is more", async () => {
    const totals = { organizations: "9", needs: "1001", commitments: "2", engagement_claims: "1" };
    const line = (path: string) => `[8 on page 1](/${path}/r1) met, 2 Jan 2026, River`;
    expect(await find({ q: "wells", page: "2" }, totals)).toEqual([
      ...[...FORM, "Organizations: 9", KNOWN_LINE, "[All organizations found](/organizations?q=wells)"],
      ...["Needs: 1,001", line("needs"), "[All needs found](/x?q=wells&in=needs)"],
      ...["Commitments: 2", line("commitments"), "[All commitments found](/x?q=wells&in=commitments)"],
      ...["Attestations: 1", line("engagement-claims")],
    ]);
  });

  test("in one kind is listed page by page, as far as it is ranked", async () => {
    const some = { q: "wells", in: "commitments", page: "2" };
    expect(await find(some, { commitments: "1002" })).toEqual([
      ...[...FORM, "Commitments: 1,002", "[25 on page 2](/commitments/r1) met, 2 Jan 2026, River"],
      "[Previous](/x?q=wells&in=commitments prev) Page 2 of 40 [Next](/x?q=wells&in=commitments&page=3 next)",
      "[Search in all](/x?q=wells)",
    ]);
    const nothing = await find({ q: "wells", in: "nothing" });
    expect(nothing.filter((line) => line.endsWith(": 1"))).toHaveLength(4);
  });
});

test("organizations are told with what is known of each, and how many are found", async () => {
  const lake = { ...KNOWN, orgUri: "https://o.example/2", orgName: "Lake", orgType: null, orgWebsite: null };
  const answer = answering({ items: [KNOWN, lake], total: 51 });
  const form = (q: string) => [
    "→ /organizations",
    `Name, domain or website {q=${q} search ≤200}`,
    "{Search}",
  ];
  const lines = [KNOWN_LINE, "[Lake](/organizations/https%3A%2F%2Fo.example%2F2) mail.river.example"];
  expect(await read(organizations, { q: "riv" }, answer)).toEqual([
    ...[...form("riv"), "51 found for “riv”", ...lines, "Page 1 of 2 [Next](/x?q=riv&page=2 next)"],
  ]);
  expect(await read(organizations, {}, answer)).toEqual([
    ...[...form(""), "51 in all", ...lines, "Page 1 of 2 [Next](/x?page=2 next)"],
  ]);
});

describe("how far the graph is", () => {
  const status = {
    ...{ state: "behind", reason: "Because.", since: "2026-01-02T03:04:05Z", drift: 4000 },
    ...{ rebuild: { written: 1000, rejected: 20, total: 3000 }, verifiedAt: "2026-02-02T03:04:05Z" },
    ...{ oldestPendingSeconds: 12.34, lastSyncedAt: "2026-03-02T03:04:05Z" },
    pendingLists: ["countries", "accelerators"],
    verificationTrouble: "It is odd.",
    rejected: [{ kind: "commitment", id: "r3", errors: [{ path: "ns:a", message: "is wrong" }] }],
    graphs: [
      { kind: "need", records: 10, pending: 1, synced: 7, rejected: 2 },
      { kind: "engagement_claim", records: 3000, pending: 4, synced: 20, rejected: 6 },
    ],
  };
  const show = async (more: object, isThere: boolean) => {
    const page = graphState({ isAvailable: () => Promise.resolve(isThere) });
    const text = await read(page, {}, answering({ ...status, ...more }));
    // What the states mean is said of every one of them below.
    return text.slice(0, text.indexOf("What the states mean"));
  };
  const told = (line: string) =>
    line.replaceAll(/\((\/graphiql\?[^)]*)\)/g, (_, link: string) => {
      const query = new URL(link, "http://x").searchParams.get("query")!;
      const [, list, wanted = ""] =
        /(\w+)\(first: 50(?:, filter: \{ graphStatus: \{ equalTo: (\w+) \} \})?\)/.exec(query)!;
      return `(${list} ${wanted})`.replace(" )", ")");
    });

  test("is told fact by fact, and of each kind how many records are in which state", async () => {
    const text = (await show({}, false)).map(told);
    expect(text).toEqual([
      "behind since 2026-01-02 03:04 UTC",
      expect.stringMatching(/^The store or one of its named graphs is empty/),
      "Because.",
      "The graph store does not answer.",
      expect.stringMatching(/^What the service does by itself: writes what is lost again/),
      "Progress",
      "Oldest waiting change: 12.3 s",
      "Last written: 2026-03-02 03:04 UTC",
      "Lists waiting to be written: countries, accelerators",
      "Last verified as a whole: 2026-02-02 03:04 UTC",
      "Drift: 4,000 differences left",
      "The verification fails: It is odd.",
      "Rebuild: 1,020 of 3,000 records",
      "For programs: [/v0/health](/v0/health); on the command line graph status.",
      "Records",
      "Records by their state in the graph",
      "Kind | All | pending | synced | rejected |",
      "needs | [10](needs) | [1](needs pending) | [7](needs synced) | [2](needs rejected) |",
      "engagement-claims | [3,000](engagementClaims) | [4](engagementClaims pending) | " +
        "[20](engagementClaims synced) | [6](engagementClaims rejected) |",
      "Refused",
      "Latest first, at most twenty; a record recovers when it is changed.",
      "[commitment r3](/commitments/r3)",
      "ns:a: is wrong",
    ]);
  });

  test("is told of a graph of which nothing is known yet", async () => {
    const nothing = {
      reason: null,
      rebuild: null,
      verifiedAt: null,
      verificationTrouble: null,
      lastSyncedAt: null,
    };
    const text = await show({ ...nothing, pendingLists: [], rejected: [], drift: null }, true);
    for (const line of [
      ...["Last written: never", "Lists waiting to be written: none", "Last verified as a whole: not yet"],
      ...["Drift: not known yet", "The load check refuses no record."],
    ])
      expect(text).toContain(line);
    expect(text.filter((line) => /Because|does not answer|Rebuild:|Latest first/.test(line))).toEqual([]);
    expect(await show({ drift: 0 }, true)).toContain("Drift: 0 differences left");
  });
});

describe("the overview", () => {
  const drawn = async (picture: Picture, answer: unknown) => {
    const ask = (() => Promise.resolve({ data: answer })) as unknown as AskGraphql;
    const text = await asRead(await picture(ask, { exchange: {} } as Visit));
    return text.map((line) =>
      line.replaceAll(/\(\/graphiql\?query=([^)]*)\)/g, (_, query: string) => {
        const [, said] = /filter%3A\+%7B\+(\w+)/.exec(query) ?? [];
        return `(${said ?? "a query"})`;
      }),
    );
  };

  test("tells how far needs come, each stage with its number and its list", async () => {
    const of = (totalCount: number) => ({ totalCount });
    const text = await drawn(funnel, {
      ...{ declared: of(1000), committed: of(500), attested: of(250), met: of(125) },
      ...{ commitments: of(60), attestations: of(30) },
    });
    expect(text.slice(0, 8)).toEqual([
      "From need to attestation",
      "Needs by how far they have come",
      "Needs | Number | |",
      "Needs declared | [1,000](/v0/needs) | |",
      "… that somebody committed to | [500](commitmentsExist) | |",
      "… of which work is attested | [250](commitments) | |",
      "… that are met | [125](/v0/needs?status=met) | |",
      "In all, there are [60](/v0/commitments) commitments and [30](a query) attestations.",
    ]);
  });

  test("tells of each country its needs, on the map and in the table, and of what is not on the map", async () => {
    const group = (count: number, open: number, alpha2: string, name: string) => ({
      ...{ count, open, group: { country: { alpha2, name } } },
    });
    const groupedAggregates = [
      ...[group(1200, 30, "KE", "Kenya"), group(1, 0, "FR", "France"), group(2, 1, "QQ", "Nowhere")],
      { count: 5, open: 5, group: { country: null } },
    ];
    const text = await drawn(countries, { needs: { groupedAggregates } });
    expect(text.slice(0, 10)).toEqual([
      "Needs by country",
      "Map of the needs by country",
      "The darker a country, the more needs concern it: from 1 to 1,200. The table below has the numbers.",
      "[Kenya: 1,200 needs, 30 open](/v0/needs?countryCode=KE)[France: 1 need, 0 open](/v0/needs?countryCode=FR)",
      "Not on this map: Nowhere.",
      "A need that concerns several countries counts in each.",
      "As a table: 3 countries",
      "Needs by country",
      "Country | Needs | Open |",
      "Kenya | [1,200](/v0/needs?countryCode=KE) | [30](/v0/needs?countryCode=KE&status=open) |",
    ]);
  });

  test("leads to the doors, and nobody to a page that would be refused to them", async () => {
    const places = async (visitor: Visitor | undefined, address = "/") =>
      (await asRead(header(address, visitor))).filter((line) => line.startsWith("[")).slice(1);
    const open = ["[REST](/docs)", "[GraphQL](/graphiql)", "[SPARQL](/sparql)"];
    const nobody = await places(undefined, "/docs?x=1");
    expect(nobody).toEqual([
      ...[
        "[Overview](/)",
        "[REST](/docs here)",
        ...open.slice(1),
        "[Sign in](/sign-in?returnTo=%2Fdocs%3Fx%3D1)",
      ],
    ]);
    const some = ["[Organizations](/organizations)", "[Search](/search)"];
    expect(await places(visitorWith())).toEqual(["[Overview](/ here)", ...some, ...open]);
    for (const [permission, place] of [
      ["claims:review", "[Claims](/admin/claims)"],
      ["users:read", "[People](/admin/users)"],
      ["roles:assign", "[Graph](/admin/graph)"],
    ] as const)
      expect((await places(visitorWith(permission))).slice(3, -3)).toEqual([place]);
    const page = home((() => Promise.reject(new Error("asked"))) as AskGraphql);
    expect(await read(page, {})).toContain("[Sign in](/sign-in?returnTo=/) to see what is in it.");
  });
});
