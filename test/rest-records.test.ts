// The three kinds of record through REST: the answer on creation, and exactly which fields an item has.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { enums } from "../db/catalog.ts";
import { RECORDS } from "../records/index.ts";
import { fieldsOf } from "../records/record.ts";
import type { FieldType, RecordKind } from "../records/record.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const org = { orgUri: ORG, orgName: "River Mission" };
const NEED = {
  ...org,
  declaredByEmail: contributor,
  needDescription: "Audio Scriptures",
  accelerators: ["PRA-INT"],
};
const COMMITMENT = {
  ...org,
  declaredByEmail: contributor,
  commitmentDescription: "We record them",
  acceleratorScope: ["PRA-INT"],
};
const CLAIM = { ...org, claimedByEmail: contributor, engagementAccelerators: ["PRA"] };
const STAMPS = { createdAt: expect.any(String), updatedAt: expect.any(String), graphStatus: "pending" };

const post = (path: string, body: object) => call(`${service.url}${path}`, "POST", service.keys.write, body);
const get = (path: string) => call(`${service.url}${path}`, "GET", service.keys.read);

/** A value of each type that a caller can give. */
const SAMPLES: Partial<Record<FieldType, unknown>> = {
  text: "Played in six villages",
  email: contributor,
  httpUri: ORG,
  date: "2032-02-29",
  integer: 7,
  number: 2.5,
  boolean: true,
  rop3: "104425",
  rog3: "RAR",
  countryCode: "KE",
  acceleratorCodes: ["PRA-INT"],
  rop3s: ["104425", "100001"],
  countryCodes: ["KE", "UG"],
};

/** A value for every input of a kind of record; what refers to another record refers to one of `targets`. */
function everythingOf(kind: RecordKind, targets: Record<RecordKind, string>): Record<string, unknown> {
  const given = fieldsOf(RECORDS[kind]).filter(({ input }) => input);
  return Object.fromEntries(
    given.map(({ name, type, graph }) => [
      name,
      typeof graph === "object" && "to" in graph
        ? targets[graph.to]
        : // No two alike: nothing is stored in the place of another.
          (SAMPLES[type] ?? `River Mission, ${name}`),
    ]),
  );
}

type Case = {
  name: string;
  kind: RecordKind;
  path: string;
  create: string;
  items: string;
  id: string;
  initial: string;
  other: string;
  least: object;
  leastItem: object;
};

const CASES: Case[] = [
  {
    name: "a need",
    kind: "need",
    path: "/v0/needs",
    create: "/v0/needs",
    items: "needs",
    id: "needId",
    initial: "open",
    other: "withdrawn",
    least: NEED,
    leastItem: { ...NEED, concernsPeopleGroupRop3: [], concernsCountryCode: [] },
  },
  {
    name: "a commitment",
    kind: "commitment",
    path: "/v0/commitments",
    create: "/v0/commitments",
    items: "commitments",
    id: "commitmentId",
    initial: "declared",
    other: "partially_fulfilled",
    least: COMMITMENT,
    leastItem: {
      ...COMMITMENT,
      concernsNeedId: null,
      concernsPeopleGroupRop3: [],
      concernsCountryCode: [],
      targetCompletionDate: null,
    },
  },
  {
    name: "an engagement claim",
    kind: "engagement_claim",
    path: "/v0/engagement-claims",
    create: "/v0/engagement-claims/submit",
    items: "claims",
    id: "claimId",
    initial: "active",
    other: "paused",
    least: CLAIM,
    leastItem: {
      ...CLAIM,
      peopleGroupRop3: null,
      peopleGroupName: null,
      peopleGroupRog3: null,
      countryCode: null,
      countryName: null,
      description: null,
      fulfillsCommitmentId: null,
    },
  },
];

