// Membership through each door: the same operations, the same answers, whatever carries them.
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { send as sendGraphql } from "./graphql.ts";
import { call } from "./service.ts";
import type { TestService } from "./service.ts";

type Scope = "read" | "write" | "review";
type Fields = Record<string, unknown>;
/** Whatever the wire says. */
type Json = any; // oxlint-disable-line typescript/no-explicit-any -- tests look into it freely

/** What a door answered: the value of a success, or status and code of a refusal as "403 permission_required". */
export type Reply = { value?: Json; refusal?: string };

/** The operations of membership; every field by its wire name. */
export type MembershipDoor = {
  claim: (input: Fields, scope?: Scope) => Promise<Reply>;
  review: (input: Fields, scope?: Scope) => Promise<Reply>;
  claims: (adminEmail: string, filter?: Fields, scope?: Scope) => Promise<Reply>;
  ownClaims: (userEmail?: string, filter?: Fields, scope?: Scope) => Promise<Reply>;
  withdraw: (input: Fields, scope?: Scope) => Promise<Reply>;
  leave: (input: Fields, scope?: Scope) => Promise<Reply>;
  appoint: (input: Fields, scope?: Scope) => Promise<Reply>;
  checkUser: (email: string, scope?: Scope) => Promise<Reply>;
  members: (orgUri: string, adminEmail: string, scope?: Scope) => Promise<Reply>;
  setMemberRole: (input: Fields, scope?: Scope) => Promise<Reply>;
  setMemberStatus: (input: Fields, scope?: Scope) => Promise<Reply>;
  updateOrganization: (input: Fields, scope?: Scope) => Promise<Reply>;
  users: (adminEmail: string, scope?: Scope) => Promise<Reply>;
  setPlatformRole: (input: Fields, scope?: Scope) => Promise<Reply>;
  declareNeed: (input: Fields, scope?: Scope) => Promise<Reply>;
  declareCommitment: (input: Fields, scope?: Scope) => Promise<Reply>;
  submitEngagementClaim: (input: Fields, scope?: Scope) => Promise<Reply>;
};

export const DOORS = ["REST", "GraphQL"] as const;

/** A door onto a running service. */
export function membershipDoor(name: (typeof DOORS)[number], service: () => TestService): MembershipDoor {
  return name === "REST" ? restDoor(service) : graphqlDoor(service);
}

function restDoor(service: () => TestService): MembershipDoor {
  const send = async (method: string, path: string, scope: Scope, body?: Fields, adminEmail?: string) => {
    const { url, keys } = service();
    const headers: Record<string, string> = adminEmail === undefined ? {} : { "x-admin-email": adminEmail };
    const answer = await call(`${url}${path}`, method, keys[scope], body, headers);
    return answer.status < 300
      ? { value: camelCased(answer.body) }
      : { refusal: `${answer.status} ${answer.body.error}` };
  };
  const post = (path: string, usual: Scope) => (input: Fields, scope?: Scope) =>
    send("POST", path, scope ?? usual, input);
  return {
    claim: post("/v0/onboarding/claim-org", "write"),
    review: post("/v0/admin/claims/review", "review"),
    claims: async (adminEmail, filter = {}, scope = "review") => {
      const path = `/v0/admin/claims?${queryOf(filter)}`;
      const { value, ...reply } = await send("GET", path, scope, undefined, adminEmail);
      if (value === undefined) return reply;
      // REST alone tells what is like an organization.
      for (const claim of value.claims) delete claim.similarOrganizations;
      return { value };
    },
    ownClaims: (userEmail, filter = {}, scope = "write") =>
      send("GET", `/v0/onboarding/claims?${queryOf({ ...(userEmail && { userEmail }), ...filter })}`, scope),
    withdraw: post("/v0/onboarding/claims/withdraw", "write"),
    leave: post("/v0/orgs/members/leave", "write"),
    appoint: post("/v0/orgs/members/appoint", "review"),
    checkUser: (email, scope = "write") =>
      send("GET", `/v0/onboarding/check-user?${queryOf({ email })}`, scope),
    members: (orgUri, adminEmail, scope = "review") =>
      send("GET", `/v0/orgs/members?${queryOf({ orgUri })}`, scope, undefined, adminEmail),
    setMemberRole: post("/v0/orgs/members/role", "review"),
    setMemberStatus: post("/v0/orgs/members/status", "review"),
    updateOrganization: post("/v0/orgs/metadata", "review"),
    users: (adminEmail, scope = "review") => send("GET", "/v0/admin/users", scope, undefined, adminEmail),
    setPlatformRole: post("/v0/admin/users/role", "review"),
    declareNeed: post("/v0/needs", "write"),
    declareCommitment: post("/v0/commitments", "write"),
    submitEngagementClaim: post("/v0/engagement-claims/submit", "write"),
  };
}

