// What is compared, replaced and removed in pages and portions: each record once, and the one after a full page too.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { Pool } from "pg";
import { closePool } from "../db/close.ts";
import { createPool } from "../db/pool.ts";
import { GraphFailed } from "../graph/store.ts";
import { drain } from "../worker/drain.ts";
import { importPeopleGroups } from "../worker/imports.ts";
import { rebuild } from "../worker/rebuild.ts";
import { verify } from "../worker/verify.ts";
import type { Difference } from "../worker/verify.ts";
import { markRecords } from "../worker/watch.ts";
import { startMemoryGraph } from "./support/memory-graph.ts";
import type { MemoryGraph } from "./support/memory-graph.ts";
import { onConnections, whenWaitedFor } from "./support/overlap.ts";
import { standBetween } from "./support/statements.ts";

let graph: MemoryGraph;
beforeEach(async () => {
  graph = await startMemoryGraph();
});
afterEach(() => graph.database.drop());

const compare = async (given: { repair?: boolean; dropUnlisted?: boolean } = {}) => {
  const found: Difference[] = [];
  const result = await verify({ ...graph.options, ...given, onDifference: (each) => found.push(each) });
  const { rows } = await graph.database.owner.query<{ drift: number }>(
    "select drift::integer from app_private.graph_verification",
  );
  return { ...result, found, drift: rows[0]!.drift };
};
const NONE = { missing: 0, stale: 0, altered: 0, foreign: 0 };

test.each([499, 500, 501])(
  "of %i records that the graph has lost each is missed, and written again",
  async (count) => {
    await graph.declareNeeds(count);
    await drain(graph.options);
    expect(await graph.described()).toBe(count);
    await graph.store.update(
      `DELETE { GRAPH <${graph.needs}> { ?s ?p ?o } } WHERE { GRAPH <${graph.needs}> { ?s a ?class ; ?p ?o } }`,
    );
    const seen = await compare();
    expect({ differences: seen.differences, records: seen.records, drift: seen.drift }).toEqual({
      ...{ differences: { ...NONE, missing: count }, records: count, drift: count },
    });
    expect(new Set(seen.found.map(({ iri }) => iri)).size).toBe(count);
    const repaired = await compare({ repair: true });
    expect({ repaired: repaired.repaired, drift: repaired.drift }).toEqual({ repaired: count, drift: 0 });
    await drain(graph.options);
    expect((await compare()).differences).toEqual(NONE);
  },
);

test.each([500, 501])("of %i subjects that no table contains each is found, and removed", async (count) => {
  const foreign = Array.from({ length: count - 1 }, (_, i) => `<urn:x-${i}> <urn:p> ${i} .`).join("\n");
  await graph.store.update(`INSERT DATA { GRAPH <${graph.needs}> { ${foreign} [] <urn:p> "nobody" } }`);
  expect((await compare()).differences).toEqual({ ...NONE, foreign: count });
  expect(await compare({ repair: true })).toMatchObject({ repaired: count, drift: 0 });
  expect((await compare()).differences).toEqual(NONE);
});

/** The same notes of the graph, the first record's at the end of them, for a database that looks for rows in ways like these. */
async function firstNotedLast(settings: string): Promise<Pool> {
  await graph.database.owner.query(`
    create temporary table noted as table app_private.graph_records;
    truncate app_private.graph_records;
    insert into app_private.graph_records
    select * from noted order by record_id = (select record_id from noted order by record_id limit 1), record_id`);
  return createPool(graph.database.url, { options: settings });
}

test("each record is compared once, in whatever order the database finds what was noted of it", async () => {
  await graph.declareNeeds(501);
  await drain(graph.options);
  const pool = await firstNotedLast("-c enable_nestloop=off -c enable_mergejoin=off");
  try {
    // As after years: those that are gone by far outnumber a page.
    await pool.query(
      `insert into app_private.graph_records (kind, record_id, synced_revision, state, dirty_since)
       select 'need', gen_random_uuid(), 1, 'synced', null from generate_series(1, 5000);
       analyze app_private.graph_records, app_public.needs`,
    );
    const { records, differences } = await verify({ ...graph.options, pool });
    expect({ records, differences }).toEqual({ records: 501, differences: NONE });
  } finally {
    await closePool(pool);
  }
});

