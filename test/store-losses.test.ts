// What is made of a store that is not what it was: what an operator is told, what is written to it again, and whether
// what no table contains is looked for.
import { setImmediate } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { pino } from "pino";
import { drain } from "../worker/drain.ts";
import { watch } from "../worker/watch.ts";
import { startMemoryGraph } from "./support/memory-graph.ts";
import type { MemoryGraph } from "./support/memory-graph.ts";

const KINDS = ["commitment", "engagement_claim", "need"];
const LISTS = ["accelerators", "countries", "ontology", "organizations", "people_groups", "shapes"];
const HAS_LOST = "warn: the graph has lost something, which is written to it again";

let graph: MemoryGraph;
afterEach(() => graph.database.drop());

const column = async (sql: string) =>
  (await graph.database.owner.query<{ value: string }>(sql)).rows.map(({ value }) => value);

/** Looks at the store. @returns what came of it */
async function look() {
  const said: string[] = [];
  const write = (line: string) => {
    const { level, msg, reason } = JSON.parse(line) as { level: number; msg: string; reason?: string };
    said.push(`${pino.levels.labels[level]}: ${msg}${reason === undefined ? "" : `: ${reason}.`}`);
  };
  const result = await watch({ ...graph.options, logger: pino({ level: "info" }, { write }) });
  const [state] = await column("select state || ': ' || reason as value from app_private.graph_store");
  return {
    ...{ result, said, state },
    records: await column(
      `select n.need_description as value from app_public.needs as n join app_private.graph_records as r on r.record_id = n.need_id
       where r.state = 'pending' order by 1`,
    ),
    lists: await column(
      "select name as value from app_private.graph_references where revision is distinct from synced_revision order by 1",
    ),
    replaced: await column(
      "select kind::text as value from app_private.graph_rebuilds where requested_at is not null and is_repair order by 1",
    ),
    isVerified: (await column("select urgent as value from app_private.graph_verification"))[0],
  };
}
/** As if all that was asked for had been done. */
const settle = () =>
  graph.database.owner.query(
    `update app_private.graph_rebuilds set requested_at = null, is_repair = false;
     update app_private.graph_verification set urgent = false`,
  );
const NOTHING = { records: [], lists: [], replaced: [], isVerified: false };
const EVERYTHING = { records: ["Wells 1", "Wells 2"], lists: LISTS, replaced: KINDS, isVerified: true };
const NEEDS = { ...NOTHING, records: EVERYTHING.records, replaced: ["need"], isVerified: true };

test.each<[boolean]>([[false], [true]])(
  "a graph is written for the first time, which is no loss, and replaced if something was there (%s)",
  async (hasForeign) => {
    graph = await startMemoryGraph(false);
    if (hasForeign) await graph.store.update(`INSERT DATA { GRAPH <${graph.needs}> { <urn:s> <urn:p> 1 } }`);
    await settle();
    expect(await look()).toEqual({
      ...NOTHING,
      result: "mended",
      said: ["info: the graph is written for the first time"],
      state: "behind: The graph has not been written yet.",
      lists: LISTS,
      ...(hasForeign && { replaced: KINDS, isVerified: true }),
    });
  },
);

