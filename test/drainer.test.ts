// When a process drains, tries again, and looks for what was left behind, by a clock that the test sets.
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { pino } from "pino";
import {
  GraphFailed,
  GraphTimeout,
  GraphUnavailable,
  GraphUnconfirmed,
  GraphUnreachable,
} from "../graph/store.ts";
import type { Pulse } from "../process/pulse.ts";
import { createDrainer } from "../worker/drainer.ts";
import type { Drainer, DrainerOptions } from "../worker/drainer.ts";
import { hold } from "../worker/hold.ts";
import { noteTurns } from "../worker/marks.ts";
import { eventually } from "./support/eventually.ts";
import { startMemoryGraph } from "./support/memory-graph.ts";
import type { MemoryGraph } from "./support/memory-graph.ts";
import { standBetween } from "./support/statements.ts";

let graph: MemoryGraph;
let now: number;
let intervals: Map<object, { work: () => void; ms: number }>;
let drainer: Drainer;

beforeEach(async () => {
  graph = await startMemoryGraph();
  now = 1_000_000;
  intervals = new Map();
  jest.spyOn(performance, "now").mockImplementation(() => now);
  jest.spyOn(globalThis, "setInterval").mockImplementation(((work: () => void, ms: number) => {
    const handle = {};
    intervals.set(handle, { work, ms });
    return handle;
  }) as unknown as typeof setInterval);
  jest
    .spyOn(globalThis, "clearInterval")
    .mockImplementation((handle) => void intervals.delete(handle as object));
});
afterEach(async () => {
  graph.store.before = () => undefined;
  graph.store.after = () => undefined;
  await drainer.stop();
  jest.restoreAllMocks();
  await graph.database.drop();
});

const start = (more: Partial<DrainerOptions> = {}) => {
  drainer = createDrainer({ ...graph.options, watchMs: 3_600_000, ...more });
  return drainer;
};
/** What happens every second. */
const tick = () => [...intervals.values()].filter(({ ms }) => ms === 1_000).forEach(({ work }) => work());
const state = async () => {
  const { rows } = await graph.database.owner.query<{ state: string; reason: string | null }>(
    "select state, reason from app_private.graph_store",
  );
  return [rows[0]!.state, rows[0]!.reason];
};
const since = async () => {
  const { rows } = await graph.database.owner.query<{ since: string }>(
    "select since::text from app_private.graph_store",
  );
  return rows[0]!.since;
};
const pending = async () => {
  const { rows } = await graph.database.owner.query<{ count: number }>(
    "select count(*)::integer from app_private.dirty_records",
  );
  return rows[0]!.count;
};
const isDown = (error: () => Error = () => new GraphUnavailable("away")) => {
  graph.store.before = () => {
    throw error();
  };
};
/** Whether the store is asked for anything when somebody wakes the drainer. */
const tries = async () => {
  const before = graph.store.calls.length;
  await drainer.wake();
  return graph.store.calls.length > before;
};

test("a store that is away is tried again after one second, then two, then four, then every five, and from the start the next time", async () => {
  start();
  await drainer.wake();
  for (const round of [1, 2]) {
    isDown();
    now += 3_600_000;
    expect(await tries()).toBe(true);
    for (const seconds of [1, 2, 4, 5, 5]) {
      now += seconds * 1_000 - 1;
      expect([round, seconds, await tries()]).toEqual([round, seconds, false]);
      now += 1;
      expect([round, seconds, await tries()]).toEqual([round, seconds, true]);
    }
    graph.store.before = () => undefined;
    now += 5_000;
    expect(await tries()).toBe(true);
    expect(await state()).toEqual(["current", null]);
  }
});

test("what is said of a store says whether it is away or does not show what it took", async () => {
  start();
  isDown(() => new GraphUnavailable("nobody there"));
  await drainer.wake();
  expect(await state()).toEqual(["unavailable", "nobody there"]);
  isDown(() => new GraphUnconfirmed("swallowed"));
  now += 1_000;
  await drainer.wake();
  expect(await state()).toEqual(["unconfirmed", "swallowed"]);
});

