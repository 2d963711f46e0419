// The shapes on the wire of onboarding, claim review, members and platform users.
import { z } from "zod";
import * as s from "../rest/schemas.ts";

export const organizationRole = oneOf(["org_admin", "org_contributor", "org_member"]);
export const membershipStatus = oneOf(["active", "suspended", "revoked"]);
export const platformRole = oneOf(["admin", "support"]);
export const claimStatus = oneOf(["pending", "approved", "rejected"]);
export const resultVariant = z.enum(["claimed", "request-sent", "manual-review", "new-org"]);

/** A text that may be left out, be null, or be empty, all of which say the same: not given. */
const optionalText = s.optionalText.nullable();
const absent = z.union([z.literal(""), z.null()]);

const domain = z
  .string({ error: "must be a domain name such as example.org" })
  .max(1000, "must be a domain name such as example.org")
  .refine((value) => !value.includes("\0"), "must not contain a NUL character")
  .meta({ examples: ["river.example"] });

export const organizationClaim = z.strictObject({
  userEmail: s.email,
  firstName: s.requiredText,
  lastName: s.requiredText,
  roles: z
    .array(s.requiredText.max(64, "must be a code of 1 to 64 characters"), { error: "must be a list" })
    .max(100, "must have at most 100 items")
    .describe("What the person says they do there; for the reviewer to read."),
  orgName: s.requiredText,
  isNewOrg: z.boolean({ error: "must be true or false" }),
  orgUri: z
    .union([s.httpUri, absent], { error: "must be an absolute http or https URI" })
    .optional()
    .describe("The organization; required unless isNewOrg."),
  orgDomain: domain.nullable().optional().describe("The e-mail domain of a new organization."),
  newOrgName: optionalText.describe("Its name, where it differs from orgName."),
  newOrgType: optionalText,
  newOrgWebsite: z.union([s.httpUri, absent], { error: "must be an absolute http or https URI" }).optional(),
});

export const claimResult = z
  .object({
    claimId: s.uuid,
    resultVariant,
    orgUri: s.httpUri,
    orgName: z.string(),
    status: claimStatus,
  })
  .meta({ id: "OrganizationClaimResult" });

export const userCheck = z
  .object({
    exists: z.boolean(),
    firstName: z.string().optional(),
    lastName: z.string().optional(),
    orgUri: s.httpUri.optional(),
    orgName: z.string().optional(),
    orgType: z.string().optional(),
  })
  .meta({ id: "UserCheck" });

/** As the review dashboard expects it. */
export const claimItem = z
  .object({
    id: s.uuid,
    user_email: s.email,
    user_first_name: z.string().nullable(),
    user_last_name: z.string().nullable(),
    org_uri: s.httpUri,
    org_name: z.string(),
    is_new_org: z.boolean(),
    email_domain: z.string(),
    org_domain: z.string().nullable(),
    domain_match: z.boolean(),
    status: claimStatus,
    routed_to: z.enum(["organization", "platform"]).nullable(),
    result_variant: resultVariant,
    new_org_website: z.string().nullable(),
    new_org_type: z.string().nullable(),
    reviewed_by: s.email.nullable(),
    reviewed_at: s.timestamp.nullable(),
    review_notes: z.string().nullable(),
    created_at: s.timestamp,
  })
  .meta({ id: "OrganizationClaim" });

export const claimReview = z.strictObject({
  claimId: s.uuid,
  action: oneOf(["approve", "reject"]),
  adminEmail: s.email,
  notes: optionalText.describe("Why; required to reject. The claimant reads it."),
  role: organizationRole
    .nullable()
    .optional()
    .describe("The claimant's role when approved; org_member unless given."),
});

export const actingAdmin = z.object({
  "x-admin-email": s.email.describe("The person who is asking."),
});

export const member = z
  .object({
    orgUri: s.httpUri,
    userEmail: s.email,
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    role: organizationRole,
    status: membershipStatus,
    createdAt: s.timestamp,
    updatedAt: s.timestamp,
  })
  .meta({ id: "Member" });

export const memberRoleChange = z.strictObject({
  orgUri: s.httpUri,
  userEmail: s.email,
  role: organizationRole,
  adminEmail: s.email,
});

export const memberStatusChange = z.strictObject({
  orgUri: s.httpUri,
  userEmail: s.email,
  status: membershipStatus,
  adminEmail: s.email,
});

export const organizationChange = z.strictObject({
  orgUri: s.httpUri,
  adminEmail: s.email,
  name: s.requiredText.optional(),
  type: s.optionalText.describe("An empty text clears it, as it does website and domain."),
  website: z.union([s.httpUri, z.literal("")], { error: "must be an absolute http or https URI" }).optional(),
  domain: domain.optional(),
});

export const organization = z
  .object({
    orgUri: s.httpUri,
    name: z.string(),
    type: z.string().nullable(),
    website: z.string().nullable(),
    domain: z.string().nullable(),
    updatedAt: s.timestamp,
  })
  .meta({ id: "Organization" });

export const platformUser = z
  .object({
    userId: s.uuid,
    email: s.email,
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    platformRoles: z.array(platformRole),
    memberships: z.array(
      z.object({ orgUri: s.httpUri, orgName: z.string(), role: organizationRole, status: membershipStatus }),
    ),
    createdAt: s.timestamp,
  })
  .meta({ id: "PlatformUser" });

export const platformRoleChange = z.strictObject({
  userEmail: s.email,
  role: platformRole,
  action: oneOf(["grant", "revoke"]).default("grant"),
  adminEmail: s.email,
});

function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(", ")}` });
}
