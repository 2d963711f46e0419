// The pages of needs, commitments and attestations: the whole chain from wherever one looks at it, drawn and in words, and where
// the URIs of the graph lead.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { loadConfig } from "../config.ts";
import { saveSettings } from "../db/settings.ts";
import { RECORDS } from "../records/index.ts";
import { details } from "../server/pages/record/details.ts";
import { inBrowser, launchBrowser, watchedPage } from "./support/browser.ts";
import { AS_A_BROWSER, bytesOf, HOSTILE, windowOf } from "./support/desk.ts";
import * as m from "./support/membership.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

let service: TestService;
let browser: Browser | undefined;
let visitor: Visitor;
let org: m.TestOrganization;
let paths: { need: string; commitment: string; claim: string; alone: string };

beforeAll(async () => {
  service = await startTestService();
  browser = await launchBrowser();
  org = await m.addOrganization(service.database.owner, { writer: "org_admin" });
  const { needId } = await post("/v0/needs", {
    ...{ declaredByEmail: `writer@${org.domain}`, needDescription: "Bring audio <i>stories</i>" },
    ...{ accelerators: ["PRA-INT"], concernsCountryCode: ["NE", "KE"] },
  });
  const promised = { declaredByEmail: `writer@${org.domain}`, acceleratorScope: ["PRA-INT"] };
  const { commitmentId } = await post("/v0/commitments", {
    ...{ ...promised, commitmentDescription: "Record them", concernsNeedId: needId },
    targetCompletionDate: "2030-05-03",
  });
  await post("/v0/commitments", {
    ...{ ...promised, commitmentDescription: "Carry them", concernsNeedId: needId },
  });
  await post("/v0/commitments/status", {
    ...{ commitmentId, status: "in_progress", actorEmail: `writer@${org.domain}` },
  });
  const attested = { claimedByEmail: `writer@${org.domain}`, engagementAccelerators: ["PRA-INT"] };
  const { claimId } = await post("/v0/engagement-claims/submit", {
    ...{ ...attested, description: "Ten are recorded", fulfillsCommitmentId: commitmentId },
  });
  const { claimId: alone } = await post("/v0/engagement-claims/submit", attested);
  paths = {
    need: `/needs/${needId}`,
    commitment: `/commitments/${commitmentId}`,
    claim: `/engagement-claims/${claimId}`,
    alone: `/engagement-claims/${alone}`,
  };
  visitor = await new Visitor(service).signIn("somebody@elsewhere.example");
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
});

async function post(path: string, body: object) {
  const isChange = path.endsWith("/status");
  const whose = isChange ? {} : { orgUri: org.uri, orgName: org.name };
  const answer = await call(`${service.url}${path}`, "POST", service.keys.write, { ...whose, ...body });
  expect(answer.status).toBe(isChange ? 200 : 201);
  return answer.body;
}

type Chain = { nodes: { id: string; history: { status: string }[] }[] };

const open = (path: string, who = visitor) => who.open(path, AS_A_BROWSER);
const drawn = (text: string) => /<svg\s+class="chain wide"[\s\S]*?\n\s*<\/svg>\s*<svg/.exec(text)![0];
const linksIn = (text: string) => [...text.matchAll(/<a\s[^>]*href="([^"]*)"/g)].map(([, href]) => href);

/** Records without end, past the rules that would take them one by one. */
async function insert(statement: string, values: unknown[] = []): Promise<string[]> {
  const client = await service.database.owner.connect();
  try {
    await client.query("begin; set local session_replication_role = replica");
    const { rows } = await client.query<{ id: string }>(statement, values);
    await client.query("commit");
    return rows.map(({ id }) => id);
  } finally {
    client.release();
  }
}

test("it is for who is signed in, and leads there first", async () => {
  for (const path of Object.values(paths)) {
    const { status, location } = await open(path, new Visitor(service));
    expect([status, location]).toEqual([
      303,
      `/sign-in?${new URLSearchParams({ returnTo: path }).toString()}`,
    ]);
  }
  const headers = { ...AS_A_BROWSER.headers, authorization: `Bearer ${service.keys.review}` };
  expect((await new Visitor(service).open(paths.need, { headers })).status).toBe(303);
});

