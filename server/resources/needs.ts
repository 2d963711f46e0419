import { z } from "zod";
import { need } from "../../records/need.ts";
import { listInput, orgUriFilter, statusFilter } from "../rest/list.ts";
import type { ListQuery } from "../rest/list.ts";
import * as r from "../rest/records.ts";
import { REFUSALS } from "../rest/route.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

export const item = r.itemOf(need, "Need");
const statusChange = r.statusChangeOf(need);

const list: ListQuery = {
  record: need,
  items: "needs",
  filters: {
    orgUri: orgUriFilter,
    status: statusFilter,
    accelerator: {
      description: "Those with this code of the accelerator scheme.",
      condition: `accelerators @> array[$1 ->> 'accelerator']`,
      kept: "accelerator",
      unordered: true,
    },
    rop3: {
      description: "Those that concern this people group.",
      condition: `"concernsPeopleGroupRop3" @> array[$1 ->> 'rop3']`,
      unordered: true,
    },
    countryCode: {
      description: "Those that concern this country.",
      condition: `"concernsCountryCode" @> array[$1 ->> 'countryCode']`,
      kept: "country",
      unordered: true,
    },
  },
};

export const needRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/needs",
    operationId: "listNeeds",
    tag: "Needs",
    summary: "List needs, newest first",
    query: listInput(list, {
      orgUri: s.filterText,
      status: r.statusOf(need).optional(),
      accelerator: s.filterText,
      rop3: s.rop3.optional(),
      countryCode: s.countryCode.optional(),
    }),
    answer: {
      status: 200,
      schema: z.object({ needs: z.array(item), total: z.int() }),
      description: "The page, and how many needs match in all.",
    },
    errors: [],
    list,
  },
  {
    method: "get",
    path: "/v0/needs/{needId}",
    operationId: "getNeed",
    tag: "Needs",
    summary: "Read one need",
    params: r.paramsOf(need),
    answer: {
      status: 200,
      schema: item.extend({ graphErrors: s.graphErrors.optional() }),
      description: "The need.",
    },
    errors: ["need_not_found"],
    statement: r.recordStatement(need),
    missing: "need_not_found",
  },
  {
    method: "post",
    path: "/v0/needs",
    operationId: "declareNeed",
    tag: "Needs",
    summary: "Declare that work is needed",
    body: r.inputOf(need),
    idempotent: true,
    answer: {
      status: 201,
      location: "/v0/needs/{needId}",
      schema: r.createdOf(need),
      description: "The need was recorded; it reaches the graph within seconds.",
    },
    errors: [...REFUSALS.asMember, "unknown_accelerator_code", "idempotency_key_reused"],
    statement: (input) => r.createStatement(need, input),
  },
  {
    method: "post",
    path: "/v0/needs/status",
    operationId: "updateNeedStatus",
    tag: "Needs",
    summary: "Set the status of a need; any status may follow any other",
    body: statusChange.body,
    answer: { status: 200, schema: statusChange.answer, description: "The need now has this status." },
    errors: [...REFUSALS.asMember, "need_not_found"],
    statement: r.statusStatement(need),
  },
];
