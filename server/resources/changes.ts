// The feeds of changes, for clients that keep a copy.
import type { Request, Response } from "express";
import { z } from "zod";
import { choices } from "../../db/catalog.ts";
import { RECORD_KINDS } from "../../records/index.ts";
import type { Database } from "../database.ts";
import { readChanges } from "../live/pages.ts";
import type { FeedName } from "../live/pages.ts";
import { REFUSALS } from "../rest/route.ts";
import type { Input, RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";
import { claimItem } from "./admin-claims.ts";
import { item as commitment } from "./commitments-from-graph.ts";
import { item as engagementClaim } from "./engagement-claims.ts";
import * as m from "./membership-schemas.ts";
import { item as need } from "./needs.ts";

const cursor = z.string().meta({ description: "Where to continue: the value of after in the next request." });

const paging = {
  after: z
    .string({ error: "must be a cursor of this feed, or now" })
    .refine((value) => !value.includes("\0"), s.NUL)
    .optional()
    .meta({
      description:
        "Up to where you have read: the cursor of a change or the next of a page, whatever its filters. now " +
        "returns nothing but a cursor for this moment, to start from. Left out: from the oldest change that is kept.",
    }),
  limit: s.paging.limit,
};

function changeOf(kinds: readonly string[], item: z.ZodType) {
  return z.object({
    cursor,
    kind: z.enum(kinds),
    id: s.uuid,
    change: s.oneOf(choices["changes.change"]),
    changedAt: s.timestamp,
    orgUri: s.httpUri,
    needId: s.uuid.nullable().describe("The need whose chain the record is in."),
    fromStatus: z.string().nullable().describe("The status before; null when it was created."),
    toStatus: z.string().nullable().describe("The status after, often the same; null when it was deleted."),
    item: item
      .nullable()
      .describe("As its list shows it now, which may be after later changes; null if it no longer exists."),
  });
}

function pageOf(change: z.ZodType) {
  return z.object({
    changes: z.array(change),
    next: cursor,
    hasMore: z.boolean().describe("Whether there is more now. A page can be short, or empty, before that."),
  });
}

/** Answers with a page of a feed, and names the next one in the header Link. */
function feedOf(database: Database, feed: FeedName, filters: readonly string[]) {
  return async (request: Request, response: Response, input: Input): Promise<string> => {
    const answer = await readChanges(database, feed, request.identity, input);
    const page = JSON.parse(answer) as { next: string; hasMore: boolean };
    if (page.hasMore) {
      const query = new URLSearchParams();
      const given = ["limit", ...filters].filter((name) => input[name] !== undefined);
      for (const name of given) query.set(name, String(input[name]));
      query.set("after", page.next);
      response.links({ next: `${request.path}?${query.toString()}` });
    }
    return answer;
  };
}

/** The routes of the feeds. */
export function changeRoutes(database: Database): RestRoute[] {
  return [
    {
      method: "get",
      path: "/v0/changes",
      operationId: "listChanges",
      tag: "Changes",
      summary: "List changes, in the order in which they became visible",
      description:
        "Every committed change of needs, commitments and engagement claims once, deletions included; a reader who continues " +
        "from a cursor misses none, not even one that took long to commit. To keep a copy: ask for after=now, read the " +
        "lists, then read the changes after that cursor. What changed longer ago than changes are kept (by default 30 days) is answered " +
        "with 410 changes_expired: read the lists again. An item is what its list shows at the moment of reading. A change of " +
        "graphStatus alone, which the worker makes later, is not reported.",
      query: z.object({
        ...paging,
        kind: s.oneOf(RECORD_KINDS).optional().describe("Only records of this kind."),
        orgUri: s.filterText.describe("Only records of this organization."),
        needId: s.uuid
          .optional()
          .describe("A need, with the commitments to it and the engagement claims that fulfil these."),
      }),
      answer: {
        status: 200,
        schema: pageOf(
          changeOf(RECORD_KINDS, z.union([need, commitment, engagementClaim])).meta({ id: "Change" }),
        ),
        description: "The changes, first to last, and where to continue.",
      },
      errors: ["changes_expired"],
      handle: feedOf(database, "records", ["kind", "orgUri", "needId"]),
    },
    {
      method: "get",
      path: "/v0/admin/claims/changes",
      isPersonal: true,
      operationId: "listOrganizationClaimChanges",
      tag: "Claim review",
      summary: "List changes to the organization claims that you review",
      description:
        "Like GET /v0/changes, for the claims that GET /v0/admin/claims lists, without similar_organizations, which change without the claim. " +
        "A claim is also reported as updated when its claimant or a reviewer is renamed or erased, and when somebody may review it " +
        "from then on who could not before. Claims that the reader may no longer see are not reported.",
      headers: m.actingAdmin,
      query: z.object(paging),
      answer: {
        status: 200,
        schema: pageOf(
          changeOf(["organization_claim"], claimItem)
            .extend({ fromStatus: m.claimStatus.nullable(), toStatus: m.claimStatus.nullable() })
            .meta({ id: "OrganizationClaimChange" }),
        ),
        description: "The changes, first to last, and where to continue.",
      },
      errors: [...REFUSALS.forPerson, "permission_required", "changes_expired"],
      handle: feedOf(database, "claims", []),
    },
  ];
}
