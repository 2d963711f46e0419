import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { Pool } from "pg";
import type { Config } from "../config.ts";
import { openLog } from "../process/log.ts";
import { requireSameNames } from "../db/settings.ts";
import { createNames } from "../graph/namespaces.ts";
import { createGraphStore } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { readMark } from "../graph/turns.ts";
import { RECORD_KINDS } from "../records/index.ts";
import { drain, hasWork } from "../worker/drain.ts";
import type { DrainOptions } from "../worker/drain.ts";
import { createProjector } from "../worker/projection.ts";
import { rebuild } from "../worker/rebuild.ts";
import { projectionStatus } from "../worker/status.ts";
import { countRecords } from "../worker/records.ts";
import { countDifferences, verify } from "../worker/verify.ts";
import { watchUntilDone } from "../worker/watch.ts";
import type { Difference } from "../worker/verify.ts";
import { AdminError, EXIT, table } from "./context.ts";
import type { AdminContext } from "./context.ts";

/** How long a command waits until what it has marked is written to the graph, in milliseconds. */
const PATIENCE_MS = 600_000;
const MOST_SHOWN = 100;

/** graph rebuild, verify, status. */
export function registerGraph(program: Command, context: AdminContext): void {
  const graph = program.command("graph").description("The graph: what the tables look like as linked data");

  graph
    .command("rebuild")
    .description(
      "Write every record to the graph again; readers see the old graph until the new one is complete. " +
        "Exit code 0 also where the load check refuses records: the graph is complete without them",
    )
    .action(() =>
      withParts(context, async (parts) => {
        const progress = context.progress("records");
        let shown = 0;
        const result = await rebuild(parts, ({ total, written, rejected }) => {
          progress.total(total);
          progress.advance(written + rejected - shown);
          shown = written + rejected;
        });
        progress.done();
        await settle(parts);
        context.print(
          result,
          `${result.written} records written` +
            (result.rejected > 0 ? `; ${result.rejected} refused by the load check, see graph status` : ""),
        );
      }),
    );

  graph
    .command("verify")
    .description("Compare the graph with the tables, record by record; exit code 1 when they differ")
    .option("--repair", "remove what is foreign and rewrite what is missing, stale or altered")
    .option("--drop-unlisted", "also drop graphs in the store that are not the service's own")
    .action((options: { repair?: boolean; dropUnlisted?: boolean }) =>
      withParts(context, async (parts) => {
        const repair = options.repair ?? false;
        const differences: Difference[] = [];
        const counts = await Promise.all(RECORD_KINDS.map((kind) => countRecords(parts.pool, kind)));
        const progress = context.progress(
          "records",
          counts.reduce((sum, each) => sum + each, 0),
        );
        let shown = 0;
        // If the store has lost everything, records cannot be repaired one by one.
        if (repair) await watchUntilDone(parts);
        const result = await verify(
          {
            ...parts,
            ...options,
            onDifference: (difference) => {
              if (differences.length < MOST_SHOWN) differences.push(difference);
            },
          },
          (records) => {
            progress.advance(records - shown);
            shown = records;
          },
        );
        progress.done();
        if (repair) await settle(parts);
        const count = countDifferences(result);
        if (count > result.repaired) context.exitCode = EXIT.partly;
        const kinds = Object.entries(result.differences).map(([kind, number]) => `${number} ${kind}`);
        context.print({ ...result, examples: differences }, [
          ...differences.map(({ kind, iri }) => `${kind}: ${iri}`),
          ...(count > differences.length ? [`and ${count - differences.length} more`] : []),
          `${result.records} records compared: ${count === 0 ? "no differences" : kinds.join(", ")}`,
          ...(result.pending > 0
            ? [
                `of these and the lists ${result.pending} were not written yet, or just being written, and could not be compared`,
              ]
            : []),
          ...(repair || options.dropUnlisted ? [`${result.repaired} repaired`] : []),
        ]);
      }),
    );

  graph
    .command("status")
    .description("How far the graph is behind the tables, and what the load check refused")
    .action(() =>
      withParts(context, async ({ pool, store, projector }) => {
        const status = await projectionStatus(pool, store, projector.names);
        if (!status.storeAvailable) context.warn("The graph store does not answer.");
        const { state, reason, since, verifiedAt, drift, verificationTrouble, rebuild: replacing } = status;
        context.print(status, [
          `graph: ${state} since ${since}${reason === null ? "" : `: ${reason}`}`,
          ...table(
            ["graph", "records", "synced", "pending", "rejected", "triples"],
            status.graphs.map((each) => [
              each.graph,
              each.records,
              each.synced,
              each.pending,
              each.rejected,
              each.triples ?? "?",
            ]),
          ),
          `oldest pending change: ${status.oldestPendingSeconds.toFixed(1)} s; last written: ${status.lastSyncedAt ?? "never"}`,
          ...(status.pendingLists.length > 0
            ? [`lists to be written: ${status.pendingLists.join(", ")}`]
            : []),
          ...(replacing
            ? [`rebuild: ${replacing.written + replacing.rejected} of ${replacing.total} records`]
            : []),
          verifiedAt === null
            ? "not verified as a whole yet"
            : `last verified as a whole: ${verifiedAt}, ${drift} differences left`,
          ...(verificationTrouble === null ? [] : [`the verification fails: ${verificationTrouble}`]),
          ...status.rejected.flatMap(({ kind, id, errors }) =>
            errors.map(({ path, message }) => `rejected ${kind} ${id}: ${path} ${message}`),
          ),
        ]);
      }),
    );
}

/** Opens what the projection needs, and closes the connections to the store afterwards. */
async function withParts(context: AdminContext, work: (parts: DrainOptions) => Promise<void>): Promise<void> {
  const pool = await context.pool();
  // A verification would note that everything is missing, and be believed.
  await requireSameNames(pool, context.config);
  const { graphStore, databaseUrl, dataDir } = context.config;
  const store = createGraphStore(await context.graphStore());
  try {
    // One that an earlier start left there, of another database, or one that nobody has written, while this database's is elsewhere.
    if (databaseUrl && !graphStore && !(await isItsStore(pool, store, context.config))) {
      throw new AdminError(
        `FUSEKI_URL is not set, and the graph store in ${dataDir} is not that of this database. If its graph is to be there, npm start writes it.`,
      );
    }
    await work({
      pool,
      store,
      projector: createProjector(context.config),
      logger: openLog("warn", 2),
    });
  } finally {
    store.close();
  }
}

/** Whether a store holds the graph of a database; as long as that has written none, whether nobody has. */
async function isItsStore(pool: Pool, store: GraphStore, config: Config): Promise<boolean> {
  const { rows } = await pool.query<{ owner: string | null }>("select app_private.graph_owner() as owner");
  const { owner } = rows[0]!;
  const { identity } = await readMark(store, createNames(config));
  return (owner ?? undefined) === identity;
}

/** Writes what has been marked to the graph, or waits for the worker to do it. */
async function settle(parts: DrainOptions): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  await watchUntilDone(parts);
  while (await hasWork(parts.pool)) {
    const result = await drain(parts);
    if (result.state === "store_unavailable") throw new AdminError(result.error.message);
    // Under a steady stream of writes some work is always left; what this command marked is done by then.
    if (result.state === "drained" || performance.now() > deadline) break;
    await sleep(200);
  }
  // There may be no worker running that would note it.
  await parts.pool.query("select app_private.note_graph_current() where not app_private.graph_work_waits()");
}
