// The marks in the graph: whose graph it is and the last update that it took, and for each named graph the
// last update that changed it. They are in the graph itself, so that a store that was exchanged, emptied or
// set back to an earlier state, as a whole or in one of its named graphs, shows it, and so that an update can
// be confirmed by asking for what only that update can have written.
//
// They also keep a late update from undoing a newer one. A process that was killed, or cut off from the
// database, may still have an update under way while another process is already writing newer records. So
// updates have ascending numbers: in one step an update notes its number and writes, and it does nothing if
// the graph has seen a later one. A graph that is sent whole cannot check before it writes. Its number is
// among its triples: if it arrives late or twice, it brings back a number that is too small, and from then on
// no update has an effect until it is known what the graph has lost.
//
// Numbers alone can coincide in two histories: those of a database that was restored and written to since, or
// of another installation. So each drain also has a unique name, its run, which is written next to the
// number. In the mark of the whole graph the run is written last, and until then as the one that has begun:
// that is how an update recognizes itself among updates of the same number, and how one that was applied only
// in part is seen to lack its end.
import type { Quad } from "@rdfjs/types";
import { XSD } from "./namespaces.ts";
import type { GraphName, Names } from "./namespaces.ts";
import { termText } from "./ntriples.ts";
import { GraphRejected, GraphUnavailable } from "./store-errors.ts";
import { readAll } from "./store-http.ts";
import { ASKED } from "./store.ts";
import type { Binding, CallOptions, GraphStore, Row } from "./store.ts";
import { literal, namedNode, triple } from "./terms.ts";

/** The number of an update. */
export type Turn = bigint;

/** The last update that changed each named graph, as far as is known. */
export type GraphTurns = ReadonlyMap<GraphName, Turn>;

/** An update, as a graph's mark names it. */
export interface Said {
  turn: Turn;
  /** name of the drain; undefined if the graph has none, or several */
  run: string | undefined;
}

/** The marks of named graphs; a graph without a mark is absent. */
export type GraphMarks = ReadonlyMap<GraphName, Said>;

/** The mark of the whole graph. */
export interface Mark extends Said {
  /** number of the last update; 0 if there was none */
  turn: Turn;
  /** name of its drain; undefined also if the update was applied in part */
  run: string | undefined;
  /** identity of the database that the graph belongs to; undefined if it has none, or several */
  identity: string | undefined;
  /**
   * whether there are several numbers: an engine that does not put updates in order
   * has run two at the same time
   */
  hasOverlap: boolean;
}

/** What an update must contain to be numbered. */
export interface Numbered {
  /** its first operations, which note the number if the update may have an effect */
  note: string;
  /**
   * a pattern, for the WHERE of every other operation, that matches once if the number
   * was noted, and otherwise never
   */
  condition: string;
}

/** What a session recognizes as its own. */
export interface Origin {
  /** of the database */
  identity: string;
  /** of the drain */
  run: string;
  /** names of the drains, including this one, that graphs may have in their marks */
  runs: readonly string[];
}

// A drain has a number from the database, and numbers its updates itself.
const UPDATES_PER_DRAIN = 1_000_000n;

/** The number of the n-th update of a drain. */
export function turnOf(drain: bigint, update: number): Turn {
  return drain * UPDATES_PER_DRAIN + BigInt(update);
}

/** The drain that an update belonged to. */
export function drainOf(turn: Turn): bigint {
  return turn / UPDATES_PER_DRAIN;
}

/**
 * The parts that number an update, and make it take effect only on a graph of this identity that has lost
 * nothing. `close` is its last operation.
 * @param last the last update that the graph was seen to hold
 * @param graphs the named graphs that it changes, each with the last update that
 *   changed it as far as is known
 */
export function numbered(
  names: Names,
  { identity, run, runs }: Origin,
  { turn, last, graphs }: { turn: Turn; last: Turn; graphs: ReadonlyMap<GraphName, Turn | undefined> },
): Numbered & { close: string } {
  const changed = [...graphs].map(([name, lastOfGraph]) => ({
    graph: names.contents[name],
    last: lastOfGraph,
  }));
  const begun = begunIn(names, names.turnsGraph, `"${run}"`);
  const noted = `${turnIn(names, names.turnsGraph, String(turn))} ${begun} ${storeIs(names, identity)}`;
  const mayWrite = [
    `FILTER EXISTS { ${storeIs(names, identity)} }`,
    // Exactly `last`: a later update is from a process that could not note it in the database, and
    // worker/watch.ts deals with that first.
    `FILTER EXISTS { ${turnIn(names, names.turnsGraph, String(last))} }`,
    ...[{ graph: names.turnsGraph, last }, ...changed].map((each) => isInOrder(names, runs, each, turn)),
  ].join(" ");
  return {
    note: [
      renumber(
        names,
        names.turnsGraph,
        `${turnIn(names, names.turnsGraph, String(turn))} ${begun}`,
        mayWrite,
      ),
      ...changed.map(({ graph }) => renumber(names, graph, saysIn(names, graph, { turn, run }), noted)),
    ].join(" ;\n"),
    condition: noted,
    close: `DELETE { ${begun} } INSERT { ${runIn(names, names.turnsGraph, `"${run}"`)} } WHERE { ${noted} }`,
  };
}

