import { z } from "zod";
import type { RestRoute } from "./route.ts";
import * as s from "./schemas.ts";
import { listStatement, recordStatement } from "./statement.ts";

const commitment = z
  .object({
    commitmentId: s.uuid,
    orgUri: s.httpUri,
    orgName: z.string(),
    declaredByEmail: s.email,
    commitmentDescription: z.string(),
    acceleratorScope: z.array(z.string()),
    concernsNeedId: s.uuid.nullable(),
    concernsPeopleGroupRop3: z.array(z.string()),
    concernsCountryCode: z.array(z.string()),
    targetCompletionDate: s.date.nullable(),
    status: s.commitmentStatus,
    createdAt: s.timestamp,
    updatedAt: s.timestamp,
    graphStatus: s.graphStatus,
  })
  .meta({ id: "Commitment" });

const declaration = z.strictObject({
  orgUri: s.httpUri,
  orgName: s.requiredText,
  declaredByEmail: s.email,
  commitmentDescription: s.requiredText,
  acceleratorScope: s.acceleratorCodes,
  concernsNeedId: s.uuid.optional(),
  concernsPeopleGroupRop3: s.rop3s.optional(),
  concernsCountryCode: s.countryCodes.optional(),
  targetCompletionDate: s.date.optional(),
});

const statusChange = z.strictObject({
  commitmentId: s.uuid,
  status: s.commitmentStatus,
  actorEmail: s.email,
});

const filters = {
  orgUri: `"orgUri" = $1 ->> 'orgUri'`,
  status: `status = ($1 ->> 'status')::app_public.commitment_status`,
  concernsNeedId: `"concernsNeedId" = ($1 ->> 'concernsNeedId')::uuid`,
};

export const commitmentRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/commitments",
    operationId: "listCommitments",
    tag: "Commitments",
    summary: "List commitments, newest first",
    query: z.object({
      orgUri: s.filterText,
      status: s.commitmentStatus.optional(),
      concernsNeedId: s.uuid.optional(),
      ...s.paging,
    }),
    answer: {
      status: 200,
      schema: z.object({ commitments: z.array(commitment), total: z.int() }),
      description: "The page, and how many commitments match in all.",
    },
    errors: [],
    statement: (input) =>
      listStatement({ view: "rest.commitments", items: "commitments", id: "commitmentId", filters }, input),
  },
  {
    method: "get",
    path: "/v0/commitments/{commitmentId}",
    operationId: "getCommitment",
    tag: "Commitments",
    summary: "Read one commitment",
    params: z.object({ commitmentId: s.uuid }),
    answer: {
      status: 200,
      schema: commitment.extend({ graphErrors: s.graphErrors.optional() }),
      description: "The commitment.",
    },
    errors: ["commitment_not_found"],
    statement: recordStatement({ view: "rest.commitments", id: "commitmentId", kind: "commitment" }),
    missing: { code: "commitment_not_found", message: "There is no commitment with this commitmentId." },
  },
  {
    method: "post",
    path: "/v0/commitments",
    operationId: "declareCommitment",
    tag: "Commitments",
    summary: "Commit an organization to act, in answer to a need or on its own",
    body: declaration,
    idempotent: true,
    answer: {
      status: 201,
      schema: z.object({ commitmentId: s.uuid, status: z.literal("declared") }),
      description: "The commitment was recorded; it reaches the graph within seconds.",
    },
    errors: [
      "membership_required",
      "insufficient_role",
      "unknown_accelerator_code",
      "unknown_need",
      "idempotency_key_reused",
    ],
    statement: `
      select json_build_object('commitmentId', commitment.commitment_id, 'status', commitment.status)::text
      from jsonb_to_record($1) as given (
        "orgUri" text, "orgName" text, "declaredByEmail" text, "commitmentDescription" text,
        "acceleratorScope" text[], "concernsNeedId" uuid, "concernsPeopleGroupRop3" text[],
        "concernsCountryCode" text[], "targetCompletionDate" date),
      app_public.declare_commitment(
        given."orgUri", given."orgName", given."declaredByEmail", given."commitmentDescription",
        given."acceleratorScope", given."concernsNeedId", given."concernsPeopleGroupRop3",
        given."concernsCountryCode", given."targetCompletionDate") as commitment`,
  },
  {
    method: "post",
    path: "/v0/commitments/status",
    operationId: "updateCommitmentStatus",
    tag: "Commitments",
    summary: "Set the status of a commitment, from any to any",
    body: statusChange,
    answer: {
      status: 200,
      schema: z.object({ commitmentId: s.uuid, status: s.commitmentStatus }),
      description: "The commitment has this status.",
    },
    errors: ["membership_required", "insufficient_role", "commitment_not_found"],
    statement: `
      select json_build_object('commitmentId', commitment.commitment_id, 'status', commitment.status)::text
      from app_public.update_commitment_status(
        ($1 ->> 'commitmentId')::uuid, ($1 ->> 'status')::app_public.commitment_status,
        $1 ->> 'actorEmail') as commitment`,
  },
];
