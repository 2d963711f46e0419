// Who may decide about people and organizations, look at them, or give up what is their own: a table of cases as in
// authorization.test.ts, each tried once more on the same standing.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Doors, tryEveryCell } from "./support/authorization.ts";
import type { Cell, Operation } from "./support/authorization.ts";
import { call } from "./support/service.ts";
import * as world from "./support/world.ts";

const target = "target@river.example";
const platformAdmin = "admin@platform.example";
const support = "support@platform.example";
const UNMANAGED_ORG = "https://data.example.org/org/unmanaged";
const unknown = "nobody@nowhere.example";
const CLAIM = "00000000-0000-4000-8000-000000000001";

const idOf = (email: string) =>
  `(select user_id from app_public.users where lower(email) = lower('${email}'))`;
const waitingClaim = (email: string) => `
  delete from app_private.mails;
  delete from app_public.organization_claims where claim_id = '${CLAIM}' or user_id = ${idOf(unknown)};
  delete from app_public.users where email = '${unknown}';
  insert into app_public.organization_claims (claim_id, user_id, org_uri, org_name, email_domain)
    select '${CLAIM}', user_id, '${world.ORG}', 'River Mission', 'river.example'
    from app_public.users where lower(email) = lower('${email}');
  update app_public.organization_claims set status = 'pending_review', routed_to = 'organization'
    where claim_id = '${CLAIM}'`;

