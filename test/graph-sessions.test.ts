// What a session changes and what it must not, update by update, in a graph store in memory: no database, no clock.
import { expect, jest, test } from "@jest/globals";
import type { Quad } from "@rdfjs/types";
import { createNames } from "../graph/namespaces.ts";
import { tripleText } from "../graph/ntriples.ts";
import { createSession, requireUpdates } from "../graph/session.ts";
import { readAll } from "../graph/store-http.ts";
import { GraphUnconfirmed } from "../graph/store.ts";
import type { CallOptions } from "../graph/store.ts";
import { literal, namedNode, triple } from "../graph/terms.ts";
import { holdsAnything, markTriples, readMark, readMarks, turnOf } from "../graph/turns.ts";
import type { GraphMarks, GraphTurns, Turn } from "../graph/turns.ts";
import { createMemoryStore } from "./support/memory-store.ts";

jest.setTimeout(60_000);
const names = createNames({
  graphDataUrl: "https://data.example.org",
  namespaceUrl: "https://ontology.example.org/core#",
});
const RUNS = ["first", "second"];
const FIRST = turnOf(1n, 1);

const note = ({ note: noted }: { note: string }) => noted;
const nothing: GraphMarks = new Map();
const all = (turn: Turn): GraphTurns =>
  new Map(Object.keys(names.contents).map((name) => [name as "need", turn]));

/** A store, and the sessions of two drains one after the other; the first has made the store its own. */
async function start(seen = nothing, before?: string) {
  const store = createMemoryStore();
  if (before) await store.update(before);
  const open = (drain: bigint, last: Turn, graphs: GraphTurns) => {
    const origin = { identity: "ours", run: RUNS[Number(drain) - 1]!, runs: RUNS };
    // No store here is behind, and one that is taken for it would be waited for.
    const onLag = () => {
      throw new Error("The store is taken for a copy that is behind.");
    };
    return createSession({ store, names, origin, drain, last, graphs, patienceMs: 0, onLag });
  };
  const first = open(1n, 0n, new Map());
  expect(await first.adopt(seen)).toBe(FIRST);
  return { store, first, second: open(2n, FIRST, all(FIRST)) };
}

/** Sends a graph whole: what it says of itself, and one text. */
const sendWhole = (store: ReturnType<typeof createMemoryStore>, mark: Quad[], text: string) => {
  const content = triple(namedNode("urn:s"), namedNode("urn:p"), literal(text));
  const lines = [...mark, content].map(tripleText).join("\n");
  return store.putGraph(names.contents.need, lines, "application/n-triples");
};

test.each([
  ["another drain", "b", { turn: 5n, run: "a" }],
  ["the drain that was seen", "a", { turn: FIRST, run: "first" }],
])("a graph that says the number that was seen, of %s, is not taken for another", async (_, run, says) => {
  const own = markTriples(names, "need", 5n, "a").map(tripleText).join("\n");
  const before = `INSERT DATA { GRAPH <${names.contents.need}> { ${own} } }`;
  const { store } = await start(new Map([["need", { turn: 5n, run }]]), before);
  const { graphs } = await readMarks(store, names);
  expect(graphs.get("need")).toEqual(says);
  expect(graphs.get("commitment")).toEqual({ turn: FIRST, run: "first" });
});

test("a graph that names several drains is taken for none's", async () => {
  const { store } = await start();
  const other = markTriples(names, "need", FIRST, "other").map(tripleText).join("\n");
  await store.update(`INSERT DATA { GRAPH <${names.contents.need}> { ${other} } }`);
  expect((await readMarks(store, names)).graphs.get("need")).toEqual({ turn: FIRST, run: undefined });
});

test("of an update that has ended nothing says that it has only begun", async () => {
  const { store, second } = await start();
  await second.update(["need"], note);
  const whole = await store.getGraph(names.turnsGraph);
  const said = (await readAll(whole!.body)).trim().split("\n");
  expect(said.map((line) => line.split(" ")[1]!.slice(names.ns("").length + 1, -1)).toSorted()).toEqual([
    "projectionRun",
    "projectionStore",
    "projectionTurn",
  ]);
});

