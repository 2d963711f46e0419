// The links in the header of every page. A new page gets a line here.
import type { Visitor } from "./visitor.ts";

type Place = {
  path: string;
  label: string;
  /** The permission without which there is nothing to see; `true` for everybody who is signed in. */
  needs?: string | true;
};

const PLACES: readonly Place[] = [
  { path: "/", label: "Overview" },
  { path: "/organizations", label: "Organizations", needs: true },
  { path: "/search", label: "Search", needs: true },
  { path: "/admin/claims", label: "Claims", needs: "claims:review" },
  { path: "/admin/users", label: "People", needs: "users:read" },
  { path: "/admin/graph", label: "Graph", needs: "roles:assign" },
  { path: "/docs", label: "REST" },
  { path: "/graphiql", label: "GraphQL" },
  { path: "/sparql", label: "SPARQL" },
];

/** The places that have something to show to a visitor. */
export function placesFor(visitor: Visitor | undefined): readonly Place[] {
  return PLACES.filter(
    ({ needs }) => needs === undefined || (visitor && (needs === true || visitor.permissions.has(needs))),
  );
}