describe.each(CASES)("$name", (record) => {
  test("with only what is required", async () => {
    const created = await post(record.create, record.least);
    expect(created).toMatchObject({ status: 201 });
    expect(created.body).toEqual({ [record.id]: expect.any(String), status: record.initial });
    const id = created.body[record.id];
    const item = { [record.id]: id, ...record.leastItem, status: record.initial, ...STAMPS };
    expect((await get(`${record.path}/${id}`)).body).toEqual(item);
    expect((await get(`${record.path}?limit=1`)).body).toEqual({
      [record.items]: [item],
      total: expect.any(Number),
    });
  });

  test("with everything that can be said about it", async () => {
    const targets: Record<RecordKind, string> = { need: "", commitment: "", engagement_claim: "" };
    for (const { kind, create, id, least } of CASES) targets[kind] = (await post(create, least)).body[id];
    const most = everythingOf(record.kind, targets);
    const created = await post(record.create, most);
    expect(created).toMatchObject({ status: 201 });
    const read = await get(`${record.path}/${created.body[record.id]}`);
    expect(read.body).toMatchObject(most);
  });

  test("takes any status after any other, and says when it changed", async () => {
    const created = await post(record.create, record.least);
    const id = created.body[record.id];
    const before = await get(`${record.path}/${id}`);
    for (const status of [record.other, record.initial, record.other]) {
      const changed = await post(`${record.path}/status`, {
        [record.id]: id,
        status,
        actorEmail: contributor,
      });
      expect(changed).toMatchObject({ status: 200 });
      expect(changed.body).toEqual({ [record.id]: id, status });
    }
    const after = await get(`${record.path}/${id}`);
    expect(after.body.status).toBe(record.other);
    expect(after.body.createdAt).toBe(before.body.createdAt);
    expect(Date.parse(after.body.updatedAt)).toBeGreaterThan(Date.parse(before.body.updatedAt));

    const { rows } = await service.database.owner.query(
      `select from_status, to_status, changed_by_email from app_public.status_history
       where $1 in (need_id, commitment_id, engagement_claim_id) order by status_history_id`,
      [id],
    );
    expect(rows.map((row) => [row.from_status, row.to_status, row.changed_by_email])).toEqual([
      [null, record.initial, contributor],
      [record.initial, record.other, contributor],
      [record.other, record.initial, contributor],
      [record.initial, record.other, contributor],
    ]);
  });

  test("may go from each of its statuses to each other", async () => {
    const { body } = await post(record.create, record.least);
    const { setStatus, statuses } = RECORDS[record.kind];
    const client = await service.database.owner.connect();
    const set = (status: string) =>
      client.query(`select from app_public.${setStatus}($1, $2, $3)`, [body[record.id], status, contributor]);
    const refused: string[] = [];
    for (const from of enums[statuses as keyof typeof enums]) {
      for (const to of enums[statuses as keyof typeof enums]) {
        await client.query("begin; set local role api_write");
        await set(from)
          .then(() => set(to))
          .catch(() => refused.push(`${from} → ${to}`));
        await client.query("rollback");
      }
    }
    client.release();
    expect(refused).toEqual([]);
  });

  test("refuses a status of another kind of record", async () => {
    const created = await post(record.create, record.least);
    const changed = await post(`${record.path}/status`, {
      [record.id]: created.body[record.id],
      status: "done",
      actorEmail: contributor,
    });
    expect(changed).toMatchObject({
      status: 400,
      body: { error: "validation_failed", details: [{ path: "status" }] },
    });
  });

  test("that the load check refused says why, and only then", async () => {
    const created = await post(record.create, record.least);
    const id = created.body[record.id];
    const errors = [{ path: "orgUri", message: `is not that of ${record.name}` }];
    await service.database.owner.query(
      `update app_private.graph_records set state = 'rejected', synced_revision = revision, errors = $2 where record_id = $1`,
      [id, JSON.stringify(errors)],
    );
    expect((await get(`${record.path}/${id}`)).body).toMatchObject({
      graphStatus: "rejected",
      graphErrors: errors,
    });
    const listed = (await get(`${record.path}?limit=1`)).body[record.items][0];
    expect(listed).toMatchObject({ [record.id]: id, graphStatus: "rejected" });
    expect(listed).not.toHaveProperty("graphErrors");
    await service.database.owner.query(
      "update app_private.graph_records set state = 'synced' where record_id = $1",
      [id],
    );
    const { body } = await get(`${record.path}/${id}`);
    expect(body.graphStatus).toBe("synced");
    expect(body).not.toHaveProperty("graphErrors");
  });
});

test("the accelerator list holds every code and says which are deprecated", async () => {
  const { body } = await get("/v0/accelerators");
  expect(body.total).toBe(3);
  expect(
    body.accelerators.map((item: { code: string; deprecated: boolean }) => [item.code, item.deprecated]),
  ).toEqual([
    ["OLD-ONE", true],
    ["PRA", false],
    ["PRA-INT", false],
  ]);
  expect(body.accelerators[2]).toEqual({
    code: "PRA-INT",
    kind: "function",
    prefLabel: "Intercession",
    definition: null,
    broader: "PRA",
    conceptUri: "https://ontology.example.org/core#accelerator-PRA-INT",
    deprecated: false,
  });
});
