import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { pino } from "pino";
import { createGraphStore } from "../graph/store.ts";
import { alignTurns, drain, hasWork } from "../worker/drain.ts";
import type { DrainOptions } from "../worker/drain.ts";
import { createProjector } from "../worker/projection.ts";
import { rebuild } from "../worker/rebuild.ts";
import { projectionStatus } from "../worker/status.ts";
import { verify } from "../worker/verify.ts";
import type { Difference } from "../worker/verify.ts";
import { AdminError, EXIT, table } from "./context.ts";
import type { AdminContext } from "./context.ts";

/** How long a command waits for what it has marked to be written, in milliseconds. */
const PATIENCE_MS = 600_000;
const MOST_SHOWN = 100;

/** graph rebuild, verify, status. */
export function registerGraph(program: Command, context: AdminContext): void {
  const graph = program.command("graph").description("The graph: what the tables look like as linked data");

  graph
    .command("rebuild")
    .description(
      "Write every record to the graph again; readers see the old graph until the new one is complete",
    )
    .action(() =>
      withParts(context, async (parts) => {
        const progress = context.progress("records");
        const result = await rebuild({ ...parts, onTotal: progress.total, onProgress: progress.advance });
        progress.done();
        await settle(parts);
        context.print(
          result,
          `${result.records} records written` +
            (result.rejected > 0 ? `; ${result.rejected} refused by the load check, see graph status` : ""),
        );
      }),
    );

  graph
    .command("verify")
    .description("Compare the graph with the tables, record by record; exit code 1 when they differ")
    .option("--repair", "remove what is foreign and rewrite what is missing, stale or altered")
    .action((options: { repair?: boolean }) =>
      withParts(context, async (parts) => {
        const repair = options.repair ?? false;
        const differences: Difference[] = [];
        const progress = context.progress("records");
        const result = await verify({
          ...parts,
          repair,
          onTotal: progress.total,
          onProgress: progress.advance,
          onDifference: (difference) => {
            if (differences.length < MOST_SHOWN) differences.push(difference);
          },
        });
        progress.done();
        if (repair) await settle(parts);
        const count = Object.values(result.differences).reduce((sum, each) => sum + each, 0);
        if (count > 0 && !repair) context.exitCode = Math.max(context.exitCode, EXIT.partly);
        const counts = Object.entries(result.differences).map(([kind, number]) => `${number} ${kind}`);
        context.print({ ...result, examples: differences }, [
          ...differences.map(({ kind, iri }) => `${kind}: ${iri}`),
          ...(count > differences.length ? [`and ${count - differences.length} more`] : []),
          `${result.records} records compared: ${count === 0 ? "no differences" : counts.join(", ")}`,
          ...(result.pending > 0 ? [`${result.pending} were being written and could not be compared`] : []),
          ...(repair ? [`${result.repaired} repaired`] : []),
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
        context.print(status, [
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
          ...status.rejected.flatMap(({ kind, id, errors }) =>
            errors.map(({ path, message }) => `rejected ${kind} ${id}: ${path} ${message}`),
          ),
        ]);
      }),
    );
}

/** Opens what the projection needs, and closes the connections to the store afterwards. */
async function withParts(context: AdminContext, work: (parts: DrainOptions) => Promise<void>): Promise<void> {
  const store = createGraphStore(await context.graphStore());
  try {
    await work({
      pool: await context.pool(),
      store,
      projector: createProjector(context.config),
      logger: pino({ level: "warn" }, pino.destination(2)),
    });
  } finally {
    store.close();
  }
}

/** Writes what has been marked, or waits for the worker that does. */
async function settle(parts: DrainOptions): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  await alignTurns(parts);
  while (await hasWork(parts.pool)) {
    const result = await drain(parts);
    if (result.state === "store_unavailable") throw new AdminError(result.reason);
    // Under a steady stream of writes there is always something; what was marked before is done by then.
    if (result.state === "drained" || Date.now() > deadline) return;
    await sleep(200);
  }
}
