// Subscriptions: each committed change once and in order, to those who may be told, over both transports.
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type pg from "pg";
import { WebSocket } from "ws";
import { LIVE_BOUNDS } from "../server/live/feed.ts";
import { commitment } from "../records/commitment.ts";
import { engagementClaim } from "../records/engagement-claim.ts";
import { need } from "../records/need.ts";
import { fieldsOf } from "../records/record.ts";
import type { RecordDescription } from "../records/record.ts";
import { issueTestKey, keyIdOf } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { addOrganization, addPlatformPeople, platformAdmin } from "./support/membership.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { overServerSentEvents, overWebSocket } from "./support/subscriber.ts";
import type { Subscribe, TestSubscriber } from "./support/subscriber.ts";
import { Visitor } from "./support/visitor.ts";
import { contributor, ORG, OTHER_ORG } from "./support/world.ts";

let service: TestService;
let db: pg.Pool;
beforeAll(async () => {
  service = await startTestService();
  db = service.database.owner;
  await addPlatformPeople(db);
});
afterAll(() => service.stop());

const open: TestSubscriber[] = [];
afterEach(() => {
  for (const subscriber of open.splice(0)) subscriber.stop();
});

const CHANGES = `subscription ($orgUri: String, $needId: UUID, $after: String) {
  changes(orgUri: $orgUri, needId: $needId, after: $after) {
    cursor kind id change fromStatus toStatus orgUri needId changedAt item } }`;

const EVENTS = { accept: "text/event-stream, */*" };

const subscriptionOf = (aliases: number) =>
  `subscription { changes { ${Array.from({ length: aliases }, (_, n) => `a${n}: cursor`).join(" ")} } }`;

const now = async (): Promise<string> =>
  (await call(`${service.url}/v0/changes?after=now`, "GET", service.keys.read)).body.next;

