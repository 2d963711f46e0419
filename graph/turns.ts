// What the graph says of itself: whose it is, and the last update that it took; and of each named graph, the last one that
// changed it. All of it is in the graph, so that a store that was exchanged, emptied or set back to an earlier state, as a
// whole or in one of its named graphs, shows it, and so that an update can be seen to have arrived by asking for what only
// that update can have written.
//
// They also keep an update that arrives late from undoing a later one. A process that was killed, or cut off from the
// database, may still have an update under way while another process is already writing newer records. So updates are
// numbered, by numbers that only grow; in one step an update notes its number and writes, and it does nothing if the
// graph has seen a later one. A graph that is sent whole cannot look before it writes. Its number is among its triples:
// when it comes late, or again, it brings back a number that is too small, and after that no update has an effect until
// what the graph has lost by it is known.
//
// Numbers alone can be the same in two histories: of a database that was restored and has been written since, or of another
// installation. So each drain also has a name that nobody else has, and stands by it beside the number. Of the whole it
// is written last, and until then as the one that has begun: by that an update knows itself from another one of the same
// number, and one of which only the beginning was applied is seen to lack its end.
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

/** The last update that each named graph was changed by, as far as is known. */
export type GraphTurns = ReadonlyMap<GraphName, Turn>;

/** An update as a graph names it. */
export interface Said {
  turn: Turn;
  /** of the drain; undefined if the graph says none, or several */
  run: string | undefined;
}

/** What named graphs say of the last update that changed them; a graph that says nothing is absent. */
export type GraphMarks = ReadonlyMap<GraphName, Said>;

/** What a graph says of itself. */
export interface Mark extends Said {
  /** of the last update; 0 if it has seen none */
  turn: Turn;
  /** of its drain; undefined also if the update was applied in part */
  run: string | undefined;
  /** of the database that the graph belongs to; undefined if it says none, or several */
  identity: string | undefined;
  /** whether there are several numbers: an engine that does not put updates in order has run two at the same time */
  hasOverlap: boolean;
}

/** What an update must contain to be numbered. */
export interface Numbered {
  /** its first operations, which note the number if the update may have an effect */
  note: string;
  /** a pattern, for the WHERE of every other operation, that matches once if the number was noted, and otherwise never */
  condition: string;
}

/** What a session may take for its own. */
export interface Origin {
  /** of the database */
  identity: string;
  /** of the drain */
  run: string;
  /** of the drains, this one included, that graphs may name */
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
 * What makes an update the one of this number, for the graph of this identity and no other, as long as it has lost
 * nothing. `close` is its last operation.
 * @param last the last update that the graph was seen to hold
 * @param graphs the named graphs that it changes, each with the last update that changed it as far as is known
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
    // What is later than was noted is of somebody who could not note it, and is looked after first (worker/watch.ts).
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

/** The condition that a graph has lost nothing that it was seen to hold, and has seen nothing later or of others. */
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

/** Has a graph say something else of itself. */
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
 * The update that makes a store the one of this identity, whatever it said before, and gives every graph in it this
 * number.
 * @param seen what the named graphs said when it was found out what they lack: one that says something else by now keeps
 * it, because it may lack more
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
  // What is no number of ours cannot be asked for as one, and nothing of ours brings it back.
  if (said.turn === 0n) return "";
  const run = said.run === undefined ? "" : runIn(names, graph, termText(literal(said.run)));
  return `${turnIn(names, graph, String(said.turn))} ${run}`;
}

/** What a named graph that is sent whole says of itself. */
export function markTriples(names: Names, name: GraphName, turn: Turn, run: string): Quad[] {
  const graph = namedNode(names.contents[name]);
  return [
    triple(graph, namedNode(names.ns(TURN)), literal(String(turn), namedNode(`${XSD}integer`))),
    triple(graph, namedNode(names.ns(RUN)), literal(run)),
  ];
}

/** A filter of `?s ?p ?o` in a named graph: everything but what the graph says of itself. */
export function exceptMark(names: Names, graph: string): string {
  const own = graph === names.turnsGraph ? [TURN, RUN, BEGUN, STORE] : [TURN, RUN];
  const predicates = own.map((local) => `<${names.ns(local)}>`).join(", ");
  return `FILTER(?s != ${termText(namedNode(graph))} || ?p NOT IN (${predicates}))`;
}

/**
 * What queries see of the mark of the whole.
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
 * What queries see of all marks at one moment. Of several numbers in one named graph the smallest counts: what followed
 * it may be lost.
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

/** Where the pattern holds, as the store sees it now: even where it holds nowhere, the answer shows that it is a new one. */
async function askedNow(store: GraphStore, pattern: string, call?: CallOptions): Promise<Row[]> {
  const rows = await store.select(
    `SELECT ?${ASKED} ?g ?turn ?run ?store WHERE { OPTIONAL { ${pattern} } }`,
    call,
  );
  if (!rows.some((row) => row[ASKED]))
    throw new GraphUnavailable("Something before the graph store answers another question.");
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
 * Whether the other door for reading, the Graph Store Protocol's, shows an update that queries do not show: then
 * queries are answered from a copy that is behind, and the store has not refused anything.
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

/** In bytes; a few lines in which the whole says of itself what it does. */
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
