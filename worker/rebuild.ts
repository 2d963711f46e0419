// Writes the whole graph anew from the tables, while both are in use.
import { Readable } from "node:stream";
import type { Pool, PoolClient } from "pg";
import type { Logger } from "pino";
import { RECORD_KINDS } from "../records/index.ts";
import type { RecordKind } from "../records/record.ts";
import type { GraphStore } from "../graph/store.ts";
import { betweenDrains } from "./drain.ts";
import { markAgain, prepare } from "./projection.ts";
import type { Projector } from "./projection.ts";
import { countRecords, readPage } from "./records.ts";
import { writeDirtyReferences } from "./references.ts";

export interface RebuildOptions {
  pool: Pool;
  store: GraphStore;
  projector: Projector;
  logger: Logger;
  /** called once, with the number of records */
  onTotal?: (records: number) => void;
  /** called for every page of records */
  onProgress?: (records: number) => void;
}

/** What a rebuild wrote. */
export interface RebuildResult {
  records: number;
  /** records that the load check refused and that are therefore not in the graph */
  rejected: number;
}

const PAGE_SIZE = 1_000;

/**
 * Replaces every named graph of the service, each in one step: readers see the old one until the new one is
 * complete. Records that change in the meantime are marked, and the next drain brings them in.
 * @throws GraphUnavailable, GraphRejected; graphs that had not been reached are then unchanged
 */
export async function rebuild(options: RebuildOptions): Promise<RebuildResult> {
  const { pool, store, projector, logger, onTotal } = options;
  await betweenDrains(pool, async (client) => {
    await client.query("select app_private.mark_references()");
    await writeDirtyReferences(projector, client, store, logger);
  });
  const result: RebuildResult = { records: 0, rejected: 0 };
  const counts = await Promise.all(RECORD_KINDS.map((kind) => countRecords(pool, kind)));
  onTotal?.(counts.reduce((sum, count) => sum + count, 0));
  for (const kind of RECORD_KINDS) await rebuildGraph(kind, options, result);
  return result;
}

async function rebuildGraph(kind: RecordKind, options: RebuildOptions, result: RebuildResult): Promise<void> {
  const { pool, store, projector } = options;
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    // All pages show the same moment, so that later changes can be told by their time.
    await client.query("begin transaction isolation level repeatable read, read only");
    const { rows } = await client.query<{ since: string }>("select now() as since");
    const doubtful: string[] = [];
    const body = Readable.from(dump(kind, client, options, result, doubtful));
    await store.putGraph(projector.names.graphs[kind], body, "text/turtle");
    await client.query("commit");
    await betweenDrains(pool, async (connection) => {
      await markAgain(connection, kind, doubtful);
      await markWrittenSince(connection, kind, rows[0]!.since);
    });
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.release(failure);
  }
}

async function* dump(
  kind: RecordKind,
  client: PoolClient,
  { projector, onProgress }: RebuildOptions,
  result: RebuildResult,
  doubtful: string[],
): AsyncGenerator<string> {
  yield projector.writer.header;
  let after: string | undefined;
  for (;;) {
    const page = await readPage(client, kind, after, PAGE_SIZE);
    if (page.length === 0) return;
    const { accepted, refused } = await prepare(projector, client, page);
    yield accepted.map(({ triples }) => projector.writer.write(triples.quads)).join("");
    result.records += accepted.length;
    result.rejected += refused.length;
    // A record whose check now comes out differently, as after a change to the shapes, is left for the drain to decide.
    const rejected = new Set(refused.map(({ revision }) => revision.id));
    for (const { id, state } of page) {
      if (state !== (rejected.has(id) ? "rejected" : "synced")) doubtful.push(id);
    }
    after = page.at(-1)!.id;
    onProgress?.(page.length);
  }
}

/**
 * Marks what drains have written since the rebuild read the tables: the dump may have overwritten it with an
 * earlier version. No drain is under way, so none can note such a write later.
 */
async function markWrittenSince(client: PoolClient, kind: RecordKind, since: string): Promise<void> {
  await client.query(
    `select app_private.mark_records($1, array(
       select record_id from app_private.graph_records where kind = $1 and synced_at >= $2))`,
    [kind, since],
  );
}