test("from each record the whole chain is drawn and told in words", async () => {
  for (const path of [paths.need, paths.commitment, paths.claim]) {
    const { status, text } = await open(path);
    expect([path, status]).toEqual([path, 200]);
    const links = linksIn(drawn(text));
    expect(links).toEqual(expect.arrayContaining([paths.need, paths.commitment]));
    // Of what stands beside, its answers are on its own page.
    expect([path, links.length]).toEqual([path, 4]);
    expect(links).toContain(paths.claim);
    expect(text).toContain("Carry them");
    expect(text).toMatch(new RegExp(`href="${path}"\\s+aria-label="[^"]*"\\s+aria-current="page"`));
    const [words] = /<ol class="chain">[\s\S]*/.exec(text)!;
    expect(words).toContain(`<bdi>writer@${org.domain}</bdi>`);
    expect(words).toMatch(/due <time datetime="2030-05-03[^"]*"/);
    expect(words).toContain("(this page)");
    // Of a record that has had one status there is no list of them.
    expect(words).not.toContain("1 latest statuses");
    expect(words).toContain(`href="/organizations/${encodeURIComponent(org.uri)}"`);
  }
  const { text } = await open(paths.alone);
  expect(linksIn(drawn(text))).toEqual([paths.alone]);
});

test("a chain tells of each of its records everything, under its own name, and of its step itself first", async () => {
  const text = (name: string) => [
    org.uri,
    `${name}'s organization`,
    `${name}@by.example`,
    `${name}'s words`,
    AT,
  ];
  const AT = "2026-01-02T00:00:00+00:00";
  const [need] = await insert(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, created_at, accelerators, status)
     values ($1, $2, $3, $4, $5, '{PRA-INT}', 'partially_met') returning need_id as id`,
    text("need"),
  );
  const [commitment] = await insert(
    `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, created_at,
       accelerator_scope, status, concerns_need_id, target_completion_date)
     values ($1, $2, $3, $4, $5, '{PRA-INT}', 'funded', $6, '2031-02-03') returning commitment_id as id`,
    [...text("commitment"), need],
  );
  const [claim] = await insert(
    `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, description, created_at,
       engagement_accelerators, status, fulfills_commitment_id)
     values ($1, $2, $3, $4, $5, '{PRA-INT}', 'paused', $6) returning claim_id as id`,
    [...text("claim"), commitment],
  );
  const CHANGED = "2026-01-03T00:00:00+00:00";
  await insert(
    `insert into app_public.status_history (need_id, commitment_id, engagement_claim_id, to_status, changed_by_email, changed_at)
     values ($1, null, null, 'partially_met', 'need@set.example', $4),
       (null, $2, null, 'funded', 'commitment@set.example', $4), (null, null, $3, 'paused', null, $4)
     returning status_history_id as id`,
    [need, commitment, claim, CHANGED],
  );
  const told = (name: string, status: string, by: string | null) => ({
    ...{
      orgUri: org.uri,
      orgName: `${name}'s organization`,
      by: `${name}@by.example`,
      text: `${name}'s words`,
    },
    ...{ at: AT, status, history: [{ status, by, at: CHANGED }] },
  });
  const client = await service.database.owner.connect();
  await client.query("set time zone 'UTC'");
  const chain = async (kind: string, id: string) => {
    const { rows } = await client.query<{ chain: Chain }>("select app_private.chain($1, $2, 1) as chain", [
      kind,
      id,
    ]);
    return rows[0]!.chain;
  };
  const whole = await chain("commitment", commitment!);
  const [later] = await insert(
    `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
       fulfills_commitment_id)
     values ($1, 'x', 'x@by.example', '{PRA-INT}', $2) returning claim_id as id`,
    [org.uri, commitment],
  );
  const { nodes } = await chain("engagement_claim", claim!);
  client.release(true);
  expect(nodes.map(({ id }) => id)).toEqual([need, commitment, claim, later]);
  expect(whole).toEqual({
    ...{ id: commitment, page: 1, pages: 1 },
    nodes: [
      { ...told("need", "partially_met", "need@set.example"), kind: "need", id: need, children: 1 },
      {
        ...{ ...told("commitment", "funded", "commitment@set.example"), kind: "commitment", id: commitment },
        ...{ parent: need, due: "2031-02-03", children: 1 },
      },
      {
        ...told("claim", "paused", null),
        kind: "engagement_claim",
        id: claim,
        parent: commitment,
        children: 0,
      },
    ],
  });
});

