// The feed of changes: each committed one once and in order, none that was rolled back, none passed over.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { tendChanges } from "../worker/tasks/tend-changes.ts";
import type { TaskContext } from "../worker/tasks/task.ts";
import { issueTestKey } from "./support/database.ts";
import { addOrganization, addPlatformPeople, platformAdmin } from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, member, ORG, otherAdmin, OTHER_ORG, stranger } from "./support/world.ts";

let service: TestService;
let db: pg.Pool;
beforeAll(async () => {
  service = await startTestService();
  db = service.database.owner;
  await addPlatformPeople(db);
});
afterAll(() => service.stop());

type Change = {
  cursor: string;
  kind: string;
  id: string;
  change: string;
  changedAt: string;
  orgUri: string;
  needId: string | null;
  fromStatus: string | null;
  toStatus: string | null;
  item: Record<string, unknown> | null;
};
type Page = { changes: Change[]; next: string; hasMore: boolean };

const request = (query: Record<string, string> = {}, key = service.keys.read) =>
  call(`${service.url}/v0/changes?${new URLSearchParams(query).toString()}`, "GET", key);

async function page(query: Record<string, string> = {}): Promise<Page> {
  const answer = await request(query);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as Page;
}

const post = async (path: string, body: object, key = service.keys.write) => {
  const answer = await call(`${service.url}${path}`, "POST", key, body);
  expect(answer.status).toBeLessThan(300);
  return answer.body as Record<string, string>;
};

const needOf = (orgUri = ORG, declaredByEmail = contributor) => ({
  orgUri,
  orgName: "River Mission",
  declaredByEmail,
  needDescription: "Audio Scriptures",
  accelerators: ["PRA-INT"],
});
const declareNeed = async (...args: Parameters<typeof needOf>) =>
  (await post("/v0/needs", needOf(...args)))["needId"]!;

