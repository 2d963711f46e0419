// Which key made each change, through which program and request; and who may see that.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createPool } from "../db/pool.ts";
import { issueTestKey, keyIdOf } from "./support/database.ts";
import { ask, refusal, send } from "./support/graphql.ts";
import {
  addOrganization,
  addPlatformPeople,
  claimOf,
  DOORS,
  membershipDoor,
  platformAdmin,
} from "./support/membership.ts";
import type { Reply } from "./support/membership.ts";
import { admin as adminTool } from "./support/process.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, contributor, ORG } from "./support/world.ts";

let service: TestService;
let keyIds: Record<keyof TestService["keys"], string>;
beforeAll(async () => {
  service = await startTestService();
  await addPlatformPeople(db());
  const idOf = async (key: string) => {
    const { rows } = await db().query<{ id: string }>(
      "select key_id as id from app_private.api_keys where key_hash = sha256(convert_to($1, 'utf8'))",
      [key],
    );
    return rows[0]!.id;
  };
  const { read, write, review } = service.keys;
  keyIds = { read: await idOf(read), write: await idOf(write), review: await idOf(review) };
});
afterAll(() => service.stop());

const db = () => service.database.owner;
const need = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Audio Scriptures",
  accelerators: ["PRA-INT"],
};

type Step = { name: string; change: object; email: string | null; key: string | null; through: string };
async function trailOf(subject: string, name?: string): Promise<Step[]> {
  const { rows } = await db().query<Step>(
    `select name, change, changed_by_email as email, changed_by_key as key, changed_through as through
     from app_private.trail where subject = $1 and ($2::text is null or name = $2) order by changed_at`,
    [subject, name],
  );
  return rows;
}