test("no two boxes of the drawing lie upon each other, on a desk or a phone", async () => {
  const { text } = await open(paths.need);
  for (const plan of ["wide", "narrow"]) {
    const [svg] = new RegExp(`<svg\\s+class="chain ${plan}"[^]*?(?=<svg\\s+class="chain|</section>)`).exec(
      text,
    )!;
    const boxes = [...svg.matchAll(/<svg x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"/g)].map((found) =>
      found.slice(1).map(Number),
    ) as [x: number, y: number, width: number, height: number][];
    expect([plan, boxes.length]).toEqual([plan, 4]);
    const pairs = boxes.flatMap((one, n) => boxes.slice(n + 1).map((other) => [one, other] as const));
    const meeting = pairs.filter(
      ([[x, y, width, height], [left, top, broad, high]]) =>
        x < left + broad && left < x + width && y < top + high && top < y + height,
    );
    expect([plan, meeting]).toEqual([plan, []]);
  }
});

test("no record stands beside itself, and of a long history there is the end", async () => {
  const who = `writer@${org.domain}`;
  const [need, commitment] = [paths.need.split("/")[2]!, paths.commitment.split("/")[2]!];
  const chain = async (kind: string, id: string) => {
    const { rows } = await service.database.owner.query<{ chain: Chain }>(
      "select app_private.chain($1, $2, 1) as chain",
      [kind, id],
    );
    return rows[0]!.chain;
  };
  for (const [kind, path] of [
    ["need", paths.need],
    ["commitment", paths.commitment],
    ["engagement_claim", paths.claim],
  ] as const) {
    const found = (await chain(kind, path.split("/")[2]!)).nodes.map(({ id }) => id);
    expect(found).toEqual([...new Set(found)]);
  }
  const { commitmentId: busy } = await post("/v0/commitments", {
    ...{ declaredByEmail: who, acceleratorScope: ["PRA-INT"], commitmentDescription: "Often" },
    concernsNeedId: need,
  });
  const statuses = ["in_progress", "declared", "in_progress", "declared", "in_progress", "abandoned"];
  for (const status of statuses)
    await post("/v0/commitments/status", { commitmentId: busy, status, actorEmail: who });
  const beside = (await chain("commitment", commitment)).nodes.find(({ id }) => id === busy)!;
  expect(beside.history.map(({ status }) => status)).toEqual(statuses.slice(-5));
  const own = (await chain("commitment", busy)).nodes.find(({ id }) => id === busy)!;
  expect(own.history.map(({ status }) => status)).toEqual(["declared", ...statuses]);
  await service.database.owner.query("delete from app_public.commitments where commitment_id = $1", [busy]);
});

test("fifty answers are one page, and one more makes two", async () => {
  const [id] = await insert(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ($1, 'Fifty', 'a@b.example', 'Fifty', '{PRA-INT}') returning need_id as id`,
    [org.uri],
  );
  const answer = (count: number) =>
    insert(
      `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope,
         concerns_need_id)
       select $1, 'Fifty', 'a@b.example', 'Yes', '{PRA-INT}', $2 from generate_series(1, $3) returning commitment_id as id`,
      [org.uri, id, count],
    );
  const pages = async () => {
    const { rows } = await service.database.owner.query<{ pages: number }>(
      "select (app_private.chain('need', $1, 1) ->> 'pages')::integer as pages",
      [id],
    );
    return rows[0]!.pages;
  };
  expect(await pages()).toBe(1);
  await answer(50);
  expect(await pages()).toBe(1);
  await answer(1);
  expect(await pages()).toBe(2);

  const counted = async () => {
    const { rows } = await service.database.owner.query<{ children: number }>(
      "select (app_private.chain_node('need', $1, 1) ->> 'children')::integer as children",
      [id],
    );
    return rows[0]!.children;
  };
  expect(await counted()).toBe(51);
  // A number that is one too many, so that it can be told from a thousand.
  await answer(950);
  expect(await counted()).toBe(1001);
  await answer(1);
  expect(await counted()).toBe(1001);
  const [commitment] = await answer(1);
  await insert(
    `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
       fulfills_commitment_id)
     select $1, 'Fifty', 'a@b.example', '{PRA-INT}', $2 from generate_series(1, 1002) returning claim_id as id`,
    [org.uri, commitment],
  );
  const { rows } = await service.database.owner.query(
    "select (app_private.chain_node('commitment', $1, 1) ->> 'children')::integer as children",
    [commitment],
  );
  expect(rows).toEqual([{ children: 1001 }]);
});

test("of a record a hundred statuses are told, the latest; and behind the last page there is an empty one", async () => {
  const [id] = await insert(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ($1, 'Long', 'a@b.example', 'Long', '{PRA-INT}') returning need_id as id`,
    [org.uri],
  );
  await insert(
    `insert into app_public.status_history (need_id, to_status, changed_by_email)
     select $1, 'open', n from generate_series(1, 101) as n returning status_history_id as id`,
    [id],
  );
  const { rows } = await service.database.owner.query<{ chain: { nodes: { history: { by: string }[] }[] } }>(
    // As far as a number of the page can go.
    "select app_private.chain('need', $1, 2147483647) as chain",
    [id],
  );
  const [{ history }, ...answers] = rows[0]!.chain.nodes as [{ history: { by: string }[] }];
  expect([history.length, history[0]!.by, history.at(-1)!.by, answers]).toEqual([100, "2", "101", []]);
});