const OPERATIONS: Operation[] = [
  {
    name: "review a claim",
    scope: "review",
    path: "/v0/admin/claims/review",
    field: "reviewOrganizationClaim",
    result: "decision { claimId }",
    sql: "select app_public.review_organization_claim($1, $2, $3)",
    input: (adminEmail) => ({ claimId: CLAIM, action: "approve", adminEmail }),
    prepare: () => waitingClaim(target),
  },
  {
    name: "list claims for review",
    scope: "review",
    reads: true,
    path: "/v0/admin/claims",
    field: "organizationClaimsForReview",
    result: "total",
    sql: "select app_public.organization_claims_for_review($1)",
    input: (adminEmail) => ({ adminEmail }),
  },
  {
    name: "change a member's role",
    scope: "review",
    path: "/v0/orgs/members/role",
    field: "setMemberRole",
    result: "member { role }",
    sql: "select app_public.set_member_role($1, $2, $3, $4)",
    input: (adminEmail) => ({ orgUri: world.ORG, userEmail: target, role: "org_contributor", adminEmail }),
    prepare: () => `
      update app_public.memberships set role = 'org_member'
      where org_uri = '${world.ORG}' and user_id = ${idOf(target)}`,
  },
  {
    name: "change a member's status",
    scope: "review",
    path: "/v0/orgs/members/status",
    field: "setMemberStatus",
    result: "member { status }",
    sql: "select app_public.set_member_status($1, $2, $3, $4)",
    input: (adminEmail) => ({ orgUri: world.ORG, userEmail: target, status: "suspended", adminEmail }),
    prepare: () => `
      update app_public.memberships set status = 'active'
      where org_uri = '${world.ORG}' and user_id = ${idOf(target)}`,
  },
  {
    name: "list members",
    scope: "review",
    reads: true,
    path: "/v0/orgs/members",
    field: "organizationMembers",
    result: "nodes { userEmail }",
    sql: "select app_public.organization_members($1, $2)",
    input: (adminEmail) => ({ orgUri: world.ORG, adminEmail }),
  },
  {
    name: "change an organization",
    scope: "review",
    path: "/v0/orgs/metadata",
    field: "updateOrganization",
    result: "organization { name }",
    sql: "select app_public.update_organization($1, $2, $3)",
    input: (adminEmail) => ({ orgUri: world.ORG, adminEmail, name: "River Mission International" }),
    prepare: () =>
      `update app_public.organizations set name = 'River Mission' where org_uri = '${world.ORG}'`,
  },
  {
    name: "appoint an administrator",
    scope: "review",
    path: "/v0/orgs/members/appoint",
    field: "appointAdministrator",
    result: "member { role }",
    sql: "select app_public.appoint_administrator($1, $2, $3)",
    input: (adminEmail) => ({ orgUri: UNMANAGED_ORG, userEmail: target, adminEmail }),
    prepare: () => `
      set session_replication_role = replica;
      delete from app_public.memberships where org_uri = '${UNMANAGED_ORG}';
      set session_replication_role = origin`,
  },
  {
    name: "give a role on the platform",
    scope: "review",
    path: "/v0/admin/users/role",
    field: "setPlatformRole",
    result: "user { email }",
    sql: "select app_public.set_platform_role($1, $2, $3)",
    input: (adminEmail) => ({ userEmail: target, role: "support", adminEmail }),
    prepare: () => `delete from app_public.platform_roles where user_id = ${idOf(target)}`,
  },
  {
    name: "list users",
    scope: "review",
    reads: true,
    path: "/v0/admin/users",
    field: "platformUsers",
    result: "total",
    sql: "select app_public.platform_users($1)",
    input: (adminEmail) => ({ adminEmail }),
  },
  {
    name: "withdraw one's claim",
    path: "/v0/onboarding/claims/withdraw",
    field: "withdrawOrganizationClaim",
    result: "claim { status }",
    sql: "select app_public.withdraw_organization_claim($1, $2)",
    input: (userEmail) => ({ claimId: CLAIM, userEmail }),
    prepare: waitingClaim,
  },
  {
    name: "list one's claims",
    reads: true,
    path: "/v0/onboarding/claims",
    field: "ownOrganizationClaims",
    result: "total",
    sql: "select app_public.own_organization_claims($1)",
    input: (userEmail) => ({ userEmail }),
  },
  {
    name: "leave an organization",
    path: "/v0/orgs/members/leave",
    field: "leaveOrganization",
    result: "member { status }",
    sql: "select app_public.leave_organization($1, $2)",
    input: (userEmail) => ({ orgUri: world.ORG, userEmail }),
    // The claimant had no membership before they left.
    prepare: (person) => `
      delete from app_public.memberships where user_id = ${idOf(world.claimant)};
      update app_public.memberships set status = 'active'
      where status = 'revoked' and org_uri = '${world.ORG}' and user_id = ${idOf(person)}`,
  },
  {
    name: "claim an organization",
    path: "/v0/onboarding/claim-org",
    field: "claimOrganization",
    result: "claim { claimId }",
    sql: "select app_public.claim_organization($1, $2, $3, $4, $5, $6, $7)",
    input: (userEmail) => ({
      ...{ userEmail, firstName: "A", lastName: "B", roles: [] },
      ...{ orgName: "River Mission", isNewOrg: false, orgUri: world.ORG },
    }),
    prepare: (person) => `
      delete from app_private.rate_limits;
      delete from app_public.memberships where user_id = ${idOf(world.claimant)};
      delete from app_public.organization_claims
        where user_id = ${idOf(person)} and (status <> 'approved' or user_id = ${idOf(unknown)});
      delete from app_public.users where email = '${unknown}'`,
  },
];

const PEOPLE = [
  ["an org_admin", world.admin],
  ["an org_contributor", world.contributor],
  ["an org_member", world.member],
  ["a suspended org_contributor", world.suspended],
  ["an approved claimant without membership", world.claimant],
  ["a user without membership or claim", world.stranger],
  ["somebody unknown to the service", unknown],
  ["the org_admin of another organization", world.otherAdmin],
  ["an admin of the platform", platformAdmin],
  ["support of the platform", support],
] as const;

const [yes, role, none, may] = [
  "allowed",
  "insufficient_role",
  "membership_required",
  "permission_required",
] as const;
// A key for other organizations is told the same of a claim beyond its bounds as of one that there is not.
const hidden: Cell = { otherwise: may, "for another organization": may };
const hiddenFromTheirs: Cell = { otherwise: yes, "for another organization": may };
const hiddenFromAll: Cell = { otherwise: yes, "for another organization": "claim_not_found" };
// It sees a part of what there is; for the other organization, what that one's people see.
const part: Cell = { otherwise: yes, "for another organization": yes };
const partOfTheirs: Cell = { ...part, "for the organization and the person": may };
// A key for certain organizations does nothing that takes a permission on the platform.
const beyond: Partial<Cell> = { "for the organization and the person": "key_not_for_organization" };
const overall: Cell = { otherwise: yes, ...beyond };
const not: Cell = { otherwise: may, ...beyond };
const already: Cell = "already_member";
const noClaim: Cell = { otherwise: "claim_not_found", "for another organization": "claim_not_found" };
const withdrawn: Cell = { otherwise: yes, "for another organization": "claim_not_found" };

