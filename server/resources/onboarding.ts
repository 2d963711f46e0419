import { z } from "zod";
import * as m from "./membership-schemas.ts";
import { REFUSALS } from "../rest/route.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

const absent = z.union([z.literal(""), z.null()]);

const organizationClaim = z.strictObject({
  userEmail: s.actingEmail,
  firstName: s.requiredName,
  lastName: s.requiredName,
  roles: s
    .list(s.requiredText.max(64, "must be a code of 1 to 64 characters"))
    .describe("What the person says they do there; shown to the reviewer."),
  orgName: s.requiredName,
  isNewOrg: z.boolean({ error: "must be true or false" }),
  orgUri: z
    .union([s.httpUri, absent], { error: "must be an absolute http or https URI" })
    .optional()
    .describe("The organization; required unless isNewOrg."),
  orgDomain: m.domain.nullable().optional().describe("The e-mail domain of a new organization."),
  newOrgName: m.optionalName.describe("Its name, if different from orgName."),
  newOrgType: m.optionalName,
  web3authVerifier: z.unknown().optional().meta({
    description: "Sent by clients of the earlier service; it is not used.",
    deprecated: true,
  }),
  newOrgWebsite: z.union([s.httpUri, absent], { error: "must be an absolute http or https URI" }).optional(),
});

const claimResult = z
  .object({
    claimId: s.uuid,
    resultVariant: m.resultVariant,
    orgUri: s.httpUri,
    orgName: z.string(),
    status: m.claimStatus,
  })
  .meta({ id: "OrganizationClaimResult" });

const ownClaim = z
  .object({
    claimId: s.uuid,
    orgUri: s.httpUri,
    orgName: z.string(),
    isNewOrg: z.boolean(),
    status: m.claimStatus,
    resultVariant: m.resultVariant,
    emailVerified: z.boolean().describe("Whether the address is proven, or was stated by an application."),
    role: m.organizationRole.nullable().describe("The role that the approval gave."),
    reviewNotes: z.string().nullable(),
    reviewedAt: s.timestamp.nullable(),
    createdAt: s.timestamp,
  })
  .meta({ id: "OwnOrganizationClaim" });

const OWN_CLAIM = `json_build_object(
  'claimId', claim.claim_id, 'orgUri', claim.org_uri, 'orgName', claim.org_name, 'isNewOrg', claim.is_new_org,
  'status', claim.status, 'resultVariant', claim.result_variant, 'emailVerified', claim.email_verified, 'role', claim.role,
  'reviewNotes', claim.review_notes, 'reviewedAt', claim.reviewed_at, 'createdAt', claim.created_at)`;

const userCheck = z
  .object({
    exists: z.boolean(),
    firstName: z.string().optional(),
    lastName: z.string().optional(),
    orgUri: s.httpUri.optional(),
    orgName: z.string().optional(),
    orgType: z.string().optional(),
    memberships: z
      .array(
        z.object({
          orgUri: s.httpUri,
          orgName: z.string(),
          orgType: z.string().optional(),
          role: m.organizationRole,
        }),
      )
      .describe(
        "Every organization that the person acts for, newest first; the fields above are those of the first.",
      ),
  })
  .meta({ id: "UserCheck" });

/** The person whom a caller asks about. */
export const whom = s.email
  .optional()
  .describe(
    "The person's address. Required with an API key; with a person's token it is that person unless it names somebody.",
  );

const checkUser: Omit<RestRoute, "method" | "operationId"> = {
  path: "/v0/onboarding/check-user",
  isPersonal: true,
  tag: "Onboarding",
  summary: "Find out whether a person is known, and which organizations they act for",
  answer: { status: 200, schema: userCheck, description: "What is known about the person." },
  errors: ["key_not_for_person", "permission_required"],
  statement: `
    select json_strip_nulls(json_build_object(
      'exists', found."exists", 'firstName', found.first_name, 'lastName', found.last_name,
      'orgUri', found.org_uri, 'orgName', found.org_name, 'orgType', found.org_type,
      'memberships', (
        select coalesce(json_agg(json_build_object(
          'orgUri', b.org_uri, 'orgName', b.org_name, 'orgType', b.org_type, 'role', b.role) order by b.ordinality), '[]')
        from unnest(found.memberships) with ordinality as b)))::text
    from app_public.check_user($1 ->> 'email') as found`,
};