test("what was written at the same time comes in one order on all pages", async () => {
  const [need] = await insert(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ($1, 'At once', 'a@b.example', 'At once', '{PRA-INT}') returning need_id as id`,
    [org.uri],
  );
  const commitments = await insert(
    `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope,
       concerns_need_id, created_at)
     select $1, 'At once', 'a@b.example', 'Yes', '{PRA-INT}', $2, '2026-01-01' from generate_series(1, 60)
     returning commitment_id as id`,
    [org.uri, need],
  );
  const last = (ids: string[]) => ids.toSorted().toReversed();
  // Of what answers a need, its page has only what answers the commitments on it.
  const first = last(commitments)[0]!;
  const claims = await insert(
    `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
       fulfills_commitment_id, created_at)
     select $1, 'At once', 'a@b.example', '{PRA-INT}', $2, '2026-01-01' from generate_series(1, 60) returning claim_id as id`,
    [org.uri, first],
  );
  const client = await service.database.owner.connect();
  try {
    // By an index they would come so by themselves.
    await client.query("set enable_indexscan = off; set enable_indexonlyscan = off");
    const told = async (kind: string, id: string, among: string[], pages = [1]) => {
      const found: string[] = [];
      for (const page of pages) {
        const { rows } = await client.query<{ chain: Chain }>(
          "select app_private.chain($1, $2, $3) as chain",
          [...[kind, id, page]],
        );
        found.push(...rows[0]!.chain.nodes.map((node) => node.id).filter((each) => among.includes(each)));
      }
      return found;
    };
    expect(await told("need", need!, commitments, [1, 2])).toEqual(last(commitments));
    expect(await told("need", need!, claims)).toEqual(last(claims).slice(0, 50));
    expect(await told("commitment", first, claims, [1, 2])).toEqual(last(claims));
    const [commitment, claim] = [last(commitments)[59]!, last(claims)[59]!];
    expect(await told("commitment", commitment, commitments)).toEqual([
      ...[commitment, ...last(commitments).slice(0, 10)],
    ]);
    expect(await told("engagement_claim", claim, claims)).toEqual([claim, ...last(claims).slice(0, 10)]);
  } finally {
    client.release(true);
  }
});

test("what answers a record, and what stands beside it, comes newest first, and the oldest is left out", async () => {
  const [need] = await insert(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ($1, 'Many', 'a@b.example', 'Many', '{PRA-INT}') returning need_id as id`,
    [org.uri],
  );
  // Not in the order in which they were written: the first of them is the newest, the second the eighth.
  const age = (count: number) => (place: number) => (place * 7) % count;
  const newestFirst = (ids: string[]) =>
    ids.toSorted((one, other) => age(ids.length)(ids.indexOf(one)) - age(ids.length)(ids.indexOf(other)));
  const commitments = newestFirst(
    await insert(
      `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope,
         concerns_need_id, created_at)
       select $1, 'Many', 'a@b.example', 'Yes', '{PRA-INT}', $2, '2026-01-01'::timestamptz - (n * 7 % 60) * interval '1 day'
       from generate_series(0, 59) as n returning commitment_id as id`,
      [org.uri, need],
    ),
  );
  const claims = newestFirst(
    await insert(
      `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
         fulfills_commitment_id, created_at)
       select $1, 'Many', 'a@b.example', '{PRA-INT}', $2, '2026-01-01'::timestamptz - (n * 7 % 60) * interval '1 day'
       from generate_series(0, 59) as n returning claim_id as id`,
      [org.uri, commitments[0]],
    ),
  );
  const told = async (kind: string, id: string, page = 1) => {
    const { rows } = await service.database.owner.query<{ chain: { nodes: { kind: string; id: string }[] } }>(
      "select app_private.chain($1, $2, $3) as chain",
      [kind, id, page],
    );
    const of = (wanted: string) =>
      rows[0]!.chain.nodes.filter((node) => node.kind === wanted).map((node) => node.id);
    return { commitments: of("commitment"), claims: of("engagement_claim") };
  };
  expect(await told("need", need!)).toEqual({
    ...{ commitments: commitments.slice(0, 50), claims: claims.slice(0, 50) },
  });
  expect((await told("need", need!, 2)).commitments).toEqual(commitments.slice(50));
  const [newest, oldest] = [commitments[0]!, commitments.at(-1)!];
  expect((await told("commitment", newest)).claims).toEqual(claims.slice(0, 50));
  expect((await told("commitment", newest, 2)).claims).toEqual(claims.slice(50));
  expect((await told("commitment", oldest)).commitments).toEqual([oldest, ...commitments.slice(0, 10)]);
  const [own] = claims.slice(-1);
  expect((await told("engagement_claim", own!)).claims).toEqual([own, ...claims.slice(0, 10)]);
});