/**
 * The condition that a graph has lost nothing that it was seen to hold, and has no
 * update that is later or not ours.
 */
function isInOrder(
  names: Names,
  runs: readonly string[],
  { graph, last }: { graph: string; last: Turn | undefined },
  turn: Turn,
): string {
  const later = `FILTER NOT EXISTS { ${turnIn(names, graph, "?later")} FILTER(?later > ${turn}) }`;
  if (last === undefined) return later;
  const own = `(${runs.map((run) => `"${run}"`).join(", ")})`;
  return [
    `FILTER EXISTS { ${turnIn(names, graph, "?seen")} FILTER(?seen >= ${last}) }`,
    `FILTER EXISTS { ${runIn(names, graph, "?own")} FILTER(?own IN ${own}) }`,
    `FILTER NOT EXISTS { ${runIn(names, graph, "?other")} FILTER(?other NOT IN ${own}) }`,
    later,
  ].join(" ");
}

/** Replaces the mark of a graph. */
function renumber(names: Names, graph: string, says: string, condition: string): string {
  const before = [
    turnIn(names, graph, "?turn"),
    runIn(names, graph, "?run"),
    begunIn(names, graph, "?begun"),
  ];
  return `DELETE { ${before.join(" ")} } INSERT { ${says} }
WHERE { ${condition} ${before.map((each) => `OPTIONAL { ${each} }`).join(" ")} }`;
}

const saysIn = (names: Names, graph: string, { turn, run }: { turn: Turn; run: string }) =>
  `${turnIn(names, graph, String(turn))} ${runIn(names, graph, `"${run}"`)}`;

/**
 * The update that gives a store this identity, whatever it had before, and every graph in it this number.
 * @param seen the marks of the named graphs when it was found out what they lack: a graph with another mark
 *   by now keeps that one, because it may lack more
 */
export function adoption(
  names: Names,
  { identity, run }: Origin,
  { turn, seen }: { turn: Turn; seen: GraphMarks },
): string {
  return [
    `DROP SILENT GRAPH <${names.turnsGraph}>`,
    `INSERT DATA { ${turnIn(names, names.turnsGraph, String(turn))} ${storeIs(names, identity)} }`,
    ...(Object.entries(names.contents) as [GraphName, string][]).map(([name, graph]) =>
      renumber(names, graph, saysIn(names, graph, { turn, run }), stillSays(names, graph, seen.get(name))),
    ),
    `INSERT DATA { ${runIn(names, names.turnsGraph, `"${run}"`)} }`,
  ].join(" ;\n");
}

function stillSays(names: Names, graph: string, said: Said | undefined): string {
  if (!said) return `FILTER NOT EXISTS { ${turnIn(names, graph, "?any")} }`;
  // A number that is not ours cannot be matched, and need not be: no update of ours brings it back.
  if (said.turn === 0n) return "";
  const run = said.run === undefined ? "" : runIn(names, graph, termText(literal(said.run)));
  return `${turnIn(names, graph, String(said.turn))} ${run}`;
}

/** The mark of a named graph that is sent whole. */
export function markTriples(names: Names, name: GraphName, turn: Turn, run: string): Quad[] {
  const graph = namedNode(names.contents[name]);
  return [
    triple(graph, namedNode(names.ns(TURN)), literal(String(turn), namedNode(`${XSD}integer`))),
    triple(graph, namedNode(names.ns(RUN)), literal(run)),
  ];
}

/** A filter of `?s ?p ?o` in a named graph: everything but the graph's mark. */
export function exceptMark(names: Names, graph: string): string {
  const own = graph === names.turnsGraph ? [TURN, RUN, BEGUN, STORE] : [TURN, RUN];
  const predicates = own.map((local) => `<${names.ns(local)}>`).join(", ");
  return `FILTER(?s != ${termText(namedNode(graph))} || ?p NOT IN (${predicates}))`;
}

/**
 * The mark of the whole graph, as queries show it.
 * @throws GraphUnavailable, GraphRejected
 */
export async function readMark(store: GraphStore, names: Names, call?: CallOptions): Promise<Mark> {
  return markOf(
    await askedNow(
      store,
      [
        turnIn(names, names.turnsGraph, "?turn"),
        `OPTIONAL { ${runIn(names, names.turnsGraph, "?run")} }`,
        `OPTIONAL { ${stored(names, names.turnsGraph, STORE, "?store")} }`,
      ].join(" "),
      call,
    ),
  );
}

