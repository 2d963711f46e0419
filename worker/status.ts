// How far the graph is behind the tables.
import type { Pool } from "pg";
import type { enums } from "../db/catalog.ts";
import type { RebuildProgress } from "./rebuild.ts";
import type { LoadError } from "../graph/load-check.ts";
import type { Names } from "../graph/namespaces.ts";
import type { RecordKind } from "../records/record.ts";
import { GraphRejected, GraphUnavailable } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";

/** The number of records of a kind, by their state in the graph. */
type StateCounts = { kind: RecordKind; records: number; pending: number; synced: number; rejected: number };

/** What the tables say, as app_private.graph_status returns it. */
export type GraphStatus = {
  /** how the graph store is doing; graph/states.ts explains the states */
  state: (typeof enums.graph_state)[number];
  reason: string | null;
  since: string;
  /** progress of the current rebuild */
  rebuild: RebuildProgress | null;
  /** when the last verification of everything ended, and how many differences it found and left */
  verifiedAt: string | null;
  drift: number | null;
  /** why the background verification is stuck */
  verificationTrouble: string | null;
  graphs: StateCounts[];
  /** how long the oldest change has been waiting */
  oldestPendingSeconds: number;
  lastSyncedAt: string | null;
  /** controlled lists whose graph is out of date */
  pendingLists: string[];
  /** the most recently refused records, at most twenty */
  rejected: { kind: RecordKind; id: string; errors: LoadError[] }[];
};

/** What the tables and the store say. */
export type ProjectionStatus = Omit<GraphStatus, "graphs"> & {
  storeAvailable: boolean;
  /**
   * with the named graph of these records, and how many triples the store has in
   * it; null if it cannot be asked
   */
  graphs: (StateCounts & { graph: string; triples: number | null })[];
};

/** Asks the tables and the store; a store that is down is part of the answer. */
export async function projectionStatus(
  pool: Pool,
  store: GraphStore,
  names: Names,
): Promise<ProjectionStatus> {
  const { rows } = await pool.query<{ status: GraphStatus }>("select app_private.graph_status() as status");
  const { status } = rows[0]!;
  // Checked first: counting may take long, and a silent store would be waited for as long.
  const triples = (await store.isAvailable()) ? await countTriples(store, names) : undefined;
  return {
    ...status,
    storeAvailable: triples !== undefined,
    graphs: status.graphs.map((each) => ({
      ...each,
      graph: names.graphs[each.kind],
      triples: triples ? (triples.get(names.graphs[each.kind]) ?? 0) : null,
    })),
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