test("a record says what it says at the other doors, with what its codes stand for", async () => {
  const { text } = await open(paths.commitment);
  const { body } = await call(`${service.url}/v0${paths.commitment}/history`, "GET", service.keys.read);
  const [table] = /<table class="list">[\s\S]*?<\/table>/.exec(text)!;
  const rows = [
    ...table.matchAll(/<th scope="row">([^<]*)<\/th>[\s\S]*?datetime="([^"]*)"[\s\S]*?<bdi>([^<]*)/g),
  ];
  expect(rows.map(([, status, at, by]) => [status, at, by])).toEqual(
    body.history.map((step: Record<string, string>) => [
      ...[step["status"]!.replaceAll("_", " "), new Date(step["changedAt"]!).toISOString()],
      step["changedByEmail"],
    ]),
  );
  expect(rows.length).toBe(2);
  expect(text).toContain(`<b>in progress</b> since <time datetime="${rows[1]![2]}">`);
  expect(text).toMatch(/Answers the need<\/dt>\s*<dd>\s*<a href="[^"]*"\s*><bdi>Bring audio &lt;i&gt;/);
  const need = (await open(paths.need)).text;
  expect(need).toContain("<bdi>Niger</bdi> <code>NE</code>");
  expect(need).toContain("Bring audio &lt;i&gt;stories&lt;/i&gt;");
});

test("each code is called by what it stands for in its own list", async () => {
  const named = {
    accelerators: { "PRA-INT": "Intercession" },
    countries: { NE: "Niger", 100001: "a country" },
    peopleGroups: { 100001: "Somali", NE: "a people" },
  };
  const item = {
    accelerators: ["PRA-INT"],
    concernsPeopleGroupRop3: ["100001"],
    concernsCountryCode: ["NE"],
  };
  const text = String(await details(RECORDS.need, { ...item, graphStatus: "synced" }, named, new Map()));
  const codes = [...text.matchAll(/<li>\s*<bdi>([^<]*)<\/bdi> <code>([^<]*)</g)].map((found) =>
    found.slice(1),
  );
  expect(codes).toEqual([
    ["Intercession", "PRA-INT"],
    ["Somali", "100001"],
    ["Niger", "NE"],
  ]);
});