test("a store that is away is told of once, as is its return; what else breaks off is told each time, and is no state of the store", async () => {
  const said: string[] = [];
  const logger = pino(
    { level: "info" },
    { write: (line) => void said.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const between = standBetween(graph.database.owner);
  start({ logger, pool: between.pool });
  const wake = async () => {
    now += 5_000;
    said.length = 0;
    await drainer.wake();
    return said;
  };
  expect(await wake()).toEqual([]);
  isDown();
  now += 3_600_000;
  expect(await wake()).toEqual(["the graph cannot be written; changes wait in the database"]);
  expect(await wake()).toEqual([]);
  graph.store.before = () => undefined;
  between.before = (text) => {
    if (text.includes("mark_refused")) throw new Error("gone");
  };
  for (let i = 0; i < 2; i += 1) expect(await wake()).toEqual(["a drain broke off"]);
  expect(await state()).toEqual(["unavailable", "away"]);
  between.before = () => undefined;
  expect(await wake()).toEqual(["the graph can be written again"]);
  expect(await wake()).toEqual([]);
});

test("a database that is away is told of, and the store is not said to be", async () => {
  const between = standBetween(graph.database.owner);
  start({ pool: between.pool });
  await drainer.wake();
  between.before = (text) => {
    if (text.includes("mark_refused")) throw new Error("gone");
  };
  await drainer.wake();
  expect(await state()).toEqual(["current", null]);
});

test("who finds both the store and the database away goes on looking, and throws nothing", async () => {
  const between = standBetween(graph.database.owner);
  start({ pool: between.pool });
  await drainer.wake();
  isDown();
  between.before = (text) => {
    if (text.includes("note_graph_state")) throw new Error("gone");
  };
  now += 3_600_000;
  await drainer.wake();
  expect(between.count("note_graph_state")).toBeGreaterThan(0);
  between.before = () => undefined;
  graph.store.before = () => undefined;
  now += 5_000;
  expect(await tries()).toBe(true);
  expect(await state()).toEqual(["current", null]);
});

test("while somebody else has the right to write, a store that was away counts as that until they have written", async () => {
  const said: string[] = [];
  start({ logger: pino({ level: "info" }, { write: (line) => void said.push(line) }) });
  await drainer.wake();
  isDown();
  now += 3_600_000;
  await drainer.wake();
  graph.store.before = () => undefined;
  said.length = 0;
  await hold(graph.options, async ({ client, session }) => {
    now += 5_000;
    await drainer.wake();
    expect((await state())[0]).toBe("unavailable");
    await noteTurns(client, new Map([["need", await session.update(["need"], ({ note }) => note)]]));
    expect((await state())[0]).toBe("behind");
  });
  expect(said).toEqual([]);
  await drainer.wake();
  expect(await state()).toEqual(["current", null]);
});

test("a store that comes back empty is looked at before anything else is written to it", async () => {
  await graph.declareNeeds(3);
  start();
  await drainer.wake();
  expect(await graph.described()).toBe(3);
  isDown();
  await graph.declareNeeds(1);
  await drainer.wake();
  graph.store.before = () => undefined;
  await graph.store.update("DROP ALL");
  now += 1_000;
  await drainer.wake();
  await drainer.wake();
  expect(await graph.described()).toBe(4);
});

test("the store is asked every ten seconds what it holds, also when nobody writes", async () => {
  drainer = createDrainer(graph.options);
  await drainer.wake();
  const asked = () => graph.store.count("select", "VALUES ?g");
  const before = asked();
  now += 9_999;
  await drainer.wake();
  expect(asked()).toBe(before);
  now += 1;
  await drainer.wake();
  expect(asked()).toBe(before + 1);
  now += 10_000;
  tick();
  await eventually(() => expect(asked()).toBe(before + 2));
});

test("a store that is back is said to be behind as soon as it has taken a change, and current when nothing waits", async () => {
  await graph.declareNeeds(3);
  start({ batchSize: 1 });
  isDown();
  await drainer.wake();
  expect((await state())[0]).toBe("unavailable");
  const seen: unknown[] = [];
  graph.store.before = async ({ name, text }) => {
    if (name === "update" && text.includes("Wells")) seen.push(await state());
  };
  now += 1_000;
  await drainer.wake();
  // What became of one is noted while the next is sent.
  expect([seen[0], seen[2]]).toEqual([
    ["unavailable", "away"],
    ["behind", "Changes that had to wait are being written."],
  ]);
  expect(await state()).toEqual(["current", null]);
});

describe("a store that answers and takes nothing", () => {
  const rebuild = () =>
    graph.database.owner.query(
      "update app_private.graph_rebuilds set requested_at = now(), is_repair = true where kind = 'need'",
    );
  const ALL = ["update", "putGraph"];

  test.each<[string, string, () => Promise<unknown>, string[], () => Error]>([
    ["unavailable", "a change", () => graph.declareNeeds(1), ALL, () => new GraphUnavailable("full")],
    ["unavailable", "a whole graph", rebuild, ALL, () => new GraphUnavailable("full")],
    [
      "unavailable",
      "what it has lost",
      () => graph.store.update("DROP ALL"),
      ALL,
      () => new GraphUnavailable("full"),
    ],
    [
      "unavailable",
      "a whole graph, with room for a number",
      rebuild,
      ["putGraph"],
      () => new GraphUnreachable("full"),
    ],
    ["unconfirmed", "a change", () => graph.declareNeeds(1), ALL, () => new GraphUnconfirmed("full")],
  ])("is %s since it first was, however often it is given %s", async (failing, _, change, refused, error) => {
    await graph.declareNeeds(1);
    start();
    await drainer.wake();
    await change();
    const seen = new Set<string>();
    let isFull = true;
    graph.store.before = async ({ name }) => {
      seen.add((await state())[0]!);
      if (isFull && refused.includes(name)) throw error();
    };
    now += 3_600_000;
    await drainer.wake();
    expect(await state()).toEqual([failing, "full"]);
    const first = await since();
    seen.clear();
    for (let retry = 0; retry < 3; retry += 1) {
      now += 5_000;
      await drainer.wake();
    }
    expect([[...seen], await since()]).toEqual([[failing], first]);
    isFull = false;
    now += 5_000;
    await drainer.wake();
    await drainer.wake();
    expect(await state()).toEqual(["current", null]);
  });
});

test("a store that was away and comes back empty is behind because of that as soon as it takes something", async () => {
  await graph.declareNeeds(2);
  start();
  await drainer.wake();
  isDown();
  now += 3_600_000;
  await drainer.wake();
  const seen: unknown[] = [];
  graph.store.before = async ({ name, text }) => {
    if (name === "update" && text.includes("Wells")) seen.push(await state());
  };
  await graph.store.update("DROP ALL");
  now += 5_000;
  await drainer.wake();
  expect(seen).toEqual([["behind", "The graph store is empty."]]);
});

test("a store that takes everything but a list is unavailable since it first was", async () => {
  start();
  await drainer.wake();
  await graph.database.owner.query("select app_private.mark_references('countries')");
  graph.store.before = ({ name }) => {
    if (name === "putGraph") throw new GraphTimeout("late");
  };
  await drainer.wake();
  expect((await state())[0]).toBe("unavailable");
  const first = await since();
  await graph.declareNeeds(1);
  await drainer.wake();
  expect([await pending(), (await state())[0], await since()]).toEqual([0, "unavailable", first]);
});

test("a list that a store fails on keeps it from no other word of what it takes: it was away, and is behind", async () => {
  start();
  await drainer.wake();
  await graph.database.owner.query("select app_private.mark_references('countries')");
  const failsOnList = ({ name }: { name: string }) => {
    if (name === "putGraph") throw new GraphFailed("too large");
  };
  graph.store.before = failsOnList;
  await drainer.wake();
  isDown();
  await graph.declareNeeds(1);
  await drainer.wake();
  expect((await state())[0]).toBe("unavailable");
  const seen: unknown[] = [];
  graph.store.before = async (call) => {
    if (call.name === "update" && call.text.includes("Wells")) seen.push((await state())[0]);
    failsOnList(call);
  };
  await graph.declareNeeds(2);
  await drainer.stop();
  start({ batchSize: 1 });
  now += 5_000;
  await drainer.wake();
  expect([seen[0], seen.at(-1)]).toEqual(["unavailable", "behind"]);
});

test.each([
  ["silence is all that was said of it", "The graph store does not answer.", "behind"],
  ["it has refused something too", "full", "unavailable"],
])("a store that answers again while a whole graph is under way, where %s", async (_, reason, is) => {
  const told: ((isDown: boolean) => void)[] = [];
  const pulse = {
    onChange: (listener: (isDown: boolean) => void) => void told.push(listener),
  } as Partial<Pulse> as Pulse;
  const between = standBetween(graph.database.owner);
  await graph.declareNeeds(1);
  start({ pulse, pool: between.pool });
  await drainer.wake();
  await graph.database.owner.query("select app_private.request_rebuild()");
  const { promise: isLet, resolve: letThrough } = Promise.withResolvers<void>();
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  graph.store.before = async ({ name, text }) => {
    if (name !== "putGraph" || !text.includes("Wells")) return;
    reach();
    await isLet;
  };
  const draining = drainer.wake();
  await reached;
  told[0]!(true);
  await eventually(async () => expect((await state())[0]).toBe("unavailable"));
  await graph.database.owner.query("update app_private.graph_store set reason = $1", [reason]);
  const { promise: isHeard, resolve: hear } = Promise.withResolvers<void>();
  between.after = (statement) => {
    if (statement.includes("note_graph_heard")) hear();
  };
  told[0]!(false);
  await isHeard;
  const [then] = await state();
  letThrough();
  await draining;
  expect([then, (await state())[0]]).toEqual([is, "current"]);
});

test("a store that is too slow gets half as much at a time, not less than 25, and as much as before once it can", async () => {
  await graph.declareNeeds(130);
  let limit = 20;
  const sizes: number[] = [];
  graph.store.before = ({ name, text }) => {
    const size = text.split('"Wells ').length - 1;
    if (name !== "update" || size === 0) return;
    sizes.push(size);
    if (size > limit) throw new GraphTimeout("too slow");
  };
  start({ batchSize: 100 });
  for (let i = 0; i < 5; i += 1) {
    await drainer.wake();
    now += 5_000;
  }
  expect(sizes).toEqual([100, 50, 25, 25, 25]);
  limit = 25;
  sizes.length = 0;
  await drainer.wake();
  expect(sizes).toEqual([25, 25, 25, 25, 25, 5]);
  await graph.declareNeeds(60);
  limit = 100;
  sizes.length = 0;
  await drainer.wake();
  expect(sizes).toEqual([60]);
});

test("what nobody was woken for is written when it is there at a second look", async () => {
  const between = standBetween(graph.database.owner);
  start({ pool: between.pool });
  await drainer.wake();
  await graph.declareNeeds(1);
  const before = graph.store.calls.length;
  const looks = () => between.count("graph_work_waits");
  let untilThen = 0;
  between.before = () => {
    if (looks() === 2) untilThen ||= graph.store.calls.length;
  };
  tick();
  await eventually(() => expect(looks()).toBe(1));
  // Until its answer has been looked at, another one is not begun.
  await eventually(() => {
    tick();
    expect(looks()).toBe(2);
  });
  // After the first one it was left to whoever was woken for it.
  expect(untilThen).toBe(before);
  await eventually(async () => expect(await pending()).toBe(0));
});

test("while it looks for what nobody was woken for, however long that takes, it does not look again", async () => {
  const between = standBetween(graph.database.owner);
  start({ pool: between.pool });
  await drainer.wake();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const question = "graph_work_waits";
  between.before = (text) => (text.includes(question) ? gate : undefined);
  for (let seconds = 0; seconds < 3; seconds += 1) tick();
  expect(between.count(question)).toBe(1);
  open();
});

test("a rebuild that nobody was woken for is done as well", async () => {
  start();
  await drainer.wake();
  const { owner } = graph.database;
  await owner.query("update app_private.graph_rebuilds set requested_at = now()");
  await eventually(async () => {
    tick();
    const { rows } = await owner.query(
      "select from app_private.graph_rebuilds where requested_at is not null",
    );
    expect(rows).toEqual([]);
  });
});

test("a store that is found silent is said to be, and one that answers again is tried at once", async () => {
  const heard: ((isDown: boolean) => void)[] = [];
  const pulse = {
    onChange: (listener: (isDown: boolean) => void) => heard.push(listener),
  } as unknown as Pulse;
  await graph.declareNeeds(1);
  start({ pulse });
  isDown();
  await drainer.wake();
  heard[0]!(true);
  await eventually(async () =>
    expect(await state()).toEqual(["unavailable", "The graph store does not answer."]),
  );
  graph.store.before = () => undefined;
  heard[0]!(false);
  await eventually(async () => expect(await pending()).toBe(0));
  await eventually(async () => expect(await state()).toEqual(["current", null]));
});

test("a store that was found silent and answers again is asked what it holds, though nobody has written", async () => {
  const heard: ((isDown: boolean) => void)[] = [];
  const pulse = {
    onChange: (listener: (isDown: boolean) => void) => heard.push(listener),
  } as unknown as Pulse;
  const between = standBetween(graph.database.owner);
  await graph.declareNeeds(2);
  start({ pulse, pool: between.pool });
  await drainer.wake();
  const drains = between.count("note_graph_current");
  await graph.store.update("DROP ALL");
  heard[0]!(true);
  heard[0]!(false);
  await eventually(() => expect(between.count("note_graph_current")).toBeGreaterThan(drains));
  expect(await graph.described()).toBe(2);
});

test("after the database was away the store is asked what it holds: it may be one that was set back", async () => {
  const between = standBetween(graph.database.owner);
  await graph.declareNeeds(2);
  start({ pool: between.pool });
  await drainer.wake();
  await graph.store.update("DROP ALL");
  const looks = () => between.count("graph_work_waits");
  between.before = (text) => {
    if (text.includes("graph_work_waits")) throw new Error("gone");
  };
  tick();
  await eventually(() => expect(looks()).toBe(1));
  between.before = () => undefined;
  let described = 0;
  await eventually(async () => {
    tick();
    described = await graph.described();
    // Whoever asks the database again has not asked the store first.
    expect(described === 2 || looks() > 2).toBe(true);
  });
  expect(described).toBe(2);
});

test("what is left when it is time to ask the store again is written right after that", async () => {
  start({ watchMs: 10_000 });
  await drainer.wake();
  await graph.declareNeeds(1);
  let more = 2;
  graph.store.before = async ({ name, text }) => {
    if (name !== "update" || !text.includes("Wells") || more-- <= 0) return;
    now += 10_000;
    await graph.declareNeeds(1);
  };
  await drainer.wake();
  expect([await pending(), await graph.described()]).toEqual([0, 3]);
  expect(await state()).toEqual(["current", null]);
});

test("under a steady stream of writes the store is asked what it holds as often as without", async () => {
  const between = standBetween(graph.database.owner);
  start({ pool: between.pool, watchMs: 10_000 });
  await drainer.wake();
  await graph.declareNeeds(1);
  const looks = () => between.count("select s.identity, s.turn");
  const before = looks();
  const sofar: number[] = [];
  graph.store.before = async ({ name, text }) => {
    if (name !== "update" || !text.includes("Wells")) return;
    sofar.push(looks() - before);
    now += 10_000;
    if (sofar.length < 4) await graph.declareNeeds(1);
  };
  await drainer.wake();
  expect(sofar).toEqual([0, 1, 2, 3]);
});

test("while somebody else writes, whoever looks at the store says that somebody does", async () => {
  const between = standBetween(graph.database.owner);
  start({ pool: between.pool });
  await drainer.wake();
  const before = between.count("note_graph_seen");
  await hold(graph.options, async () => {
    now += 3_600_000;
    await drainer.wake();
  });
  expect(between.count("note_graph_seen")).toBe(before + 1);
});

test("who is told to stop lets what is under way arrive, and begins nothing else", async () => {
  await graph.declareNeeds(1);
  const between = standBetween(graph.database.owner);
  start({ pool: between.pool });
  const gate = Promise.withResolvers<void>();
  const events: string[] = [];
  graph.store.before = async ({ name, text }) => {
    if (name !== "update" || !text.includes("Wells")) return;
    events.push("under way");
    await gate.promise;
    events.push("arrived");
  };
  const waking = drainer.wake();
  await eventually(() => expect(events).toEqual(["under way"]));
  const stopping = drainer.stop().then(() => events.push("stopped"));
  gate.resolve();
  await Promise.all([waking, stopping]);
  expect(events).toEqual(["under way", "arrived", "stopped"]);
  expect(await pending()).toBe(0);
  const asked = between.count("");
  await graph.declareNeeds(1);
  expect(await tries()).toBe(false);
  expect(between.count("")).toBe(asked);
  expect(intervals.size).toBe(0);
});

test("who is told to stop while a store is failing says no more of it, nor of the graph", async () => {
  const said: string[] = [];
  start({ logger: pino({ level: "info" }, { write: (line) => void said.push(line) }) });
  await drainer.wake();
  await graph.declareNeeds(1);
  const gate = Promise.withResolvers<void>();
  let isUnderWay = false;
  graph.store.before = async ({ name, text }) => {
    if (name !== "update" || !text.includes("Wells")) return;
    isUnderWay = true;
    await gate.promise;
    throw new GraphUnavailable("away");
  };
  const waking = drainer.wake();
  await eventually(() => expect(isUnderWay).toBe(true));
  const stopping = drainer.stop();
  gate.resolve();
  await Promise.all([waking, stopping]);
  expect(said).toEqual([]);
  expect(await state()).toEqual(["current", null]);
});

test("a rebuild that was asked for is done by whoever drains, graph by graph, and only then the graph is current", async () => {
  await graph.declareNeeds(2);
  start();
  await drainer.wake();
  await graph.database.owner.query("select app_private.request_rebuild()");
  graph.store.calls.length = 0;
  await drainer.wake();
  expect(graph.store.count("putGraph")).toBe(Object.keys(graph.options.projector.names.contents).length);
  expect(graph.store.count("putGraph", "Wells")).toBe(1);
  expect(await state()).toEqual(["current", null]);
});

test("a process that is writing says every five seconds that somebody looks after the graph", async () => {
  await graph.declareNeeds(1);
  const between = standBetween(graph.database.owner);
  start({ pool: between.pool });
  const gate = Promise.withResolvers<void>();
  let isWriting = false;
  graph.store.before = async ({ name, text }) => {
    if (name !== "update" || !text.includes("Wells")) return;
    isWriting = true;
    await gate.promise;
  };
  const waking = drainer.wake();
  await eventually(() => expect(isWriting).toBe(true));
  const beats = () => between.count("note_graph_seen");
  const before = beats();
  try {
    now += 4_999;
    tick();
    expect(beats()).toBe(before);
    now += 1;
    tick();
    expect(beats()).toBe(before + 1);
  } finally {
    gate.resolve();
  }
  await waking;
  // A store that is asked what it holds may never answer.
  const silence = Promise.withResolvers<void>();
  let isAsked = false;
  graph.store.before = async () => {
    isAsked = true;
    await silence.promise;
  };
  now += 3_600_000;
  const asking = drainer.wake();
  await eventually(() => expect(isAsked).toBe(true));
  const sofar = beats();
  try {
    now += 5_000;
    tick();
    expect(beats()).toBe(sofar);
  } finally {
    silence.resolve();
  }
  await asking;
});

test("a store whose queries lag is waited for twice as long each time, up to fifteen seconds, and as shortly as before once they do not", async () => {
  await graph.declareNeeds(1);
  const update = graph.store.update.bind(graph.store);
  let isSwallowing = true;
  let since: number | undefined;
  graph.store.update = (sparql, call) => {
    if (!isSwallowing || !sparql.includes("Wells")) return update(sparql, call);
    since = now;
    return Promise.resolve();
  };
  // So long does each look take for whether it has arrived.
  graph.store.before = ({ name }) => {
    if (since !== undefined && name !== "update") now += 2_500;
  };
  start({ patienceMs: 2_000 });
  const waited: (number | undefined)[] = [];
  const wake = async () => {
    since = undefined;
    await drainer.wake();
    waited.push(since === undefined ? undefined : now - since);
    now += 5_000;
  };
  for (let round = 0; round < 5; round += 1) await wake();
  expect(waited).toEqual([2_500, 5_000, 10_000, 15_000, 15_000]);
  isSwallowing = false;
  await wake();
  expect(await pending()).toBe(0);
  isSwallowing = true;
  await graph.declareNeeds(1);
  await wake();
  expect(waited.slice(5)).toEqual([undefined, 2_500]);
});
