import { z } from "zod";
import * as m from "./membership-schemas.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

export const claimReviewRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/admin/claims",
    operationId: "listOrganizationClaims",
    tag: "Claim review",
    summary: "List organization claims, newest first",
    description:
      "A platform user with claims:review sees all of them, an org_admin those that were sent to their organization.",
    headers: m.actingAdmin,
    query: z.object({ status: m.claimStatus.optional(), ...s.paging }),
    answer: {
      status: 200,
      schema: z.object({ claims: z.array(m.claimItem), total: z.int() }),
      description: "The page, and how many claims match in all.",
    },
    errors: ["permission_required"],
    statement: `
      select json_build_object('claims', page.claims, 'total', page.total)::text
      from app_public.organization_claims_for_review(
        $1 ->> 'x-admin-email', ($1 ->> 'status')::app_public.claim_review_status,
        ($1 ->> 'limit')::integer, ($1 ->> 'offset')::integer) as page`,
  },
  {
    method: "post",
    path: "/v0/admin/claims/review",
    operationId: "reviewOrganizationClaim",
    tag: "Claim review",
    summary: "Approve or reject a claim",
    description:
      "Nobody reviews their own claim. A platform user needs roles:assign beside claims:review to make somebody org_admin.",
    body: m.claimReview,
    answer: {
      status: 200,
      schema: z.object({
        success: z.literal(true),
        claimId: s.uuid,
        newStatus: m.claimStatus.exclude(["pending"]),
      }),
      description: "The claim is decided; the claimant is told by mail.",
    },
    errors: ["permission_required", "claim_not_found", "already_reviewed"],
    statement: `
      select json_build_object('success', true, 'claimId', decision.claim_id, 'newStatus', decision.new_status)::text
      from app_public.review_organization_claim(
        ($1 ->> 'claimId')::uuid, ($1 ->> 'action')::app_public.claim_review_action, $1 ->> 'adminEmail',
        $1 ->> 'notes', ($1 ->> 'role')::app_public.organization_role) as decision`,
  },
];
