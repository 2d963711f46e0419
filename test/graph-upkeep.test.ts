// What the worker finds out about the graph and mends in it, with a store in memory that fails at a chosen step.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import {
  GraphFailed,
  GraphRejected,
  GraphTimeout,
  GraphUnavailable,
  GraphUnconfirmed,
} from "../graph/store.ts";
import { drain } from "../worker/drain.ts";
import { rebuild, rebuildNext } from "../worker/rebuild.ts";
import { countRecords } from "../worker/records.ts";
import { inSnapshot } from "../worker/snapshot.ts";
import { startVerifier } from "../worker/verifier.ts";
import { nothingFound, verify, verifyStep } from "../worker/verify.ts";
import type { Difference } from "../worker/verify.ts";
import { watch } from "../worker/watch.ts";
import { eventually } from "./support/eventually.ts";
import { startMemoryGraph } from "./support/memory-graph.ts";
import type { MemoryGraph } from "./support/memory-graph.ts";
import { standBetween } from "./support/statements.ts";

let graph: MemoryGraph;
beforeEach(async () => {
  graph = await startMemoryGraph();
});
afterEach(() => graph.database.drop());

/** What the graph has made of each record, in order of their ids. */
const states = async () => {
  const { rows } = await graph.database.owner.query<{ state: string }>(
    "select state from app_private.graph_records order by record_id",
  );
  return rows.map(({ state }) => state);
};

test.each([
  ["fails on it: the graph is behind", () => new GraphFailed("heap"), "behind"],
  ["refuses it: the graph is behind", () => new GraphRejected(413, "long"), "behind"],
  ["does not answer to it: it is away", () => new GraphTimeout("late"), "unavailable"],
  ["does not show it: nothing is confirmed", () => new GraphUnconfirmed("gone"), "unconfirmed"],
])("notes why a list is not there. The store %s", async (_, error, trouble) => {
  await graph.database.owner.query("select app_private.mark_references('countries')");
  graph.store.before = ({ name }) => {
    if (name === "putGraph") throw error();
  };
  // Once: it is due again after a second.
  await drain(graph.options, undefined, 0);
  const { rows } = await graph.database.owner.query(
    "select trouble, reason from app_private.graph_references where name = 'countries'",
  );
  expect(rows).toEqual([{ trouble, reason: error().message }]);
});

test("a list is not blamed for a store that takes nothing", async () => {
  await graph.database.owner.query("select app_private.mark_references('countries')");
  graph.store.before = ({ name }) => {
    if (name === "update" || name === "putGraph") throw new GraphFailed("read only");
  };
  expect(await drain(graph.options, undefined, 0)).toMatchObject({ state: "store_unavailable" });
  const { rows } = await graph.database.owner.query(
    "select name, reason from app_private.graph_references where refusals > 0 or trouble is not null",
  );
  expect(rows).toEqual([]);
});

test("a list is not blamed for whoever stops while it is being sent", async () => {
  await graph.database.owner.query("select app_private.mark_references('countries')");
  const stopping = new AbortController();
  graph.store.before = ({ name }) => {
    if (name !== "putGraph") return;
    stopping.abort();
    throw new GraphUnavailable("broken off");
  };
  expect(await drain(graph.options, stopping.signal)).toMatchObject({ state: "store_unavailable" });
  const { rows } = await graph.database.owner.query(
    "select name, reason from app_private.graph_references where refusals > 0 or trouble is not null",
  );
  expect(rows).toEqual([]);
});