test("what a record does not say is left out, a list of nothing too", async () => {
  const names = { accelerators: {}, countries: {}, peopleGroups: {} };
  const item = { accelerators: ["PRA-INT"], concernsCountryCode: [], declaredByEmail: null };
  const said = { needDescription: "Audio Scriptures for the village", createdAt: "2031-02-28T08:00:00Z" };
  const shown = { ...item, ...said, graphStatus: "synced" };
  const text = String(await details(RECORDS.need, shown, names, new Map()));
  const told = Array.from(text.matchAll(/<dt>([^<]*)<\/dt>/g), ([, label]) => label);
  expect(new Set(told)).toEqual(new Set(["Accelerators", "Created at", "In the graph", "What is needed"]));
  expect(text).toContain(said.needDescription);
});

test("what the load check refused says why, and a status that nobody set is the service's own", async () => {
  const id = paths.alone.split("/")[2]!;
  const { owner } = service.database;
  await owner.query(
    `update app_private.graph_records set state = 'rejected', synced_revision = revision,
       errors = '[{"path": "description", "message": "is not as it should be"}]' where record_id = $1`,
    [id],
  );
  await owner.query(
    "insert into app_public.status_history (engagement_claim_id, to_status) values ($1, 'paused')",
    [id],
  );
  const { text } = await open(paths.alone);
  expect(text).toContain("<bdi>description</bdi> <bdi>is not as it should be</bdi>");
  expect(text).toContain("<td>the service itself</td>");
  expect((await open(paths.need)).text).not.toContain("the service itself");
});

test("what is not there is not found, in words", async () => {
  const elsewhere = paths.need.replace("/needs/", "/commitments/");
  for (const path of [elsewhere, "/needs/nothing", "/needs/%00", `${paths.need}0`]) {
    const { status, text } = await open(path);
    expect([path, status]).toEqual([path, 404]);
    expect(text).toContain('role="alert"');
  }
});

test("a record is found by its id in capitals too", async () => {
  const [, kind, id] = paths.need.split("/");
  const { status, text } = await open(`/${kind}/${id!.toUpperCase()}`);
  expect(status).toBe(200);
  expect(text).toContain("Bring audio");
});

