// Who may write what: one table of cases, through every door, with every refusal by its code.
// A change to a rule in db/rules/permissions.sql or membership.sql shows up here as the cases that now differ.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Doors, tryEveryCell } from "./support/authorization.ts";
import type { Operation, Outcome } from "./support/authorization.ts";
import { call } from "./support/service.ts";
import * as world from "./support/world.ts";

// What becomes of any write of a record, and of those for which it differs.
type Row = [who: string, email: string, outcome: Outcome, except?: Record<Operation["name"], Outcome>];
const PEOPLE: Row[] = [
  ["an org_admin", world.admin, "allowed"],
  ["an org_contributor", world.contributor, "allowed"],
  ["an org_contributor, e-mail address in a different case", world.contributor.toUpperCase(), "allowed"],
  ["an org_member", world.member, "insufficient_role"],
  ["a suspended org_contributor", world.suspended, "membership_required"],
  ["a revoked org_contributor", world.revoked, "membership_required"],
  ["an approved claimant without membership", world.claimant, "allowed"],
  ["an approved claimant with a suspended membership", world.suspendedClaimant, "membership_required"],
  ["a user without membership or claim", world.stranger, "membership_required"],
  ["somebody unknown to the service", "nobody@nowhere.example", "membership_required"],
  ["the org_admin of another organization", world.otherAdmin, "membership_required"],
];

// The records whose status is changed; made before the cases run.
const record = { needId: "", commitmentId: "", claimId: "" };
const codes = ["PRA-INT"];
const common = { orgUri: world.ORG, orgName: "River Mission" };

const OPERATIONS: Operation[] = [
  {
    name: "declare a need",
    path: "/v0/needs",
    field: "declareNeed",
    result: "need { needId }",
    sql: "insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators) values ($1, $2, $3, $4, $5)",
    input: (declaredByEmail) => ({
      ...common,
      declaredByEmail,
      needDescription: "Prayer",
      accelerators: codes,
    }),
  },
  {
    name: "change a need's status",
    path: "/v0/needs/status",
    field: "updateNeedStatus",
    result: "need { needId }",
    sql: "select app_public.update_need_status($1, $2, $3)",
    input: (actorEmail) => ({ needId: record.needId, status: "partially_met", actorEmail }),
  },
  {
    name: "declare a commitment",
    path: "/v0/commitments",
    field: "declareCommitment",
    result: "commitment { commitmentId }",
    sql: "insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope) values ($1, $2, $3, $4, $5)",
    input: (declaredByEmail) => ({
      ...common,
      declaredByEmail,
      commitmentDescription: "We pray",
      acceleratorScope: codes,
    }),
  },
  {
    name: "change a commitment's status",
    path: "/v0/commitments/status",
    field: "updateCommitmentStatus",
    result: "commitment { commitmentId }",
    sql: "select app_public.update_commitment_status($1, $2, $3)",
    input: (actorEmail) => ({ commitmentId: record.commitmentId, status: "funded", actorEmail }),
  },
  {
    name: "submit an engagement claim",
    path: "/v0/engagement-claims/submit",
    field: "submitEngagementClaim",
    result: "engagementClaim { claimId }",
    sql: "insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators) values ($1, $2, $3, $4)",
    input: (claimedByEmail) => ({ ...common, claimedByEmail, engagementAccelerators: codes }),
  },
  {
    name: "change an engagement claim's status",
    path: "/v0/engagement-claims/status",
    field: "updateEngagementClaimStatus",
    result: "engagementClaim { claimId }",
    sql: "select app_public.update_engagement_claim_status($1, $2, $3)",
    input: (actorEmail) => ({ claimId: record.claimId, status: "paused", actorEmail }),
  },
];

let doors: Doors;
beforeAll(async () => {
  doors = await Doors.open(PEOPLE.map(([, email]) => email));
  const make = async ({ path, input }: Operation) => {
    const { service } = doors;
    return (await call(`${service.url}${path}`, "POST", service.keys.write, input(world.admin))).body;
  };
  record.needId = (await make(OPERATIONS[0]!)).needId;
  record.commitmentId = (await make(OPERATIONS[2]!)).commitmentId;
  record.claimId = (await make(OPERATIONS[4]!)).claimId;
});
afterAll(() => doors.close());

tryEveryCell(
  () => doors,
  OPERATIONS,
  PEOPLE.map(([who, email, outcome, except]) => ({
    who,
    email,
    cells: Object.fromEntries(OPERATIONS.map(({ name }) => [name, except?.[name] ?? outcome])),
  })),
);