test("which URIs are left out of a list is told: twenty of them, and none that would not be in it anyway", async () => {
  const { owner } = graph.database;
  // Older rows were not checked as closely.
  await owner.query(`set session_replication_role = replica;
    insert into app_public.accelerators (code, concept_uri, kind, pref_label)
      values ('ODD', 'relative/x', 'accelerator', 'Odd');
    insert into app_public.organizations (org_uri, name, status)
      select 'no <uri> ' || n, 'Odd', 'active' from generate_series(11, 31) as n;
    insert into app_public.organizations (org_uri, name, status) values ('no <uri> 10', 'Odd', 'proposed');
    set session_replication_role = default;
    select app_private.mark_references()`);
  const told: Record<string, unknown>[] = [];
  const logger = pino({ level: "warn" }, { write: (line) => void told.push(JSON.parse(line)) });
  await drain({ ...graph.options, logger }, undefined, 0);
  expect(new Map(told.map(({ list, uris }) => [list, uris]))).toEqual(
    new Map([
      ["accelerators", ["relative/x"]],
      ["organizations", Array.from({ length: 20 }, (_, n) => `no <uri> ${11 + n}`)],
    ]),
  );
});

test("an update that nobody noted is looked after at once, without waiting for it to be shown to be none", async () => {
  await graph.declareNeeds(1);
  await drain(graph.options);
  await graph.database.owner.query(
    "update app_private.graph_marks set turn = turn - 1; update app_private.graph_store set turn = turn - 1",
  );
  let looks = 0;
  graph.store.before = ({ name, text }) => {
    if (name === "select" && text.includes("VALUES ?g") && (looks += 1) > 2) throw new Error("waited");
  };
  expect(await watch({ ...graph.options, patienceMs: 3_600_000 })).toBe("mended");
});

test("a graph that seems to lack something is looked at until it does not, or for as long as is allowed", async () => {
  await graph.declareNeeds(1);
  await drain(graph.options);
  const select = graph.store.select.bind(graph.store);
  let looks = 0;
  // From a copy that is behind.
  graph.store.select = async (text) => {
    if (text.includes("VALUES ?g") && (looks += 1) <= 3)
      return [{ asked: { type: "literal", value: "now" } }];
    return select(text);
  };
  expect(await watch({ ...graph.options, patienceMs: 3_600_000 })).toBe("whole");
  expect(await states()).toEqual(["synced"]);
});

test("a record keeps an accelerator that is deprecated, which is said of those that are, and of no others", async () => {
  const [id] = await graph.declareNeeds(1);
  await graph.database.owner.query(
    `update app_public.accelerators set deprecated_at = now() where code = 'PRA';
     select app_private.mark_records('need', array['${id}'::uuid]), app_private.mark_references('accelerators')`,
  );
  await drain(graph.options);
  expect(await states()).toEqual(["synced"]);
  const { names } = graph.options.projector;
  const rows = await graph.store.select(
    `SELECT ?code { GRAPH <${names.lists.accelerators}> {
       ?s <http://www.w3.org/2002/07/owl#deprecated> true ; <http://www.w3.org/2004/02/skos/core#notation> ?code } }
     ORDER BY ?code`,
  );
  // One has been for long; others are not.
  expect(rows.map(({ code }) => code?.value)).toEqual(["OLD-ONE", "PRA"]);
});

test.each([
  ["another graph", "INSERT DATA { GRAPH <urn:graph> { <urn:a> <urn:b> 1 } }", true],
  ["nothing", "", false],
])(
  "a store that says nothing of itself and holds %s is mended, and verified if need be",
  async (_, content, isAsked) => {
    const inGraph = content.replace("urn:graph", graph.needs);
    await graph.store.update(`DROP ALL ; ${inGraph}`);
    await graph.database.owner.query("update app_private.graph_verification set urgent = false");
    expect(await watch(graph.options)).toBe("mended");
    const { rows } = await graph.database.owner.query<{ urgent: boolean }>(
      "select urgent from app_private.graph_verification",
    );
    expect(rows).toEqual([{ urgent: isAsked }]);
  },
);