test("what is stored is text, whatever it says, and in no field too long", async () => {
  const [id] = await insert(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators,
       concerns_people_group_rop3, concerns_country_code)
     values ($1, $2, $2, $2, array[$2], array[$2], array[$2]) returning need_id as id`,
    [org.uri, HOSTILE],
  );
  const [commitment] = await insert(
    `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope,
       concerns_need_id)
     values ($1, $2, $2, $2, array[$2], $3) returning commitment_id as id`,
    [org.uri, HOSTILE, id],
  );
  const [claim] = await insert(
    `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
       people_group_rop3, people_group_name, people_group_rog3, country_code, country_name, description, fulfills_commitment_id)
     values ($1, $2, $2, array[$2], $2, $2, $2, $2, $2, $2, $3) returning claim_id as id`,
    [org.uri, HOSTILE, commitment],
  );
  await insert(
    `insert into app_public.status_history (need_id, to_status, changed_by_email) values ($1, $2, $2)
     returning status_history_id as id`,
    [id, HOSTILE],
  );
  for (const path of [`/needs/${id}`, `/commitments/${commitment}`, `/engagement-claims/${claim}`]) {
    const { status, text } = await open(path);
    expect([path, status]).toEqual([path, 200]);
    expect(text).not.toContain("<script>alert");
    if (!browser) continue;
    for (const width of [390, 1280]) {
      const context = await windowOf(browser, service.url, visitor, width);
      const { page, trouble } = await watchedPage(context, service.url);
      await page.goto(`${service.url}${path}`);
      expect([path, await page.evaluate("document.documentElement.scrollWidth > innerWidth")]).toEqual([
        path,
        false,
      ]);
      expect(trouble).toEqual([]);
      await context.close();
    }
  }
});

test("of a need that thousands answer there are pages, each quickly read", async () => {
  const [id] = await insert(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ($1, 'Many', 'a@b.example', 'Many', '{PRA-INT}') returning need_id as id`,
    [org.uri],
  );
  const filler = Array.from({ length: 90 }, () => Math.random().toString(36).slice(2)).join(" ");
  const commitments = await insert(
    `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope,
       concerns_need_id, created_at)
     select $1, 'Many', 'a@b.example', n || ' ' || $3, '{PRA-INT}', $2, now() - n * interval '1 second'
     from generate_series(1, 60) as n returning commitment_id as id`,
    [org.uri, id, filler],
  );
  await insert(
    `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators, description,
       fulfills_commitment_id, created_at)
     select $1, 'Many', 'a@b.example', '{PRA-INT}', n || ' ' || $3, $2, now() - n * interval '1 second'
     from generate_series(1, 1100) as n returning claim_id as id`,
    [org.uri, commitments[0], filler],
  );
  const [other] = await insert(
    `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators, description,
       fulfills_commitment_id, created_at)
     values ($1, 'Many', 'a@b.example', '{PRA-INT}', 'One', $2, now() - interval '1 year') returning claim_id as id`,
    [org.uri, commitments[1]],
  );
  const first = (await open(`/needs/${id}`)).text;
  // One attestation of each commitment goes before a second of any.
  expect(linksIn(drawn(first))).toContain(`/engagement-claims/${other}`);
  await service.database.owner.query("delete from app_public.engagement_claims where claim_id = $1", [other]);
  const linksOf = (text: string) => linksIn(drawn(text)).filter((href) => href!.startsWith("/commitments/"));
  // The newest has more attestations than are shown, and leads to them as well.
  expect(linksOf(first)).toHaveLength(51);
  expect(first).toContain("many more attestations");
  expect(first).toContain("10 more commitments");
  expect(first).toContain("Page 1 of 2");
  expect(await bytesOf(`${service.url}/needs/${id}`, visitor)).toBeLessThan(100_000);
  const second = (await open(`/needs/${id}?page=2`)).text;
  expect(linksOf(second)).toHaveLength(10);
  expect(second).not.toContain("more commitments");
  expect(new Set([...linksOf(first), ...linksOf(second)]).size).toBe(60);

  // Itself, ten beside it, and how many there are besides.
  const beside = linksIn(drawn((await open(`/commitments/${commitments[59]}`)).text));
  expect(beside.filter((href) => href!.startsWith("/commitments/"))).toHaveLength(1 + 10 + 1);
  // The newest of them.
  expect(beside).toEqual(
    expect.arrayContaining(commitments.slice(0, 10).map((newest) => `/commitments/${newest}`)),
  );
  expect(beside.filter((href) => href === `/needs/${id}`)).toHaveLength(2);
  const many = (await open(`/commitments/${commitments[0]}`)).text;
  expect(linksIn(drawn(many)).filter((href) => href!.startsWith("/engagement-claims/"))).toHaveLength(50);
  expect(linksIn(drawn(many))).toContain(`/commitments/${commitments[0]}?page=2`);
  expect(await bytesOf(`${service.url}/commitments/${commitments[0]}`, visitor)).toBeLessThan(100_000);
  const attestations = async (page: number) => {
    const { text } = await open(`/commitments/${commitments[0]}?page=${page}`);
    return linksIn(drawn(text)).filter((href) => href!.startsWith("/engagement-claims/"));
  };
  const pages = [await attestations(1), await attestations(2)];
  expect(new Set(pages.flat()).size).toBe(100);
  for (const page of ["0", "-1", "x", "99999999999"])
    expect((await open(`/needs/${id}?page=${page}`)).text).toContain("Page 1 of 2");
  expect((await open(`/needs/${id}?page=9000`)).status).toBe(200);
});