type Loss = [
  what: string,
  lose: (parts: { turns: string; turn: string; run: string }) => Promise<unknown>,
  reason: string,
  written: Partial<typeof EVERYTHING>,
  said?: string,
];
const update = (sparql: string) => graph.store.update(sparql);
const query = (sql: string) => graph.database.owner.query(sql);
const inGraph = (name: string, triples: string) => `GRAPH <${name}> { ${triples} }`;
const LOSSES: Loss[] = [
  [
    "is empty",
    () => update("DROP ALL"),
    "The graph store is empty.",
    { ...EVERYTHING, replaced: [], isVerified: false },
  ],
  [
    "says nothing of itself",
    ({ turns }) => update(`DROP GRAPH <${turns}>`),
    "The graph store is empty.",
    EVERYTHING,
  ],
  [
    "is another database's",
    () => query("update app_private.graph_store set identity = gen_random_uuid()"),
    "The graph store holds another graph.",
    EVERYTHING,
  ],
  [
    "has seen two updates at the same time",
    ({ turns, turn }) => update(`INSERT DATA { ${inGraph(turns, `${turn} 1`)} }`),
    "Two updates have overlapped in the graph store.",
    EVERYTHING,
  ],
  [
    "lacks the end of its last update",
    ({ turns, run }) => update(`DELETE WHERE { ${inGraph(turns, `${run} ?run`)} }`),
    "An update was applied in part.",
    NEEDS,
  ],
  [
    "lacks the end of its last update, and a list beside",
    ({ turns, run }) =>
      update(
        `DELETE WHERE { ${inGraph(turns, `${run} ?run`)} } ;
         DROP GRAPH <${graph.options.projector.names.lists.countries}>`,
      ),
    "An update was applied in part.",
    { ...NEEDS, lists: ["countries"] },
  ],
  [
    "has drains that the database has not",
    () => query("update app_private.graph_runs set run = gen_random_uuid()"),
    "The database was set back to an earlier state than the graph's, or the graph to one that is forgotten.",
    EVERYTHING,
  ],
  [
    "has seen fewer updates than it had",
    () => query("update app_private.graph_store set drain = drain + 1, turn = turn + 1000000"),
    "The graph store was set back to an earlier state.",
    { isVerified: true },
  ],
  [
    "has a graph of which no number is known",
    () => query("delete from app_private.graph_marks where name = 'need'"),
    "Named graphs have no update numbers yet.",
    NEEDS,
    "info: the named graphs get their numbers, and are written anew",
  ],
  [
    "has a graph that says a number which is none",
    ({ turn }) => {
      const { turnsGraph } = graph.options.projector.names;
      const ofNeeds = turn.replace(turnsGraph, graph.needs);
      const says = (number: string) => inGraph(graph.needs, `${ofNeeds} ${number}`);
      return update(`DELETE { ${says("?n")} } INSERT { ${says('"many"')} } WHERE { ${says("?n")} }`);
    },
    "The graph of need was emptied, replaced or set back to an earlier state.",
    NEEDS,
  ],
  [
    "lacks a graph",
    () => update(`DROP GRAPH <${graph.needs}>`),
    "The graph of need was emptied, replaced or set back to an earlier state.",
    NEEDS,
  ],
  [
    "lacks a list",
    () => update(`DROP GRAPH <${graph.options.projector.names.lists.countries}>`),
    "The graph of countries was emptied, replaced or set back to an earlier state.",
    { lists: ["countries"], isVerified: true },
  ],
  [
    "has a graph as it was before its last update",
    async ({ turn, run }) => {
      const [before] = await column(
        `select turn || ' ; ' || run as value from app_private.graph_records join app_private.graph_runs on drain = turn / 1000000
         order by turn limit 1`,
      );
      const [number, name] = before!.split(" ; ");
      const { turnsGraph } = graph.options.projector.names;
      const ofNeeds = (property: string, value: string) =>
        `${property.replace(turnsGraph, graph.needs)} ${value} .`;
      const saying = (number: string, name: string) =>
        inGraph(graph.needs, `${ofNeeds(turn, number)} ${ofNeeds(run, name)}`);
      await update(
        `DELETE { ${saying("?n", "?r")} } INSERT { ${saying(number!, `"${name}"`)} } WHERE { ${saying("?n", "?r")} }`,
      );
    },
    "The graph of need was emptied, replaced or set back to an earlier state.",
    { records: ["Wells 2"], isVerified: true },
  ],
  [
    "has an update that was never noted",
    () => query("update app_private.graph_store set turn = turn - 1"),
    "The graph has an update that was never noted.",
    { isVerified: true },
    "info: an update that was never noted is being handled",
  ],
];