/** Adds a need in a transaction of the owner, whose id says in which order it was drawn. */
const insertNeed = async (client: pg.ClientBase | pg.Pool) => {
  const { rows } = await client.query<{ id: string }>(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ('${ORG}', 'River Mission', '${contributor}', 'Wells', '{PRA}') returning need_id as id`,
  );
  return rows[0]!.id;
};

let start: string;
beforeEach(async () => {
  start = (await page({ after: "now" })).next;
});

test("tells what happened to each record, and shows it as its list does", async () => {
  const needId = await declareNeed();
  await post("/v0/needs/status", { needId, status: "met", actorEmail: contributor });
  const { body: shown } = await call(`${service.url}/v0/needs/${needId}`, "GET", service.keys.read);
  const { changes } = await page({ after: start });
  const common = {
    kind: "need",
    id: needId,
    orgUri: ORG,
    needId,
    item: shown,
    cursor: expect.any(String),
  };
  expect(changes).toEqual([
    { ...common, change: "created", changedAt: shown.createdAt, fromStatus: null, toStatus: "open" },
    { ...common, change: "updated", changedAt: shown.updatedAt, fromStatus: "open", toStatus: "met" },
  ]);
});

test("tells of deletions, of updates that leave the status, and not of those that change nothing", async () => {
  const needId = await declareNeed();
  await db.query("update app_public.needs set need_description = 'Deeper wells' where need_id = $1", [
    needId,
  ]);
  await post("/v0/needs/status", { needId, status: "open", actorEmail: contributor });
  await db.query("update app_public.needs set need_description = need_description where need_id = $1", [
    needId,
  ]);
  await db.query("delete from app_public.needs where need_id = $1", [needId]);
  const { changes } = await page({ after: start });
  expect(
    changes.map(({ change, fromStatus, toStatus, item }) => [change, fromStatus, toStatus, item]),
  ).toEqual([
    ["created", null, "open", null],
    ["updated", "open", "open", null],
    ["deleted", "open", null, null],
  ]);
  // Whoever follows this need alone is told of its end too.
  const own = await page({ after: start, needId });
  expect(own.changes.map(({ change }) => change)).toEqual(["created", "updated", "deleted"]);
});

test("of a record that has come to another organization tells as of that one's", async () => {
  const needId = await declareNeed();
  await db.query("update app_public.needs set org_uri = $2 where need_id = $1", [needId, OTHER_ORG]);
  const { changes } = await page({ after: start, needId });
  expect(changes.map(({ change, orgUri }) => [change, orgUri])).toEqual([
    ["created", ORG],
    ["updated", OTHER_ORG],
  ]);
});

test("tells of each kind of record what became of it, of which organization, in which need's chain, and since when", async () => {
  const needId = await declareNeed();
  const { commitmentId } = await post("/v0/commitments", {
    orgUri: OTHER_ORG,
    orgName: "Harbor Trust",
    declaredByEmail: otherAdmin,
    commitmentDescription: "We record them",
    acceleratorScope: ["PRA-INT"],
    concernsNeedId: needId,
  });
  const { claimId } = await post("/v0/engagement-claims/submit", {
    orgUri: ORG,
    orgName: "River Mission",
    claimedByEmail: contributor,
    engagementAccelerators: ["PRA"],
    fulfillsCommitmentId: commitmentId,
  });
  const records = [
    { kind: "need", id: needId, orgUri: ORG, steps: ["open", "met"] },
    { kind: "commitment", id: commitmentId, orgUri: OTHER_ORG, steps: ["declared", "fulfilled"] },
    { kind: "engagement_claim", id: claimId, orgUri: ORG, steps: ["active", "completed"] },
  ] as const;
  await post("/v0/needs/status", { needId, status: "met", actorEmail: contributor });
  await post("/v0/commitments/status", { commitmentId, status: "fulfilled", actorEmail: otherAdmin });
  await post("/v0/engagement-claims/status", { claimId, status: "completed", actorEmail: contributor });
  const shown = (await page({ after: start })).changes.map(({ item }) => item);
  const timesOf = (name: string) => shown.slice(0, 3).map((record) => record![name]);
  const times = { created: timesOf("createdAt"), updated: timesOf("updatedAt") };
  await db.query("delete from app_public.engagement_claims where claim_id = $1", [claimId]);
  await db.query("delete from app_public.commitments where commitment_id = $1", [commitmentId]);
  await db.query("delete from app_public.needs where need_id = $1", [needId]);
  const { changes } = await page({ after: start });
  expect(changes.map((change) => ({ ...change, cursor: undefined, item: undefined }))).toEqual([
    ...records.map(({ steps, ...record }, place) => ({
      ...record,
      needId,
      change: "created",
      changedAt: times.created[place],
      fromStatus: null,
      toStatus: steps[0],
    })),
    ...records.map(({ steps, ...record }, place) => ({
      ...record,
      needId,
      change: "updated",
      changedAt: times.updated[place],
      fromStatus: steps[0],
      toStatus: steps[1],
    })),
    ...records.toReversed().map(({ steps, ...record }) => ({
      ...record,
      needId,
      change: "deleted",
      changedAt: expect.any(String),
      fromStatus: steps[1],
      toStatus: null,
    })),
  ]);
});

test("a change that commits late is not passed over", async () => {
  const late = await db.connect();
  try {
    await late.query("begin");
    const slow = await insertNeed(late);
    const quick = await insertNeed(db);
    const first = await page({ after: start });
    expect(first.changes.map(({ id }) => id)).toEqual([quick]);
    await late.query("commit");
    const second = await page({ after: first.next });
    expect(second.changes.map(({ id }) => id)).toEqual([slow]);
  } finally {
    late.release(true);
  }
});

test("nobody gives places while somebody else does: a smaller one could be committed after a larger one was read", async () => {
  const [late, first, second] = [await db.connect(), await db.connect(), await db.connect()];
  try {
    await late.query("begin");
    await insertNeed(late);
    await insertNeed(db);
    await first.query("begin; select app_private.number_changes()");
    await late.query("commit");
    await second.query("set lock_timeout = '50ms'");
    // What it would number is not what the first has numbered.
    const numbered = () => second.query("select app_private.number_changes(1)::integer as numbered");
    await expect(numbered()).rejects.toMatchObject({ code: "55P03" });
    await first.query("commit");
    expect((await numbered()).rows).toEqual([{ numbered: 1 }]);
  } finally {
    for (const client of [late, first, second]) client.release(true);
  }
});

test("who begins the feed anew waits for whoever gives places, and a reader to whom nothing is new for nobody", async () => {
  const [keeper, other] = [await db.connect(), await db.connect()];
  try {
    await db.query("select app_private.number_changes()");
    await keeper.query("begin; select pg_advisory_xact_lock(hashtextextended('app_private.changes', 0))");
    await other.query("set lock_timeout = '50ms'");
    const { rows } = await other.query("select app_private.number_changes()::integer as numbered");
    expect(rows).toEqual([{ numbered: 0 }]);
    await expect(other.query("truncate app_public.engagement_claims cascade")).rejects.toMatchObject({
      code: "55P03",
    });
  } finally {
    for (const client of [keeper, other]) client.release(true);
  }
});

test("a page that takes long to be read holds up neither writers nor other readers", async () => {
  const slow = await db.connect();
  try {
    const first = await insertNeed(db);
    await slow.query("begin; set local role api_read");
    await slow.query("select app_private.change_page(null)");
    const second = await declareNeed();
    const { changes } = await page({ after: start });
    expect(changes.map(({ id }) => id)).toEqual([first, second]);
    await slow.query("commit");
  } finally {
    slow.release(true);
  }
});

test("a page says that there is more while changes wait for their places", async () => {
  const read = async () => {
    const { rows } = await db.query<{ page: Page }>("select app_private.change_page($1) as page", [start]);
    return rows[0]!.page;
  };
  expect(await read()).toMatchObject({ changes: [], hasMore: false });
  const id = await insertNeed(db);
  expect(await read()).toMatchObject({ changes: [], hasMore: true });
  await db.query("select app_private.number_changes()");
  expect(await read()).toMatchObject({ changes: [{ id }], hasMore: false });
});

test("as many get their places at a time as are asked for", async () => {
  await db.query("select app_private.number_changes()");
  for (let count = 0; count < 3; count++) await insertNeed(db);
  const numbered = [];
  for (let time = 0; time < 3; time++) {
    const { rows } = await db.query<{ numbered: number }>(
      "select app_private.number_changes(2)::integer as numbered",
    );
    numbered.push(rows[0]!.numbered);
  }
  expect(numbered).toEqual([2, 1, 0]);
});

test("what is rolled back is never told", async () => {
  const client = await db.connect();
  try {
    await client.query("begin");
    await insertNeed(client);
    await client.query("rollback");
    await client.query("begin; savepoint before");
    await insertNeed(client);
    await client.query("rollback to before");
    const kept = await insertNeed(client);
    await client.query("commit");
    expect((await page({ after: start })).changes.map(({ id }) => id)).toEqual([kept]);
  } finally {
    client.release(true);
  }
});

test("many writers and several readers: each reader has every change once, and all in the same order", async () => {
  const WRITERS = 4;
  const EACH = 25;
  const declared: string[] = [];
  let isWriting = true;
  const writing = Promise.all(
    Array.from({ length: WRITERS }, async () => {
      for (let n = 0; n < EACH; n++) {
        const needId = await declareNeed();
        declared.push(needId);
        if (n % 5 === 0) await post("/v0/needs/status", { needId, status: "met", actorEmail: contributor });
      }
    }),
  ).finally(() => (isWriting = false));
  const reader = async (limit: number) => {
    const read: Change[] = [];
    for (let after = start; ;) {
      const wasWriting = isWriting;
      const { changes, next, hasMore } = await page({ after, limit: String(limit) });
      read.push(...changes);
      after = next;
      if (!wasWriting && !hasMore) return read;
    }
  };
  const [few, many] = await Promise.all([reader(3), reader(50), writing]);
  expect(few.map(({ cursor }) => cursor)).toEqual(many.map(({ cursor }) => cursor));
  expect(
    few
      .filter(({ change }) => change === "created")
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(declared.toSorted());
  // Of one record its creation comes first.
  const seen = new Set<string>();
  for (const { id, change } of few) {
    if (change === "updated") expect(seen).toContain(id);
    seen.add(id);
  }
});

test("a statement that changes many records tells of each", async () => {
  await Promise.all([insertNeed(db), insertNeed(db)]);
  const between = (await page({ after: start })).next;
  const { rowCount } = await db.query(
    "update app_public.needs set status = 'withdrawn' where status <> 'withdrawn'",
  );
  expect((await page({ after: between, limit: "200" })).changes).toHaveLength(rowCount!);
});

test("goes on by Link, and says when there is no more", async () => {
  const ids = [await declareNeed(), await declareNeed(), await declareNeed()];
  let path = `/v0/changes?limit=2&kind=need&after=${start}`;
  const read: string[] = [];
  for (let pages = 1; pages <= 2; pages++) {
    const { body, headers } = await call(`${service.url}${path}`, "GET", service.keys.read);
    read.push(...(body as Page).changes.map(({ id }) => id));
    expect(body.hasMore).toBe(pages === 1);
    path = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1] ?? "";
    expect(path === "").toBe(pages === 2);
  }
  expect(read).toEqual(ids);
  // A page that is full with the last of them is the last one.
  const { body } = await call(`${service.url}/v0/changes?limit=3&after=${start}`, "GET", service.keys.read);
  expect([(body as Page).changes.length, body.hasMore]).toEqual([3, false]);
});

test("goes on by Link with the same filters", async () => {
  const needId = await declareNeed();
  await post("/v0/needs/status", { needId, status: "met", actorEmail: contributor });
  const filters = { limit: "1", kind: "need", orgUri: ORG, needId };
  const query = new URLSearchParams({ ...filters, after: start }).toString();
  const { body, headers } = await call(`${service.url}/v0/changes?${query}`, "GET", service.keys.read);
  const [, next] = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "") ?? [];
  const url = new URL(next!, service.url);
  expect([url.pathname, Object.fromEntries(url.searchParams)]).toEqual([
    "/v0/changes",
    { ...filters, after: body.next },
  ]);
});

test("is filtered by kind, organization, and the chain of a need", async () => {
  const needId = await declareNeed();
  const other = await declareNeed(OTHER_ORG, otherAdmin);
  const { commitmentId } = await post("/v0/commitments", {
    orgUri: OTHER_ORG,
    orgName: "Harbor Trust",
    declaredByEmail: otherAdmin,
    commitmentDescription: "We record them",
    acceleratorScope: ["PRA-INT"],
    concernsNeedId: needId,
  });
  const { claimId } = await post("/v0/engagement-claims/submit", {
    orgUri: ORG,
    orgName: "River Mission",
    claimedByEmail: contributor,
    engagementAccelerators: ["PRA"],
    fulfillsCommitmentId: commitmentId,
  });
  const ids = async (filter: Record<string, string>) =>
    (await page({ after: start, ...filter })).changes.map(({ id }) => id);
  expect(await ids({})).toEqual([needId, other, commitmentId, claimId]);
  expect(await ids({ kind: "commitment" })).toEqual([commitmentId]);
  expect(await ids({ orgUri: ORG })).toEqual([needId, claimId]);
  expect(await ids({ needId })).toEqual([needId, commitmentId, claimId]);
  expect(await ids({ needId: other, kind: "commitment" })).toEqual([]);
  // A position belongs to the feed, and not to what was asked for: nothing is told again when filters are dropped.
  const { next } = await page({ after: start, kind: "commitment" });
  expect((await page({ after: next })).changes).toEqual([]);
});

test("a filter looks at so many changes at a time, and a page of few says that there is more", async () => {
  await db.query(
    `insert into app_private.changes (kind, record_id, change, org_uri)
     select 'need', gen_random_uuid(), 'created', '${OTHER_ORG}' from generate_series(1, 10500)`,
  );
  const needId = await declareNeed();
  await db.query("select app_private.number_changes(20000)");
  const first = await page({ after: start, orgUri: ORG });
  expect(first).toMatchObject({ changes: [], hasMore: true });
  const second = await page({ after: first.next, orgUri: ORG });
  expect(second).toMatchObject({ changes: [{ id: needId }], hasMore: false });
});

describe("refuses", () => {
  test.each([
    ["after", "yesterday"],
    ["after", "12"],
    ["after", "1-2; drop"],
    ["after", "99999999999999999999-1"],
    ["after", "9999999999999999999-1"],
    ["after", "1-9999999999999999999"],
    ["kind", "organization_claim"],
    ["limit", "201"],
    ["needId", "42"],
  ])("%s=%s", async (name, value) => {
    expect(await request({ [name]: value })).toMatchObject({
      status: 400,
      body: { error: "validation_failed", details: [{ path: name }] },
    });
  });

  test("a position that was never given out, or by another history of the database", async () => {
    const [position] = start.split("-");
    for (const after of [`${position}-1`, "999999999-1772443800000000", "0-0"]) {
      expect(await request({ after })).toMatchObject({ status: 410, body: { error: "changes_expired" } });
    }
    // In another history the same place may have been given a moment later.
    const move = (by: string) =>
      db.query(
        "update app_private.changes set numbered_at = numbered_at + $1::interval where position = $2",
        [...[by, position]],
      );
    await move("1 microsecond");
    const moved = await request({ after: start });
    await move("-1 microsecond");
    expect(moved).toMatchObject({ status: 410, body: { error: "changes_expired" } });
    expect(await request({ after: start })).toMatchObject({ status: 200 });
  });

  test("callers without a key", async () => {
    expect(await call(`${service.url}/v0/changes`, "GET", undefined)).toMatchObject({ status: 401 });
  });
});

describe("what is kept", () => {
  const age = (days: number, after: string) =>
    db.query(
      `update app_private.changes set numbered_at = now() - make_interval(days => $1) where position <= $2`,
      [days, after.split("-")[0]],
    );
  const tend = () => tendChanges.create({ pool: db } as TaskContext)({}, undefined as never) as Promise<void>;

  test("ends with what was followed by something long ago: who is up to date stays so", async () => {
    await declareNeed();
    await declareNeed();
    const [beforeLast] = (await page({ after: start })).changes.map(({ cursor }) => cursor);
    await age(31, (await page({ after: "now" })).next);
    const { next: last } = await page({ after: "now" });
    await tend();
    expect(await request({ after: beforeLast! })).toMatchObject({
      status: 410,
      body: { error: "changes_expired" },
    });
    const needId = await declareNeed();
    await tend();
    expect((await page({ after: last })).changes.map(({ id }) => id)).toEqual([needId]);
    expect((await page()).changes.map(({ cursor }) => cursor)).toEqual([last, expect.any(String)]);
  });

  test("is as many days old as the operator has set", async () => {
    const needs = [await declareNeed(), await declareNeed()];
    await age(29, (await page({ after: "now" })).next);
    const left = async () => {
      await tend();
      const { rows } = await db.query("select from app_private.changes where record_id = any ($1)", [needs]);
      return rows.length;
    };
    const keep = (days: number) =>
      db.query(
        "update app_private.settings set value = to_jsonb($1::integer) where name = 'changes_kept_days'",
        [days],
      );
    expect(await left()).toBe(2);
    await keep(28);
    try {
      // The last is what whoever is up to date goes on from.
      expect(await left()).toBe(1);
    } finally {
      await keep(30);
    }
  });

  test("is forgotten as many at a time as is asked for, down to the last", async () => {
    for (let count = 0; count < 3; count++) await declareNeed();
    const { next: last } = await page({ after: "now" });
    await age(31, last);
    const forget = async (most: number) => {
      const { rows } = await db.query<{ forgotten: number }>(
        "select app_private.forget_changes($1)::integer as forgotten",
        [most],
      );
      return rows[0]!.forgotten;
    };
    expect([await forget(1), await forget(2)]).toEqual([1, 2]);
    while ((await forget(1000)) > 0);
    const [left, ...others] = (await page()).changes;
    expect([left!.cursor.split("-")[0], others]).toEqual([last.split("-")[0], []]);
  });

  test("is numbered by the worker too", async () => {
    await declareNeed();
    const waiting = "select count(*)::integer as waiting from app_private.changes where position is null";
    expect((await db.query(waiting)).rows[0]).toEqual({ waiting: 1 });
    await tend();
    expect((await db.query(waiting)).rows[0]).toEqual({ waiting: 0 });
  });

  test("begins anew where a table is emptied", async () => {
    await declareNeed();
    await db.query("truncate app_public.engagement_claims cascade");
    expect(await request({ after: start })).toMatchObject({ status: 410 });
    const { changes, next } = await page();
    expect(changes).toEqual([]);
    const needId = await declareNeed();
    expect((await page({ after: next })).changes).toMatchObject([{ id: needId }]);
  });
});

describe("of organization claims", () => {
  const claims = async (adminEmail: string, key = service.keys.review, after = start) =>
    call(`${service.url}/v0/admin/claims/changes?after=${after}`, "GET", key, undefined, {
      "x-admin-email": adminEmail,
    });
  const claim = (organization: { uri: string; name: string }, userEmail: string) =>
    post("/v0/onboarding/claim-org", {
      userEmail,
      firstName: "Ana",
      lastName: "Silva",
      roles: [],
      orgName: organization.name,
      isNewOrg: false,
      orgUri: organization.uri,
    });

  const now = async () => (await page({ after: "now" })).next;
  /** Whose boss has reviewed its claims since before the feed is looked into. */
  const withBoss = async () => {
    const organization = await addOrganization(db, { boss: "org_admin" });
    start = await now();
    return organization;
  };

  test("a reviewer sees those that they review, and readers none", async () => {
    const organization = await withBoss();
    const boss = `boss@${organization.domain}`;
    const { claimId } = await claim(organization, "ana@elsewhere.example");
    await claim({ uri: ORG, name: "River Mission" }, "ben@elsewhere.example");
    const pending = await claims(boss);
    const steps = (pending.body as Page).changes.map(({ id, toStatus }) => [id, toStatus]);
    expect(new Set(steps.map(String))).toEqual(new Set([`${claimId},pending`]));
    await post(
      "/v0/admin/claims/review",
      { claimId, action: "approve", adminEmail: boss },
      service.keys.review,
    );
    const { body: decided } = await claims(boss, service.keys.review, (pending.body as Page).next);
    const { body: listed } = await call(
      `${service.url}/v0/admin/claims`,
      "GET",
      service.keys.review,
      undefined,
      { "x-admin-email": boss },
    );
    // What is like the organization is in the list alone.
    const { similar_organizations: _, ...item } = listed.claims[0];
    expect((decided as Page).changes.at(-1)).toMatchObject({ change: "updated", toStatus: "approved", item });
    // When a claim was decided is not when it was made.
    const times = [pending.body, decided].map((body) => Date.parse((body as Page).changes.at(-1)!.changedAt));
    expect(times[1]).toBeGreaterThan(times[0]!);
    const all = (await claims(platformAdmin)).body as Page;
    expect(new Set(all.changes.map(({ orgUri }) => orgUri))).toEqual(new Set([ORG, organization.uri]));
    // Nor do they wait for what they may not see.
    const none = await page({ after: start });
    expect(none).toMatchObject({ changes: [], hasMore: false });
    expect(none.next).toBe(all.next);

    const bounded = await issueTestKey(db, "api_review", { organizations: [ORG] });
    const within = (await claims(platformAdmin, bounded)).body as Page;
    expect(new Set(within.changes.map(({ orgUri }) => orgUri))).toEqual(new Set([ORG]));
  });

  test("go on by Link, as many at a time", async () => {
    const organization = await addOrganization(db);
    for (const name of ["eva", "finn", "gil"]) await claim(organization, `${name}@elsewhere.example`);
    const { body, headers } = await call(
      `${service.url}/v0/admin/claims/changes?after=${start}&limit=2`,
      "GET",
      service.keys.review,
      undefined,
      { "x-admin-email": platformAdmin },
    );
    const [, next] = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "") ?? [];
    const url = new URL(next!, service.url);
    expect([url.pathname, Object.fromEntries(url.searchParams)]).toEqual([
      "/v0/admin/claims/changes",
      { limit: "2", after: (body as Page).next },
    ]);
  });

  test("are told to who has passed over many changes that are none of theirs", async () => {
    await db.query(
      `insert into app_private.changes (kind, record_id, change, org_uri)
       select 'need', gen_random_uuid(), 'created', '${OTHER_ORG}' from generate_series(1, 10500)`,
    );
    const { claimId } = await claim(await addOrganization(db), "hana@elsewhere.example");
    await db.query("select app_private.number_changes(20000)");
    const first = (await claims(platformAdmin)).body as Page;
    expect(first).toMatchObject({ changes: [], hasMore: true });
    const second = (await claims(platformAdmin, service.keys.review, first.next)).body as Page;
    expect(new Set(second.changes.map(({ id }) => id))).toEqual(new Set([claimId]));
  });

  test("that went to the platform are told to the platform, and not to the organization", async () => {
    const organization = await addOrganization(db);
    const boss = `boss@${organization.domain}`;
    const { claimId: early } = await claim(organization, "cleo@elsewhere.example");
    await db.query("select app_private.add_member($1, $2, 'org_admin')", [organization.uri, boss]);
    const since = await now();
    const { claimId: late } = await claim(organization, "dan@elsewhere.example");
    await db.query("update app_public.organization_claims set org_name = 'Lake' where claim_id = any ($1)", [
      [early, late],
    ]);
    const told = async (who: string, after: string) =>
      new Set(((await claims(who, service.keys.review, after)).body as Page).changes.map(({ id }) => id));
    expect(await told(boss, since)).toEqual(new Set([late]));
    expect(await told(platformAdmin, start)).toEqual(new Set([early, late]));
  });

  test("that were deleted are told to the platform, and no longer to the organization; saved as they were, to nobody", async () => {
    const organization = await withBoss();
    const { claimId } = await claim(organization, "ida@elsewhere.example");
    // Saved as it was, it has not changed.
    await db.query("update app_public.organization_claims set org_name = org_name where claim_id = $1", [
      claimId,
    ]);
    await db.query("delete from app_public.organization_claims where claim_id = $1", [claimId]);
    const told = async (who: string) =>
      ((await claims(who)).body as Page).changes.map(
        ({ id, change, fromStatus, toStatus, orgUri, needId }) => [
          id,
          change,
          fromStatus,
          toStatus,
          orgUri,
          needId,
        ],
      );
    const all = await told(platformAdmin);
    const common = [organization.uri, null];
    expect(all).toEqual([
      [claimId, "created", null, "pending", ...common],
      // It was sent to the organization.
      [claimId, "updated", "pending", "pending", ...common],
      [claimId, "deleted", "pending", null, ...common],
    ]);
    expect(await told(`boss@${organization.domain}`)).toEqual([]);
  });

  test("are told again, with what happened before, when somebody comes to review them", async () => {
    const [own, other] = [await addOrganization(db, { boss: "org_admin" }), await addOrganization(db)];
    const boss = `boss@${own.domain}`;
    const head = `head@${other.domain}`;
    // To the platform, which the organization's reviewers are not told of.
    const { claimId: early } = await claim(other, "jo@elsewhere.example");
    await db.query("select app_private.add_member($1, $2, 'org_admin')", [other.uri, head]);
    const { claimId: late } = await claim(other, "kim@elsewhere.example");
    const { claimId: elsewhere } = await claim(own, "kim@elsewhere.example");
    const read = { [boss]: await now(), [head]: await now() };
    const told = async (who = boss) => {
      const { changes, next } = (await claims(who, service.keys.review, read[who])).body as Page;
      read[who] = next;
      return changes.map(({ id, change, fromStatus, toStatus, orgUri, needId }) => [
        ...[id, change, fromStatus, toStatus, orgUri, needId],
      ]);
    };
    const again = (id: string | undefined) => [id, "updated", "pending", "pending", other.uri, null];
    await db.query("select app_private.add_member($1, $2, 'org_contributor')", [other.uri, boss]);
    expect([await told(), await told(head)]).toEqual([[], []]);
    const change = (body: object, what: string) =>
      post(
        `/v0/orgs/members/${what}`,
        { orgUri: other.uri, userEmail: boss, adminEmail: head, ...body },
        service.keys.review,
      );
    await change({ role: "org_admin" }, "role");
    expect([await told(), await told(head)]).toEqual([[again(late)], [again(late)]]);
    // Losing a right is nothing to read again, for others either; what is missed then comes with the right.
    await change({ status: "suspended" }, "status");
    expect([await told(), await told(head)]).toEqual([[], []]);
    await db.query("update app_public.organization_claims set org_name = 'Lake' where claim_id = $1", [late]);
    expect(await told()).toEqual([]);
    await change({ status: "active" }, "status");
    expect(await told()).toEqual([again(late)]);
    await db.query(
      "insert into app_public.platform_roles (user_id, role) select user_id, 'support' from app_public.users where email = $1",
      [boss],
    );
    const all = await told();
    // A second such role gives no right that was not there.
    await db.query(
      "insert into app_public.platform_roles (user_id, role) select user_id, 'admin' from app_public.users where email = $1",
      [boss],
    );
    expect(await told()).toEqual([]);
    expect(all.map(([id]) => id)).toEqual(expect.arrayContaining([early, late, elsewhere]));
    expect(new Set(all.map(([id]) => id)).size).toBe(all.length);
    // Nor is any of it a change of records.
    expect((await page({ after: start })).changes).toEqual([]);
  });

  test("that are being written while somebody comes to review for the platform are told to them", async () => {
    const boss = `boss@${(await addOrganization(db, { boss: "org_admin" })).domain}`;
    const [writing, granting] = [await db.connect(), await db.connect()];
    const other = await addOrganization(db);
    try {
      await granting.query("begin");
      await writing.query("begin");
      const { rows } = await writing.query<{ id: string }>(
        `insert into app_public.organization_claims (user_id, org_uri, org_name, is_new_org, email_domain, domain_match, email_verified)
         select user_id, $1, 'Lake', false, 'elsewhere.example', false, true from app_public.users where email = $2 returning claim_id as id`,
        [other.uri, boss],
      );
      const given = granting.query(
        "insert into app_public.platform_roles (user_id, role) select user_id, 'support' from app_public.users where email = $1",
        [boss],
      );
      const state = { isGiven: false };
      void given.then(() => (state.isGiven = true));
      const waiting = "select from pg_locks where not granted and mode = 'ShareRowExclusiveLock'";
      while (!state.isGiven && (await db.query(waiting)).rowCount === 0);
      await writing.query("commit");
      await given;
      // As who has read up to here has passed the claim, without the right to it.
      const after = await now();
      await granting.query("commit");
      const { changes } = (await claims(boss, service.keys.review, after)).body as Page;
      expect(changes.map(({ id }) => id)).toContain(rows[0]!.id);
    } finally {
      writing.release();
      granting.release();
    }
  });

  test("are told by the rights that somebody has at the moment to which the page belongs", async () => {
    const { rows } = await db.query(
      "select provolatile as volatility from pg_proc where oid = 'app_private.claim_change_page'::regproc",
    );
    // Rights from one moment and a page from a later one would pass over what was told again in between.
    expect(rows).toEqual([{ volatility: "s" }]);
  });

  test("that name a person are told anew when the person is called otherwise, as who was erased is", async () => {
    const organization = await addOrganization(db, { boss: "org_admin" });
    const { claimId } = await claim(organization, "lea@elsewhere.example");
    const boss = `boss@${organization.domain}`;
    await post(
      "/v0/admin/claims/review",
      { claimId, action: "approve", adminEmail: boss },
      service.keys.review,
    );
    const told = async (change: string, values: unknown[]) => {
      const { next } = (await claims(platformAdmin, service.keys.review, "now")).body as Page;
      await db.query(change, values);
      const { changes } = (await claims(platformAdmin, service.keys.review, next)).body as Page;
      return changes.map(({ id, change: kind, fromStatus, toStatus, orgUri }) => [
        ...[id, kind, fromStatus, toStatus, orgUri],
      ]);
    };
    const once = [[claimId, "updated", "approved", "approved", organization.uri]];
    for (const who of ["lea@elsewhere.example", boss]) {
      for (const column of ["email", "first_name", "last_name"]) {
        const change = `update app_public.users set ${column} = $1 where email = $2`;
        expect(await told(change, [`${column}@elsewhere.example`, who])).toEqual(once);
        if (column === "email") await db.query(change, [who, `${column}@elsewhere.example`]);
      }
    }
    const step = "update app_public.organization_claim_history set changed_by_email = $1 where claim_id = $2";
    expect(await told(step, ["gone@elsewhere.example", claimId])).toEqual(once);
    // Saved as it was, it has not changed.
    expect(await told(step, ["gone@elsewhere.example", claimId])).toEqual([]);
    expect(await told("update app_public.users set email = email where email = $1", [boss])).toEqual([]);
  });

  test("refuses who reviews none, and keys that may not", async () => {
    expect(await claims(stranger)).toMatchObject({ status: 403, body: { error: "permission_required" } });
    expect(await claims(member)).toMatchObject({ status: 403, body: { error: "permission_required" } });
    expect(await claims(platformAdmin, service.keys.write)).toMatchObject({
      status: 403,
      body: { error: "insufficient_scope" },
    });
    expect(await claims("nobody")).toMatchObject({ status: 400 });
  });

  test("a person is told what they may see themself, and of nobody else's", async () => {
    const client = await db.connect();
    try {
      await client.query("begin; set local role api_person");
      const person = JSON.stringify({ id: "x", issuer: "i", subject: "s", email: stranger });
      await client.query("select set_config('app.person', $1, true)", [person]);
      await expect(
        client.query("select app_private.claim_change_page($1)", [platformAdmin]),
      ).rejects.toMatchObject({ code: "PT403", detail: "not_your_identity" });
    } finally {
      client.release(true);
    }
  });
});
