// A snapshot of the tables, from which a whole graph is replaced, and which shows which of its
// records were waiting to be written.
import type { Quad } from "@rdfjs/types";
import type { Pool, PoolClient } from "pg";
import type { Turn } from "../graph/turns.ts";
import type { RecordKind } from "../records/record.ts";
import { noteOutcomes, prepare } from "./projection.ts";
import type { Projector } from "./projection.ts";
import { NEVER_MARKED, readPage } from "./records.ts";

const PAGE_SIZE = 1_000;

export interface Snapshot {
  /** sees the tables as they were when it was taken */
  tables: PoolClient;
  pool: Pool;
  projector: Projector;
  /** receives the records whose noted state differs from what the load check finds now */
  doubtful: string[];
  /** receives the waiting records that do not pass the load check */
  refused: Set<string>;
}

/** Does some work that sees the tables as they are now, however long it takes. */
export async function inSnapshot<T>(pool: Pool, work: (tables: PoolClient) => Promise<T>): Promise<T> {
  const tables = await pool.connect();
  let isDone = false;
  try {
    await tables.query("begin transaction isolation level repeatable read, read only");
    const result = await work(tables);
    await tables.query("commit");
    isDone = true;
    return result;
  } finally {
    tables.release(!isDone);
  }
}

/** The triples of all records of a kind that pass the load check. */
export async function* recordsIn(snapshot: Snapshot, kind: RecordKind): AsyncGenerator<Quad[][]> {
  const { tables, pool, projector, doubtful, refused: waiting } = snapshot;
  let after: string | undefined;
  for (;;) {
    const page = await readPage(tables, kind, after, PAGE_SIZE);
    if (page.length === 0) break;
    const { accepted, refused } = await prepare(projector, tables, page);
    // A record whose check now comes out differently, as after a change to the shapes, is
    // left for the drain to decide.
    const rejected = new Set(refused.map(({ revision }) => revision.id));
    for (const { id, revision, state } of page) {
      // A record that was never marked only seems to be waiting.
      if (state !== "pending" || revision === NEVER_MARKED) {
        if (state !== (rejected.has(id) ? "rejected" : "synced")) doubtful.push(id);
      } else if (rejected.has(id)) waiting.add(id);
    }
    yield accepted.map(({ triples }) => triples.quads);
    await pool.query("select app_private.note_rebuilt($1, $2, $3)", [kind, accepted.length, refused.length]);
    after = page.at(-1)!.id;
  }
}

/**
 * Notes the records that were waiting as written. After a loss that is all of them, and the next
 * drain would write them all once more. Records that have changed since, or do not pass the load
 * check, are left to the drain.
 * @param shown the update that showed that the graph had arrived
 */
export async function noteWritten(
  db: PoolClient,
  { tables, refused }: Snapshot,
  kind: RecordKind,
  shown: Turn,
): Promise<void> {
  let after: string | undefined;
  for (;;) {
    // Deleted records are included: they are not in the graph either.
    const { rows } = await tables.query<{ id: string; revision: string }>(
      `select record_id as id, revision from app_private.graph_records
       where kind = $1 and state = 'pending' and ($2::uuid is null or record_id > $2)
       order by record_id limit ${PAGE_SIZE}`,
      [kind, after],
    );
    if (rows.length === 0) return;
    const written = rows.filter(({ id }) => !refused.has(id));
    await noteOutcomes(
      db,
      written.map((row) => ({ ...row, kind, state: "synced", errors: [], byStore: false, turn: shown })),
    );
    after = rows.at(-1)!.id;
  }
}