const OUTCOMES: Record<Operation["name"], Cell[]> = {
  "review a claim": [hiddenFromTheirs, ...repeat(hidden, 7), hiddenFromAll, hiddenFromAll],
  "list claims for review": [hiddenFromTheirs, ...repeat(hidden, 6), partOfTheirs, part, part],
  "change a member's role": [yes, role, role, none, role, ...repeat(none, 5)],
  "change a member's status": [yes, role, role, none, role, ...repeat(none, 5)],
  "list members": [yes, yes, yes, none, yes, ...repeat(none, 5)],
  "change an organization": [yes, role, role, none, role, ...repeat(none, 5)],
  "appoint an administrator": [...repeat(not, 8), overall, not],
  "give a role on the platform": [...repeat(not, 8), overall, not],
  "list users": [...repeat(not, 8), overall, overall],
  "withdraw one's claim": [...repeat(withdrawn, 6), noClaim, ...repeat(withdrawn, 3)],
  "list one's claims": repeat(part, 10),
  "leave an organization": ["last_admin", yes, yes, none, yes, ...repeat(none, 5)],
  "claim an organization": [...repeat(already, 5), ...repeat<Cell>(yes, 5)],
};

function repeat<T extends Cell>(cell: T, times: number): T[] {
  return Array<T>(times).fill(cell);
}

let doors: Doors;
beforeAll(async () => {
  doors = await Doors.open(PEOPLE.map(([, email]) => email));
  await doors.service.database.owner.query(`
    insert into app_public.organizations (org_uri, name) values ('${UNMANAGED_ORG}', 'Unmanaged');
    insert into app_public.users (email) values ('${target}'), ('${platformAdmin}'), ('${support}');
    insert into app_public.memberships (org_uri, user_id) values ('${world.ORG}', ${idOf(target)});
    insert into app_public.platform_roles (user_id, role) values
      (${idOf(platformAdmin)}, 'admin'), (${idOf(support)}, 'support')`);
});
afterAll(() => doors.close());

/** Takes back what other operations have left of those who act. */
const asAtFirst = `
  delete from app_public.organization_claims where org_uri = '${world.ORG}' and status <> 'approved';
  delete from app_public.organization_claims where user_id = ${idOf(unknown)};
  delete from app_public.users where email = '${unknown}';
  delete from app_public.memberships where user_id = ${idOf(world.claimant)};
  update app_public.memberships set status = 'active'
    where status = 'revoked' and org_uri = '${world.ORG}'
    and user_id in (${idOf(world.contributor)}, ${idOf(world.member)});`;

tryEveryCell(
  () => doors,
  OPERATIONS.map((operation) => ({
    ...operation,
    prepare: (person) => asAtFirst + (operation.prepare?.(person) ?? ""),
  })),
  PEOPLE.map(([who, email], place) => ({
    who,
    email,
    cells: Object.fromEntries(OPERATIONS.map(({ name }) => [name, OUTCOMES[name]![place]!])),
  })),
);

test("whatever can be changed is in this table, or in that of records", async () => {
  const { service } = doors;
  const query = "{ schema: __schema { mutationType { fields { name } } } }";
  const { body } = await call(`${service.url}/graphql`, "POST", service.keys.read, { query });
  const fields = (body.data.schema.mutationType.fields as { name: string }[]).map(({ name }) => name);
  expect(
    fields.filter((field) => !OPERATIONS.some((operation) => operation.field === field)).toSorted(),
  ).toEqual([
    "declareCommitment",
    "declareNeed",
    "submitEngagementClaim",
    "updateCommitmentStatus",
    "updateEngagementClaimStatus",
    "updateNeedStatus",
  ]);
});
