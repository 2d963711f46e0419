import { z } from "zod";
import type { GraphStore } from "../../graph/store.ts";
import type { RestRoute } from "../rest/route.ts";
import type { Database } from "../database.ts";

const COUNT_AGE_MS = 5_000;

/** The health route: whether the parts answer, and how far the graph is behind the tables. */
export function healthRoutes({ database, store }: { database: Database; store: GraphStore }): RestRoute[] {
  // Counting triples is an expensive query, and monitors ask often.
  let counted: { at: number; triples: Promise<number | null> } | undefined;
  const tripleCount = () => {
    if (!counted || Date.now() - counted.at > COUNT_AGE_MS) {
      const triples = store
        .select("select (count(*) as ?n) where { graph ?g { ?s ?p ?o } }")
        .then((rows) => Number(rows[0]?.["n"]?.value ?? 0))
        .catch(() => null);
      counted = { at: Date.now(), triples };
    }
    return counted.triples;
  };
  return [
    {
      method: "get",
      path: "/v0/health",
      operationId: "getHealth",
      tag: "Service",
      summary: "Whether the parts answer, and how far the graph is behind the tables",
      answer: {
        status: 200,
        schema: z.object({
          status: z.enum(["ok", "degraded"]),
          tripleCount: z.int().nullable(),
          pending: z.int(),
          oldestPendingSeconds: z.number(),
          rejected: z.int(),
        }),
        description:
          "degraded: the graph store does not answer, and tripleCount is null. Writes are kept until it does.",
      },
      errors: [],
      handle: async (request, response) => {
        const [triples, answer] = await Promise.all([
          tripleCount(),
          database.answer(request.identity, `select row_to_json(health)::text from rest.health`),
        ]);
        response.json({
          status: triples === null ? "degraded" : "ok",
          tripleCount: triples,
          ...(JSON.parse(answer ?? "{}") as object),
        });
      },
    },
  ];
}
