// Reads on a streaming replica: whoever was told of a write sees it, on whichever server, and nobody notices where it was read.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { describeWithDistribution } from "./support/distribution.ts";
import { eventually } from "./support/eventually.ts";
import { ask } from "./support/graphql.ts";
import { toolCall } from "./support/mcp.ts";
import { describeWithPgbouncer, startPgbouncer } from "./support/pgbouncer.ts";
import { declare, NEED, readsOf, startReplicated } from "./support/replica.ts";
import type { Replicated, ServerOnReplica } from "./support/replica.ts";
import { call } from "./support/service.ts";
import type { Answer } from "./support/service.ts";
import { overServerSentEvents } from "./support/subscriber.ts";
import { contributor } from "./support/world.ts";

/** A server that reads on the replica: until it has found that it can, it reads on the primary. */
async function serveReading(
  both: Replicated,
  settings: Record<string, string> = {},
): Promise<ServerOnReplica> {
  // However busy this machine is: what is behind is waited for here.
  const server = await both.serve({ DATABASE_READ_MAX_LAG_MS: "10000", ...settings });
  await eventually(async () => expect(await server.metric("database_replica_used")).toBe(1));
  return server;
}

/** Writes through the one and reads through the other, at once and by every way, as often as asked. */
async function writeAndRead(
  writer: ServerOnReplica,
  reader: ServerOnReplica,
  keys: Replicated["keys"],
  rounds: number,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const text = `Need ${Math.random()}`;
    const needId = await declare(writer, keys.write, text);
    const service = { url: reader.url, keys };
    const [item, list, { need }] = await Promise.all([
      call(`${reader.url}/v0/needs/${needId}`, "GET", keys.read),
      call(`${reader.url}/v0/needs?limit=100`, "GET", keys.read),
      ask(service, `query ($id: UUID!) { need(needId: $id) { needDescription status } }`, { id: needId }),
    ]);
    expect(item).toMatchObject({ status: 200, body: { needDescription: text, status: "open" } });
    expect(list.body.needs.map((each: { needId: string }) => each.needId)).toContain(needId);
    expect(need).toEqual({ needDescription: text, status: "open" });
    const set = { needId, status: "partially_met", actorEmail: contributor };
    expect((await call(`${reader.url}/v0/needs/status`, "POST", keys.write, set)).status).toBe(200);
    const [after, page] = await Promise.all([
      call(`${writer.url}/v0/needs/${needId}`, "GET", keys.read),
      call(`${writer.url}/v0/changes?needId=${needId}`, "GET", keys.read),
    ]);
    expect(after.body.status).toBe("partially_met");
    expect(page.body.changes.at(-1)).toMatchObject({ id: needId, toStatus: "partially_met" });
  }
}

/** Has a church answered by an expression, whichever is asked for. */
const answerChurchesBy = ({ owner }: Replicated, expression: string) =>
  owner.query(
    `create or replace function app_private.church_record(body jsonb) returns text language plpgsql as
     $$ begin return ${expression}; end $$`,
  );

/** Has the replica wait for readers for as long as that, and waits until it knows. */
async function standbyDelay({ onReplica }: Replicated, change: string, delay: string): Promise<void> {
  await onReplica(`alter system ${change}`);
  await onReplica("select pg_reload_conf()");
  const shown = [{ max_standby_streaming_delay: delay }];
  await eventually(async () => expect(await onReplica("show max_standby_streaming_delay")).toEqual(shown));
}