/**
 * All marks at one moment, as queries show them. If a named graph has several numbers, the smallest counts:
 * what followed it may be lost.
 * @throws GraphUnavailable, GraphRejected
 */
export async function readMarks(
  store: GraphStore,
  names: Names,
  call?: CallOptions,
): Promise<{ mark: Mark; graphs: GraphMarks }> {
  const graphs = names.namedGraphs.map((graph) => `<${graph}>`).join(" ");
  const rows = await askedNow(
    store,
    `VALUES ?g { ${graphs} }
GRAPH ?g {
  ?g <${names.ns(TURN)}> ?turn
  OPTIONAL { ?g <${names.ns(RUN)}> ?run }
  OPTIONAL { ?g <${names.ns(STORE)}> ?store }
}`,
    call,
  );
  const byGraph = Map.groupBy(rows, ({ g }) => g?.value);
  const said = new Map<GraphName, Said>();
  for (const [name, graph] of Object.entries(names.contents) as [GraphName, string][]) {
    const own = byGraph.get(graph);
    if (!own) continue;
    const [first, ...others] = own.map((row) => numberIn(row.turn));
    const turn = others.reduce((least, other) => (other < least ? other : least), first!);
    said.set(name, { turn, run: onlyOne(own, "run") });
  }
  return { mark: markOf(byGraph.get(names.turnsGraph) ?? []), graphs: said };
}

/**
 * Whether there is anything in the named graphs of the service.
 * @throws GraphUnavailable, GraphRejected
 */
export async function holdsAnything(store: GraphStore, names: Names, call?: CallOptions): Promise<boolean> {
  const graphs = names.namedGraphs.map((graph) => `<${graph}>`).join(" ");
  const exists = `EXISTS { VALUES ?g { ${graphs} } GRAPH ?g { ?s ?p ?o } }`;
  const rows = await askedNow(store, `BIND(${exists} AS ?turn) FILTER(?turn)`, call);
  return rows.length > 0;
}

/**
 * The solutions of a pattern, as the store sees it now: even without a solution, the
 * answer shows that it is a new one.
 */
async function askedNow(store: GraphStore, pattern: string, call?: CallOptions): Promise<Row[]> {
  const rows = await store.select(
    `SELECT ?${ASKED} ?g ?turn ?run ?store WHERE { OPTIONAL { ${pattern} } }`,
    call,
  );
  if (!rows.some((row) => row[ASKED]))
    throw new GraphUnavailable("Something in front of the graph store answered a different question.");
  return rows.filter(({ turn }) => turn);
}

function markOf(rows: readonly Row[]): Mark {
  const turns = rows.map(({ turn }) => numberIn(turn));
  return {
    turn: turns.reduce((latest, turn) => (turn > latest ? turn : latest), 0n),
    run: onlyOne(rows, "run"),
    identity: onlyOne(rows, "store"),
    hasOverlap: new Set(turns).size > 1,
  };
}

function onlyOne(rows: readonly Row[], variable: string): string | undefined {
  const values = new Set(rows.map((row) => row[variable]?.value));
  return values.size === 1 ? [...values][0] : undefined;
}

/** @returns 0 for what no update of ours can have written */
function numberIn(term: Binding | undefined): Turn {
  return term?.datatype === `${XSD}integer` && /^[1-9]\d*$/.test(term.value) ? BigInt(term.value) : 0n;
}

/**
 * Whether the Graph Store Protocol shows an update that queries do not show: then queries are answered from a
 * copy that is behind, and the store has not refused anything.
 */
export async function isShownAsGraph(
  store: GraphStore,
  names: Names,
  turn: Turn,
  run: string,
  call?: CallOptions,
): Promise<boolean> {
  try {
    const answer = await store.getGraph(names.turnsGraph, { timeoutMs: 5_000, ...call });
    const text = answer ? await readAll(answer.body, LONGEST_MARK) : "";
    return text.includes(`"${turn}"`) && text.includes(run) && !text.includes(BEGUN);
  } catch (error) {
    if (error instanceof GraphUnavailable || error instanceof GraphRejected) return false;
    throw error;
  }
}

/** In bytes; the graph of the turns has only a few lines. */
const LONGEST_MARK = 65_536;
const TURN = "projectionTurn";
const RUN = "projectionRun";
const BEGUN = "projectionBegun";
const STORE = "projectionStore";

const turnIn = (names: Names, graph: string, object: string) => stored(names, graph, TURN, object);
const runIn = (names: Names, graph: string, object: string) => stored(names, graph, RUN, object);
const begunIn = (names: Names, graph: string, object: string) => stored(names, graph, BEGUN, object);
const storeIs = (names: Names, identity: string) => stored(names, names.turnsGraph, STORE, `"${identity}"`);

function stored(names: Names, graph: string, property: string, object: string): string {
  return `GRAPH <${graph}> { <${graph}> <${names.ns(property)}> ${object} }`;
}
