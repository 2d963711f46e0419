// Every REST route. A new resource is a file in this folder, named after its path, and a line here.
import type { Names } from "../../graph/namespaces.ts";
import type { GraphStore } from "../../graph/store.ts";
import type { Database } from "../database.ts";
import type { GraphReads } from "../graph-reads.ts";
import type { RestRoute } from "../rest/route.ts";
import { acceleratorRoutes } from "./accelerators.ts";
import { claimReviewRoutes } from "./admin-claims.ts";
import { userRoutes } from "./admin-users.ts";
import { changeRoutes } from "./changes.ts";
import { choosingRoutes } from "./choosing.ts";
import type { ChurchPages } from "./church-pages.ts";
import { commitmentRoutes } from "./commitments.ts";
import { engagementClaimRoutes } from "./engagement-claims.ts";
import { healthRoutes } from "./health.ts";
import { historyRoutes } from "./history.ts";
import { needRoutes } from "./needs.ts";
import { onboardingRoutes } from "./onboarding.ts";
import { memberRoutes } from "./orgs-members.ts";
import { organizationRoutes } from "./orgs-metadata.ts";
import { churchRoutes } from "./orgs-search.ts";

/** The routes, in the order in which the API reference shows them. */
export function allRoutes(parts: {
  database: Database;
  churchPages: ChurchPages;
  store: GraphStore;
  graph: GraphReads;
  names: Names;
  answerMaxBytes: number;
}): RestRoute[] {
  return [
    ...needRoutes,
    ...commitmentRoutes(parts),
    ...engagementClaimRoutes,
    ...historyRoutes,
    ...changeRoutes(parts.database),
    ...acceleratorRoutes,
    ...choosingRoutes,
    ...onboardingRoutes,
    ...claimReviewRoutes,
    ...memberRoutes,
    ...organizationRoutes,
    ...userRoutes,
    ...churchRoutes(parts.churchPages, parts.answerMaxBytes),
    ...healthRoutes(parts),
  ];
}