describe("nobody takes for an unnoted update", () => {
  beforeEach(async () => {
    await graph.declareNeeds(1);
    await drain(graph.options);
    expect(await watch(graph.options)).toBe("whole");
  });
  afterEach(async () => {
    expect(await watch(graph.options)).toBe("whole");
  });

  test("a list that was written", async () => {
    await graph.database.owner.query("select app_private.mark_references('countries')");
    await drain(graph.options);
  });

  test("a graph that was replaced", async () => {
    await graph.database.owner.query("update app_private.graph_rebuilds set requested_at = now()");
    while (await rebuildNext(graph.options));
  });

  test("what a verification has removed", async () => {
    const foreign = `GRAPH <${graph.needs}> { <urn:x-foreign> <urn:p> "o" }`;
    await graph.store.update(`INSERT DATA { ${foreign} }`);
    expect(await verify({ ...graph.options, repair: true })).toMatchObject({ repaired: 1 });
    expect(await graph.store.ask(`ASK { ${foreign} }`)).toBe(false);
  });
});

describe("a snapshot", () => {
  test("shows the tables as they were when it was taken", async () => {
    await graph.declareNeeds(1);
    const seen = await inSnapshot(graph.database.owner, async (tables) => {
      const before = await countRecords(tables, "need");
      await graph.declareNeeds(1);
      return [before, await countRecords(tables, "need")];
    });
    expect(seen).toEqual([1, 1]);
  });
});

describe("a rebuild", () => {
  test("writes the lists anew as well", async () => {
    await drain(graph.options);
    const { names } = graph.options.projector;
    const country = `GRAPH <${names.lists.countries}> { <${names.country("KE")}> ?p ?o }`;
    await graph.store.update(`DELETE WHERE { ${country} }`);
    await rebuild(graph.options);
    expect(await graph.store.ask(`ASK { ${country} }`)).toBe(true);
  });

  test("takes up a store that has been emptied", async () => {
    await graph.declareNeeds(2);
    await drain(graph.options);
    await graph.store.update("DROP ALL");
    await rebuild(graph.options);
    expect(await graph.described()).toBe(2);
  });

  test("has what no trigger has seen noted as well", async () => {
    const [id] = await graph.declareNeeds(2);
    await drain(graph.options);
    await graph.database.owner.query("delete from app_private.graph_records where record_id = $1", [id]);
    await rebuild(graph.options);
    await drain(graph.options);
    expect(await states()).toEqual(["synced", "synced"]);
  });

  test("that is refused once begins from nothing, and has what is in doubt noted", async () => {
    const [id] = await graph.declareNeeds(2);
    await drain(graph.options);
    await graph.database.owner.query("delete from app_private.graph_records where record_id = $1", [id]);
    await graph.database.owner.query(
      "update app_private.graph_rebuilds set requested_at = now() where kind = 'need'",
    );
    let refusals = 1;
    graph.store.before = ({ name }) => {
      if (name === "putGraph" && refusals-- > 0) throw new GraphRejected(400, "no");
    };
    expect(await rebuildNext(graph.options)).toBe(true);
    const { rows } = await graph.database.owner.query(
      "select written::integer, rejected::integer from app_private.graph_rebuilds where kind = 'need'",
    );
    expect(rows).toEqual([{ written: 2, rejected: 0 }]);
    await drain(graph.options);
    expect(await states()).toEqual(["synced", "synced"]);
  });

  test("that mends a graph is one once: the next is an operator's, during which readers see a whole graph", async () => {
    await graph.declareNeeds(1);
    const foreign = `GRAPH <${graph.needs}> { <urn:x-foreign> <urn:p> "o" }`;
    await graph.store.update(`DROP ALL ; INSERT DATA { ${foreign} }`);
    expect(await watch(graph.options)).toBe("mended");
    expect(await watch(graph.options)).toBe("whole");
    const said: string[] = [];
    graph.store.before = async ({ name, text }) => {
      if (name !== "putGraph" || !text.includes("Wells")) return;
      const { rows } = await graph.database.owner.query<{ state: string }>(
        "select state from app_private.graph_store",
      );
      said.push(rows[0]!.state);
    };
    while (await rebuildNext(graph.options));
    await rebuild(graph.options);
    expect(said).toEqual(["behind", "rebuilding"]);
    expect(graph.store.count("putGraph", "x-foreign")).toBe(0);
  });
});

