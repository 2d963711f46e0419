import { z } from "zod";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";
import { listStatement, recordStatement, statusFilter } from "../rest/statement.ts";

const need = z
  .object({
    needId: s.uuid,
    orgUri: s.httpUri,
    orgName: z.string(),
    declaredByEmail: s.email,
    needDescription: z.string(),
    accelerators: z.array(z.string()),
    concernsPeopleGroupRop3: z.array(z.string()),
    concernsCountryCode: z.array(z.string()),
    status: s.needStatus,
    createdAt: s.timestamp,
    updatedAt: s.timestamp,
    graphStatus: s.graphStatus,
  })
  .meta({ id: "Need" });

const declaration = z.strictObject({
  orgUri: s.httpUri,
  orgName: s.requiredText,
  declaredByEmail: s.email,
  needDescription: s.requiredText,
  accelerators: s.acceleratorCodes,
  concernsPeopleGroupRop3: s.rop3s.optional(),
  concernsCountryCode: s.countryCodes.optional(),
});

const statusChange = z.strictObject({ needId: s.uuid, status: s.needStatus, actorEmail: s.email });

const filters = {
  orgUri: `"orgUri" = $1 ->> 'orgUri'`,
  status: statusFilter,
  accelerator: `accelerators @> array[$1 ->> 'accelerator']`,
  rop3: `"concernsPeopleGroupRop3" @> array[$1 ->> 'rop3']`,
  countryCode: `"concernsCountryCode" @> array[$1 ->> 'countryCode']`,
};

export const needRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/needs",
    operationId: "listNeeds",
    tag: "Needs",
    summary: "List needs, newest first",
    query: z.object({
      orgUri: s.filterText,
      status: s.needStatus.optional(),
      accelerator: s.filterText,
      rop3: s.rop3.optional(),
      countryCode: s.countryCode.optional(),
      ...s.paging,
    }),
    answer: {
      status: 200,
      schema: z.object({ needs: z.array(need), total: z.int() }),
      description: "The page, and how many needs match in all.",
    },
    errors: [],
    statement: (input) => listStatement({ view: "rest.needs", items: "needs", id: "needId", filters }, input),
  },
  {
    method: "get",
    path: "/v0/needs/{needId}",
    operationId: "getNeed",
    tag: "Needs",
    summary: "Read one need",
    params: z.object({ needId: s.uuid }),
    answer: {
      status: 200,
      schema: need.extend({ graphErrors: s.graphErrors.optional() }),
      description: "The need.",
    },
    errors: ["need_not_found"],
    statement: recordStatement({ view: "rest.needs", id: "needId", kind: "need" }),
    missing: { code: "need_not_found", message: "There is no need with this needId." },
  },
  {
    method: "post",
    path: "/v0/needs",
    operationId: "declareNeed",
    tag: "Needs",
    summary: "Declare that work is needed",
    body: declaration,
    idempotent: true,
    answer: {
      status: 201,
      schema: z.object({ needId: s.uuid, status: z.literal("open") }),
      description: "The need was recorded; it reaches the graph within seconds.",
    },
    errors: [
      "membership_required",
      "insufficient_role",
      "unknown_accelerator_code",
      "idempotency_key_reused",
    ],
    statement: `
      select json_build_object('needId', need.need_id, 'status', need.status)::text
      from jsonb_to_record($1) as given (
        "orgUri" text, "orgName" text, "declaredByEmail" text, "needDescription" text, accelerators text[],
        "concernsPeopleGroupRop3" text[], "concernsCountryCode" text[]),
      app_public.declare_need(
        given."orgUri", given."orgName", given."declaredByEmail", given."needDescription", given.accelerators,
        given."concernsPeopleGroupRop3", given."concernsCountryCode") as need`,
  },
  {
    method: "post",
    path: "/v0/needs/status",
    operationId: "updateNeedStatus",
    tag: "Needs",
    summary: "Set the status of a need, from any to any",
    body: statusChange,
    answer: {
      status: 200,
      schema: z.object({ needId: s.uuid, status: s.needStatus }),
      description: "The need has this status.",
    },
    errors: ["membership_required", "insufficient_role", "need_not_found"],
    statement: `
      select json_build_object('needId', need.need_id, 'status', need.status)::text
      from app_public.update_need_status(
        ($1 ->> 'needId')::uuid, ($1 ->> 'status')::app_public.need_status, $1 ->> 'actorEmail') as need`,
  },
];
