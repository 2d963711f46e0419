import type { Response } from "express";
import { z } from "zod";
import type { Names } from "../../graph/namespaces.ts";
import type { GraphStore } from "../../graph/store.ts";
import type { Identity } from "../identity/keys.ts";
import { listFromGraph } from "./commitments-from-graph.ts";
import type { GraphCommitment } from "./commitments-from-graph.ts";
import type { Input, RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";
import { listStatement, recordStatement, statusFilter } from "../rest/statement.ts";
import type { Database } from "../rest/statement.ts";

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

const list = {
  view: "rest.commitments",
  items: "commitments",
  id: "commitmentId",
  filters: {
    orgUri: `"orgUri" = $1 ->> 'orgUri'`,
    status: statusFilter,
    concernsNeedId: `"concernsNeedId" = ($1 ->> 'concernsNeedId')::uuid`,
  },
};

/** The routes of commitments. Their list is read from the graph; from the table where the graph cannot be reached. */
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
    summary: "List commitments, newest first, as the graph has them",
    description:
      "The header X-Data-Source says graph, or database where the graph could not be reached. The graph keeps no " +
      "order in lists of codes, so they come in alphabetical order from it.",
    query: z.object({
      orgUri: s.filterText,
      status: s.commitmentStatus.optional(),
      concernsNeedId: s.uuid.optional(),
      ...s.paging,
    }),
    answer: {
      status: 200,
      schema: z.object({ commitments: z.array(commitment), total: z.int() }),
      headers: {
        "x-data-source": {
          description: "Where the list comes from.",
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
      response.set("x-data-source", "graph").json({ commitments, total: found.total });
    },
  };
}

async function answerFromTable(database: Database, identity: Identity, response: Response, input: Input) {
  const answer = await database.answer(identity, listStatement(list, input), input);
  response.set("x-data-source", "database").type("application/json").send(answer);
}

/** What the graph does not hold: the e-mail, which is personal, and how far the graph itself is. */
async function withTableOnlyFields(database: Database, identity: Identity, commitments: GraphCommitment[]) {
  const answer = await database.answer(
    identity,
    `select json_object_agg(c."commitmentId", json_build_array(c."declaredByEmail", c."graphStatus"))::text
     from rest.commitments as c
     where c."commitmentId" in (select id::uuid from jsonb_array_elements_text($1 -> 'ids') as id)`,
    { ids: commitments.map((commitment) => commitment.commitmentId) },
  );
  const known = JSON.parse(answer ?? "{}") as Record<string, [email: string, graphStatus: string]>;
  return commitments.map(({ commitmentId, orgUri, orgName, ...rest }) => {
    const [declaredByEmail = null, graphStatus = "pending"] = known[commitmentId] ?? [];
    return { commitmentId, orgUri, orgName, declaredByEmail, ...rest, graphStatus };
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
