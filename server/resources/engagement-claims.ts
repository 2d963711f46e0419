import { z } from "zod";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";
import { listStatement, recordStatement, statusFilter } from "../rest/statement.ts";

const engagementClaim = z
  .object({
    claimId: s.uuid,
    orgUri: s.httpUri,
    orgName: z.string(),
    claimedByEmail: s.email,
    engagementAccelerators: z.array(z.string()),
    peopleGroupRop3: s.rop3.nullable(),
    peopleGroupName: z.string().nullable(),
    peopleGroupRog3: z.string().nullable(),
    countryCode: s.countryCode.nullable(),
    countryName: z.string().nullable(),
    description: z.string().nullable(),
    fulfillsCommitmentId: s.uuid.nullable(),
    status: s.engagementClaimStatus,
    createdAt: s.timestamp,
    updatedAt: s.timestamp,
    graphStatus: s.graphStatus,
  })
  .meta({ id: "EngagementClaim" });

const submission = z.strictObject({
  orgUri: s.httpUri,
  orgName: s.requiredText,
  claimedByEmail: s.email,
  engagementAccelerators: s.acceleratorCodes,
  peopleGroupRop3: s.rop3.optional(),
  peopleGroupName: s.optionalText,
  peopleGroupRog3: s.rog3.optional(),
  countryCode: s.countryCode.optional(),
  countryName: s.optionalText,
  description: s.optionalText,
  fulfillsCommitmentId: s.uuid.optional(),
});

const statusChange = z.strictObject({
  claimId: s.uuid,
  status: s.engagementClaimStatus,
  actorEmail: s.email,
});

const filters = {
  orgUri: `"orgUri" = $1 ->> 'orgUri'`,
  status: statusFilter,
  rop3: `"peopleGroupRop3" = $1 ->> 'rop3'`,
  countryCode: `"countryCode" = $1 ->> 'countryCode'`,
};

export const engagementClaimRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/engagement-claims",
    operationId: "listEngagementClaims",
    tag: "Engagement claims",
    summary: "List engagement claims, newest first",
    query: z.object({
      orgUri: s.filterText,
      rop3: s.rop3.optional(),
      countryCode: s.countryCode.optional(),
      status: s.engagementClaimStatus.default("active"),
      ...s.paging,
    }),
    answer: {
      status: 200,
      schema: z.object({ claims: z.array(engagementClaim), total: z.int() }),
      description: "The page, and how many engagement claims match in all.",
    },
    errors: [],
    statement: (input) =>
      listStatement({ view: "rest.engagement_claims", items: "claims", id: "claimId", filters }, input),
  },
  {
    method: "get",
    path: "/v0/engagement-claims/{claimId}",
    operationId: "getEngagementClaim",
    tag: "Engagement claims",
    summary: "Read one engagement claim",
    params: z.object({ claimId: s.uuid }),
    answer: {
      status: 200,
      schema: engagementClaim.extend({ graphErrors: s.graphErrors.optional() }),
      description: "The engagement claim.",
    },
    errors: ["engagement_claim_not_found"],
    statement: recordStatement({ view: "rest.engagement_claims", id: "claimId", kind: "engagement_claim" }),
    missing: {
      code: "engagement_claim_not_found",
      message: "There is no engagement claim with this claimId.",
    },
  },
  {
    method: "post",
    path: "/v0/engagement-claims/submit",
    operationId: "submitEngagementClaim",
    tag: "Engagement claims",
    summary: "Attest that engagement has taken place, in fulfilment of a commitment or on its own",
    body: submission,
    idempotent: true,
    answer: {
      status: 201,
      schema: z.object({ claimId: s.uuid, status: z.literal("active") }),
      description: "The engagement claim was recorded; it reaches the graph within seconds.",
    },
    errors: [
      "membership_required",
      "insufficient_role",
      "unknown_accelerator_code",
      "unknown_commitment",
      "idempotency_key_reused",
    ],
    statement: `
      select json_build_object('claimId', claim.claim_id, 'status', claim.status)::text
      from jsonb_to_record($1) as given (
        "orgUri" text, "orgName" text, "claimedByEmail" text, "engagementAccelerators" text[],
        "peopleGroupRop3" text, "peopleGroupName" text, "peopleGroupRog3" text, "countryCode" text,
        "countryName" text, description text, "fulfillsCommitmentId" uuid),
      app_public.submit_engagement_claim(
        given."orgUri", given."orgName", given."claimedByEmail", given."engagementAccelerators",
        given."peopleGroupRop3", given."peopleGroupName", given."peopleGroupRog3", given."countryCode",
        given."countryName", given.description, given."fulfillsCommitmentId") as claim`,
  },
  {
    method: "post",
    path: "/v0/engagement-claims/status",
    operationId: "updateEngagementClaimStatus",
    tag: "Engagement claims",
    summary: "Set the status of an engagement claim, from any to any",
    body: statusChange,
    answer: {
      status: 200,
      schema: z.object({ claimId: s.uuid, status: s.engagementClaimStatus }),
      description: "The engagement claim has this status.",
    },
    errors: ["membership_required", "insufficient_role", "engagement_claim_not_found"],
    statement: `
      select json_build_object('claimId', claim.claim_id, 'status', claim.status)::text
      from app_public.update_engagement_claim_status(
        ($1 ->> 'claimId')::uuid, ($1 ->> 'status')::app_public.engagement_claim_status,
        $1 ->> 'actorEmail') as claim`,
  },
];
