import { z } from "zod";
import { choices, enums, usualRole } from "../../db/catalog.ts";
import * as m from "./membership-schemas.ts";
import { REFUSALS } from "../rest/route.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

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
    domain_match: z
      .boolean()
      .describe(
        "Whether the address is at org_domain, which may be the claimant's own word (org_domain_stated).",
      ),
    status: m.claimStatus,
    routed_to: z.enum(choices["organization_claims.routed_to"]).nullable(),
    result_variant: m.resultVariant,
    new_org_website: z.string().nullable(),
    new_org_type: z.string().nullable(),
    reviewed_by: s.email.nullable(),
    reviewed_at: s.timestamp.nullable(),
    review_notes: z.string().nullable(),
    created_at: s.timestamp,
    email_verified: z
      .boolean()
      .describe(
        "Whether the address is proven to be the claimant's: they called as themself, or confirmed the claim; otherwise an application stated it.",
      ),
    org_domain_stated: z
      .boolean()
      .describe(
        "Whether org_domain is what a claimant says of a new organization, and not its registered domain.",
      ),
    roles: z.array(z.string()).describe("What the claimant says they do there."),
    history: z
      .array(
        z.object({
          from_status: m.claimStatus.nullable(),
          to_status: m.claimStatus,
          changed_by_email: s.email.nullable().describe("Null if the service itself did."),
          changed_at: s.timestamp,
        }),
      )
      .describe("Every step it has taken, oldest first."),
  })
  .meta({ id: "OrganizationClaim" });

const similarOrganization = z
  .object({
    org_uri: s.httpUri,
    org_name: z.string(),
    org_type: z.string().nullable(),
    org_website: z.string().nullable(),
    org_domain: z.string().nullable(),
    status: z
      .enum(enums.organization_status)
      .describe(
        "Callers who may not see all claims, or whose key is for certain organizations, get active organizations only.",
      ),
    alike: z
      .array(z.enum(["domain", "name", "website"]))
      .describe(
        "What makes it similar: its name; or its domain or website, which is that of the organization or of the claimant's address.",
      ),
    members: z.int().describe("How many active members it has."),
    waiting: z
      .int()
      .nullable()
      .describe("How many claims to it are waiting; null if the caller may not know."),
  })
  .meta({ id: "SimilarOrganization" });

/** Only in the list: similar organizations change without the claim, so its feed could not report them. */
const listedClaim = claimItem
  .extend({
    similar_organizations: z
      .array(similarOrganization)
      .nullable()
      .describe(
        "Organizations that may be the same one under another URI, likeliest first, at most eight; empty if there are none, null if the two seconds for this search were used up by other claims.",
      ),
  })
  .meta({ id: "ListedOrganizationClaim" });

const claimReview = z.strictObject({
  claimId: s.uuid,
  action: s.oneOf(enums.claim_review_action),
  adminEmail: s.actingEmail,
  notes: m.optionalText.describe("Why; required to reject. The claimant will read it."),
  role: m.organizationRole
    .nullable()
    .optional()
    .describe(`The claimant's role if approved; ${usualRole} by default.`),
});

export const claimReviewRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/admin/claims",
    isPersonal: true,
    operationId: "listOrganizationClaims",
    tag: "Claim review",
    summary: "List organization claims, newest first",
    description:
      "A platform user with claims:review sees all of them; someone who manages the members of an organization sees those " +
      "sent to it.",
    headers: m.actingAdmin,
    query: z.object({
      status: m.claimStatus.optional().describe("Those with this status."),
      ...s.paging,
    }),
    answer: {
      status: 200,
      schema: z.object({ claims: z.array(listedClaim), total: z.int() }),
      description: "The page, and how many claims match in all.",
    },
    errors: [...REFUSALS.forPerson, "permission_required"],
    statement: `
      select app_private.claims_with_similar_organizations(
        $1 ->> 'adminEmail', ($1 ->> 'status')::app_public.claim_review_status,
        ($1 ->> 'limit')::integer, ($1 ->> 'offset')::integer)::text`,
  },
  {
    method: "post",
    path: "/v0/admin/claims/review",
    operationId: "reviewOrganizationClaim",
    tag: "Claim review",
    summary: "Approve or reject a claim",
    description:
      "Nobody may review their own claim. An approval that leaves the organization without anybody who manages its members " +
      "is made, and answered with the warning no_administrator; an approval of somebody who already is a member leaves the " +
      "membership as it is, with the warning already_member if that member is suspended or has another role.",
    body: claimReview,
    answer: {
      status: 200,
      schema: z.object({
        success: z.literal(true),
        claimId: s.uuid,
        newStatus: m.claimStatus.exclude(["pending"]).exclude(["withdrawn"]),
        warnings: z.array(z.object({ code: z.string(), message: z.string() })),
      }),
      description: "The claim is decided; the claimant is told by e-mail.",
    },
    errors: [...REFUSALS.forOrganization, "permission_required", "claim_not_found", "already_reviewed"],
    statement: `
      select json_build_object(
        'success', true, 'claimId', decision.claim_id, 'newStatus', decision.new_status,
        'warnings', decision.warnings)::text
      from app_public.review_organization_claim(
        ($1 ->> 'claimId')::uuid, ($1 ->> 'action')::app_public.claim_review_action, $1 ->> 'adminEmail',
        $1 ->> 'notes', ($1 ->> 'role')::app_public.organization_role) as decision`,
  },
];