test("what the load check keeps out of the graph is no difference, but what it would keep out by now is one", async () => {
  const [id] = await graph.declareNeeds(3);
  const { projector } = graph.options;
  const check: typeof projector.check = async (records) =>
    new Map(
      records.filter((record) => record.id === id).map(({ iri }) => [iri, [{ path: "", message: "No." }]]),
    );
  const refusing = { ...graph.options, projector: { ...projector, check } };
  await drain(refusing, undefined, 0);
  expect((await states())[0]).toBe("rejected");
  const none = { missing: 0, stale: 0, altered: 0, foreign: 0 };
  expect(await verify(refusing)).toMatchObject({ records: 3, pending: 0, differences: none });
  await graph.database.owner.query("select app_private.mark_records('need', array[$1::uuid])", [id]);
  await drain(graph.options);
  expect(await verify(refusing)).toMatchObject({ pending: 0, differences: { ...none, foreign: 1 } });
  // It counts as refused, and is there all the same.
  await graph.database.owner.query(
    "update app_private.graph_records set state = 'rejected' where record_id = $1",
    [id],
  );
  const found: Difference[] = [];
  const onDifference = (difference: Difference) => void found.push(difference);
  expect(await verify({ ...refusing, repair: true, onDifference })).toMatchObject({ repaired: 1 });
  const iri = projector.names.record("need", id!);
  expect(found).toEqual([{ kind: "foreign", graph: graph.needs, iri, record: { kind: "need", id } }]);
  await drain(refusing);
  expect(await graph.described()).toBe(2);
});

test("each record that the load check refuses is told its own faults, and none of another's", async () => {
  const [one, other] = await graph.declareNeeds(3);
  const { projector } = graph.options;
  const fault = (id: string) => [{ path: "", message: `Not ${id}.` }];
  const check: typeof projector.check = async (records) =>
    new Map(
      records.filter(({ id }) => id === one || id === other).map(({ id, iri }) => [iri, fault(id)] as const),
    );
  await drain({ ...graph.options, projector: { ...projector, check } }, undefined, 0);
  const { rows } = await graph.database.owner.query(
    `select need_id as id, app_public.record_graph_errors('need', need_id) as errors
     from app_public.needs where need_id = any ($1)`,
    [[one, other]],
  );
  expect(new Map(rows.map(({ id, errors }) => [id, errors]))).toEqual(
    new Map([one!, other!].map((id) => [id, fault(id)])),
  );
});

test("what differs in a list counts as repaired when the list is to be written again, which it then is", async () => {
  await drain(graph.options);
  const { options, store } = graph;
  const foreign = `GRAPH <${options.projector.names.contents.accelerators}> { <urn:x-foreign> <urn:p> "o" }`;
  await store.update(`INSERT DATA { ${foreign} }`);
  expect(await verify(options)).toMatchObject({ differences: { foreign: 1 }, repaired: 0 });
  expect(await verify({ ...options, repair: true })).toMatchObject({ repaired: 1 });
  await drain(options);
  expect(await store.ask(`ASK { ${foreign} }`)).toBe(false);
});

test("what is in a graph and in no table is found and removed, whether it looks like a record or not, and both at once", async () => {
  await graph.declareNeeds(1);
  await drain(graph.options);
  const { options, needs, store } = graph;
  const unknown = options.projector.names.record("need", "00000000-0000-4000-8000-000000000001");
  const iris = ["urn:x-foreign", unknown];
  await store.update(
    `INSERT DATA { GRAPH <${needs}> { ${iris.map((iri) => `<${iri}> <urn:p> "o" .`).join(" ")} } }`,
  );
  const found: string[] = [];
  const onDifference = ({ iri }: Difference) => void found.push(iri);
  expect(await verify({ ...options, onDifference })).toMatchObject({ differences: { foreign: 2 } });
  expect(found.toSorted()).toEqual(iris.toSorted());
  expect(await verify({ ...options, repair: true })).toMatchObject({ repaired: 2 });
  expect(await store.ask(`ASK { GRAPH <${needs}> { ?s <urn:p> "o" } }`)).toBe(false);
  expect(await graph.described()).toBe(1);
});

