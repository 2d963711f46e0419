// A database, a graph store in memory, and what the worker works with between them. Nothing runs by itself.
import { pino } from "pino";
import { loadConfig } from "../../config.ts";
import type { DrainOptions } from "../../worker/drain.ts";
import { createProjector } from "../../worker/projection.ts";
import { watch } from "../../worker/watch.ts";
import { createTestDatabase } from "./database.ts";
import type { TestDatabase } from "./database.ts";
import { createMemoryStore } from "./memory-store.ts";
import type { MemoryStore } from "./memory-store.ts";
import { buildWorld, contributor, ORG } from "./world.ts";

export type MemoryGraph = {
  database: TestDatabase;
  store: MemoryStore;
  options: DrainOptions;
  /** the graph of the needs */
  needs: string;
  /** @returns their ids, in order */
  declareNeeds: (count: number) => Promise<string[]>;
  /** how many needs the graph describes */
  described: () => Promise<number>;
};

/** @param isAdopted whether the store is the one of the database already */
export async function startMemoryGraph(isAdopted = true): Promise<MemoryGraph> {
  const database = await createTestDatabase();
  await buildWorld(database.owner);
  const store = createMemoryStore();
  const projector = createProjector(loadConfig({}));
  const options = {
    ...{ pool: database.owner, store, projector },
    ...{ logger: pino({ level: "silent" }), patienceMs: 0 },
  };
  if (isAdopted) {
    await watch(options);
    // As if everything had been verified and replaced once.
    await database.owner.query(
      "update app_private.graph_rebuilds set requested_at = null, is_repair = false; delete from app_private.graph_wakeups",
    );
  }
  const needs = projector.names.graphs.need;
  return {
    ...{ database, store, options, needs },
    async declareNeeds(count) {
      const { rows } = await database.owner.query<{ id: string }>(
        `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
         select $1, 'River Mission', $2, 'Wells ' || i, '{PRA}' from generate_series(1, $3) as i
         returning need_id as id`,
        [ORG, contributor, count],
      );
      return rows.map(({ id }) => id).toSorted();
    },
    async described() {
      const rows = await store.select(
        `SELECT (COUNT(DISTINCT ?s) AS ?n) { GRAPH <${needs}> { ?s a <${projector.names.ns("Need")}> } }`,
      );
      return Number(rows[0]?.["n"]?.value);
    },
  };
}
