import { z } from "zod";
import { enums } from "../../db/catalog.ts";
import { differenceOf } from "../../db/settings.ts";
import type { Setting } from "../../db/settings.ts";
import type { Names } from "../../graph/namespaces.ts";
import { ASKED } from "../../graph/store.ts";
import type { GraphStore } from "../../graph/store.ts";
import { readMark } from "../../graph/turns.ts";
import { within } from "../../process/patience.ts";
import type { RestRoute } from "../rest/route.ts";
import type { Database } from "../database.ts";

const COUNT_AGE_MS = 5_000;
// A monitor takes a service that is silent for longer to be dead; with an earlier count, wait even less.
const COUNT_PATIENCE_MS = 1_500;
const RECOUNT_PATIENCE_MS = 300;

/** The health route: whether the parts answer, and how far the graph is behind the tables. */
export function healthRoutes(parts: { database: Database; store: GraphStore; names: Names }): RestRoute[] {
  const { database, store, names } = parts;
  const countTriples = tripleCounter(store);
  const isOf = ownerReader(parts);
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
          pendingLists: z.array(z.string()),
          graphState: z.enum(enums.graph_state),
          graphStateSince: z.string(),
          verifiedAt: z.string().nullable(),
          drift: z.int().nullable(),
        }),
        description:
          "degraded: the graph store does not answer, or is not the one that the worker writes (tripleCount is null), or the graph is known to be behind " +
          "(graphState), or its verification fails, or everything in it was given other names since this server started. A store that takes long to count leaves the last count, or null, in tripleCount. Writes are kept meanwhile, and reach the graph afterwards. " +
          "pendingLists names the lists whose graph is not up to date. verifiedAt is when the whole graph was last compared with the " +
          "tables, and drift how many differences were found and left.",
      },
      errors: [],
      handle: async (request) => {
        const known = database.read(request.identity, HEALTH).then(parsed);
        const [{ told = {}, named }, isThere, isOurs, { triples, hasFailed }] = await Promise.all([
          known,
          store.isAvailable(),
          known.then(({ owner }) => owner == null || isOf(owner)),
          countTriples(),
        ]);
        const { isWhole, verificationFails, ...health } = told;
        const isUsable = isThere && isOurs;
        const hasItsNames = !differenceOf(named ?? [], names);
        const isOk = isUsable && !hasFailed && isWhole === true && !verificationFails && hasItsNames;
        const tripleCount = isUsable ? triples : null;
        return JSON.stringify({ status: isOk ? "ok" : "degraded", tripleCount, ...health });
      },
    },
  ];
}

/** What is told, and what it is compared with: the identity of the store that is written, if any, and the names in it. */
type Known = {
  told?: { isWhole?: boolean; verificationFails?: boolean };
  owner?: string | null;
  named?: Setting[] | null;
};

const HEALTH = `select json_build_object('told', row_to_json(health), 'owner', app_private.graph_owner(),
  'named', (select json_agg(n) from app_private.graph_names() as n))::text from rest.health`;

const parsed = (answer: string | null) => JSON.parse(answer ?? "{}") as Known;

/** Whether a store has an identity, as it said a moment ago: a store may be exchanged while the server runs. */
function ownerReader({
  store,
  names,
}: {
  store: GraphStore;
  names: Names;
}): (owner: string) => Promise<boolean> {
  let known: { identity?: string | undefined } | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  async function read(): Promise<void> {
    // Whether it answers is asked elsewhere.
    known = await readMark(store, names, { timeoutMs: COUNT_PATIENCE_MS }).catch(() => undefined);
    readAt = performance.now();
    reading = undefined;
  }
  return async (owner) => {
    if (known?.identity !== owner || performance.now() - readAt > COUNT_AGE_MS) await (reading ??= read());
    return known === undefined || known.identity === owner;
  };
}

const COUNT = `select ?${ASKED} ?n where { { select (count(*) as ?n) where { graph ?g { ?s ?p ?o } } } }`;

/** The number of triples as last counted: counting is an expensive query, and monitors ask often. */
function tripleCounter(store: GraphStore): () => Promise<{ triples: number | null; hasFailed: boolean }> {
  let known: { triples: number | null; hasFailed: boolean } = { triples: null, hasFailed: false };
  let countedAt = Number.NEGATIVE_INFINITY;
  let counting: Promise<void> | undefined;
  async function count(): Promise<void> {
    try {
      const [row] = await store.select(COUNT);
      const counted = row?.["n"]?.value ?? "";
      if (!row?.[ASKED] || !/^\d+$/.test(counted)) throw new Error("that is no count");
      known = { triples: Number(counted), hasFailed: false };
      countedAt = performance.now();
    } catch {
      known = { triples: null, hasFailed: true };
    } finally {
      counting = undefined;
    }
  }
  return async () => {
    if (performance.now() - countedAt > COUNT_AGE_MS) counting ??= count();
    const late = () => new Error("the count takes long");
    const patienceMs = known.triples === null ? COUNT_PATIENCE_MS : RECOUNT_PATIENCE_MS;
    if (counting) await within(patienceMs, counting, late).catch(() => undefined);
    return known;
  };
}
