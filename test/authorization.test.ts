// Who may write what: one table of cases, through every door, with every refusal by its code.
// A change to a rule in db/rules/permissions.sql or membership.sql shows up here as the cases that now differ.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client, DatabaseError } from "pg";
import { issueTestKey, keyIdOf } from "./support/database.ts";
import type { KeyBounds } from "./support/database.ts";
import { AUDIENCE, TestProvider } from "./support/oidc.ts";
import { call, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";
import * as world from "./support/world.ts";

type Scope = "read" | "write" | "review";
/** Who says who acts: an API key of a scope, which names them, one with bounds, or a person's own token or session. */
type Caller = Scope | Bounded | "token" | "session";
type Outcome =
  | "allowed"
  | "membership_required"
  | "insufficient_role"
  | "insufficient_scope"
  | "not_your_identity"
  | "key_not_for_organization"
  | "key_not_for_person";

// The outcome for every operation below, and any operation for which it differs.
type Standing = [who: string, email: string, outcome: Outcome, except?: Record<string, Outcome>];

const STANDINGS: Standing[] = [
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

const SCOPES: [scope: Scope, mayWrite: boolean][] = [
  ["read", false],
  ["write", true],
  ["review", true],
];

// Keys of scope api_write with bounds, and what they refuse whoever is named; within the bounds nothing.
const BOUNDED = {
  "for the organization and the person": [
    { organizations: [world.ORG], persons: STANDINGS.map(([, email]) => email) },
    undefined,
  ],
  "for another organization": [{ organizations: [world.OTHER_ORG] }, "key_not_for_organization"],
  "for another person": [{ persons: ["someone-else@river.example"] }, "key_not_for_person"],
} as const satisfies Record<string, [KeyBounds, Outcome | undefined]>;
type Bounded = keyof typeof BOUNDED;
const bounded = new Map<Caller, { key: string; keyId: string }>();

type Operation = {
  name: string;
  path: string;
  mutation: string;
  result: string;
  sql: string;
  /** What is sent, by wire names; who acts can be left out by persons. */
  input: (email: string | null) => Record<string, unknown>;
};

// The records whose status is changed; made before the cases run.
const record = { needId: "", commitmentId: "", claimId: "" };
const codes = ["PRA-INT"];
const common = { orgUri: world.ORG, orgName: "River Mission" };

const OPERATIONS: Operation[] = [
  {
    name: "declare a need",
    path: "/v0/needs",
    mutation: "declareNeed",
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
    mutation: "updateNeedStatus",
    result: "need { needId }",
    sql: "select app_public.update_need_status($1, $2, $3)",
    input: (actorEmail) => ({ needId: record.needId, status: "partially_met", actorEmail }),
  },
  {
    name: "declare a commitment",
    path: "/v0/commitments",
    mutation: "declareCommitment",
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
    mutation: "updateCommitmentStatus",
    result: "commitment { commitmentId }",
    sql: "select app_public.update_commitment_status($1, $2, $3)",
    input: (actorEmail) => ({ commitmentId: record.commitmentId, status: "funded", actorEmail }),
  },
  {
    name: "submit an engagement claim",
    path: "/v0/engagement-claims/submit",
    mutation: "submitEngagementClaim",
    result: "engagementClaim { claimId }",
    sql: "insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators) values ($1, $2, $3, $4)",
    input: (claimedByEmail) => ({ ...common, claimedByEmail, engagementAccelerators: codes }),
  },
  {
    name: "change an engagement claim's status",
    path: "/v0/engagement-claims/status",
    mutation: "updateEngagementClaimStatus",
    result: "engagementClaim { claimId }",
    sql: "select app_public.update_engagement_claim_status($1, $2, $3)",
    input: (actorEmail) => ({ claimId: record.claimId, status: "paused", actorEmail }),
  },
];

let service: TestService;
let psql: Client;

let provider: TestProvider;
/** Makes something once for each person. */
function perPerson<T>(make: (email: string) => Promise<T>): (email: string) => Promise<T> {
  const made = new Map<string, Promise<T>>();
  return (email) => {
    const one = made.get(email) ?? make(email);
    made.set(email, one);
    return one;
  };
}
const tokenOf = perPerson((email) => provider.tokenOf(email));
const sessionOf = perPerson((email) => new Visitor(service).signIn(email));

/** Sends a request as a caller. */
async function post(
  caller: Caller,
  person: string,
  path: string,
  body: object,
): Promise<Pick<Answer, "status" | "body">> {
  if (caller === "session") return (await sessionOf(person)).call(path, body);
  const credential =
    caller === "token" ? await tokenOf(person) : (bounded.get(caller)?.key ?? service.keys[caller as Scope]);
  return call(`${service.url}${path}`, "POST", credential, body);
}

/** What the server says to the database of a person who calls. */
async function personOf(caller: Caller, email: string): Promise<string> {
  if (caller === "token") return JSON.stringify({ email });
  if (caller !== "session") return "";
  await sessionOf(email);
  const { rows } = await service.database.owner.query<{ person: string }>(
    "select app_private.session_person(s)::text as person from app_private.sessions as s where email = $1",
    [email],
  );
  return rows[0]!.person;
}

beforeAll(async () => {
  provider = await TestProvider.start();
  service = await startTestService({
    config: { oidc: { issuers: [provider.issuer], audience: AUDIENCE } },
  });
  psql = new Client(service.database.serverUrl);
  await psql.connect();
  for (const [name, [bounds]] of Object.entries(BOUNDED)) {
    const key = await issueTestKey(service.database.owner, "api_write", bounds);
    bounded.set(name as Bounded, { key, keyId: await keyIdOf(service.database.owner, key) });
  }
  const make = async (operation: Operation) =>
    (await call(`${service.url}${operation.path}`, "POST", service.keys.write, operation.input(world.admin)))
      .body;
  record.needId = (await make(OPERATIONS[0]!)).needId;
  record.commitmentId = (await make(OPERATIONS[2]!)).commitmentId;
  record.claimId = (await make(OPERATIONS[4]!)).claimId;
});
afterAll(async () => {
  await psql.end();
  await service.stop();
  await provider.stop();
});

/** Each door returns the outcome: "allowed", or the code of the refusal. */
const DOORS: Record<
  string,
  (operation: Operation, caller: Caller, named: string | null, person: string) => Promise<string>
> = {
  REST: async ({ path, input }, caller, named, person) => {
    const given = Object.entries(input(named)).filter(([, value]) => value !== null);
    const answer = await post(caller, person, path, Object.fromEntries(given));
    if (answer.status >= 400) expect(answer.body.statusCode).toBe(answer.status);
    return answer.status < 300 ? "allowed" : `${answer.status} ${answer.body.error}`;
  },
  GraphQL: async ({ mutation, result, input }, caller, named, person) => {
    const inputType = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input`;
    const query = `mutation ($input: ${inputType}!) { ${mutation}(input: $input) { ${result} } }`;
    const answer = await post(caller, person, "/graphql", { query, variables: { input: input(named) } });
    const [error] = answer.body.errors ?? [];
    return error ? [error.extensions.statusCode, error.extensions.code].join(" ") : "allowed";
  },
  SQL: async ({ sql, input }, caller, named, person) => {
    const keyId = bounded.get(caller)?.keyId;
    const identity = await personOf(caller, person);
    await psql.query("begin");
    await psql.query(`set local role api_${identity ? "person" : keyId ? "write" : caller}`);
    await psql.query("select set_config('app.person', $1, true), set_config('app.key_id', $2, true)", [
      identity,
      keyId ?? "",
    ]);
    try {
      await psql.query(sql, Object.values(input(named)));
      await psql.query("commit");
      return "allowed";
    } catch (error) {
      await psql.query("rollback");
      if (!(error instanceof DatabaseError)) throw error;
      return error.code === "42501" ? "403 insufficient_scope" : `${error.code?.slice(2)} ${error.detail}`;
    }
  },
};

/** Everything that a write leaves behind. */
async function traces(): Promise<unknown> {
  const { rows } = await service.database.owner.query(`
    select
      (select count(*) from app_public.needs) as needs,
      (select count(*) from app_public.commitments) as commitments,
      (select count(*) from app_public.engagement_claims) as engagement_claims,
      (select count(*) from app_public.status_history) as history,
      (select sum(revision) from app_private.graph_records) as revisions,
      (select count(*) from app_private.graph_wakeups) as wakeups,
      (select count(*) from graphile_worker.jobs) as jobs`);
  return rows[0];
}

describe.each(Object.keys(DOORS))("through %s", (door) => {
  describe.each(OPERATIONS.map((operation) => [operation.name, operation] as const))(
    "to %s",
    (_, operation) => {
      test.each(
        STANDINGS.flatMap(([who, email, standing, except]) => {
          const expected = except?.[operation.name] ?? standing;
          const someoneElse = email === world.admin ? world.contributor : world.admin;
          type Case = [says: string, caller: Caller, named: string | null, person: string, outcome: Outcome];
          return [
            ...SCOPES.map(([scope, mayWrite]): Case => {
              const outcome = mayWrite ? expected : "insufficient_scope";
              return [`${who} named by a key of scope api_${scope}`, scope, email, email, outcome];
            }),
            ...(Object.keys(BOUNDED) as Bounded[]).map((key): Case => {
              const outcome = BOUNDED[key][1] ?? expected;
              return [`${who} named by a key ${key}`, key, email, email, outcome];
            }),
            ...(["token", "session"] as const).flatMap((own): Case[] => [
              [`${who} by their own ${own}`, own, email, email, expected],
              [`${who} by their own ${own} alone`, own, null, email, expected],
              [`${who} by their own ${own}, as somebody else`, own, someoneElse, email, "not_your_identity"],
            ]),
          ] satisfies Case[];
        }),
      )("%s", async (_says, caller, named, person, outcome) => {
        // Whoever comes for the first time signs in, which has traces of its own.
        if (caller === "session") await sessionOf(person);
        const before = await traces();
        const answered = await DOORS[door]!(operation, caller, named, person);
        expect(answered).toBe(outcome === "allowed" ? "allowed" : `403 ${outcome}`);
        if (outcome === "allowed") expect(await traces()).not.toEqual(before);
        else expect(await traces()).toEqual(before);
      });
    },
  );
});

test("malformed input is reported before missing rights, and missing rights before missing records", async () => {
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