describe("beside a replica", () => {
  let both: Replicated;
  let one: ServerOnReplica;
  let other: ServerOnReplica;
  beforeAll(async () => {
    both = await startReplicated();
    one = await serveReading(both);
    other = await serveReading(both);
  });
  afterAll(() => both.remove());

  test("everybody reads what anybody was told is written, while others write", async () => {
    const before = [await readsOf(one), await readsOf(other)];
    await Promise.all(
      [one, other, one, other].map((writer, index) =>
        writeAndRead(writer, index < 2 ? other : one, both.keys, 12),
      ),
    );
    for (const [place, server] of [one, other].entries()) {
      const { replica, primary } = await readsOf(server);
      expect(replica - before[place]!.replica).toBeGreaterThan(100);
      expect(primary - before[place]!.primary).toBe(0);
      expect(await server.metric("database_replica_used")).toBe(1);
    }
  });

  test("what only reads is asked of the replica at every door, and what writes is not", async () => {
    const { read, write } = both.keys;
    const service = { url: one.url, keys: both.keys };
    const counted = async (work: () => Promise<unknown>) => {
      const before = await readsOf(one);
      await work();
      const after = await readsOf(one);
      return [after.replica - before.replica > 0, after.primary - before.primary] as const;
    };
    for (const path of [
      "needs",
      "commitments",
      "accelerators",
      "countries?q=Kenya",
      "health",
      "orgs/search",
    ]) {
      const get = async () => {
        expect((await call(`${one.url}/v0/${path}`, "GET", read)).status).toBe(200);
      };
      expect([path, await counted(get)]).toEqual([path, [true, 0]]);
    }
    const search = async () => {
      const found = await call(`${one.url}/v0/mcp`, "POST", read, toolCall({ limit: 1 }));
      expect(found.body.result.isError ?? false).toBe(false);
    };
    expect(await counted(search)).toEqual([true, 0]);
    expect(await counted(() => ask(service, "{ needs { totalCount } }"))).toEqual([true, 0]);
    const { next } = (await call(`${one.url}/v0/changes?after=now`, "GET", read)).body;
    expect(await counted(() => declare(one, write, "Written"))).toEqual([false, 0]);
    const follow = async () => {
      const query = "subscription ($after: String) { changes(after: $after) { cursor } }";
      const subscriber = overServerSentEvents(one.url, read, query, { after: next });
      await eventually(() => expect(subscriber.events).toHaveLength(1)).finally(subscriber.stop);
    };
    expect(await counted(follow)).toEqual([true, 0]);
    const mutation = `mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { status } } }`;
    const input = { ...NEED, needDescription: "Written" };
    expect(await counted(() => ask(service, mutation, { input }, "write"))).toEqual([false, 0]);
  });

  test("one that is behind is waited for as long as is configured", async () => {
    const before = await readsOf(one);
    await both.onReplica("select pg_wal_replay_pause()");
    let answer: Promise<Answer>;
    try {
      const needId = await declare(one, both.keys.write, "Behind");
      answer = call(`${one.url}/v0/needs/${needId}`, "GET", both.keys.read);
      // Twice as long as by default.
      await sleep(1_000);
    } finally {
      await both.onReplica("select pg_wal_replay_resume()");
    }
    expect(await answer).toMatchObject({ status: 200, body: { needDescription: "Behind" } });
    const after = await readsOf(one);
    expect([after.replica - before.replica > 0, after.primary - before.primary]).toEqual([true, 0]);
  });

  test("it is asked while requests have all connections to the primary: how far that is has one of its own", async () => {
    const narrow = await serveReading(both, { DATABASE_POOL_SIZE: "1" });
    const needId = await declare(one, both.keys.write, "Held");
    const holder = await both.owner.connect();
    let write: Promise<Answer> | undefined;
    try {
      await holder.query("begin");
      await holder.query("select from app_public.needs where need_id = $1 for update", [needId]);
      const set = { needId, status: "partially_met", actorEmail: contributor };
      write = call(`${narrow.url}/v0/needs/status`, "POST", both.keys.write, set);
      await eventually(async () => {
        const { rowCount } = await both.owner.query(
          `select from pg_stat_activity where usename = 'engagement_server' and wait_event_type = 'Lock'`,
        );
        expect(rowCount).toBe(1);
      }, 30_000);
      expect((await call(`${narrow.url}/v0/accelerators`, "GET", both.keys.read)).status).toBe(200);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    expect((await write).status).toBe(200);
  });

  test("refusals are the same as without a replica", async () => {
    const alone = await both.serve({ DATABASE_READ_URL: "" });
    const { read } = both.keys;
    const refusedBy = async ({ url }: ServerOnReplica) => {
      const asAdmin = { "x-admin-email": contributor };
      const unknown = "00000000-0000-4000-8000-000000000000";
      const answers = [
        await call(`${url}/v0/needs/${unknown}`, "GET", read),
        await call(`${url}/v0/needs?after=x`, "GET", read),
        await call(`${url}/v0/changes?after=x`, "GET", read),
        await call(`${url}/v0/changes?after=7-7`, "GET", read),
        await call(`${url}/v0/admin/users`, "GET", read, undefined, asAdmin),
        await call(`${url}/v0/admin/users`, "GET", both.keys.review, undefined, asAdmin),
        await call(`${url}/v0/needs`, "GET", "ek_unknown"),
        ...(await Promise.all(
          [
            "{ needs { nodes { statusHistory { nodes { requestId } } } } }",
            "{ needs(first: -1) { totalCount } }",
          ].map((query) => call(`${url}/graphql`, "POST", read, { query })),
        )),
      ];
      return answers.map(({ status, body }) => ({
        ...{ status, body: JSON.stringify(body).replace(/"requestId":"[^"]+"/g, "") },
      }));
    };
    const refused = await refusedBy(alone);
    expect(new Set(refused.map(({ status }) => status)).size).toBeGreaterThan(3);
    expect(await refusedBy(one)).toEqual(refused);
    expect(await alone.metric("database_replica_used")).toBeUndefined();
  });

  test("what a replica cannot do is asked of the primary", async () => {
    const needId = await declare(one, both.keys.write, "Vacuumed");
    const before = await readsOf(one);
    const definition = "select pg_get_functiondef('app_private.church_record'::regproc) as answers";
    const { rows: found } = await both.owner.query<{ answers: string }>(definition);
    try {
      await answerChurchesBy(both, "nextval('app_private.church_tries')::text");
      await both.owner.query("create sequence app_private.church_tries");
      await both.owner.query("grant usage on app_private.church_tries to api_read");
      const church = () => call(`${one.url}/v0/orgs/x`, "GET", both.keys.read);
      expect(await church()).toMatchObject({ status: 200, body: 1 });
      expect(await readsOf(one)).toEqual({ ...before, primary: before.primary + 1 });

      // What is removed from the primary is removed from the replica, although somebody there may still want to see it: that one is cut off.
      await answerChurchesBy(
        both,
        "(select count(*) from app_public.needs) || coalesce(pg_advisory_xact_lock_shared(7)::text, '')",
      );
      await standbyDelay(both, "set max_standby_streaming_delay = 0", "0");
      const release = await both.lockOnReplica(7);
      const reading = church();
      await eventually(async () => {
        const locks = await both.onReplica(
          "select from pg_locks where locktype = 'advisory' and not granted",
        );
        expect(locks).toHaveLength(1);
      });
      await both.owner.query("delete from app_public.needs where need_id = $1", [needId]);
      const { rows } = await both.owner.query<{ count: number }>(
        "select count(*)::integer as count from app_public.needs",
      );
      // What an autovacuum could still see is not removed.
      await eventually(async () => {
        await both.owner.query("vacuum app_public.needs");
        expect(await Promise.race([reading, Promise.resolve(undefined)])).toBeDefined();
      });
      expect(await reading).toMatchObject({ status: 200, body: rows[0]!.count });
      await release();
      expect(await readsOf(one)).toEqual({ ...before, primary: before.primary + 2 });
    } finally {
      await standbyDelay(both, "reset max_standby_streaming_delay", "30s");
      await both.owner.query(found[0]!.answers);
    }
  });

  describeWithPgbouncer("behind PgBouncer in transaction mode", () => {
    test("a replica is read as any other", async () => {
      const pgbouncer = await startPgbouncer(both.readUrl, { default_pool_size: "3" });
      const server = await serveReading(both, { DATABASE_READ_URL: pgbouncer.through(both.readUrl) });
      try {
        await Promise.all([1, 2, 3, 4].map(() => writeAndRead(server, server, both.keys, 5)));
        const { replica, primary } = await readsOf(server);
        expect(replica).toBeGreaterThan(20);
        expect(primary).toBe(0);
      } finally {
        await server.stop();
        await pgbouncer.stop();
      }
    });
  });
});

describeWithDistribution("of the distribution's release", (programs) => {
  test("a replica that pg_basebackup made is read", async () => {
    const both = await startReplicated(programs);
    try {
      const server = await serveReading(both);
      await Promise.all([1, 2].map(() => writeAndRead(server, server, both.keys, 5)));
      const { replica, primary } = await readsOf(server);
      expect(replica).toBeGreaterThan(20);
      expect(primary).toBe(0);
    } finally {
      await both.remove();
    }
  });
});
