// The page of the graph's state: who may see it, and that it says what /v0/health and `graph status` say.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { loadConfig } from "../config.ts";
import { enums } from "../db/catalog.ts";
import { createNames } from "../graph/namespaces.ts";
import { graphState } from "../server/pages/graph-state.ts";
import type { Shown, Visit } from "../server/pages/page.ts";
import { projectionStatus } from "../worker/status.ts";
import type { GraphStatus } from "../worker/status.ts";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

const HOSTILE = `<script>alert(1)</script>\u202Egnol "&' ${"x".repeat(3_000)}`;
const PATH = "/admin/graph";

let service: TestService;
let needId: string;
let operator: Visitor;

// Without a worker nothing but the test changes what it is in; the store does not answer.
beforeAll(async () => {
  service = await startTestService();
  const { owner } = service.database;
  await m.addPlatformPeople(owner);
  const org = await m.addOrganization(owner, { writer: "org_admin" });
  for (const needDescription of ["first", "second"]) {
    const { status } = await call(`${service.url}/v0/needs`, "POST", service.keys.write, {
      ...{ orgUri: org.uri, orgName: org.name, declaredByEmail: `writer@${org.domain}` },
      ...{ needDescription, accelerators: ["PRA-INT"] },
    });
    expect(status).toBe(201);
  }
  const { rows } = await owner.query<{ id: string }>(
    `update app_private.graph_records set state = 'rejected', synced_revision = revision, synced_at = now(),
       errors = jsonb_build_array(jsonb_build_object('path', 'needDescription', 'message', $1::text))
     where (kind, record_id) in (select kind, record_id from app_private.graph_records where kind = 'need' limit 1)
     returning record_id as id`,
    [HOSTILE],
  );
  needId = rows[0]!.id;
  await owner.query("update app_private.graph_verification set verified_at = now(), drift = 1234");
  operator = await new Visitor(service).signIn(m.platformAdmin);
});
afterAll(() => service.stop());

const say = (state: string, reason: string) =>
  service.database.owner.query("select app_private.note_graph_state($1, $2)", [state, reason]);

test("it is for those who run the platform", async () => {
  const nobody = await new Visitor(service).open(PATH);
  expect([nobody.status, nobody.location]).toEqual([303, "/sign-in?returnTo=%2Fadmin%2Fgraph"]);
  const withKey = { headers: { authorization: `Bearer ${service.keys.review}` } };
  expect((await new Visitor(service).open(PATH, withKey)).status).toBe(303);
  const org = await m.addOrganization(service.database.owner, { head: "org_admin" });
  // Whatever the case in which they write their address.
  const shouting = await (await new Visitor(service).signIn(m.platformAdmin.toUpperCase())).open(PATH);
  expect([shouting.status, shouting.text.includes(`href="${PATH}"`)]).toEqual([200, true]);
  for (const email of [m.support, `head@${org.domain}`, "somebody@elsewhere.example"]) {
    const refused = await (await new Visitor(service).signIn(email)).open(PATH);
    expect([email, refused.status, refused.text.includes("graph status")]).toEqual([email, 403, false]);
    expect(refused.text).not.toContain(`href="${PATH}"`);
  }
});

test.each([
  ["rebuilding", "good"],
  ["lagging", "bad"],
])("a graph that is %s is shown as %s", async (state, sign) => {
  await say(state, "As a test says.");
  expect((await operator.open(PATH)).text).toContain(`<span class="${sign}">${state}</span>`);
});

test("the database decides, whoever asks it", async () => {
  const ask = async (role: string, email: string) => {
    const client = await service.database.owner.connect();
    try {
      await client.query("begin");
      await client.query("select set_config('app.person', $1, true)", [
        JSON.stringify({ id: "x", issuer: "i", subject: "s", email }),
      ]);
      await client.query(`set local role ${role}`);
      await client.query("select app_private.graph_status_for_operators()");
      return "told";
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      await client.query("rollback");
      client.release();
    }
  };
  expect(await ask("api_person", m.platformAdmin)).toBe("told");
  expect(await ask("api_person", m.support)).toMatch(/^PT/);
  for (const role of ["api_read", "api_write", "api_review"])
    expect(await ask(role, m.platformAdmin)).toBe("42501");
});

