// Times tell the order of things, also where a transaction that began earlier gets its turn later.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { RECORDS } from "../records/index.ts";
import { ask } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const KINDS = [
  {
    record: RECORDS.need,
    create: "/v0/needs",
    input: { declaredByEmail: admin, needDescription: "Water", accelerators: ["PRA"] },
    id: "needId",
    key: "need_id",
    statuses: ["met", "withdrawn"],
  },
  {
    record: RECORDS.commitment,
    create: "/v0/commitments",
    input: { declaredByEmail: admin, commitmentDescription: "We dig", acceleratorScope: ["PRA"] },
    id: "commitmentId",
    key: "commitment_id",
    statuses: ["funded", "fulfilled"],
  },
  {
    record: RECORDS.engagement_claim,
    create: "/v0/engagement-claims/submit",
    input: { claimedByEmail: admin, engagementAccelerators: ["PRA"] },
    id: "claimId",
    key: "claim_id",
    statuses: ["paused", "completed"],
  },
] as const;

describe.each(KINDS)("$record.kind", ({ record, create, input, id, key, statuses }) => {
  const declare = async (): Promise<string> => {
    const body = { orgUri: ORG, orgName: "River", ...input };
    return (await call(`${service.url}${create}`, "POST", service.keys.write, body)).body[id];
  };
  const setStatus = (recordId: string, status: string) =>
    call(`${service.url}/v0/${record.path}/status`, "POST", service.keys.write, {
      ...{ [id]: recordId, status, actorEmail: admin },
    });
  const read = async (recordId: string) =>
    (await call(`${service.url}/v0/${record.path}/${recordId}`, "GET", service.keys.read)).body;
  const history = async (recordId: string) => {
    const field = record.kind === "engagement_claim" ? "engagementClaim" : record.kind;
    const data = await ask(
      service,
      `query ($id: UUID!) { ${field}(${id}: $id) {
         createdAt updatedAt statusHistory(orderBy: [PRIMARY_KEY_ASC]) { nodes { toStatus changedAt } }
       } }`,
      { id: recordId },
    );
    return data[field] as {
      createdAt: string;
      updatedAt: string;
      statusHistory: { nodes: { toStatus: string; changedAt: string }[] };
    };
  };

  test("a later entry of the history has a later time, whoever began first", async () => {
    const recordId = await declare();
    const client = await service.database.owner.connect();
    try {
      await client.query("begin");
      await client.query("select now()");
      expect((await setStatus(recordId, statuses[0])).status).toBe(200);
      await client.query(`update app_public.${record.table} set status = $2 where ${key} = $1`, [
        recordId,
        statuses[1],
      ]);
      await client.query("commit");
    } finally {
      client.release();
    }
    const { createdAt, updatedAt, statusHistory } = await history(recordId);
    const times = statusHistory.nodes.map(({ changedAt }) => changedAt);
    expect(statusHistory.nodes.map(({ toStatus }) => toStatus).slice(1)).toEqual(statuses);
    expect(times).toEqual(times.toSorted());
    expect(new Set(times).size).toBe(3);
    // The first and the last are the record's own.
    expect([times[0], times[2]]).toEqual([createdAt, updatedAt]);
  });

  test("a clock that was set back does not turn the order round", async () => {
    const recordId = await declare();
    const ahead = "2199-12-31T00:00:00+00:00";
    await service.database.owner.query(
      `alter table app_public.${record.table} disable trigger touch;
       update app_public.${record.table} set updated_at = '${ahead}' where ${key} = '${recordId}';
       alter table app_public.${record.table} enable trigger touch`,
    );
    await setStatus(recordId, statuses[0]);
    expect((await read(recordId)).updatedAt).toBe(ahead);
    const { statusHistory } = await history(recordId);
    expect(statusHistory.nodes.at(-1)!.changedAt).toMatch(/^2199-12-31T00:00:00/);
  });

  test("updatedAt moves when the status does, and only then", async () => {
    const recordId = await declare();
    const before = await read(recordId);
    expect(before.updatedAt).toBe(before.createdAt);
    expect((await setStatus(recordId, before.status)).status).toBe(200);
    expect((await read(recordId)).updatedAt).toBe(before.updatedAt);
    await setStatus(recordId, statuses[0]);
    const after = await read(recordId);
    expect(Date.parse(after.updatedAt)).toBeGreaterThanOrEqual(Date.parse(before.updatedAt));
    expect(after.updatedAt).not.toBe(before.updatedAt);
    expect((await history(recordId)).statusHistory.nodes).toHaveLength(2);
  });

  test("createdAt stays what it was when the status moves", async () => {
    const recordId = await declare();
    const { createdAt } = await read(recordId);
    await setStatus(recordId, statuses[0]);
    expect((await read(recordId)).createdAt).toBe(createdAt);
  });
});

test("an organization has changed when it was changed, and not when it was saved as it is", async () => {
  const { owner } = service.database;
  const changedSince = async (change: string) => {
    const {
      rows: [before],
    } = await owner.query<{ at: string }>(
      "select updated_at::text as at from app_public.organizations where org_uri = $1",
      [ORG],
    );
    const { rows } = await owner.query<{ later: boolean }>(
      `update app_public.organizations set ${change} where org_uri = $1 returning updated_at > $2::timestamptz as later`,
      [ORG, before!.at],
    );
    return rows.map(({ later }) => later);
  };
  expect(await changedSince("name = name")).toEqual([false]);
  expect(await changedSince("type = 'network'")).toEqual([true]);
  expect(await changedSince("type = null")).toEqual([true]);
});

test("whoever changes an organization is told when that was, and not since when there is one", async () => {
  await service.database.owner.query(
    "update app_public.organizations set created_at = '2020-06-15Z' where org_uri = $1",
    [ORG],
  );
  const change = { orgUri: ORG, adminEmail: admin, website: "https://when.example" };
  const { body } = await call(`${service.url}/v0/orgs/metadata`, "POST", service.keys.review, change);
  const { rows } = await service.database.owner.query(
    "select to_json(updated_at) as at from app_public.organizations where org_uri = $1",
    [ORG],
  );
  expect(body.updatedAt).toBe(rows[0].at);
  expect(body.updatedAt).not.toMatch(/^2020-/);
});