test("a record's history names the key and the request of each change", async () => {
  const declared = await call(`${service.url}/v0/needs`, "POST", service.keys.write, need, {
    "x-request-id": "declared-here",
  });
  const { needId } = declared.body;
  await send(
    service,
    `mutation { updateNeedStatus(input: {needId: "${needId}", status: met, actorEmail: "${admin}"}) { need { needId } } }`,
    {},
    "review",
  );
  const { rows } = await db().query(
    `select to_status, changed_by_email, changed_by_key, changed_through, request_id
     from app_public.status_history where need_id = $1 order by status_history_id`,
    [needId],
  );
  const through = { changed_through: "engagement-server" };
  expect(rows).toEqual([
    {
      ...{ to_status: "open", changed_by_email: contributor, ...through },
      ...{ changed_by_key: keyIds.write, request_id: "declared-here" },
    },
    {
      ...{ to_status: "met", changed_by_email: admin, ...through },
      ...{ changed_by_key: keyIds.review, request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    },
  ]);
});

test("each kind of record has its steps under its own name", async () => {
  const by = { orgUri: ORG, orgName: "River Mission" };
  const commitment = {
    declaredByEmail: contributor,
    commitmentDescription: "Pumps",
    acceleratorScope: ["PRA"],
  };
  const attestation = { claimedByEmail: contributor, engagementAccelerators: ["PRA"], countryCode: "NE" };
  const routes: Record<string, [path: string, status: string, body: object]> = {
    need: ["/v0/needs", "open", need],
    commitment: ["/v0/commitments", "declared", { ...by, ...commitment }],
    engagement_claim: ["/v0/engagement-claims/submit", "active", { ...by, ...attestation }],
  };
  for (const [kind, [path, status, body]] of Object.entries(routes)) {
    const declared = await call(`${service.url}${path}`, "POST", service.keys.write, body);
    const { needId, commitmentId, claimId } = declared.body;
    const id = needId ?? commitmentId ?? claimId;
    expect([kind, id, await trailOf(kind, id)]).toMatchObject([
      kind,
      expect.any(String),
      [{ change: { status } }],
    ]);
  }
});

test("with an Idempotency-Key too", async () => {
  const declared = await call(`${service.url}/v0/needs`, "POST", service.keys.write, need, {
    "idempotency-key": "trail",
  });
  expect(await trailOf("need", declared.body.needId)).toMatchObject([{ key: keyIds.write }]);
});

test("the job of a request that is not traced is told of no trace", async () => {
  const claim = claimOf(
    { uri: ORG, name: "River Mission", domain: "river.example" },
    "untraced@elsewhere.example",
  );
  expect((await membershipDoor("REST", () => service).claim(claim)).refusal).toBeUndefined();
  const { rows } = await db().query<{ payload: unknown }>(
    `select j.payload from graphile_worker._private_jobs as j join graphile_worker._private_tasks as t on t.id = j.task_id
     where t.identifier = 'send_mails' and j.payload::text <> '{}'`,
  );
  expect(rows).toEqual([]);
  const { rowCount } = await db().query(
    "select from graphile_worker.jobs where task_identifier = 'send_mails'",
  );
  expect(rowCount).toBeGreaterThan(0);
});

test("each job of a request that is traced is told of its trace: of records, lists and mails", async () => {
  const client = await db().connect();
  try {
    const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await client.query("begin");
    await client.query("select set_config('app.trace_parent', $1, true)", [trace]);
    await client.query(
      `delete from app_private.graph_wakeups;
       delete from graphile_worker._private_jobs;
       insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
         values ('${ORG}', 'River Mission', '${contributor}', 'Wells', '{PRA}');
       select app_private.recheck_later();
       insert into app_private.mails (unique_key, kind, recipient, data) values ('traced', 'sign_in', 'a@elsewhere.example', '{}')`,
    );
    const { rows } = await client.query(
      `select t.identifier as job, j.payload ->> 'traceparent' as trace
       from graphile_worker._private_jobs as j join graphile_worker._private_tasks as t on t.id = j.task_id order by 1`,
    );
    expect(rows).toEqual(["project_records", "recheck_records", "send_mails"].map((job) => ({ job, trace })));
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("a key is not remembered beyond its request", async () => {
  const pool = createPool(service.database.serverUrl, { max: 1 });
  const declare = (key: string | null) =>
    pool.query<{ id: string }>("select app_private.run_as('api_write', $1, $2, $3) as id", [
      `select (app_public.declare_need($1 ->> 'orgUri', $1 ->> 'orgName', $1 ->> 'declaredByEmail',
         $1 ->> 'needDescription', array['PRA-INT'])).need_id::text`,
      JSON.stringify(need),
      key,
    ]);
  try {
    const made = [await declare(keyIds.write), await declare(null)].map(({ rows }) => rows[0]!.id);
    const keys = await Promise.all(made.map(async (id) => (await trailOf("need", id))[0]!.key));
    expect(keys).toEqual([keyIds.write, null]);
  } finally {
    await pool.end();
  }
});

test("who acted is not remembered beyond the transaction", async () => {
  const client = await db().connect();
  try {
    const actor = async () => {
      const { rows } = await client.query<{ actor: string | null }>(
        "select app_private.current_actor() as actor",
      );
      return rows[0]!.actor;
    };
    await client.query("begin");
    await client.query("select app_private.name_actor($1)", [contributor]);
    expect(await actor()).toBe(contributor);
    await client.query("commit");
    expect(await actor()).toBeNull();
  } finally {
    client.release(true);
  }
});

test("a bare session under an API role has no key, and is named by what it calls itself", async () => {
  const pool = createPool(service.database.serverUrl, { max: 1, application_name: "psql" });
  const client = await pool.connect();
  try {
    await client.query("begin; set local role api_write");
    const { rows } = await client.query<{ id: string }>(
      `select (app_public.declare_need($1, 'River Mission', $2, 'By hand', array['PRA-INT'])).need_id as id`,
      [ORG, contributor],
    );
    await client.query("commit");
    expect(await trailOf("need", rows[0]!.id)).toMatchObject([
      { key: null, through: "psql", email: contributor },
    ]);
  } finally {
    client.release();
    await pool.end();
  }
});

describe.each(DOORS)("through %s", (name) => {
  const door = membershipDoor(name, () => service);

  test("roles, organizations and claims tell of the key as well", async () => {
    const role = "org_contributor";
    const promoted = `promoted-${name.toLowerCase()}@river.example`;
    await db().query("select app_private.add_member($1, $2, 'org_member')", [ORG, promoted]);
    await door.setMemberRole({ orgUri: ORG, userEmail: promoted, role, adminEmail: admin });
    expect((await trailOf("role", promoted)).at(-1)).toMatchObject({
      ...{ key: keyIds.review, email: admin, through: "engagement-server" },
      change: { org_uri: ORG, role },
    });

    await door.updateOrganization({ orgUri: ORG, adminEmail: admin, website: `https://${name}.example` });
    expect((await trailOf("organization", ORG)).at(-1)).toMatchObject({
      ...{ key: keyIds.review, email: admin },
      change: { website: `https://${name}.example` },
    });

    const userEmail = `newcomer-${name.toLowerCase()}@elsewhere.example`;
    const { value } = await door.claim({
      ...{ userEmail, firstName: "New", lastName: "Comer", roles: ["helper"] },
      ...{ orgName: "River Mission", isNewOrg: false, orgUri: ORG },
    });
    await door.review({ claimId: value.claimId, action: "reject", adminEmail: admin, notes: "Unknown" });
    expect(
      (await trailOf("organization_claim", value.claimId)).map(({ key, change }) => [key, change]),
    ).toEqual([
      ...["submitted", "pending_review"].map((status) => [keyIds.write, { status }]),
      ...["reviewed", "rejected"].map((status) => [keyIds.review, { status }]),
    ]);
  });

  test("each step names who took it, with claims, memberships and roles on the platform", async () => {
    const org = await addOrganization(db(), { head: "org_admin" });
    const unmanaged = await addOrganization(db());
    const [head, one, two] = ["head", "one", "two"].map((person) => `${person}@${org.domain}`);
    const stepsOf = async (subject: string, name: string) =>
      (await trailOf(subject, name)).map(({ change, email }) => [
        ...[(change as { status: string }).status, email],
      ]);
    const done = async (reply: Promise<Reply>) => {
      const { value, refusal: refused } = await reply;
      expect(refused).toBeUndefined();
      return value;
    };
    const { claimId: approved } = await done(door.claim(claimOf(org, one!)));
    await done(door.review({ claimId: approved, action: "approve", adminEmail: head }));
    const membership = { orgUri: org.uri, userEmail: one };
    await done(door.setMemberStatus({ ...membership, status: "suspended", adminEmail: head }));
    await done(door.setMemberStatus({ ...membership, status: "active", adminEmail: head }));
    await done(door.leave(membership));
    const { claimId: withdrawn } = await done(door.claim(claimOf(org, two!)));
    await done(door.withdraw({ claimId: withdrawn, userEmail: two }));
    await done(door.appoint({ orgUri: unmanaged.uri, userEmail: two, adminEmail: platformAdmin }));
    await done(door.setPlatformRole({ userEmail: two, role: "support", adminEmail: platformAdmin }));
    const taken = [
      await stepsOf("organization_claim", approved),
      await stepsOf("organization_claim", withdrawn),
      await stepsOf("role", one!),
      await stepsOf("role", two!),
    ];
    expect(taken).toEqual([
      // That a claim waits is the service's doing.
      [
        ["submitted", one],
        ["pending_review", null],
        ["reviewed", head],
        ["approved", head],
      ],
      [
        ["submitted", two],
        ["pending_review", null],
        ["withdrawn", two],
      ],
      [
        ["active", head],
        ["suspended", head],
        ["active", head],
        ["revoked", one],
      ],
      [
        ["active", platformAdmin],
        ["active", platformAdmin],
      ],
    ]);
  });
});

test("the operator's tool names itself, and what it does to keys is told without their hash", async () => {
  const settings = { DATABASE_URL: service.database.url };
  const tool = (...args: string[]) => adminTool([...args, "--json"], settings);
  const issued = JSON.parse((await tool("keys", "issue", "--label", "Told", "--scope", "api_read")).stdout);
  await tool("keys", "revoke", issued.keyId);
  const steps = await trailOf("api_key", issued.keyId);
  expect(steps).toMatchObject([
    { change: { label: "Told", scope: "api_read" }, key: null, through: "engagement-admin" },
    { change: { revoked_at: expect.any(String) }, key: null, through: "engagement-admin" },
  ]);
  expect(JSON.stringify(steps)).not.toContain("key_hash");
  // Of a key that has no bounds it is not told that it has none.
  expect(Object.values(steps[0]!.change)).not.toContain(null);

  await tool("members", "add", "--org", ORG, "--email", "by-hand@river.example", "--role", "org_member");
  expect(await trailOf("role", "by-hand@river.example")).toMatchObject([
    { key: null, through: "engagement-admin" },
  ]);
});

test("each history tells who, by which key, through what and with which request, each under its own name", async () => {
  const client = await db().connect();
  try {
    await client.query("begin; set local session_replication_role = replica");
    const trail = [admin, keyIds.read, "issuer subject", "a program", "a request"];
    const names = "changed_by_email, changed_by_key, changed_by_identity, changed_through, request_id";
    for (const [history, columns, values] of [
      ["app_public.status_history", "need_id, to_status, changed_at", "gen_random_uuid(), 'met', now()"],
      ["app_public.organization_claim_history", "claim_id, to_status", "gen_random_uuid(), 'approved'"],
      [
        "app_private.role_history",
        "user_id, role, status",
        "(select user_id from app_public.users limit 1), 'admin', 'active'",
      ],
      ["app_private.administration_history", "subject, name, change", "'list', 'countries', '{}'"],
    ] as const)
      await client.query(
        `insert into ${history} (${columns}, ${names}) values (${values}, $1, $2, $3, $4, $5)`,
        trail,
      );
    const { rows } = await client.query<Record<string, unknown>>(
      `select subject, ${names}, key_label from app_private.trail where request_id = $1 order by subject`,
      [trail.at(-1)],
    );
    expect(rows.map((row) => Object.values(row))).toEqual(
      ["list", "need", "organization_claim", "role"].map((subject) => [subject, ...trail, "test"]),
    );
  } finally {
    client.release(true);
  }
});

test("a bound that is taken from a key is told, as it is when it is set", async () => {
  const key = await issueTestKey(db(), "api_read", { persons: [admin], organizations: [ORG] });
  const id = await keyIdOf(db(), key);
  await db().query("update app_private.api_keys set persons = null where key_id = $1", [id]);
  expect((await trailOf("api_key", id)).map(({ change }) => change)).toEqual([
    expect.objectContaining({ persons: [admin], organizations: [ORG] }),
    { persons: null },
  ]);
});

test("an organization that is saved as it was leaves no trace", async () => {
  const before = await trailOf("organization", ORG);
  await db().query("update app_public.organizations set name = name where org_uri = $1", [ORG]);
  expect(await trailOf("organization", ORG)).toEqual(before);
});

describe("in GraphQL", () => {
  let needId: string;
  beforeAll(async () => {
    const headers = { "x-request-id": "told-here" };
    const { body } = await call(`${service.url}/v0/needs`, "POST", service.keys.write, need, headers);
    needId = body.needId;
  });
  const query = (fields: string) => `{ need(needId: "${needId}") { statusHistory { nodes { ${fields} } } } }`;

  test("a key that may review sees which key it was, by id and label", async () => {
    const data = await ask(service, query("changedByKey changedByKeyLabel requestId"), {}, "review");
    expect(data.need.statusHistory.nodes).toEqual([
      { changedByKey: keyIds.write, changedByKeyLabel: "test", requestId: "told-here" },
    ]);
  });

  test.each(["changedByKey", "changedByKeyLabel", "changedByIdentity", "changedThrough", "requestId"])(
    "no other key sees %s",
    async (field) => {
      for (const scope of ["read", "write"] as const) {
        expect(await refusal(service, query(field), {}, scope)).toEqual(["insufficient_scope", 403]);
      }
      const filter = `{ statusHistory(filter: { changedByKey: { isNull: false } }) { nodes { toStatus } } }`;
      const guess = `{ needs(filter: { statusHistory: { some: { changedByKey: { equalTo: "${keyIds.write}" } } } }) { nodes { needId } } }`;
      for (const sly of [filter, guess]) {
        expect((await send(service, sly, {}, "read")).errors?.length).toBeGreaterThan(0);
      }
    },
  );

  test("what they saw before they still see", async () => {
    const data = await ask(service, query("toStatus changedByEmail changedAt"), {}, "read");
    expect(data.need.statusHistory.nodes).toMatchObject([{ toStatus: "open", changedByEmail: contributor }]);
  });
});

test("every history has the columns of the trail, which fill themselves", async () => {
  const { rows } = await db().query<{ history: string; columns: string[] }>(
    `select c.relname as history,
       array(select a.attname::text from pg_attribute as a
         join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
         where a.attrelid = c.oid and a.attname in ('changed_by_identity', 'changed_by_key', 'changed_through', 'request_id')
         order by 1) as columns
     from pg_class as c
     where c.relnamespace in ('app_public'::regnamespace, 'app_private'::regnamespace)
       and c.relkind = 'r' and c.relname like '%\\_history'`,
  );
  expect(rows.length).toBeGreaterThanOrEqual(4);
  for (const { history, columns } of rows) {
    expect({ history, columns }).toEqual({
      history,
      columns: ["changed_by_identity", "changed_by_key", "changed_through", "request_id"],
    });
  }
});
