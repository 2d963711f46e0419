import type { Response } from "express";
import { z } from "zod";
import { commitment } from "../../records/commitment.ts";
import { fieldsOf } from "../../records/record.ts";
import type { Names } from "../../graph/namespaces.ts";
import type { GraphStore } from "../../graph/store.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import type { Identity } from "../identity/keys.ts";
import { listFromGraph } from "./commitments-from-graph.ts";
import type { GraphCommitment } from "./commitments-from-graph.ts";
import type { Input, RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";
import { listStatement, statusFilter } from "../rest/list.ts";
import * as r from "../rest/records.ts";
import type { Database } from "../database.ts";

const item = r.itemOf(commitment, "Commitment");
const statusChange = r.statusChangeOf(commitment);

const list = {
  record: commitment,
  items: "commitments",
  filters: {
    orgUri: `"orgUri" = $1 ->> 'orgUri'`,
    status: statusFilter,
    concernsNeedId: `"concernsNeedId" = ($1 ->> 'concernsNeedId')::uuid`,
  },
};

/** The routes of commitments. The list is read from the graph, or from the table if the graph cannot be reached. */
export function commitmentRoutes(parts: {
  database: Database;
  store: GraphStore;
  names: Names;
}): RestRoute[] {
  return [listRoute(parts), ...recordRoutes];
}

function listRoute({
  database,
  store,
  names,
}: {
  database: Database;
  store: GraphStore;
  names: Names;
}): RestRoute {
  return {
    method: "get",
    path: "/v0/commitments",
    operationId: "listCommitments",
    tag: "Commitments",
    summary: "List commitments, newest first, as the graph holds them",
    description:
      "The header X-Data-Source says graph, or database if the graph could not be reached. The graph does not keep " +
      "the order of codes in a list, so in answers from it they are in alphabetical order.",
    query: z.object({
      orgUri: s.filterText,
      status: r.statusOf(commitment).optional(),
      concernsNeedId: s.uuid.optional(),
      ...s.paging,
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
    handle: async (request, response, input) => {
      const found = await listFromGraph(store, names, input);
      if (!found) return answerFromTable(database, request.identity, response, input);
      const commitments = await withTableOnlyFields(database, request.identity, found.commitments);
      response.set(RESPONSE_HEADERS.dataSource, "graph").json({ commitments, total: found.total });
    },
  };
}

async function answerFromTable(database: Database, identity: Identity, response: Response, input: Input) {
  const answer = await database.answer(identity, listStatement(list, input), input);
  response.set(RESPONSE_HEADERS.dataSource, "database").type("application/json").send(answer);
}

// All that an item has, in order. What is withheld from the graph comes from the table, and so does graphStatus.
const FIELDS = [...Object.keys(commitment.fields), "graphStatus"];
const FROM_TABLE = fieldsOf(commitment)
  .filter(({ graph }) => typeof graph === "object" && "withheld" in graph)
  .map(({ name }) => name)
  .concat("graphStatus");

async function withTableOnlyFields(database: Database, identity: Identity, commitments: GraphCommitment[]) {
  const answer = await database.answer(
    identity,
    `select json_object_agg(c."commitmentId", json_build_object(
       ${FROM_TABLE.map((name) => `'${name}', c."${name}"`).join(", ")}))::text
     from rest.commitments as c
     where c."commitmentId" in (select id::uuid from jsonb_array_elements_text($1 -> 'ids') as id)`,
    { ids: commitments.map(({ commitmentId }) => commitmentId) },
  );
  const known = JSON.parse(answer ?? "{}") as Record<string, Record<string, unknown>>;
  return commitments.map((fromGraph) => {
    const all = { ...fromGraph, graphStatus: "pending", ...known[fromGraph.commitmentId] };
    return Object.fromEntries(FIELDS.map((name) => [name, (all as Record<string, unknown>)[name] ?? null]));
  });
}

const recordRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/commitments/{commitmentId}",
    operationId: "getCommitment",
    tag: "Commitments",
    summary: "Read one commitment",
    params: z.object({ commitmentId: s.uuid }),
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
      schema: r.createdOf(commitment),
      description: "The commitment was recorded; it reaches the graph within seconds.",
    },
    errors: [
      "membership_required",
      "insufficient_role",
      "unknown_accelerator_code",
      "unknown_need",
      "idempotency_key_reused",
    ],
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
    errors: ["membership_required", "insufficient_role", "commitment_not_found"],
    statement: r.statusStatement(commitment),
  },
];
