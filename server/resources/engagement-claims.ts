import { z } from "zod";
import { engagementClaim } from "../../records/engagement-claim.ts";
import { listInput, orgUriFilter, statusFilter } from "../rest/list.ts";
import type { ListQuery } from "../rest/list.ts";
import * as r from "../rest/records.ts";
import { REFUSALS } from "../rest/route.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

export const item = r.itemOf(engagementClaim, "EngagementClaim");
const statusChange = r.statusChangeOf(engagementClaim);

const list: ListQuery = {
  record: engagementClaim,
  items: "claims",
  filters: {
    orgUri: orgUriFilter,
    status: statusFilter,
    rop3: {
      description: "Those among this people group.",
      condition: `"peopleGroupRop3" = $1 ->> 'rop3'`,
    },
    countryCode: {
      description: "Those in this country.",
      condition: `"countryCode" = $1 ->> 'countryCode'`,
      kept: "country",
    },
  },
};

export const engagementClaimRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/engagement-claims",
    operationId: "listEngagementClaims",
    tag: "Engagement claims",
    summary: "List engagement claims, newest first",
    query: listInput(list, {
      orgUri: s.filterText,
      rop3: s.rop3.optional(),
      countryCode: s.countryCode.optional(),
      status: r.statusOf(engagementClaim).default(r.initialStatusOf(engagementClaim)),
    }),
    answer: {
      status: 200,
      schema: z.object({ claims: z.array(item), total: z.int() }),
      description: "The page, and how many engagement claims match in all.",
    },
    errors: [],
    list,
  },
  {
    method: "get",
    path: "/v0/engagement-claims/{claimId}",
    operationId: "getEngagementClaim",
    tag: "Engagement claims",
    summary: "Read one engagement claim",
    params: r.paramsOf(engagementClaim),
    answer: {
      status: 200,
      schema: item.extend({ graphErrors: s.graphErrors.optional() }),
      description: "The engagement claim.",
    },
    errors: ["engagement_claim_not_found"],
    statement: r.recordStatement(engagementClaim),
    missing: "engagement_claim_not_found",
  },
  {
    method: "post",
    path: "/v0/engagement-claims/submit",
    operationId: "submitEngagementClaim",
    tag: "Engagement claims",
    summary: "Attest that engagement has taken place, in fulfilment of a commitment or independently of one",
    body: r.inputOf(engagementClaim),
    idempotent: true,
    answer: {
      status: 201,
      location: "/v0/engagement-claims/{claimId}",
      schema: r.createdOf(engagementClaim),
      description: "The engagement claim was recorded; it reaches the graph within seconds.",
    },
    errors: [
      ...REFUSALS.asMember,
      "unknown_accelerator_code",
      "unknown_commitment",
      "idempotency_key_reused",
    ],
    statement: (input) => r.createStatement(engagementClaim, input),
  },
  {
    method: "post",
    path: "/v0/engagement-claims/status",
    operationId: "updateEngagementClaimStatus",
    tag: "Engagement claims",
    summary: "Set the status of an engagement claim; any status may follow any other",
    body: statusChange.body,
    answer: {
      status: 200,
      schema: statusChange.answer,
      description: "The engagement claim now has this status.",
    },
    errors: [...REFUSALS.asMember, "engagement_claim_not_found"],
    statement: r.statusStatement(engagementClaim),
  },
];