test.each([
  ["in no graph", () => '<urn:x-kept> <urn:p> "o"', "SILENT DEFAULT", "SILENT GRAPH <urn:x-other>"],
  ["in a graph of its own", () => 'GRAPH <urn:x-kept> { <urn:s> <urn:p> "o" }', "urn:x-kept", "urn:x-other"],
  [
    "beside what the graph says of itself",
    (turns: string) => `GRAPH <${turns}> { <urn:x-kept> <urn:p> "o" }`,
    ...(["urn:x-kept", "urn:x-other"] as const),
  ],
])(
  "what a store keeps %s, though it was told to remove it, is not repaired",
  async (_, content, removed, by) => {
    const { options, store } = graph;
    await store.update(`INSERT DATA { ${content(options.projector.names.turnsGraph)} }`);
    const update: typeof store.update = (text, call) => store.update(text.replaceAll(removed, by), call);
    const there = { ...options, repair: true, dropUnlisted: true };
    expect(await verify({ ...there, store: { ...store, update } })).toMatchObject({
      ...{ differences: { foreign: 1 }, repaired: 0 },
    });
    expect(await verify({ ...there, store })).toMatchObject({ differences: { foreign: 1 }, repaired: 1 });
  },
);

test.each([
  ["asked for", "urgent = true, verified_at = now()"],
  ["the first", "urgent = false, verified_at = null"],
])("a verification that is %s goes on at once where its last step ended, page by page", async (_, as) => {
  const ids = await graph.declareNeeds(501);
  while ((await drain(graph.options)).state !== "drained");
  const between = standBetween(graph.database.owner);
  const positions: unknown[] = [];
  between.before = async (text) => {
    if (!text.includes("from app_private.graph_verification as v")) return;
    const { rows } = await graph.database.owner.query<{ part: number; after: string | null }>(
      "select part::integer, after from app_private.graph_verification",
    );
    positions.push([rows[0]!.part, rows[0]!.after]);
  };
  await graph.database.owner.query(`update app_private.graph_verification set part = 0, after = null, ${as}`);
  await graph.database.owner.query("select app_private.note_graph_current()");
  const verifier = startVerifier({ ...graph.options, pool: between.pool, share: 1, days: 1 });
  try {
    await eventually(() => expect(positions.length).toBeGreaterThan(2));
  } finally {
    await verifier.stop();
  }
  expect(positions.slice(0, 3)).toEqual([
    [0, null],
    [0, ids[499]],
    [1, null],
  ]);
});

test("a round that an earlier version left in a part that there is no more is over", async () => {
  const result = nothingFound();
  expect(await verifyStep(graph.options, { part: 1_000, after: undefined }, result)).toBeUndefined();
  expect(result).toEqual(nothingFound());
});

test("an operator is told what differs although nothing has failed", async () => {
  await graph.declareNeeds(1);
  await drain(graph.options);
  await graph.store.update(
    `INSERT DATA { GRAPH <${graph.needs}> { <urn:x-foreign> <urn:p> "o" } } ;
     DELETE WHERE { GRAPH <${graph.needs}> { ?s <${graph.options.projector.names.iri("dct:identifier")}> ?o } }`,
  );
  await graph.database.owner.query(
    "select app_private.request_verification(), app_private.note_graph_current()",
  );
  const told: Record<string, unknown>[] = [];
  const logger = pino({ level: "warn" }, { write: (line) => void told.push(JSON.parse(line)) });
  const between = standBetween(graph.database.owner);
  const verifier = startVerifier({ ...graph.options, pool: between.pool, logger, share: 1, days: 1 });
  try {
    // What a step has found is told before it is noted.
    await eventually(() => expect(between.count("note_verification")).toBeGreaterThan(1));
  } finally {
    await verifier.stop();
  }
  const nothing = { missing: 0, stale: 0, altered: 0, foreign: 0, repaired: 0 };
  const msg = "the graph differs from the tables, though nothing has failed";
  expect(told[0]).toMatchObject({ ...nothing, altered: 1, msg });
  expect(told[1]).toMatchObject({ ...nothing, foreign: 1, msg });
});