test("malformed input is reported before missing rights, and missing rights before missing records", async () => {
  const { service } = doors;
  const declare = (body: object, key = service.keys.write) =>
    call(`${service.url}/v0/needs`, "POST", key, body);
  const need = OPERATIONS[0]!.input(world.stranger);
  expect((await declare({ ...need, accelerators: [] })).body.error).toBe("validation_failed");
  expect((await declare({ ...need, accelerators: ["NO-SUCH"] })).body.error).toBe("membership_required");
  expect(
    (await declare({ ...need, accelerators: ["NO-SUCH"], declaredByEmail: world.admin })).body.error,
  ).toBe("unknown_accelerator_code");
  const nowhere = {
    needId: "00000000-0000-4000-8000-000000000000",
    status: "met",
    actorEmail: world.stranger,
  };
  expect((await call(`${service.url}/v0/needs/status`, "POST", service.keys.read, nowhere)).body.error).toBe(
    "insufficient_scope",
  );
  expect(
    (await call(`${service.url}/v0/needs/status`, "POST", service.keys.write, nowhere)).body,
  ).toMatchObject({
    error: "need_not_found",
    statusCode: 404,
  });
});

test("a bare SQL session cannot set what the database decides, or write in nobody's name", async () => {
  const { psql } = doors;
  const refused: [string, string][] = [
    ["insert into app_public.needs (org_uri, status) values ('x', 'met')", "42501"],
    ["insert into app_public.needs (need_id) values (gen_random_uuid())", "42501"],
    ["update app_public.needs set org_uri = 'https://elsewhere.example/'", "42501"],
    ["update app_public.needs set need_description = 'x'", "42501"],
    ["update app_public.commitments set target_completion_date = null", "42501"],
    ["update app_public.engagement_claims set description = 'x'", "42501"],
    ["update app_public.needs set status = 'met'", "PT403"],
    ["delete from app_public.needs", "42501"],
    ["insert into app_public.memberships select from app_public.memberships", "42501"],
    ["select * from app_public.users", "42501"],
    ["select * from app_private.api_keys", "42501"],
    ["select * from app_private.idempotent_answers", "42501"],
    ["select graphile_worker.add_job('project_records')", "42501"],
    ["insert into app_public.status_history (to_status) values ('met')", "42501"],
    ["create table app_public.mine ()", "42501"],
  ];
  for (const role of ["api_write", "api_person"]) {
    for (const [sql, state] of refused) {
      await psql.query("begin");
      await psql.query(`set local role ${role}`);
      await expect(psql.query(sql)).rejects.toMatchObject({ code: state });
      await psql.query("rollback");
    }
  }
  // A person who is nobody is not one who may name anybody.
  const kelvin = { email: "İ\u212a" };
  for (const claims of ["", "{}", JSON.stringify({ email: "" }), JSON.stringify(kelvin)]) {
    await psql.query("begin; set local role api_person");
    await psql.query("select set_config('app.person', $1, true)", [claims]);
    await expect(
      psql.query(OPERATIONS[0]!.sql, Object.values(OPERATIONS[0]!.input(world.admin))),
    ).rejects.toMatchObject({ code: "PT403", detail: "not_your_identity" });
    await psql.query("rollback");
  }
  // Whoever is set acts, without being named.
  await psql.query("begin; set local role api_person");
  await psql.query("select set_config('app.person', $1, true)", [JSON.stringify({ email: world.admin })]);
  const { rowCount } = await psql.query("update app_public.needs set status = 'met'");
  expect(rowCount).toBeGreaterThan(0);
  await psql.query("rollback");
  // Before it becomes an API role, the server's login can reach nothing.
  await expect(psql.query("select * from app_public.needs")).rejects.toMatchObject({ code: "42501" });
});

// Each function says first who acts; one that forgets to must not give its caller what another may do.
test.each([
  ["an organization", "select app_private.authorize($2, $1, 'members:manage')"],
  ["the platform", "select app_private.require_platform_permission($1, 'roles:assign')::text || $2::text"],
])("a permission of %s is asked for by nobody but whoever is calling", async (_, sql) => {
  const client = await doors.service.database.owner.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('app.person', $1, true)", [
      JSON.stringify({ email: world.contributor }),
    ]);
    await expect(client.query(sql, [world.admin, world.ORG])).rejects.toMatchObject({
      detail: "not_your_identity",
    });
  } finally {
    client.release(true);
  }
});

test("each kind of record asks for the permission of its own kind, to declare one and to change its status", async () => {
  const { service } = doors;
  const { owner } = service.database;
  const allowed = async () => {
    const names: string[] = [];
    for (const { name, path, input } of OPERATIONS) {
      const body = input(world.contributor);
      const { status } = await call(`${service.url}${path}`, "POST", service.keys.write, body);
      if (status < 300) names.push(name);
    }
    return names;
  };
  const permissions = ["needs:write", "commitments:write", "engagement_claims:write"];
  for (const [kind, permission] of permissions.entries()) {
    const values = ["org_contributor", permission];
    await owner.query(
      "delete from app_public.organization_permissions where role = $1 and permission = $2",
      values,
    );
    try {
      const others = OPERATIONS.filter((_, place) => Math.floor(place / 2) !== kind);
      expect(await allowed()).toEqual(others.map(({ name }) => name));
    } finally {
      await owner.query(
        "insert into app_public.organization_permissions (role, permission) values ($1, $2)",
        values,
      );
    }
  }
});