test("a rebuild notes of each record that it is written, in whatever order the database finds them", async () => {
  await graph.declareNeeds(1_001);
  const pool = await firstNotedLast("-c enable_indexscan=off -c enable_bitmapscan=off");
  try {
    await rebuild({ ...graph.options, pool });
    const { rows } = await pool.query(
      "select state, count(*)::integer from app_private.graph_records group by state",
    );
    expect(rows).toEqual([{ state: "synced", count: 1_001 }]);
  } finally {
    await closePool(pool);
  }
});

test("what still waits to be written cannot be compared, and is counted as that", async () => {
  // The lists are there already.
  await drain(graph.options);
  await graph.declareNeeds(2);
  expect(await compare()).toMatchObject({ pending: 2, differences: NONE, drift: 0 });
  await drain(graph.options);
  expect(await compare()).toMatchObject({ pending: 0, differences: NONE, drift: 0 });
});

test("whoever compares everything has verified it, and when is noted", async () => {
  const when = async () => {
    const { rows } = await graph.database.owner.query<{ verified_at: Date | null }>(
      "select verified_at from app_private.graph_verification",
    );
    return rows[0]!.verified_at;
  };
  expect(await when()).toBeNull();
  await compare();
  expect(await when()).not.toBeNull();
});

test("nothing is put right that nobody asked to put right, wherever it is", async () => {
  await drain(graph.options);
  const { names } = graph.options.projector;
  const places = [graph.needs, names.lists.countries, names.turnsGraph, "urn:x-unlisted"];
  const foreign = places.map((place) => `GRAPH <${place}> { <urn:x-foreign> <urn:p> "o" . _:b <urn:p> "o" }`);
  await graph.store.update(`INSERT DATA { ${foreign.join(" ")} <urn:x-unnamed> <urn:p> "o" }`);
  const seen = await compare();
  expect(seen).toMatchObject({ differences: { ...NONE, foreign: 8 }, repaired: 0 });
  expect((await compare()).differences).toEqual(seen.differences);
  // What is beside the service's graphs may have been put there on purpose.
  expect(await compare({ repair: true })).toMatchObject({ repaired: 6, drift: 2 });
  await drain(graph.options);
  expect((await compare()).differences).toEqual({ ...NONE, foreign: 2 });
});

test("a list that lacks, adds or changes something differs by as much, and is written again whole when that is repaired", async () => {
  await drain(graph.options);
  const { names } = graph.options.projector;
  const list = `GRAPH <${names.lists.countries}>`;
  const [lost, told] = [names.country("KE"), names.country("UG")];
  await graph.store.update(
    `DELETE WHERE { ${list} { <${lost}> ?p ?o } } ;
     INSERT DATA { ${list} { <urn:x-foreign> <urn:p> 1 . <${told}> <${names.iri("dct:modified")}> "2020" } }`,
  );
  const kinds = { missing: 1, altered: 1, foreign: 1, stale: 0 };
  const seen = await compare();
  expect(seen).toMatchObject({ differences: kinds, repaired: 0, drift: 3 });
  // Of a list nobody keeps earlier versions.
  const found = seen.found.map(({ kind, iri }) => `${kind} ${iri}`).toSorted();
  expect(found).toEqual([`altered ${told}`, "foreign urn:x-foreign", `missing ${lost}`]);
  expect(await compare({ repair: true })).toMatchObject({ differences: kinds, repaired: 3, drift: 0 });
  await drain(graph.options);
  expect((await compare()).differences).toEqual(NONE);
});

test("what was left in place counts as drift after a repair, and what was put right does not", async () => {
  const foreign = () =>
    graph.store.update(
      `INSERT DATA { GRAPH <urn:x-unlisted> { <urn:a> <urn:b> 1 } GRAPH <${graph.needs}> { <urn:a> <urn:b> 2 } }`,
    );
  await foreign();
  expect(await compare({ repair: true })).toMatchObject({ repaired: 1, drift: 1 });
  expect(await compare({ repair: true, dropUnlisted: true })).toMatchObject({ repaired: 1, drift: 0 });
  await foreign();
  expect(await compare({ dropUnlisted: true })).toMatchObject({ repaired: 1, drift: 1 });
  expect(await compare({ repair: true })).toMatchObject({ repaired: 1, drift: 0 });
});

