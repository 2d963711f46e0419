// How far the graph is behind the tables.
import type { Pool } from "pg";
import type { enums } from "../db/catalog.ts";
import { readProgress, wanted } from "./rebuild.ts";
import type { RebuildProgress } from "./rebuild.ts";
import { countByState } from "./records.ts";
import type { StateCounts } from "./records.ts";
import type { LoadError } from "../graph/load-check.ts";
import { RECORD_KINDS } from "../records/index.ts";
import type { Names } from "../graph/namespaces.ts";
import type { RecordKind } from "../records/record.ts";
import { GraphRejected, GraphUnavailable } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";

/** One named graph and the records that belong in it. */
interface GraphStatus extends StateCounts {
  kind: RecordKind;
  graph: string;
  /** triples in the store; null if it cannot be asked */
  triples: number | null;
}

export interface ProjectionStatus {
  /** how the graph store is doing; docs/operations.md tells what each state means */
  state: (typeof enums.graph_state)[number];
  reason: string | null;
  since: string;
  /** how far the rebuild is that is under way */
  rebuild: RebuildProgress | null;
  /** when the last verification of everything ended, and how many differences it found and left */
  verifiedAt: string | null;
  drift: number | null;
  storeAvailable: boolean;
  graphs: GraphStatus[];
  /** how long the oldest change has been waiting */
  oldestPendingSeconds: number;
  lastSyncedAt: string | null;
  /** controlled lists whose graph is out of date */
  pendingLists: string[];
  /** the most recently refused records, at most twenty */
  rejected: { kind: RecordKind; id: string; errors: LoadError[] }[];
}

/** Looks at both sides; a store that is down is part of the answer. */
export async function projectionStatus(
  pool: Pool,
  store: GraphStore,
  names: Names,
): Promise<ProjectionStatus> {
  const counts = await Promise.all(RECORD_KINDS.map((kind) => countByState(pool, kind)));
  const { rows: times } = await pool.query<{ oldest: number; last: string | null; lists: string[] }>(
    `select
       (select coalesce(extract(epoch from now() - min(dirty_since)), 0)::float8
        from app_private.dirty_records) as oldest,
       (select to_json(max(synced_at)) from app_private.graph_records) as last,
       array(select name from app_private.dirty_references order by name) as lists`,
  );
  const { rows: states } = await pool.query<
    Pick<ProjectionStatus, "state" | "reason" | "since" | "verifiedAt" | "drift">
  >(
    `select c.state, to_json(c.since) as since,
       case
         when not c.is_watched then 'No worker has looked at the graph store since then.'
         when c.state <> s.state then 'Changes have been waiting for more than half a minute.'
         else s.reason
       end as reason,
       to_json(v.verified_at) as "verifiedAt", v.drift::integer
     from app_private.graph_store as s cross join app_private.graph_condition as c
     cross join app_private.graph_verification as v`,
  );
  const { rows: rejected } = await pool.query<ProjectionStatus["rejected"][number]>(
    `select kind, record_id as id, errors from app_private.graph_records
     where state = 'rejected' order by synced_at desc limit 20`,
  );
  // Counting may take long, and a store that is silent would be waited for as long.
  const triples = (await store.isAvailable()) ? await countTriples(store, names) : undefined;
  return {
    ...states[0]!,
    rebuild: (await wanted(pool)).length > 0 ? await readProgress(pool) : null,
    storeAvailable: triples !== undefined,
    graphs: RECORD_KINDS.map((kind, index) => ({
      kind,
      graph: names.graphs[kind],
      ...counts[index]!,
      triples: triples ? (triples.get(names.graphs[kind]) ?? 0) : null,
    })),
    oldestPendingSeconds: times[0]!.oldest,
    lastSyncedAt: times[0]!.last,
    pendingLists: times[0]!.lists,
    rejected,
  };
}

async function countTriples(store: GraphStore, names: Names): Promise<Map<string, number> | undefined> {
  const graphs = Object.values(names.graphs)
    .map((graph) => `<${graph}>`)
    .join(" ");
  try {
    const rows = await store.select(
      `SELECT ?g (COUNT(*) AS ?n) WHERE { VALUES ?g { ${graphs} } GRAPH ?g { ?s ?p ?o } } GROUP BY ?g`,
    );
    return new Map(rows.map((row) => [row["g"]?.value ?? "", Number(row["n"]?.value ?? 0)]));
  } catch (error) {
    if (error instanceof GraphUnavailable || error instanceof GraphRejected) return undefined;
    throw error;
  }
}