test("it says what the command line and the health route say, and is kept by nobody", async () => {
  await say("unavailable", HOSTILE);
  const { status, headers, text } = await operator.open(PATH);
  // The next person may sit before the same browser.
  expect([status, headers.get("cache-control"), headers.get("etag")]).toEqual([200, "no-store", null]);
  const told = await projectionStatus(service.database.owner, service.store, createNames(loadConfig({})));
  const { body: health } = await call(`${service.url}/v0/health`, "GET", service.keys.read);
  expect([told.state, told.drift, told.verifiedAt]).toEqual([health.graphState, 1234, health.verifiedAt]);
  expect(text).toContain(`<span class="bad">${told.state}</span>`);
  expect(text).toContain("1,234 differences left");
  expect(text).toContain("The graph store does not answer.");
  expect(text).toContain(told.verifiedAt!.slice(0, 10));
  for (const graph of told.graphs) {
    const [row] = new RegExp(`<bdi>${graph.kind.replace("_", "-")}s</bdi>[\\s\\S]*?</tr>`).exec(text)!;
    const shown = [...row.matchAll(/>([\d,]+)<\/a>/g)].map(([, number]) => Number(number));
    expect(shown).toEqual([graph.records, graph.pending, graph.synced, graph.rejected]);
  }
  expect(told.graphs.reduce((sum, { rejected }) => sum + rejected, 0)).toBe(health.rejected);
});

test("what was refused is there with its reason, as text", async () => {
  const { text } = await operator.open(PATH);
  expect(text).toContain(`href="/needs/${needId}"`);
  const record = await operator.open(`/needs/${needId}`, { headers: { accept: "text/html" } });
  expect(record.text).toMatch(/rejected:\s*<bdi>needDescription<\/bdi>\s*<bdi>&lt;script&gt;/);
  expect(text).toContain("<bdi>needDescription</bdi>: <bdi>&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(text).not.toContain("<script>");
});

test("of what was refused the latest twenty are there, and when a record was last written", async () => {
  const { owner } = service.database;
  const client = await owner.connect();
  try {
    await client.query("begin");
    await client.query(
      `insert into app_private.graph_records (kind, record_id, revision, synced_revision, state, synced_at, errors)
       select 'need', gen_random_uuid(), 1, 1, 'rejected', timestamptz '2026-01-01' + n * interval '1 day',
         jsonb_build_array(jsonb_build_object('path', 'n', 'message', n::text))
       from generate_series(1, 30) as n`,
    );
    await client.query("delete from app_private.graph_records where record_id = $1", [needId]);
    const { rows } = await client.query<{ told: { rejected: { errors: { message: string }[] }[] } }>(
      "select app_private.graph_status() as told",
    );
    const { rejected, lastSyncedAt } = rows[0]!.told as {
      rejected: { errors: { message: string }[] }[];
      lastSyncedAt: string;
    };
    expect(rejected.map(({ errors }) => Number(errors[0]!.message))).toEqual(
      Array.from({ length: 20 }, (_, n) => 30 - n),
    );
    expect(new Date(lastSyncedAt).toISOString()).toBe("2026-01-31T00:00:00.000Z");
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("what has waited longest tells how far the graph is behind", async () => {
  await service.database.owner.query(
    `insert into app_private.graph_records (kind, record_id, dirty_since)
     select 'need', gen_random_uuid(), now() - n * interval '1 hour' from generate_series(1, 3) as n`,
  );
  const { body } = await call(`${service.url}/v0/health`, "GET", service.keys.read);
  expect(body.pending).toBe(4);
  expect(Math.round(body.oldestPendingSeconds / 3_600)).toBe(3);
  await service.database.owner.query(
    "delete from app_private.graph_records where dirty_since < now() - interval '30 minutes'",
  );
});

test("each number leads to as many records", async () => {
  const { text } = await operator.open(PATH);
  const links = [...text.matchAll(/<a href="(\/graphiql[^"]*)">([\d,]+)<\/a>/g)];
  expect(links).toHaveLength(12);
  for (const [, href, number] of links) {
    const query = new URL(href!, service.url).searchParams.get("query");
    const { body } = await operator.call("/graphql", { query });
    const [list] = Object.values(body.data as Record<string, { totalCount: number }>);
    expect([query, list!.totalCount]).toEqual([query, Number(number)]);
  }
});

test("while the graph is replaced it says how far that is: what was refused has been looked at too", async () => {
  const graphs: GraphStatus["graphs"] = [];
  const status = {
    ...{ state: "rebuilding", reason: null, since: "2026-01-01T00:00:00Z", graphs, rejected: [] },
    ...{ oldestPendingSeconds: 0, lastSyncedAt: null, pendingLists: [], verifiedAt: null, drift: null },
    verificationTrouble: null,
    rebuild: { total: 2_000, written: 1_000, rejected: 234 },
  };
  const page = graphState({ isAvailable: () => Promise.resolve(true) });
  const shown = await page.show({ ask: () => Promise.resolve(status) } as unknown as Visit);
  expect(String(await (shown as Shown).content)).toMatch(
    /<dt>Rebuild<\/dt>\s*<dd>1,234 of 2,000 records<\/dd>/,
  );
});

test("every state is explained", async () => {
  const { text } = await operator.open(PATH);
  for (const state of enums.graph_state) expect(text).toContain(`<code>${state}</code>`);
});
