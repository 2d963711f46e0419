// What is made of a store that is not what it was, case by case, and when a drainer says that a store is well again.
import type { Mistake } from "../mistake.ts";

const WATCH = { file: "worker/watch.ts", tests: ["store-losses"] };
const DRAINER = { file: "worker/drainer.ts", tests: ["drainer"] };

export const STORE_LOSSES: readonly Mistake[] = [
  {
    ...WATCH,
    rule: "what a store lacks is told as the reason why the graph is behind",
    before:
      "  await client.query(\"select app_private.note_graph_state('behind', $1)\", [`${loss.reason}.`]);\n",
    after: "",
    only: "lacks a list",
  },
  {
    ...WATCH,
    rule: "of an update that was applied in part those graphs are written again that it changed",
    before: "turn === mark.turn).map",
    after: "turn < mark.turn).map",
    only: "lacks the end",
  },
  {
    ...WATCH,
    rule: "in an empty store there is nothing to look for",
    before: "await holdsAnything(store, names, { timeoutMs: TIMEOUT_MS })",
    after: "true",
    only: "is empty",
  },
  {
    ...WATCH,
    rule: "a store that has lost only what it says of itself may hold what no table contains",
    before: "await holdsAnything(store, names, { timeoutMs: TIMEOUT_MS })",
    after: "false",
    only: "says nothing of itself",
  },
  {
    ...WATCH,
    rule: "a graph that is not written yet has lost nothing",
    before: "known.turn === 0n ? NEVER_WRITTEN",
    after: "known.turn !== 0n ? NEVER_WRITTEN",
    only: "for the first time",
  },
  {
    ...WATCH,
    rule: "a graph of which no number is known is written again",
    before: "if (Object.keys(names.contents).some((name) => !known.graphs.has(name as GraphName))) {",
    after: "if (Object.keys(names.contents).every((name) => !known.graphs.has(name as GraphName))) {",
    only: "no number is known",
  },
  {
    ...WATCH,
    rule: "a store with drains that the database has not is not the one of the database",
    before: "  if (!own.has(mark)) return loss(OTHER_HISTORY, everything(names));\n",
    after: "",
    only: "drains that the database has not",
  },
  {
    ...WATCH,
    rule: "that a graph is written for the first time is no warning",
    before:
      'if (loss.reason === NEVER_WRITTEN) logger.info("the graph is written for the first time");\n  else if',
    after: "if",
    only: "for the first time",
  },
  {
    ...WATCH,
    rule: "a graph that is behind gets what it was given since, and no more",
    before: "behind.set(name, said.turn);",
    after: "behind.set(name, undefined);",
    only: "before its last update",
  },
  {
    ...WATCH,
    rule: "a graph that is behind is not replaced",
    before: "(kind) => loss.foreign && loss.what.has(kind) && loss.what.get(kind) === undefined,",
    after: "(kind) => loss.foreign && loss.what.has(kind),",
    only: "before its last update",
  },
  {
    ...WATCH,
    rule: "a store that is exchanged for one of the same number while its losses are marked is not adopted",
    before: " || mark.run !== loss.mark.run",
    after: "",
    only: "of the same number",
  },
  {
    ...WATCH,
    rule: "a graph that is replaced because of a loss has nothing written yet",
    before: "requested_at = now(), written = 0, rejected = 0,",
    after: "requested_at = now(), rejected = 0,",
    only: "from the beginning",
  },
  {
    ...WATCH,
    rule: "a graph that is replaced because of a loss has nothing refused yet",
    before: "requested_at = now(), written = 0, rejected = 0,",
    after: "requested_at = now(), written = 0,",
    only: "from the beginning",
  },
  {
    tests: ["store-losses"],
    rule: "a graph that says what is no number of ours gets one again",
    file: "graph/turns.ts",
    before: '  if (said.turn === 0n) return "";\n',
    after: "",
    only: "a number which is none",
  },
  {
    ...DRAINER,
    rule: "a store that is away is told of once",
    before: "if (!failing) logger.warn(",
    after: "if (failing || !failing) logger.warn(",
    only: "is told of once",
  },
  {
    ...DRAINER,
    rule: "what breaks off while the store is away is told",
    before: 'else if (!isStore) logger.warn({ err: error }, "a drain broke off");',
    after: "",
    only: "is told of once",
  },
  {
    ...DRAINER,
    rule: "a database that is away is no state of the store",
    before: "const isStore = error instanceof GraphUnavailable || error instanceof GraphRejected;",
    after: "const isStore = error instanceof Error;",
    only: "the store is not said to be",
  },
  {
    ...DRAINER,
    rule: "that the graph can be written again is told",
    before: '    logger.info("the graph can be written again");\n',
    after: "",
    only: "is told of once",
  },
  {
    ...DRAINER,
    rule: "a store counts as behind until this process could write to it",
    before: 'if (result.state === "busy") return;\n',
    after: "",
    only: "somebody else has the right",
  },
  {
    ...DRAINER,
    rule: "who waits for a store does not say that somebody looks after the graph",
    before: ".finally(() => (isWriting = false))",
    after: "",
    only: "every five seconds",
  },
  {
    ...DRAINER,
    rule: "a rebuild that was asked for is done though nobody was woken",
    before: "exists (select from app_private.graph_rebuilds where requested_at is not null)",
    after: "exists (select from app_private.graph_rebuilds where requested_at is null and false)",
    only: "a rebuild that nobody was woken for",
  },
];
