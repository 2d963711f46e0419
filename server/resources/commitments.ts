import { z } from "zod";
import { commitment } from "../../records/commitment.ts";
import type { Names } from "../../graph/namespaces.ts";
import type { GraphReads } from "../graph-reads.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import { item, withGraphContent } from "./commitments-from-graph.ts";
import type { Commitment } from "./commitments-from-graph.ts";
import { REFUSALS } from "../rest/route.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";
import { listInput, orgUriFilter, readPage, statusFilter } from "../rest/list.ts";
import type { ListQuery } from "../rest/list.ts";
import * as r from "../rest/records.ts";
import type { Database } from "../database.ts";

const statusChange = r.statusChangeOf(commitment);

const list: ListQuery = {
  record: commitment,
  items: "commitments",
  filters: {
    orgUri: orgUriFilter,
    status: statusFilter,
    concernsNeedId: {
      description: "Those that answer this need.",
      condition: `"concernsNeedId" = ($1 ->> 'concernsNeedId')::uuid`,
    },
  },
};

/** The routes of commitments. */
export function commitmentRoutes(parts: {
  database: Database;
  graph: GraphReads;
  names: Names;
}): RestRoute[] {
  return [listRoute(parts), ...recordRoutes];
}

function listRoute({
  database,
  graph,
  names,
}: {
  database: Database;
  graph: GraphReads;
  names: Names;
}): RestRoute {
  return {
    method: "get",
    path: "/v0/commitments",
    operationId: "listCommitments",
    tag: "Commitments",
    summary: "List commitments, newest first, as the graph holds them",
    description:
      "Complete at every moment: which commitments there are, their order and their number come from the database, " +
      "what they contain from the graph. A commitment that the graph does not hold as it is now comes from the " +
      "database; its graphStatus is then pending or rejected. The header X-Data-Source says graph, or database if the " +
      "graph gave no answer in time and all of the list is from the database.",
    query: listInput(list, {
      orgUri: s.filterText,
      status: r.statusOf(commitment).optional(),
      concernsNeedId: s.uuid.optional(),
    }),
    answer: {
      status: 200,
      schema: z.object({ commitments: z.array(item), total: z.int() }),
      headers: {
        [RESPONSE_HEADERS.dataSource]: {
          description: "Where the list was read from.",
          schema: { type: "string", enum: ["graph", "database"] },
        },
      },
      description: "The page, and how many commitments match in all.",
    },
    errors: [],
    list,
    handle: async (request, response, input) => {
      const body = await readPage(database, list, input, { request, response });
      const page = JSON.parse(body) as { commitments: Commitment[]; total: number };
      const commitments = await withGraphContent(graph, names, page.commitments, request.identity);
      response.set(RESPONSE_HEADERS.dataSource, commitments ? "graph" : "database");
      return commitments ? JSON.stringify({ ...page, commitments }) : body;
    },
  };
}

const recordRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/commitments/{commitmentId}",
    operationId: "getCommitment",
    tag: "Commitments",
    summary: "Read one commitment",
    params: r.paramsOf(commitment),
    answer: {
      status: 200,
      schema: item.extend({ graphErrors: s.graphErrors.optional() }),
      description: "The commitment.",
    },
    errors: ["commitment_not_found"],
    statement: r.recordStatement(commitment),
    missing: "commitment_not_found",
  },
  {
    method: "post",
    path: "/v0/commitments",
    operationId: "declareCommitment",
    tag: "Commitments",
    summary: "Commit an organization to act, in answer to a need or independently of one",
    body: r.inputOf(commitment),
    idempotent: true,
    answer: {
      status: 201,
      location: "/v0/commitments/{commitmentId}",
      schema: r.createdOf(commitment),
      description: "The commitment was recorded; it reaches the graph within seconds.",
    },
    errors: [...REFUSALS.asMember, "unknown_accelerator_code", "unknown_need", "idempotency_key_reused"],
    statement: (input) => r.createStatement(commitment, input),
  },
  {
    method: "post",
    path: "/v0/commitments/status",
    operationId: "updateCommitmentStatus",
    tag: "Commitments",
    summary: "Set the status of a commitment; any status may follow any other",
    body: statusChange.body,
    answer: { status: 200, schema: statusChange.answer, description: "The commitment now has this status." },
    errors: [...REFUSALS.asMember, "commitment_not_found"],
    statement: r.statusStatement(commitment),
  },
];