/** Adds a need, and whatever it is told to say. */
async function insertNeed(
  client: pg.ClientBase | pg.Pool = db,
  description = "Wells",
  org = ORG,
): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     values ($1, 'River Mission', '${contributor}', $2, '{PRA}') returning need_id as id`,
    [org, description],
  );
  return rows[0]!.id;
}

const changesOf = ({ events }: TestSubscriber) => events.map(({ data }) => data?.["changes"] ?? {});
const idsOf = (subscriber: TestSubscriber) => changesOf(subscriber).map(({ id }) => id);

describe.each([
  ["WebSocket", overWebSocket],
  ["server-sent events", overServerSentEvents],
])("over %s", (_, subscribe: Subscribe) => {
  const listen = (
    variables: Record<string, unknown> = {},
    query: Parameters<Subscribe>[2] = CHANGES,
    key = service.keys.read,
  ) => {
    const subscriber = subscribe(service.url, key, query, variables);
    open.push(subscriber);
    return subscriber;
  };

  test("an event has the change, its cursor, and the record", async () => {
    const subscriber = listen({ after: await now() });
    const needId = await insertNeed();
    await eventually(() => expect(subscriber.events).toHaveLength(1));
    const { body } = await call(`${service.url}/v0/changes?needId=${needId}`, "GET", service.keys.read);
    expect(subscriber.events).toEqual([{ data: { changes: body.changes[0] } }]);
  });

  test("an event has the record under its kind, with each field that its list has but for those of the graph", async () => {
    const after = await now();
    const needId = await insertNeed();
    const { rows } = await db.query<{ id: string }>(
      `insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope,
         target_completion_date, concerns_need_id)
       values ('${ORG}', 'River Mission', '${contributor}', 'Wells', '{PRA}', '2030-02-28', $1) returning commitment_id as id`,
      [needId],
    );
    await db.query(
      `insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators, country_code,
         fulfills_commitment_id)
       values ('${ORG}', 'River Mission', '${contributor}', '{PRA}', 'NE', $1)`,
      [rows[0]!.id],
    );
    const fields = (record: RecordDescription) =>
      fieldsOf(record)
        .map(({ name }) => name)
        .join(" ");
    const query = `subscription ($after: String) { changes(after: $after) { item
      need { ${fields(need)} } commitment { ${fields(commitment)} } engagementClaim { ${fields(engagementClaim)} } } }`;
    const subscriber = listen({ after }, query);
    await eventually(() => expect(subscriber.events).toHaveLength(3));
    const [first, second, third] = changesOf(subscriber).map(({ item, ...contents }) => {
      const { graphStatus: _status, graphErrors: _errors, ...shown } = item as Record<string, unknown>;
      return [contents, shown];
    });
    const none = { need: null, commitment: null, engagementClaim: null };
    expect(first![0]).toEqual({ ...none, need: first![1] });
    expect(second![0]).toEqual({ ...none, commitment: second![1] });
    expect(third![0]).toEqual({ ...none, engagementClaim: third![1] });
    expect([first![1], second![1], third![1]]).toMatchObject([
      { needId, status: "open" },
      { concernsNeedId: needId, targetCompletionDate: "2030-02-28" },
      { countryCode: "NE", engagementAccelerators: ["PRA"] },
    ]);
    // In one transaction, so that nobody sees it in between.
    const client = await db.connect();
    try {
      await client.query("begin");
      await client.query("delete from app_public.needs where need_id = $1", [await insertNeed(client)]);
      await client.query("commit");
    } finally {
      client.release();
    }
    await eventually(() =>
      expect(changesOf(subscriber).slice(3)).toEqual(
        Array.from({ length: 2 }, () => ({ ...none, item: null })),
      ),
    );
  });

  test("what several fragments ask for under one name, as clients that compose them do", async () => {
    const query = `subscription ($after: String) { changes(after: $after) { __typename ...a ...b } }
      fragment a on Change { __typename id } fragment b on Change { __typename id item }`;
    const subscriber = listen({ after: await now() }, query);
    const id = await insertNeed();
    await eventually(() => expect(changesOf(subscriber)).toMatchObject([{ id, __typename: "Change" }]));
  });

  test("of several subscriptions in a text the one that is named", async () => {
    const after = await now();
    const query = `subscription All($after: String) { changes(after: $after) { kind } }
      subscription Places($after: String) { changes(after: $after) { cursor } }`;
    const subscriber = listen({ after }, { query, operationName: "Places" });
    await insertNeed();
    await eventually(() => expect(subscriber.events).toHaveLength(1));
    expect(subscriber.events).toEqual([{ data: { changes: { cursor: expect.any(String) } } }]);
  });

  test("without a cursor: what changes from now on", async () => {
    await insertNeed();
    const subscriber = listen();
    await eventually(async () => {
      await insertNeed();
      expect(subscriber.events.length).toBeGreaterThan(2);
    });
    const seen = idsOf(subscriber);
    expect(new Set(seen).size).toBe(seen.length);
  });

  test("what is null as what is left out", async () => {
    const after = await now();
    const id = await insertNeed();
    const subscriber = listen({ orgUri: null, needId: null, after });
    await eventually(() => expect(idsOf(subscriber)).toEqual([id]), 20_000);
  });

  test("concurrent writers, one that commits late, one that rolls back", async () => {
    const after = await now();
    const subscriber = listen({ after });
    const [late, never] = await Promise.all([db.connect(), db.connect()]);
    try {
      await Promise.all([late.query("begin"), never.query("begin")]);
      const slow = await insertNeed(late);
      await insertNeed(never);
      const quick = await Promise.all(Array.from({ length: 20 }, () => insertNeed()));
      await eventually(() => expect(new Set(idsOf(subscriber))).toEqual(new Set(quick)));
      await Promise.all([late.query("commit"), never.query("rollback")]);
      await eventually(() => expect(idsOf(subscriber).at(-1)).toBe(slow));
      const { body } = await call(`${service.url}/v0/changes?after=${after}`, "GET", service.keys.read);
      expect(changesOf(subscriber).map(({ cursor }) => cursor)).toEqual(
        body.changes.map((change: { cursor: string }) => change.cursor),
      );
    } finally {
      late.release(true);
      never.release(true);
    }
  });

  test("connections that are lost again and again: resumed, nothing is missing or told twice", async () => {
    let after = await now();
    const written: string[] = [];
    const state = { isWriting: true };
    const writing = (async () => {
      for (let n = 0; n < 120; n++) written.push(await insertNeed());
      state.isWriting = false;
    })();
    const read: unknown[] = [];
    for (let lost = 0; state.isWriting || read.length < written.length; lost++) {
      const subscriber = listen({ after });
      await eventually(() => {
        const enough = state.isWriting ? 1 + (lost % 5) : written.length - read.length;
        expect(subscriber.events.length).toBeGreaterThanOrEqual(enough);
      });
      subscriber.stop();
      const told = changesOf(subscriber);
      read.push(...told.map(({ id }) => id));
      after = (told.at(-1)?.["cursor"] as string | undefined) ?? after;
    }
    await writing;
    expect(read).toEqual(written);
  });

  test("of an organization, and of the chain of a need", async () => {
    const needId = await insertNeed();
    const after = await now();
    const [ofOrg, ofNeed] = [listen({ after, orgUri: OTHER_ORG }), listen({ after, needId })];
    await insertNeed();
    const other = await insertNeed(db, "Wells", OTHER_ORG);
    const { rows } = await db.query<{ id: string }>(
      `insert into app_public.commitments
         (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id)
       values ('${ORG}', 'River', '${contributor}', 'We do', '{PRA}', $1) returning commitment_id as id`,
      [needId],
    );
    await eventually(() => expect([idsOf(ofOrg), idsOf(ofNeed)]).toEqual([[other], [rows[0]!.id]]));
  });

  test("claims to review, to those who review them, until they may not any more", async () => {
    const organization = await addOrganization(db, { boss: "org_admin", deputy: "org_admin" });
    const query = `subscription ($adminEmail: String, $after: String) {
      claimsToReview(adminEmail: $adminEmail, after: $after) { id toStatus item } }`;
    const after = await now();
    const adminEmail = `boss@${organization.domain}`;
    const [boss, all, none, nobody] = [adminEmail, platformAdmin, contributor, undefined].map((email) =>
      listen({ adminEmail: email, after }, query, service.keys.review),
    );
    const claim = (userEmail: string) =>
      call(`${service.url}/v0/onboarding/claim-org`, "POST", service.keys.write, {
        ...{ userEmail, firstName: "Ana", lastName: "Silva", roles: [], isNewOrg: false },
        ...{ orgName: organization.name, orgUri: organization.uri },
      });
    const { body } = await claim("ana@elsewhere.example");
    // That it was made, and that it was sent to the organization.
    const step = { data: { claimsToReview: { id: body.claimId, toStatus: "pending" } } };
    await eventually(() => {
      expect(boss!.events).toMatchObject([step, step]);
      expect(all!.events.slice(-2)).toMatchObject([step, step]);
      expect(none!.events).toMatchObject([{ errors: [{ extensions: { code: "permission_required" } }] }]);
      expect(nobody!.events).toMatchObject([
        { errors: [{ extensions: { code: "validation_failed", details: [{ path: "adminEmail" }] } }] },
      ]);
    });
    await db.query(
      `update app_public.memberships set status = 'suspended'
       where user_id = (select user_id from app_public.users where email = $1)`,
      [adminEmail],
    );
    await claim("ben@elsewhere.example");
    await eventually(() => expect(boss!.ended()).toBeDefined());
    expect(boss!.events.filter(({ data }) => data)).toHaveLength(2);
  });

  test("a key that is revoked is told nothing more", async () => {
    const key = await issueTestKey(db, "api_read");
    const subscriber = listen({ after: await now() }, CHANGES, key);
    await insertNeed();
    await eventually(() => expect(subscriber.events).toHaveLength(1));
    await db.query("update app_private.api_keys set revoked_at = now() where key_id = $1", [
      await keyIdOf(db, key),
    ]);
    await eventually(async () => {
      expect(await call(`${service.url}/v0/accelerators`, "GET", key)).toMatchObject({ status: 401 });
    });
    await insertNeed();
    await eventually(() => expect(subscriber.ended()).toBeDefined());
    expect(subscriber.events).toHaveLength(1);
    if (subscribe === overWebSocket)
      expect(subscriber.ended()).toMatchObject({ code: 4419, reason: "invalid_api_key" });
  });

  test.each([
    ["a cursor that is gone", CHANGES, { after: "1-1" }, "changes_expired"],
    ["a cursor that is none", CHANGES, { after: "yesterday" }, "validation_failed"],
    ["a query", "{ accelerators { nodes { code } } }", {}, "validation_failed"],
    ["more names than a request may have", subscriptionOf(51), {}, "validation_failed"],
    ["what there is not", "subscription { x }", {}, "validation_failed"],
    ["the same twice", "subscription { changes { again: id id } }", {}, "validation_failed"],
    [
      "the same twice in fragments",
      "subscription { changes { ...a ... on Change { again: item } } } fragment a on Change { item }",
      {},
      "validation_failed",
    ],
    ...[
      "changes @skip(if: true) { cursor }",
      "... @include(if: true) { changes { cursor } }",
      "... on Subscription { changes @include(if: true) { cursor } }",
      "...a",
    ].map((text): [string, string, Record<string, unknown>, string] => [
      `a condition (${text})`,
      `subscription { ${text} } ${text === "...a" ? "fragment a on Subscription { changes @include(if: true) { cursor } }" : ""}`,
      {},
      "validation_failed",
    ]),
  ])("refuses %s", async (_name, query, variables, code) => {
    const subscriber = listen(variables, query);
    await eventually(() => expect(subscriber.ended()).toBeDefined(), 20_000);
    expect({ events: subscriber.events, ended: subscriber.ended() }).toMatchObject({
      events: [{ errors: [{ extensions: { code } }] }],
    });
  });

  test.each(["at the start", "on demand"] as const)(
    "ends when the server does, built %s",
    async (graphql) => {
      const server = await startAnotherServer(service, {}, { graphql });
      const subscriber = subscribe(server.url, service.keys.read, CHANGES, { after: await now() });
      open.push(subscriber);
      await insertNeed();
      await eventually(() => expect(subscriber.events).toHaveLength(1));
      await server.stop();
      await eventually(() => expect(subscriber.ended()).toBeDefined());
      if (subscribe === overWebSocket) expect(subscriber.ended()).toMatchObject({ code: 1001 });
    },
  );
});

test.each(["WebSocket", "server-sent events"])(
  "over %s: who does not read is cut off, whatever the server has to tell, and keeps nobody waiting",
  async (transport) => {
    const key = await issueTestKey(db, "api_read");
    const after = await now();
    let isOver = false;
    let isPaused = true;
    let resume: () => void;
    let events = 0;
    if (transport === "WebSocket") {
      const socket = await connected(key);
      socket.on("message", (data) => {
        events += (data as Buffer).length > 1_000 ? 1 : 0;
        if (isPaused) socket.pause();
      });
      socket.once("close", () => (isOver = true));
      subscribed(socket, { query: CHANGES, variables: { after } });
      resume = () => {
        isPaused = false;
        socket.resume();
      };
    } else {
      const { hostname, port } = new URL(service.url);
      const asked = request({
        ...{ hostname, port, path: "/graphql/stream", method: "POST" },
        headers: {
          ...{ authorization: `Bearer ${key}`, "content-type": "application/json" },
          accept: "text/event-stream, */*",
        },
      });
      asked.on("error", () => (isOver = true));
      asked.end(JSON.stringify({ query: CHANGES, variables: { after } }));
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      expect(answer.statusCode).toBe(200);
      answer.on("error", () => (isOver = true));
      answer.once("close", () => (isOver = true));
      resume = () => answer.on("data", () => (events += 1));
    }
    const quick = overWebSocket(service.url, service.keys.read, CHANGES, { after });
    open.push(quick);
    // What the sockets on both sides hold, and five million bytes more.
    const count = 4_200;
    for (let written = 300; written <= count; written += 300) {
      await db.query(
        `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
         select $1, 'River Mission', '${contributor}', repeat('x', 9990) || i, '{PRA}' from generate_series(1, 300) as i`,
        [ORG],
      );
      await eventually(() => expect(quick.events).toHaveLength(written));
    }
    resume();
    await eventually(() => expect(isOver).toBe(true));
    expect(events).toBeLessThan(count);
  },
);

test("1,000 subscribers are told of each change, and it is read for all of them at once", async () => {
  const key = await issueTestKey(db, "api_read");
  const sockets = await connectedTimes(LIVE_BOUNDS.subscriptions.ofKey, key);
  try {
    const after = await now();
    const told = sockets.map((socket) => {
      const ids: unknown[] = [];
      socket.on("message", (data) => {
        const { type, payload } = JSON.parse((data as Buffer).toString());
        if (type === "next") ids.push(payload.data?.changes.id ?? payload);
      });
      subscribed(socket, { query: CHANGES, variables: { after } });
      return ids;
    });
    const first = await insertNeed();
    await eventually(() => expect(told.every(([id]) => id === first)).toBe(true));
    const written = [];
    for (let n = 0; n < 5; n++) written.push(await insertNeed());
    await eventually(() => expect(told.every((ids) => ids.length === 6)).toBe(true));
    for (const ids of told) expect(ids).toEqual([first, ...written]);

    const [socket] = sockets;
    const refused = once(socket!, "message").then(([data]) => JSON.parse((data as Buffer).toString()));
    socket!.send(JSON.stringify({ id: "2", type: "subscribe", payload: { query: CHANGES } }));
    const rateLimited = { errors: [{ extensions: { code: "rate_limited" } }] };
    expect(await refused).toMatchObject({ id: "2", type: "next", payload: rateLimited });
    const oneMore = await call(`${service.url}/graphql/stream`, "POST", key, { query: CHANGES }, EVENTS);
    expect(oneMore).toMatchObject({ status: 429, body: rateLimited });
  } finally {
    for (const socket of sockets) socket.terminate();
  }
});

test("of 600 connections, each of which has the database asked, none is cut before its session is over", async () => {
  await db.query("update app_private.settings set value = '1000' where name like 'sign_in%'");
  const sockets: WebSocket[] = [];
  for (let n = 0; n < 12; n++) {
    const visitor = await new Visitor(service).signIn(`many-${n}@river.example`);
    // Of more at once of one person a busy machine tells some to come back.
    for (let some = 0; some < 5; some++) {
      sockets.push(...(await Promise.all(Array.from({ length: 10 }, () => connected(visitor)))));
    }
  }
  try {
    const after = await now();
    const told = sockets.map((socket) => {
      const ids: unknown[] = [];
      socket.on("message", (data: Buffer) => {
        const { type, payload } = JSON.parse(data.toString());
        if (type === "next") ids.push(payload.data?.changes.id ?? payload);
      });
      subscribed(socket, { query: CHANGES, variables: { after } });
      return ids;
    });
    const ends = sockets.map((socket) => once(socket, "close") as Promise<[number, Buffer]>);
    const first = await insertNeed();
    await eventually(() => expect(told.every(([id]) => id === first)).toBe(true));
    const second = await insertNeed();
    await eventually(() => expect(told.every((ids) => ids.length === 2)).toBe(true));
    for (const ids of told) expect(ids).toEqual([first, second]);
    await db.query("delete from app_private.sessions where email like 'many-%'");
    await insertNeed();
    for (const [code, reason] of await Promise.all(ends))
      expect([code, reason.toString()]).toEqual([4419, "invalid_session"]);
    expect(told.every((ids) => ids.length === 2)).toBe(true);
  } finally {
    for (const socket of sockets) socket.terminate();
  }
});

test("sessions over which somebody is told are asked about in as many statements as one, and nobody else waits for that", async () => {
  await db.query("update app_private.settings set value = '1000' where name like 'sign_in%'");
  const sockets: WebSocket[] = [];
  for (let n = 0; n < 8; n++) {
    const visitor = await new Visitor(service).signIn(`idle-${n}@river.example`);
    sockets.push(...(await Promise.all(Array.from({ length: 10 }, () => connected(visitor)))));
  }
  const blocker = await db.connect();
  const waiting = async () => {
    const { rowCount } = await db.query(
      `select from pg_stat_activity where datname = current_database() and usename = 'engagement_server'
         and wait_event_type = 'Lock'`,
    );
    return rowCount;
  };
  const told: string[] = [];
  const ids = (until: number) => eventually(() => expect(told).toHaveLength(until));
  try {
    for (const socket of sockets) {
      socket.on("message", (data: Buffer) => told.push(JSON.parse(data.toString()).payload.data.changes.id));
      subscribed(socket, { query: CHANGES, variables: { after: await now() } });
    }
    const first = await insertNeed();
    await ids(sockets.length);
    expect(new Set(told)).toEqual(new Set([first]));
    const other = overWebSocket(service.url, service.keys.read, CHANGES, { after: await now() });
    open.push(other);
    await blocker.query("begin; lock table app_private.sessions in access exclusive mode");
    const second = await insertNeed();
    await eventually(async () => expect(await waiting()).toBe(1));
    await eventually(() => expect(idsOf(other)).toEqual([second]));
    expect([await waiting(), told.length]).toEqual([1, sockets.length]);
    await blocker.query("rollback");
    await ids(2 * sockets.length);
    expect(told.slice(sockets.length).every((id) => id === second)).toBe(true);
  } finally {
    blocker.release(true);
    for (const socket of sockets) socket.terminate();
  }
});

test("a person has fewer connections than a key, behind which there may be many, over either transport", async () => {
  await db.query("update app_private.settings set value = '1000' where name like 'sign_in%'");
  const visitor = await new Visitor(service).signIn("eager@river.example");
  const most = LIVE_BOUNDS.subscriptions.ofPerson;
  const sockets: WebSocket[] = [];
  try {
    // One after the other: who is looked up for the first time has a share of few connections to the database.
    while (sockets.length < most) sockets.push(await connected(visitor));
    await expect(connected(visitor)).rejects.toThrow("1013");
    const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
    const cookies = { cookie, "sec-fetch-site": "same-origin", "x-session-request": "1" };
    expect(await streamStatus(service.url, cookies)).toBe(429);
  } finally {
    for (const socket of sockets) socket.terminate();
  }
  await eventually(async () => (await connected(visitor)).terminate());
});

test("nobody has more than half of the connections that a server takes", async () => {
  const server = await startAnotherServer(service, { MAX_CONNECTIONS: "6" });
  const key = await issueTestKey(db, "api_read");
  const sockets: WebSocket[] = [];
  try {
    for (let n = 0; n < 3; n++) sockets.push(await connected(key, server.url));
    await expect(connected(key, server.url)).rejects.toThrow("1013");
    expect(await streamStatus(server.url, { authorization: `Bearer ${key}` })).toBe(429);
    sockets.push(await connected(await issueTestKey(db, "api_read"), server.url));
  } finally {
    for (const socket of sockets) socket.terminate();
    await server.stop();
  }
});

test("who may do something else than when they came is cut off, and may come back as who they are", async () => {
  const key = await issueTestKey(db, "api_review");
  const organization = await addOrganization(db, { boss: "org_admin" });
  const variables = { adminEmail: platformAdmin, after: await now() };
  const query = `subscription ($adminEmail: String, $after: String) {
    claimsToReview(adminEmail: $adminEmail, after: $after) { id item } }`;
  const subscriber = overWebSocket(service.url, key, query, variables);
  const streamed = overServerSentEvents(service.url, key, query, variables);
  open.push(subscriber, streamed);
  const claim = (userEmail: string) =>
    call(`${service.url}/v0/onboarding/claim-org`, "POST", service.keys.write, {
      ...{ userEmail, firstName: "Ana", lastName: "Silva", roles: [], isNewOrg: false },
      ...{ orgName: organization.name, orgUri: organization.uri },
    });
  const { body } = await claim("ana@elsewhere.example");
  // That it was made, and that it was sent to the organization.
  const steps = [body.claimId, body.claimId];
  const idsIn = ({ events }: TestSubscriber) => events.map(({ data }) => data?.["claimsToReview"]?.["id"]);
  await eventually(() => expect([subscriber, streamed].map(idsIn)).toEqual([steps, steps]));
  await db.query("update app_private.api_keys set scope = 'api_read' where key_id = $1", [
    await keyIdOf(db, key),
  ]);
  await eventually(async () => {
    const { status } = await call(`${service.url}/v0/admin/claims`, "GET", key, undefined, {
      "x-admin-email": platformAdmin,
    });
    expect(status).toBe(403);
  });
  await claim("ben@elsewhere.example");
  await eventually(() => {
    expect(subscriber.ended()).toMatchObject({ code: 4419, reason: "invalid_api_key" });
    expect(streamed.ended()).toBeDefined();
  });
  expect([subscriber.events.length, streamed.events.length]).toEqual([2, 2]);
  const again = overWebSocket(service.url, key, CHANGES, { after: variables.after });
  open.push(again);
  await insertNeed();
  await eventually(() => expect(again.events.length).toBeGreaterThan(0));
});

test("a stream that is cut off over HTTP/1.0, where the end of the connection is the end of an answer, is reset", async () => {
  const key = await issueTestKey(db, "api_read");
  const { hostname, port, host } = new URL(service.url);
  const body = JSON.stringify({ query: CHANGES });
  const head = [
    ...["POST /graphql/stream HTTP/1.0", `host: ${host}`, `authorization: Bearer ${key}`],
    ...["content-type: application/json", "accept: text/event-stream", `content-length: ${body.length}`],
  ];
  const socket = connect(Number(port), hostname);
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  const broken = new Promise((closed) => socket.once("error", closed).once("end", () => closed("ended")));
  const [beginning] = (await once(socket, "data")) as [Buffer];
  expect(beginning.toString()).toContain(" 200 OK");
  await db.query("update app_private.api_keys set revoked_at = now() where key_id = $1", [
    await keyIdOf(db, key),
  ]);
  expect(await broken).toMatchObject({ code: "ECONNRESET" });
});

/** How a stream is answered, which goes on for ever where it is not refused. */
async function streamStatus(url: string, headers: Record<string, string>): Promise<number> {
  const { status, body } = await fetch(`${url}/graphql/stream`, {
    method: "POST",
    headers: { ...EVENTS, "content-type": "application/json", ...headers },
    body: JSON.stringify({ query: CHANGES }),
  });
  await body?.cancel();
  return status;
}

/** Some at a time: each has three seconds to say who it is, and all are served by this process. */
async function connectedTimes(count: number, who: string): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(25, count - sockets.length) }, () => connected(who));
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}

/** @param who a key, or somebody whose browser has a session */
async function connected(who: string | Visitor, url = service.url): Promise<WebSocket> {
  const isKey = typeof who === "string";
  const cookie = isKey ? "" : [...who.cookies].map((pair) => pair.join("=")).join("; ");
  const socket = new WebSocket(
    `${url.replace("http", "ws")}/graphql`,
    "graphql-transport-ws",
    isKey ? {} : { headers: { cookie, "sec-fetch-site": "same-origin" } },
  );
  await once(socket, "open");
  const payload = isKey ? { authorization: `Bearer ${who}` } : {};
  socket.send(JSON.stringify({ type: "connection_init", payload }));
  const closed = once(socket, "close").then(([code, reason]) =>
    Promise.reject(new Error(`closed with ${String(code)} ${String(reason)}`)),
  );
  closed.catch(() => undefined);
  await Promise.race([once(socket, "message"), closed]);
  return socket;
}

function subscribed(socket: WebSocket, payload: object): void {
  socket.send(JSON.stringify({ id: "1", type: "subscribe", payload }));
}

describe("who may connect", () => {
  test.each([
    ["an unknown key", "Bearer ek_unknown", 4401],
    ["none", undefined, 4401],
  ])("not with %s", async (_, authorization, code) => {
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    await once(socket, "open");
    const closed = once(socket, "close");
    socket.send(JSON.stringify({ type: "connection_init", payload: { authorization } }));
    expect((await closed)[0]).toBe(code);
  });

  test("with spaces after the key, which a header of HTTP could not have", async () => {
    const socket = await connected(`${service.keys.read}  `);
    socket.terminate();
  });

  test("not with a key for other networks, which is good and forbidden here", async () => {
    const key = await issueTestKey(db, "api_read", { networks: ["192.0.2.0/24"] });
    await expect(connected(key)).rejects.toThrow("4403");
  });

  test("and subscribe as often as the key may ask", async () => {
    const key = await issueTestKey(db, "api_read", { ratePerMinute: 3 });
    const socket = await connected(key);
    const told: { type: string; id?: string; payload?: unknown }[] = [];
    socket.on("message", (data) => told.push(JSON.parse((data as Buffer).toString())));
    for (const id of ["1", "2", "3"])
      socket.send(JSON.stringify({ id, type: "subscribe", payload: { query: CHANGES } }));
    await eventually(() =>
      expect(told).toMatchObject([
        { id: "3", type: "error", payload: [{ extensions: { code: "rate_limited" } }] },
      ]),
    );
    socket.terminate();
  });

  test("for as long as they are let in, and ask as much as they may by then, also where nothing is told", async () => {
    const [calmed, revoked] = await Promise.all([
      issueTestKey(db, "api_read", { ratePerMinute: 1_000 }),
      issueTestKey(db, "api_read"),
    ]);
    const [asking, silent] = [await connected(calmed), await connected(revoked)];
    const closed = once(silent, "close");
    const change = async (key: string, how: string) =>
      db.query(`update app_private.api_keys set ${how} where key_id = $1`, [await keyIdOf(db, key)]);
    await change(revoked, "revoked_at = now()");
    await change(calmed, "rate_per_minute = 1");
    await eventually(async () => {
      expect(await call(`${service.url}/v0/accelerators`, "GET", calmed)).toMatchObject({ status: 429 });
    });
    // The first may have been under way when the key was over.
    const pings = (async () => {
      for (let n = 0; n < 3; n++) await once(asking, "ping");
      return ["still there"];
    })();
    expect(String(await Promise.race([closed, pings]))).toBe("4419,invalid_api_key");
    await once(asking, "ping");
    const told = once(asking, "message").then(([data]) => JSON.parse(String(data)) as object);
    // Where it is let through, this is what comes first.
    const after = await now();
    await insertNeed();
    subscribed(asking, { query: CHANGES, variables: { after } });
    expect(await told).toMatchObject({ type: "error", payload: [{ extensions: { code: "rate_limited" } }] });
    asking.terminate();
  });

  test("and ask without reading the answers until they are cut off", async () => {
    const socket = await connected(service.keys.read);
    const count = 500;
    let answers = 0;
    let isOver = false;
    socket.on("message", () => (answers += 1));
    socket.on("error", () => undefined);
    socket.once("close", () => (isOver = true));
    socket.pause();
    const ping = JSON.stringify({ type: "ping", payload: { text: "x".repeat(90_000) } });
    for (let n = 0; n < count; n++) socket.send(ping, () => undefined);
    // Whatever was sent before has been read by now, unless its sender was cut off.
    await eventually(() => expect(isOver || socket.bufferedAmount === 0).toBe(true));
    socket.resume();
    await eventually(() => expect(isOver || answers === count).toBe(true));
    expect(answers).toBeLessThan(count);
  });

  test.each<[string, (socket: WebSocket) => void]>([
    ["pings of the protocol", (socket) => socket.send(JSON.stringify({ type: "ping" }))],
    ["pings of WebSocket", (socket) => socket.ping()],
    ["pongs of WebSocket that nobody asked for", (socket) => socket.pong()],
    ["ends of what was never begun", (socket) => socket.send(JSON.stringify({ type: "complete", id: "x" }))],
  ])("and say no more than a key may ask: %s", async (_, say) => {
    const socket = await connected(await issueTestKey(db, "api_read", { ratePerMinute: 20 }));
    const closed = once(socket, "close");
    for (let n = 0; n < 30; n++) say(socket);
    await eventually(() => expect(socket.readyState).toBe(socket.CLOSED));
    const [code, reason] = (await closed) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1013, "rate_limited"]);
  });

  test("and say no more than ten things before it is known who they are", async () => {
    // They have three seconds to say who they are, in which a slow machine may not get that far.
    await eventually(async () => {
      const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
      await once(socket, "open");
      let answers = 0;
      socket.on("message", () => (answers += 1));
      const closed = once(socket, "close") as Promise<[number]>;
      const ping = () => socket.send(JSON.stringify({ type: "ping" }));
      for (let n = 0; n < 10; n++) ping();
      // Behind what nobody had read by then there would be a reset, which takes the answers with it.
      await eventually(() =>
        expect([10, "closed"]).toContain(socket.readyState === socket.CLOSED ? "closed" : answers),
      );
      if (socket.readyState === socket.OPEN) ping();
      expect([(await closed)[0], answers]).toEqual([1006, 10]);
    });
  });

  test("and say who they are in a field that is written as a header may be", async () => {
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    await once(socket, "open");
    const payload = { Authorization: `Bearer ${service.keys.read}` };
    socket.send(JSON.stringify({ type: "connection_init", payload }));
    const [message] = (await once(socket, "message")) as [Buffer];
    expect(JSON.parse(message.toString())).toEqual({ type: "connection_ack" });
    socket.close();
  });

  test("and say nothing that is a text within a text", async () => {
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    await once(socket, "open");
    // If it is understood, it is answered instead.
    const closed = Promise.race([once(socket, "close"), once(socket, "message")]);
    const payload = { authorization: `Bearer ${service.keys.read}` };
    socket.send(JSON.stringify(JSON.stringify({ type: "connection_init", payload })));
    const [code, reason] = (await closed) as [number, Buffer];
    socket.terminate();
    expect([code, reason.toString()]).toEqual([4400, "validation_failed"]);
  });

  test.each([
    { type: "next" },
    { type: "next", id: "1", payload: { data: {} } },
    { type: "error", id: "1", payload: [{ message: "no" }] },
    { type: "connection_ack" },
    { type: "data", id: "1" },
    { type: ["next"] },
    { type: null },
    {},
    ["next"],
    null,
    7,
  ])("and say nothing that only servers say, or nobody: %j", async (message) => {
    for (const isKnown of [false, true]) {
      const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
      await once(socket, "open");
      if (isKnown) {
        const payload = { authorization: `Bearer ${service.keys.read}` };
        socket.send(JSON.stringify({ type: "connection_init", payload }));
        await once(socket, "message");
      }
      const closed = once(socket, "close");
      socket.send(JSON.stringify(message));
      const [code, reason] = (await closed) as [number, Buffer];
      expect([code, reason.toString()]).toEqual([
        4400,
        expect.stringMatching(/^(validation_failed|Invalid message received)$/),
      ]);
    }
  });

  test.each<[string, object]>([
    ["a subscription", { id: "1", type: "subscribe", payload: { query: CHANGES, variables: { a: "deep" } } }],
    ["a ping", { type: "ping", payload: { a: "deep" } }],
  ])(
    "and say what is nested too deeply, which closes their connection and nothing else: %s",
    async (_, message) => {
      const written = jest.spyOn(console, "error");
      const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
      await once(socket, "open");
      const closed = once(socket, "close");
      const deep = "[".repeat(45_000) + "]".repeat(45_000);
      socket.send(JSON.stringify(message).replace('"deep"', deep));
      await eventually(() => expect(socket.readyState).toBe(socket.CLOSED));
      expect((await closed)[0]).toBe(4400);
      expect(written).not.toHaveBeenCalled();
      written.mockRestore();
      expect((await call(`${service.url}/healthz`, "GET", undefined)).status).toBe(200);
    },
  );

  test("with the end of each subscription free", async () => {
    const key = await issueTestKey(db, "api_read", { ratePerMinute: 32 });
    const socket = await connected(key);
    const told: string[] = [];
    socket.on("message", (data) =>
      told.push((JSON.parse((data as Buffer).toString()) as { type: string }).type),
    );
    for (let n = 0; n < 30; n++) {
      socket.send(JSON.stringify({ id: `${n}`, type: "subscribe", payload: { query: CHANGES } }));
      socket.send(JSON.stringify({ id: `${n}`, type: "complete" }));
    }
    socket.send(JSON.stringify({ type: "ping" }));
    // The last that the key may begin, and one more. They are counted in turn: with its refusal all have been.
    for (const id of ["last", "more"])
      socket.send(JSON.stringify({ id, type: "subscribe", payload: { query: CHANGES } }));
    socket.once("close", () => told.push("closed"));
    await eventually(() => expect(told.length).toBeGreaterThan(1));
    expect(told).toEqual(["pong", "error"]);
    socket.terminate();
  });

  test("and begin another under the id of one that they have just ended, which has not begun yet", async () => {
    const socket = await connected(await issueTestKey(db, "api_read"));
    const told: { type: string; id?: string }[] = [];
    socket.on("message", (data) => told.push(JSON.parse((data as Buffer).toString())));
    const say = (type: string, id: string) =>
      socket.send(JSON.stringify({ id, type, payload: { query: CHANGES } }));
    const heard = async (count: number) => {
      socket.send(JSON.stringify({ type: "ping" }));
      await eventually(() => expect(told.filter(({ type }) => type === "pong")).toHaveLength(count));
    };
    const blocker = await db.connect();
    try {
      await blocker.query("begin; lock table app_private.changes in access exclusive mode");
      say("subscribe", "x");
      await eventually(async () => {
        const { rowCount } = await db.query(
          `select from pg_stat_activity where datname = current_database() and usename = 'engagement_server'
             and wait_event_type = 'Lock'`,
        );
        expect(rowCount).toBeGreaterThan(0);
      });
      say("complete", "x");
      say("subscribe", "x");
      await heard(1);
      await blocker.query("commit");
    } finally {
      blocker.release(true);
    }
    await eventually(async () => {
      await insertNeed();
      expect(told).toContainEqual(expect.objectContaining({ id: "x", type: "next" }));
    });
    expect(told.map(({ type }) => type)).not.toContain("complete");
    say("complete", "x");
    await heard(2);
    const before = told.length;
    const other = overWebSocket(service.url, service.keys.read, CHANGES, { after: await now() });
    open.push(other);
    await insertNeed();
    await eventually(() => expect(other.events).toHaveLength(1));
    await heard(3);
    expect(told).toHaveLength(before + 1);
    socket.terminate();
  });

  test("and begin nothing else under an id that is in use, however long, without a word of it in the log", async () => {
    const written = jest.spyOn(console, "error");
    const socket = await connected(service.keys.read);
    const closed = once(socket, "close");
    for (let n = 0; n < 2; n++)
      socket.send(JSON.stringify({ id: "x".repeat(200), type: "subscribe", payload: { query: CHANGES } }));
    await eventually(() => expect(socket.readyState).toBe(socket.CLOSED));
    expect((await closed)[0]).toBe(4409);
    expect(written).not.toHaveBeenCalled();
    written.mockRestore();
  });

  test("in as many connections as there may be subscriptions, also without any", async () => {
    const key = await issueTestKey(db, "api_read");
    const sockets = await connectedTimes(LIVE_BOUNDS.subscriptions.ofKey, key);
    try {
      await expect(connected(key)).rejects.toThrow("closed with 1013 rate_limited");
    } finally {
      for (const socket of sockets) socket.terminate();
    }
    // Whose places are free again.
    await eventually(async () => (await connected(key)).terminate());
  });

  test("those who are gone before it is known who they were take no place", async () => {
    const key = await issueTestKey(db, "api_read");
    const authorization = `Bearer ${key}`;
    const blocker = await db.connect();
    try {
      await blocker.query("begin; lock app_private.api_keys in access exclusive mode");
      const sockets = await Promise.all(
        Array.from({ length: LIVE_BOUNDS.subscriptions.ofKey }, async () => {
          const socket = new WebSocket(
            `${service.url.replace("http", "ws")}/graphql`,
            "graphql-transport-ws",
          );
          // From the beginning: where all this takes long, the service does not wait for the database any more.
          const closed = new Promise((done) => socket.on("error", () => undefined).once("close", done));
          await once(socket, "open");
          socket.send(JSON.stringify({ type: "connection_init", payload: { authorization } }));
          return { socket, closed };
        }),
      );
      // What was sent before this has arrived when it is answered.
      expect((await call(`${service.url}/healthz`, "GET", undefined)).status).toBe(200);
      for (const { socket } of sockets) socket.terminate();
      await Promise.all(sockets.map(({ closed }) => closed));
      expect((await call(`${service.url}/healthz`, "GET", undefined)).status).toBe(200);
    } finally {
      await blocker.query("rollback");
      blocker.release();
    }
    await eventually(async () => (await connected(key)).terminate());
    // All places at once, and none is taken.
    const again = await connectedTimes(LIVE_BOUNDS.subscriptions.ofKey - 1, key);
    for (const socket of again) socket.terminate();
  });

  test("with a hundred subscriptions at once in one session, which is looked up for all of them together", async () => {
    const visitor = await new Visitor(service).signIn("many@river.example");
    const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws", {
      headers: { cookie, "sec-fetch-site": "same-origin", "x-session-request": "1" },
    });
    await once(socket, "open");
    const told: { type: string; id?: string }[] = [];
    socket.on("message", (data) => told.push(JSON.parse((data as Buffer).toString())));
    socket.send(JSON.stringify({ type: "connection_init", payload: {} }));
    await eventually(() => expect(told).toEqual([{ type: "connection_ack" }]));
    const after = await now();
    for (let n = 0; n < 100; n++) {
      const payload = { query: CHANGES, variables: { after } };
      socket.send(JSON.stringify({ id: String(n), type: "subscribe", payload }));
    }
    await insertNeed();
    await eventually(() => expect(told).toHaveLength(101));
    expect(new Set(told.slice(1).map(({ type }) => type))).toEqual(new Set(["next"]));
    socket.terminate();
  });

  test("and send too much without a word of it in the log", async () => {
    const written = jest.spyOn(console, "error");
    const socket = await connected(service.keys.read);
    const closed = once(socket, "close").then(([code]) => code as number);
    const ping = (bytes: number) => {
      const text = JSON.stringify({ type: "ping", payload: { text: "" } });
      return text.replace('""', `"${"x".repeat(bytes - text.length)}"`);
    };
    socket.send(ping(100_000));
    await once(socket, "message");
    socket.send(ping(100_001));
    expect(await Promise.race([closed, once(socket, "message")])).toBe(1009);
    expect(written).not.toHaveBeenCalled();
    written.mockRestore();
  });

  test("nor say one thing in more than a hundred pieces", async () => {
    for (const [pieces, outcome] of [
      [100, JSON.stringify({ type: "pong" })],
      [101, 1008],
    ] as const) {
      const socket = await connected(service.keys.read);
      const closed = once(socket, "close").then(([code]) => code as number);
      const told = once(socket, "message").then(([data]) => String(data));
      const text = JSON.stringify({ type: "ping" });
      for (let n = 1; n < pieces; n++) socket.send(n === 1 ? text : "", { fin: false });
      socket.send("", { fin: true });
      expect(await Promise.race([closed, told])).toBe(outcome);
      socket.terminate();
    }
  });

  test("a stream without a key is refused as any request", async () => {
    for (const path of ["/graphql", "/graphql/stream"]) {
      const answer = await call(`${service.url}${path}`, "POST", undefined, { query: CHANGES }, EVENTS);
      expect(answer).toMatchObject({
        status: 401,
        body: { errors: [{ extensions: { code: "missing_api_key" } }] },
      });
    }
  });

  test.each([
    ["application/json, text/event-stream", 200, "application/json"],
    ["text/event-stream;q=0.5, application/json", 200, "application/json"],
    ["*/*", 200, "application/json"],
    ["text/event-stream, application/json", 200, "text/event-stream"],
  ])("a query is answered at once, but where events are accepted first: %s", async (accept, status, type) => {
    const ask = { query: "{ __typename }" };
    const answer = await call(`${service.url}/graphql`, "POST", service.keys.read, ask, { accept });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      status,
      expect.stringContaining(type),
    ]);
  });

  test("a subscription by POST is told where to go", async () => {
    const answer = await call(`${service.url}/graphql`, "POST", service.keys.read, {
      query: "subscription { changes { cursor } }",
    });
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toMatchObject([
      {
        message: expect.stringContaining("Accept: text/event-stream"),
        extensions: { code: "validation_failed" },
      },
    ]);
  });
});