test("of an update that a process had only begun the next one leaves nothing", async () => {
  const { store, second } = await start();
  const whole = names.turnsGraph;
  await store.update(
    `INSERT DATA { GRAPH <${whole}> { <${whole}> <${names.ns("projectionBegun")}> "first" } }`,
  );
  await second.update(["need"], note);
  // Or the whole would be taken for one that lacks its end.
  expect(await readAll((await store.getGraph(whole))!.body)).not.toContain("projectionBegun");
});

test.each<[string, (session: Awaited<ReturnType<typeof start>>["second"]) => Promise<Turn>]>([
  ["an update", (session) => session.update(["need", "commitment"], note)],
  ["the adoption of a store", (session) => session.adopt(nothing)],
])("%s of which a store has applied but a part does not count, however much that is", async (_, write) => {
  let operations = Infinity;
  for (let applied = 1; applied < operations; applied += 1) {
    const { store, second } = await start();
    const update = store.update.bind(store);
    store.update = (text, call) => {
      const parts = text.split(" ;\n");
      operations = parts.length;
      return update(parts.slice(0, applied).join(" ;\n"), call);
    };
    await expect(write(second)).rejects.toThrow(GraphUnconfirmed);
    expect(second.last()).toBe(FIRST);
  }
  expect(operations).toBeGreaterThan(3);
});

test.each(["in place of ours", "beside ours"])(
  "an update has no effect where the whole names the drain of another history %s, though its number is the one that was seen",
  async (where) => {
    const { store, second } = await start();
    const whole = names.turnsGraph;
    const run = (name: string) => `GRAPH <${whole}> { <${whole}> <${names.ns("projectionRun")}> "${name}" }`;
    if (where === "in place of ours") await store.update(`DELETE DATA { ${run("first")} }`);
    await store.update(`INSERT DATA { ${run("theirs")} }`);
    await expect(second.update(["need"], note)).rejects.toThrow(GraphUnconfirmed);
    expect((await readMarks(store, names)).graphs.get("need")).toEqual({ turn: FIRST, run: "first" });
  },
);

test("an update has no effect on a graph that it knows nothing of, where that names a later one", async () => {
  const { store, first } = await start();
  const [graph, later] = [names.contents.need, turnOf(9n, 1)];
  const marks = markTriples(names, "need", later, "second").map(tripleText).join("\n");
  await store.update(`DROP GRAPH <${graph}> ; INSERT DATA { GRAPH <${graph}> { ${marks} } }`);
  // This session has changed no graph yet, and was told of none.
  await expect(first.update(["need"], note)).rejects.toThrow(GraphUnconfirmed);
  expect((await readMarks(store, names)).graphs.get("need")).toEqual({ turn: later, run: "second" });
});

test("of what a store said of itself its adoption leaves nothing", async () => {
  const whole = names.turnsGraph;
  const says = (name: string, value: string) => `<${whole}> <${names.ns(`projection${name}`)}> ${value}`;
  const theirs = [says("Turn", "99"), says("Turn", "98"), says("Run", '"theirs"'), says("Store", '"theirs"')];
  const { store } = await start(nothing, `INSERT DATA { GRAPH <${whole}> { ${theirs.join(" . ")} } }`);
  expect(await readMark(store, names)).toEqual({
    turn: FIRST,
    ...{ run: "first", identity: "ours", hasOverlap: false },
  });
});

test("a store holds something if any of our graphs does, that of the whole among them, and no other graph counts", async () => {
  for (const graph of [...names.namedGraphs, "urn:other"]) {
    const store = createMemoryStore();
    expect(await holdsAnything(store, names)).toBe(false);
    await store.update(`INSERT DATA { GRAPH <${graph}> { <urn:s> <urn:p> 1 } }`);
    expect([graph, await holdsAnything(store, names)]).toEqual([graph, graph !== "urn:other"]);
  }
});