test.each([
  ["a record that is missing", "mark_records", "{ ?s a ?class ; ?p ?o }", false],
  ["a record that was refused and is there", "mark_records", undefined, true],
  ["a list", "mark_references", "{ ?s ?p ?o }", false],
])("whoever cannot have %s written again has not repaired it", async (_, marking, lost, isRefused) => {
  const { names, check } = graph.options.projector;
  await graph.declareNeeds(1);
  await drain(graph.options);
  const refuse: typeof check = (records) =>
    Promise.resolve(new Map(records.map(({ iri }) => [iri, [{ path: "", message: "No." }]])));
  const projector = { ...graph.options.projector, check: isRefused ? refuse : check };
  if (isRefused) await graph.database.owner.query("update app_private.graph_records set state = 'rejected'");
  const where = marking === "mark_references" ? names.lists.countries : graph.needs;
  if (lost)
    await graph.store.update(`DELETE { GRAPH <${where}> { ?s ?p ?o } } WHERE { GRAPH <${where}> ${lost} }`);
  const between = standBetween(graph.database.owner);
  between.before = (text) => {
    if (text.includes(marking)) throw new Error("gone");
  };
  const repair = { ...graph.options, pool: between.pool, projector, repair: true };
  await expect(verify(repair)).rejects.toThrow("gone");
});

test("a rebuild of 1,001 records sends each of them, and counts each once though it has to be sent again", async () => {
  await graph.declareNeeds(1_001);
  let failures = 1;
  graph.store.before = ({ name, text }) => {
    if (name === "putGraph" && text.includes("Wells") && failures-- > 0)
      throw new GraphFailed("out of memory");
  };
  const progress = await rebuild(graph.options);
  expect(progress).toEqual({ total: 1_001, written: 1_001, rejected: 0 });
  expect(await graph.described()).toBe(1_001);
});

test("a rebuild of 201 records that XML cannot hold writes each of them", async () => {
  await graph.declareNeeds(201);
  await graph.database.owner.query(
    "update app_public.needs set need_description = need_description || E' a bell: \\x07'",
  );
  await rebuild(graph.options);
  expect(await graph.described()).toBe(201);
});

test("a list of 501 is in the graph whole", async () => {
  const groups = Array.from({ length: 501 }, (_, i) => ({ rop3: String(100_000 + i), name: `People ${i}` }));
  await importPeopleGroups(graph.database.owner, groups);
  await drain(graph.options);
  const { names } = graph.options.projector;
  const rows = await graph.store.select(
    `SELECT (COUNT(DISTINCT ?s) AS ?n) { GRAPH <${names.lists.people_groups}> { ?s a <${names.ns("PeopleGroup")}> } }`,
  );
  expect(rows[0]?.["n"]?.value).toBe("501");
});

test("of more records than are marked in one step each is marked", async () => {
  const { owner } = graph.database;
  const between = standBetween(owner);
  await owner.query(
    `insert into app_private.graph_records (kind, record_id, revision, synced_revision, state)
     select 'need', gen_random_uuid(), 1, 1, 'synced' from generate_series(1, 20001)`,
  );
  between.before = () => {
    if (between.count("with step as") > 4) throw new Error("A step goes back behind the one before.");
  };
  const client = await between.pool.connect();
  try {
    await markRecords(client, "need");
  } finally {
    client.release();
  }
  // The fourth finds no more.
  expect(between.count("with step as")).toBe(4);
  const { rows } = await owner.query(
    "select revision::integer > 1 as marked, state, count(*)::integer from app_private.graph_records group by 1, 2",
  );
  expect(rows).toEqual([{ marked: true, state: "pending", count: 20_001 }]);
});

test("whoever marks records waits for a writer with no other record in hand, which that writer may want next", async () => {
  const ids = await graph.declareNeeds(3);
  await drain(graph.options);
  const [first, held, last] = ids;
  const client = await graph.database.owner.connect();
  try {
    await onConnections(graph.database, 1, async (writer) => {
      const write = (id?: string) =>
        writer.query("update app_public.needs set need_description = 'Springs' where need_id = $1", [id]);
      await writer.query("begin");
      await write(held);
      const marking = markRecords(client, "need");
      await whenWaitedFor(graph.database, writer);
      await write(first);
      await write(last);
      await writer.query("commit");
      await marking;
    });
  } finally {
    client.release(true);
  }
  const { rows } = await graph.database.owner.query<{ id: string }>(
    "select record_id as id from app_private.dirty_records order by 1",
  );
  expect(rows.map(({ id }) => id)).toEqual(ids);
});