describe("the URIs of the graph", () => {
  const wanting = (accept: string) => ({ headers: { accept } });
  const describing = (uri: string) =>
    `/v0/sparql?${new URLSearchParams({ query: `DESCRIBE <${uri}>` }).toString()}`;

  test("lead browsers to pages, and programs to what the graph or REST says, as their keys let them read it", async () => {
    const uri = `https://data.example.org${paths.need}`;
    const nobody = new Visitor(service);
    for (const accept of ["text/turtle", "application/ld+json, text/html;q=0.5", "*/*"]) {
      const { status, location, headers } = await nobody.open(paths.need, wanting(accept));
      expect([accept, status, location]).toEqual([accept, 303, describing(uri)]);
      expect(headers.get("vary")).toMatch(/accept(,|$)/i);
    }
    const { status, location } = await nobody.open(paths.need, wanting("application/json"));
    expect([status, location]).toEqual([303, `/v0${paths.need}`]);
    expect((await nobody.open(location!)).status).toBe(401);
    expect((await call(`${service.url}${location}`, "GET", service.keys.read)).status).toBe(200);
    expect((await open(paths.need)).headers.get("vary")).toMatch(/accept(,|$)/i);
  });

  test("of organizations too", async () => {
    const uri = "https://data.example.org/org/a%20b";
    const page = `/organizations/${encodeURIComponent(uri)}`;
    for (const [accept, expected] of [
      ["text/html", page],
      ["application/json", `/v0${page}`],
      ["text/turtle", describing(uri)],
    ] as const) {
      const { location } = await new Visitor(service).open("/org/a%20b", wanting(accept));
      expect([accept, location]).toEqual([accept, expected]);
    }
  });

  test("lead there also below a path, and nowhere that is in use", async () => {
    const named = async (environment: { GRAPH_DATA_URL: string }) => {
      await saveSettings(service.database.owner, loadConfig(environment));
      return startAnotherServer(service, environment);
    };
    const below = await named({ GRAPH_DATA_URL: "https://data.example.org/graph/data" });
    const taken = await named({ GRAPH_DATA_URL: "https://data.example.org/v0" });
    try {
      const at = (url: string) => new Visitor({ url, database: service.database });
      const led = await at(below.url).open(`/graph/data${paths.need}`, AS_A_BROWSER);
      expect([led.status, led.location]).toEqual([303, paths.need]);
      const told = await at(below.url).open(`/graph/data${paths.need}`);
      expect(told.location).toBe(describing(`https://data.example.org/graph/data${paths.need}`));
      const read = await call(`${taken.url}/v0${paths.need}`, "GET", service.keys.read);
      expect([read.status, read.body.needId]).toEqual([200, paths.need.slice("/needs/".length)]);
    } finally {
      await below.stop();
      await taken.stop();
      await saveSettings(service.database.owner, loadConfig({}));
    }
  });
});

describe.each([390, 1280])("%i pixels wide", (width) => {
  const inWindow = (walk: (page: Page, trouble: string[]) => Promise<void>) => async () => {
    const context = await windowOf(browser!, service.url, visitor, width);
    try {
      const { page, trouble } = await watchedPage(context, service.url);
      await page.goto(`${service.url}${paths.need}`);
      await walk(page, trouble);
      expect(trouble).toEqual([]);
    } finally {
      await context.close();
    }
  };

  inBrowser(
    "by keyboard: along the chain",
    inWindow(async (page) => {
      const next = page.getByRole("link", { name: /^Commitment in progress / });
      while (!(await next.evaluate((link) => link.matches(":focus")))) await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForURL(`**${paths.commitment}`);
      const last = page.getByRole("link", { name: /^Attestation active / });
      while (!(await last.evaluate((link) => link.matches(":focus")))) await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForURL(`**${paths.claim}`);
    }),
  );

  inBrowser(
    "by mouse: along the chain, drawn once",
    inWindow(async (page) => {
      expect(await page.locator("svg.chain").filter({ visible: true }).count()).toBe(1);
      await page.getByRole("link", { name: /^Commitment in progress / }).click();
      await page.waitForURL(`**${paths.commitment}`);
      await page
        .getByRole("region", { name: "The chain in words" })
        .getByRole("link", { name: "Attestation" })
        .click();
      await page.waitForURL(`**${paths.claim}`);
    }),
  );
});