test("what follows a graph that was sent whole has an effect on that one", async () => {
  const { store, second } = await start();
  const turn = await second.replace("need", (mark) => sendWhole(store, mark, "new"));
  await second.update(["need"], note);
  expect((await readMarks(store, names)).graphs.get("need")).toEqual({ turn: turn + 1n, run: "second" });
});

test("what follows a graph that was sent whole has no effect on one that is there in its place", async () => {
  const { store, second } = await start();
  await second.replace("need", (mark) => sendWhole(store, mark, "new"));
  await sendWhole(store, markTriples(names, "need", FIRST, "first"), "old");
  await expect(second.update(["need"], note)).rejects.toThrow(GraphUnconfirmed);
  expect((await readMarks(store, names)).graphs.get("need")).toEqual({ turn: FIRST, run: "first" });
});

test("an update has no effect on a graph with one that nobody noted: that is looked after first", async () => {
  const { store, first, second } = await start();
  const unnoted = await first.update(["need"], note);
  await expect(second.update([], note)).rejects.toThrow(GraphUnconfirmed);
  expect(await readMark(store, names)).toMatchObject({ turn: unnoted, run: "first" });
});

test("an update does not count where the graph has become another database's as well", async () => {
  const { store, second } = await start();
  const whole = names.turnsGraph;
  store.after = async ({ name }) => {
    if (name !== "update") return;
    store.after = () => undefined;
    await store.update(
      `INSERT DATA { GRAPH <${whole}> { <${whole}> <${names.ns("projectionStore")}> "theirs" } }`,
    );
  };
  // Or the queries would be taken for those of a copy that is behind, and waited for.
  store.getGraph = () => Promise.resolve(undefined);
  await expect(second.update([], note)).rejects.toThrow(GraphUnconfirmed);
  expect(second.last()).toBe(FIRST);
});

test("a graph that was refused whole has another number from then on: should it arrive all the same, it is out of date", async () => {
  const { store, second } = await start();
  const sent: Quad[][] = [];
  const refused = second.replace("need", (mark) => {
    sent.push(mark);
    return Promise.reject(new Error("refused"));
  });
  await expect(refused).rejects.toThrow("refused");
  const turn = await requireUpdates(second, "need");
  expect((await readMarks(store, names)).graphs.get("need")).toEqual({ turn, run: "second" });
  await sendWhole(store, sent[0]!, "late");
  await expect(second.update(["need"], note)).rejects.toThrow(GraphUnconfirmed);
});

type Session = Awaited<ReturnType<typeof start>>["second"];
const writing: Record<string, (session: Session, signal: AbortSignal) => Promise<Turn>> = {
  "an update": (session, signal) => session.update(["need"], note, signal),
  "a graph that is sent whole": (session, signal) =>
    session.replace("need", () => Promise.reject(new Error("It was sent.")), signal),
  "the adoption of a store": (session, signal) => session.adopt(nothing, signal),
  "the question whether a store takes anything": (session, signal) => requireUpdates(session, "need", signal),
};
test.each(
  Object.keys(writing).flatMap((what) =>
    (["update", "select", "getGraph"] as const).map((door) => [what, door] as const),
  ),
)(
  "%s waits no longer for a store that does not answer (%s) when somebody else has the graph",
  async (what, door) => {
    const { store, second } = await start();
    const lost = new AbortController();
    // Queries show it nothing new, as those of a copy do: then it asks for the graph itself.
    store.update = () => Promise.resolve();
    store[door] = (_: string, { signal }: CallOptions = {}): Promise<never> => {
      if (!signal) return Promise.reject(new Error(`${door} would be waited for.`));
      const silence = new Promise<never>((__, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
      lost.abort(new Error("Somebody else has it."));
      return silence;
    };
    await expect(writing[what]!(second, lost.signal)).rejects.toThrow("Somebody else has it.");
  },
);
