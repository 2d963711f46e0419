// The statuses that a record has had.
import { z } from "zod";
import { commitment } from "../../records/commitment.ts";
import { engagementClaim } from "../../records/engagement-claim.ts";
import { need } from "../../records/need.ts";
import { idOf } from "../../records/record.ts";
import type { RecordDescription } from "../../records/record.ts";
import type { ErrorCode } from "../errors.ts";
import * as r from "../rest/records.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

function historyOf(
  record: RecordDescription,
  operationId: string,
  tag: string,
  missing: ErrorCode,
): RestRoute {
  const id = idOf(record);
  const change = z.object({
    status: r.statusOf(record),
    changedAt: s.timestamp,
    changedByEmail: s.email.nullable().meta({ description: "Null if the service itself did it." }),
  });
  return {
    method: "get",
    path: `/v0/${record.path}/{${id}}/history`,
    operationId,
    tag,
    summary: "Read which statuses a record has had, since when, and who set them, first to last",
    params: r.paramsOf(record),
    answer: {
      status: 200,
      schema: z.object({ history: z.array(change) }),
      description: "Each change; setting the status that a record already has is not one.",
    },
    errors: [missing],
    statement: `
      select json_build_object('history', array(
        select json_build_object('status', to_status, 'changedAt', changed_at, 'changedByEmail', changed_by_email)
        from app_public.status_history
        where ${record.kind}_id = ($1 ->> '${id}')::uuid order by status_history_id))::text
      from rest.${record.table} where "${id}" = ($1 ->> '${id}')::uuid`,
    missing,
  };
}

export const historyRoutes: RestRoute[] = [
  historyOf(need, "getNeedHistory", "Needs", "need_not_found"),
  historyOf(commitment, "getCommitmentHistory", "Commitments", "commitment_not_found"),
  historyOf(engagementClaim, "getEngagementClaimHistory", "Engagement claims", "engagement_claim_not_found"),
];