test.each(LOSSES)(
  "a store that %s is told of, and gets what it lacks and no more",
  async (...[, lose, reason, written, said]: Loss) => {
    graph = await startMemoryGraph();
    const { names } = graph.options.projector;
    const [first] = await graph.declareNeeds(2);
    await query(`update app_public.needs set need_description = 'Wells 2' where need_id <> '${first}'`);
    await query(`update app_public.needs set need_description = 'Wells 1' where need_id = '${first}'`);
    await drain(graph.options);
    await query("update app_public.needs set status = 'met' where need_description = 'Wells 2'");
    await drain(graph.options);
    await settle();
    expect(await look()).toMatchObject({ ...NOTHING, result: "whole", said: [] });
    const turns = names.turnsGraph;
    await lose({
      turns,
      turn: `<${turns}> <${names.ns("projectionTurn")}>`,
      run: `<${turns}> <${names.ns("projectionRun")}>`,
    });
    expect(await look()).toEqual({
      ...{ ...NOTHING, ...written, result: "mended" },
      ...{ said: [said ?? `${HAS_LOST}: ${reason}`], state: `behind: ${reason}` },
    });
    await settle();
    await drain(graph.options);
    expect(await look()).toMatchObject({ ...NOTHING, result: "whole", said: [] });
    expect(await graph.described()).toBe(2);
  },
);

test("what is written while the store is being looked at is no loss: the database is asked before the store, and not beside it", async () => {
  graph = await startMemoryGraph();
  await graph.declareNeeds(1);
  await drain(graph.options);
  await graph.declareNeeds(1);
  await settle();
  const { store } = graph;
  let looked: Promise<void> | undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  store.before = () => {
    looked ??= promise;
  };
  store.after = async () => {
    store.after = () => undefined;
    await drain(graph.options);
    resolve();
  };
  // A database that is slow to answer whatever it is asked once the store has been asked.
  const pool = Object.create(graph.options.pool) as typeof graph.options.pool;
  pool.query = (async (...args: [string]) => {
    await setImmediate();
    await looked;
    return graph.options.pool.query(...args);
  }) as typeof pool.query;
  // What must be mended is looked at once more, and by one process at a time.
  pool.connect = () => Promise.reject(new Error("there is nothing to mend"));
  expect(await watch({ ...graph.options, pool })).toBe("whole");
  expect(await graph.described()).toBe(2);
});

test("a store that is exchanged, while its losses are marked, for one of the same number is not taken for the one that was looked at", async () => {
  graph = await startMemoryGraph();
  const { names } = graph.options.projector;
  await graph.declareNeeds(2);
  await drain(graph.options);
  await update(`DROP GRAPH <${graph.needs}>`);
  const turns = names.turnsGraph;
  const says = (run: string) => inGraph(turns, `<${turns}> <${names.ns("projectionRun")}> ${run}`);
  let reads = 0;
  graph.store.before = async ({ name, text }) => {
    // What is looked for once it is known what the store lacks is the mark of the whole alone.
    if (name !== "select" || text.includes("VALUES ?g") || reads++ > 0) return;
    await update(`DELETE { ${says("?r")} } INSERT { ${says('"another"')} } WHERE { ${says("?r")} }`);
  };
  await expect(look()).rejects.toThrow("exchanged while what it lacked was being marked");
  graph.store.before = () => undefined;
  // It is another one, and looked at as such.
  expect(await look()).toMatchObject({ result: "mended", ...EVERYTHING });
});

test("a graph that is replaced because of a loss counts its records from the beginning", async () => {
  graph = await startMemoryGraph();
  await graph.declareNeeds(2);
  await drain(graph.options);
  await query("update app_private.graph_rebuilds set total = 9, written = 7, rejected = 2");
  await update(`DROP GRAPH <${graph.needs}>`);
  await look();
  const counts = await column(
    "select kind || ': ' || written || ' ' || rejected as value from app_private.graph_rebuilds order by 1",
  );
  expect(counts).toEqual(["commitment: 7 2", "engagement_claim: 7 2", "need: 0 0"]);
});
