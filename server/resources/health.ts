import { z } from "zod";
import { enums } from "../../db/catalog.ts";
import type { GraphStore } from "../../graph/store.ts";
import type { RestRoute } from "../rest/route.ts";
import type { Database } from "../database.ts";

const COUNT_AGE_MS = 5_000;

/** The health route: whether the parts answer, and how far the graph is behind the tables. */
export function healthRoutes({ database, store }: { database: Database; store: GraphStore }): RestRoute[] {
  // Counting triples is an expensive query, and monitors ask often.
  let counted: { at: number; triples: Promise<number | null> } | undefined;
  const tripleCount = () => {
    if (!counted || performance.now() - counted.at > COUNT_AGE_MS) {
      const triples = store
        .select("select (count(*) as ?n) where { graph ?g { ?s ?p ?o } }")
        .then((rows) => Number(rows[0]?.["n"]?.value ?? 0))
        .catch(() => null);
      counted = { at: performance.now(), triples };
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
          graphState: z.enum(enums.graph_state),
          graphStateSince: z.string(),
          verifiedAt: z.string().nullable(),
          drift: z.int().nullable(),
        }),
        description:
          "degraded: the graph store does not answer (tripleCount is null), or the graph is known to be behind " +
          "(graphState). Writes are kept until it is not. verifiedAt is when the whole graph was last compared with the " +
          "tables, and drift how many differences were found and left.",
      },
      errors: [],
      handle: async (request, response) => {
        const [triples, answer] = await Promise.all([
          tripleCount(),
          database.answer(request.identity, `select row_to_json(health)::text from rest.health`),
        ]);
        const { isWhole, ...health } = JSON.parse(answer ?? "{}") as { isWhole?: boolean };
        const isOk = triples !== null && isWhole === true;
        response.json({ status: isOk ? "ok" : "degraded", tripleCount: triples, ...health });
      },
    },
  ];
}
