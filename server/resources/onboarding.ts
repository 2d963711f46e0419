import { z } from "zod";
import * as m from "./membership-schemas.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

const absent = z.union([z.literal(""), z.null()]);

const organizationClaim = z.strictObject({
  userEmail: s.email,
  firstName: s.requiredName,
  lastName: s.requiredName,
  roles: z
    .array(s.requiredText.max(64, "must be a code of 1 to 64 characters"), { error: "must be a list" })
    .max(100, "must have at most 100 items")
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

const userCheck = z
  .object({
    exists: z.boolean(),
    firstName: z.string().optional(),
    lastName: z.string().optional(),
    orgUri: s.httpUri.optional(),
    orgName: z.string().optional(),
    orgType: z.string().optional(),
  })
  .meta({ id: "UserCheck" });

const checkUser: Omit<RestRoute, "method" | "operationId"> = {
  path: "/v0/onboarding/check-user",
  tag: "Onboarding",
  summary: "Find out whether a person is known, and which organization they act for",
  answer: { status: 200, schema: userCheck, description: "What is known about the person." },
  errors: [],
  statement: `
    select json_strip_nulls(json_build_object(
      'exists', found."exists", 'firstName', found.first_name, 'lastName', found.last_name,
      'orgUri', found.org_uri, 'orgName', found.org_name, 'orgType', found.org_type))::text
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
      "registered domain and the organization has never been claimed. Otherwise the claim waits for a review.",
    body: organizationClaim,
    idempotent: true,
    answer: { status: 200, schema: claimResult, description: "The immediate outcome of the claim." },
    errors: ["organization_not_found", "already_member", "claim_pending", "idempotency_key_reused"],
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
  { ...checkUser, method: "get", operationId: "checkUser", query: z.object({ email: s.email }) },
  { ...checkUser, method: "post", operationId: "checkUserByPost", body: z.strictObject({ email: s.email }) },
];