export const onboardingRoutes: RestRoute[] = [
  {
    method: "post",
    path: "/v0/onboarding/claim-org",
    operationId: "claimOrganization",
    tag: "Onboarding",
    summary: "Claim that a person belongs to an organization, which may be a new one",
    description:
      "Approved at once, with the role org_admin, when the person's e-mail address is at the organization's " +
      "registered domain and the organization has never been claimed; an operator may ask for proof of the address as well. Otherwise the claim waits for a review.",
    body: organizationClaim,
    idempotent: true,
    answer: { status: 200, schema: claimResult, description: "The immediate outcome of the claim." },
    errors: [
      ...REFUSALS.forOrganization,
      "organization_not_found",
      "already_member",
      "claim_pending",
      "idempotency_key_reused",
    ],
    statement: `
      select json_build_object(
        'claimId', claim.claim_id, 'resultVariant', claim.result_variant, 'orgUri', claim.org_uri,
        'orgName', claim.org_name, 'status', claim.status)::text
      from jsonb_to_record($1) as given (
        "userEmail" text, "firstName" text, "lastName" text, roles text[], "orgName" text, "isNewOrg" boolean,
        "orgUri" text, "orgDomain" text, "newOrgName" text, "newOrgType" text, "newOrgWebsite" text),
      app_public.claim_organization(
        given."userEmail", given."firstName", given."lastName", given.roles, given."orgName", given."isNewOrg",
        given."orgUri", given."orgDomain", given."newOrgName", given."newOrgType", given."newOrgWebsite") as claim`,
  },
  {
    method: "get",
    path: "/v0/onboarding/claims",
    isPersonal: true,
    operationId: "listOwnOrganizationClaims",
    tag: "Onboarding",
    summary: "List the claims that a person made, newest first, and what became of them",
    query: z.object({ userEmail: s.actingEmail, ...s.paging }),
    answer: {
      status: 200,
      schema: z.object({ claims: z.array(ownClaim), total: z.int() }),
      description: "The page, and how many claims the person made in all.",
    },
    errors: [...REFUSALS.forPerson],
    statement: `
      select json_build_object(
        'claims', (
          select coalesce(json_agg(${OWN_CLAIM} order by claim.ordinality), '[]')
          from unnest(page.claims) with ordinality as claim),
        'total', page.total)::text
      from app_public.own_organization_claims(
        $1 ->> 'userEmail', ($1 ->> 'limit')::integer, ($1 ->> 'offset')::integer) as page`,
  },
  {
    method: "post",
    path: "/v0/onboarding/claims/withdraw",
    operationId: "withdrawOrganizationClaim",
    tag: "Onboarding",
    summary: "Withdraw your own claim while it is waiting for review",
    body: z.strictObject({ claimId: s.uuid, userEmail: s.actingEmail }),
    answer: { status: 200, schema: ownClaim, description: "The claim, withdrawn." },
    errors: [...REFUSALS.forPerson, "claim_not_found", "already_reviewed"],
    statement: `
      select ${OWN_CLAIM}::text
      from app_public.withdraw_organization_claim(($1 ->> 'claimId')::uuid, $1 ->> 'userEmail') as claim`,
  },
  {
    ...checkUser,
    method: "get",
    operationId: "checkUser",
    query: z.object({ email: whom }),
  },
  { ...checkUser, method: "post", operationId: "checkUserByPost", body: z.strictObject({ email: whom }) },
];