function graphqlDoor(service: () => TestService): MembershipDoor {
  const send = async (query: string, variables: Fields, scope: Scope, find: (data: Json) => unknown) => {
    const { data, errors: [error] = [] } = await sendGraphql(service(), query, variables, scope);
    return error
      ? { refusal: [error.extensions["statusCode"], error.extensions["code"]].join(" ") }
      : { value: find(JSON.parse(withHyphens(JSON.stringify(data)))) };
  };
  // GraphQL's names have no hyphens.
  const withHyphens = (json: string) => json.replaceAll(/(?<="resultVariant":"\w+)_/g, "-");
  const mutation =
    (name: string, result: string, fields: string, usual: Scope = "review") =>
    (input: Fields, scope: Scope = usual) =>
      send(
        `mutation ($input: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { ${result} { ${fields} } } }`,
        { input },
        scope,
        (data) => data[name][result],
      );
  const member = "orgUri userEmail firstName lastName role status createdAt updatedAt";
  const ownClaim =
    "claimId orgUri orgName isNewOrg status resultVariant emailVerified role reviewNotes reviewedAt createdAt";
  const user = `userId email firstName lastName platformRoles memberships { orgUri orgName role status } createdAt`;
  return {
    claim: mutation("claimOrganization", "claim", "claimId resultVariant orgUri orgName status", "write"),
    review: mutation("reviewOrganizationClaim", "decision", "claimId newStatus warnings { code message }"),
    claims: (adminEmail, filter = {}, scope = "review") =>
      send(
        `query ($adminEmail: String!, $status: ClaimReviewStatus, $limit: Int, $offset: Int) {
           organizationClaimsForReview(adminEmail: $adminEmail, status: $status, limit: $limit, offset: $offset) {
             total
             claims { claimId userEmail userFirstName userLastName orgUri orgName isNewOrg emailDomain orgDomain
               domainMatch status routedTo resultVariant newOrgWebsite newOrgType reviewedBy reviewedAt reviewNotes
               createdAt emailVerified orgDomainStated roles: statedRoles history { fromStatus toStatus changedByEmail changedAt } } } }`,
        { adminEmail, ...filter },
        scope,
        ({ organizationClaimsForReview: page }) => ({ ...page, total: Number(page.total) }),
      ),
    ownClaims: (userEmail, filter = {}, scope = "write") =>
      send(
        `query ($userEmail: String, $limit: Int, $offset: Int) {
           ownOrganizationClaims(userEmail: $userEmail, limit: $limit, offset: $offset) { total claims { ${ownClaim} } } }`,
        { userEmail, ...filter },
        scope,
        ({ ownOrganizationClaims: page }) => ({ ...page, total: Number(page.total) }),
      ),
    withdraw: mutation("withdrawOrganizationClaim", "claim", ownClaim, "write"),
    leave: mutation("leaveOrganization", "member", member, "write"),
    appoint: mutation("appointAdministrator", "member", member),
    checkUser: (email, scope = "write") =>
      send(
        `query ($email: String!) { checkUser(email: $email) {
           exists firstName lastName orgUri orgName orgType memberships { orgUri orgName orgType role } } }`,
        { email },
        scope,
        ({ checkUser: { memberships, ...found } }) => ({
          ...withoutNulls(found),
          ...(memberships && { memberships: memberships.map(withoutNulls) }),
        }),
      ),
    members: (orgUri, adminEmail, scope = "review") =>
      send(
        `query ($orgUri: String!, $adminEmail: String!) {
           organizationMembers(orgUri: $orgUri, adminEmail: $adminEmail) { nodes { ${member} } } }`,
        { orgUri, adminEmail },
        scope,
        ({ organizationMembers: { nodes } }) => ({ members: nodes, total: nodes.length }),
      ),
    setMemberRole: mutation("setMemberRole", "member", member),
    setMemberStatus: mutation("setMemberStatus", "member", member),
    updateOrganization: mutation("updateOrganization", "organization", "orgUri name type website domain"),
    users: (adminEmail, scope = "review") =>
      send(
        `query ($adminEmail: String!) { platformUsers(adminEmail: $adminEmail) { total users { ${user} } } }`,
        { adminEmail },
        scope,
        ({ platformUsers: page }) => ({ ...page, total: Number(page.total) }),
      ),
    setPlatformRole: mutation("setPlatformRole", "user", user),
    declareNeed: mutation("declareNeed", "need", "needId status", "write"),
    declareCommitment: mutation("declareCommitment", "commitment", "commitmentId status", "write"),
    submitEngagementClaim: mutation("submitEngagementClaim", "engagementClaim", "claimId status", "write"),
  };
}

function queryOf(parameters: Fields): string {
  return new URLSearchParams(parameters as Record<string, string>).toString();
}

/** The claims in the review dashboard by their GraphQL names; everything else already has those names. */
function camelCased(body: Json): Json {
  if (!Array.isArray(body?.claims)) return body;
  const named = (value: Json): Json =>
    Array.isArray(value)
      ? value.map(named)
      : typeof value === "object" && value !== null
        ? Object.fromEntries(
            Object.entries(value).map(([name, item]) => [
              name === "id"
                ? "claimId"
                : name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
              named(item),
            ]),
          )
        : value;
  return { ...body, claims: named(body.claims) };
}

function withoutNulls(value: Fields): Fields {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

export const platformAdmin = "admin@platform.example";
export const support = "support@platform.example";

/** Adds a platform admin and a support user. */
export async function addPlatformPeople(db: pg.Pool): Promise<void> {
  await db.query(
    `with person as (insert into app_public.users (email) values ($1), ($2) returning user_id, email)
     insert into app_public.platform_roles (user_id, role)
     select user_id, (case email when $1 then 'admin' else 'support' end)::app_public.platform_role from person`,
    [platformAdmin, support],
  );
}

/** An organization for one test, with its own domain. */
export type TestOrganization = { uri: string; name: string; domain: string };

/**
 * Adds an organization.
 * @param members role of each, by the part before the @ of their e-mail address at the organization's domain
 */
export async function addOrganization(
  db: pg.Pool,
  members: Record<string, string> = {},
  options: { domain?: string } = {},
): Promise<TestOrganization> {
  const id = randomBytes(6).toString("hex");
  const domain = options.domain ?? `${id}.example`;
  const organization = { uri: `https://data.example.org/org/${id}`, name: `Mission ${id}`, domain };
  await db.query("insert into app_public.organizations (org_uri, name, domain) values ($1, $2, $3)", [
    organization.uri,
    organization.name,
    domain,
  ]);
  for (const [person, role] of Object.entries(members)) {
    await db.query("select app_private.add_member($1, $2, $3)", [
      organization.uri,
      `${person}@${domain}`,
      role,
    ]);
  }
  return organization;
}

/** The body of a claim to an organization. */
export function claimOf(organization: TestOrganization, userEmail: string): Fields {
  return {
    userEmail,
    firstName: "Ana",
    lastName: "Silva",
    roles: ["field coordinator"],
    orgName: organization.name,
    isNewOrg: false,
    orgUri: organization.uri,
  };
}

/** Makes a person a member by an approved claim alone, without a membership, as an import of earlier claims does. */
export async function addApprovedClaim(
  db: pg.Pool,
  organization: TestOrganization,
  email: string,
  createdAt = "2024-01-01Z",
): Promise<void> {
  const client = await db.connect();
  try {
    // Past the lifecycle of claims, which would give a membership.
    await client.query("begin; set local session_replication_role = replica");
    await client.query(
      `insert into app_public.organization_claims
         (user_id, org_uri, org_name, email_domain, status, created_at, reviewed_at)
       select (app_private.remember_user($1, null, null)).user_id, $2, $3, 'elsewhere.example', 'approved', $4, $4`,
      [email, organization.uri, organization.name, createdAt],
    );
    await client.query("commit");
  } finally {
    client.release(true);
  }
}

/** The steps of a claim as [from, to, by whom]; every one is dated. */
export async function historyOf(db: pg.Pool, claimId: string): Promise<unknown[]> {
  const { rows } = await db.query<{ from: string; to: string; by: string; dated: boolean }>(
    `select from_status as from, to_status as to, changed_by_email as by, changed_at is not null as dated
     from app_public.organization_claim_history where claim_id = $1 order by claim_history_id`,
    [claimId],
  );
  if (!rows.every((row) => row.dated)) throw new Error("a step without a date");
  return rows.map(({ from, to, by }) => [from, to, by]);
}

/** Role and status of a membership, as in "org_admin active". */
export async function membershipOf(db: pg.Pool, orgUri: string, email: string): Promise<string | undefined> {
  const { rows } = await db.query<{ standing: string }>(
    `select role || ' ' || status as standing from app_public.memberships join app_public.users using (user_id)
     where org_uri = $1 and lower(email) = lower($2)`,
    [orgUri, email],
  );
  return rows[0]?.standing;
}
