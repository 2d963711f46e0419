// What the graph says of itself: whose it is, and the last update that it took. Both are in the graph, so that a store
// that was exchanged, emptied or set back to an earlier state shows it, and so that an update can be seen to have
// arrived by asking for what only that update can have written.
//
// They also keep an update that arrives late from undoing a later one. A process that was killed, or cut off from the
// database, may still have an update under way while another process is already writing newer records. So updates are
// numbered, by numbers that only grow; in one step an update notes its number and writes, and it does nothing if the
// graph has seen a later one.
import type { Names } from "./namespaces.ts";
import { XSD } from "./namespaces.ts";
import { GraphRejected, GraphUnavailable } from "./store-errors.ts";
import { readAll } from "./store-http.ts";
import type { CallOptions, GraphStore } from "./store.ts";

/** The number of an update. */
export type Turn = bigint;

/** What a graph says of itself. */
export interface Mark {
  /** of the last update; 0 if it has seen none */
  turn: Turn;
  /** of the database that the graph belongs to; undefined if it says none, or several */
  identity: string | undefined;
  /** whether there are several numbers: an engine that does not put updates in order has run two at the same time */
  hasOverlap: boolean;
}

/** What an update must contain to be numbered. */
export interface Numbered {
  /** its first operation, which notes the number */
  note: string;
  /** the condition, for every other operation's WHERE, under which the update has an effect */
  condition: string;
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
 * nothing.
 * @param last the last update that the graph was seen to hold
 */
export function numbered(
  names: Names,
  { turn, identity, last }: { turn: Turn; identity: string; last: Turn },
): Numbered {
  const holds = `${statement(names, "Store", `"${identity}"`)} ${statement(names, "Turn", "?seen")} FILTER(?seen >= ${last})`;
  const later = `${statement(names, "Turn", "?later")} FILTER(?later > ${turn})`;
  const condition = `FILTER EXISTS { ${holds} } FILTER NOT EXISTS { ${later} }`;
  return {
    note: `DELETE { ${statement(names, "Turn", "?turn")} } INSERT { ${statement(names, "Turn", String(turn))} }
WHERE { ${condition} OPTIONAL { ${statement(names, "Turn", "?turn")} } }`,
    condition,
  };
}

/** The update that makes a graph the one of this identity, whatever it said before. */
export function adoption(names: Names, { turn, identity }: { turn: Turn; identity: string }): string {
  return `DROP SILENT GRAPH <${names.turnsGraph}> ;
INSERT DATA { ${statement(names, "Turn", String(turn))} ${statement(names, "Store", `"${identity}"`)} }`;
}

/**
 * What queries see of a graph's mark.
 * @throws GraphUnavailable, GraphRejected
 */
export async function readMark(store: GraphStore, names: Names, call?: CallOptions): Promise<Mark> {
  const rows = await store.select(
    `SELECT ?turn ?store WHERE { ${statement(names, "Turn", "?turn")} OPTIONAL { ${statement(names, "Store", "?store")} } }`,
    call,
  );
  const turns = rows.map(({ turn }) =>
    turn?.datatype === `${XSD}integer` && /^\d+$/.test(turn.value) ? BigInt(turn.value) : 0n,
  );
  const identities = new Set(rows.map(({ store: identity }) => identity?.value));
  return {
    turn: turns.reduce((latest, turn) => (turn > latest ? turn : latest), 0n),
    identity: identities.size === 1 ? [...identities][0] : undefined,
    hasOverlap: new Set(turns).size > 1,
  };
}

/**
 * Whether the other door for reading, the Graph Store Protocol's, shows an update that queries do not show: then
 * queries are answered from a copy that is behind, and the store has not refused anything.
 */
export async function isShownAsGraph(
  store: GraphStore,
  names: Names,
  turn: Turn,
  call?: CallOptions,
): Promise<boolean> {
  try {
    const answer = await store.getGraph(names.turnsGraph, { timeoutMs: 5_000, ...call });
    return answer !== undefined && (await readAll(answer.body)).includes(`"${turn}"`);
  } catch (error) {
    if (error instanceof GraphUnavailable || error instanceof GraphRejected) return false;
    throw error;
  }
}

function statement(names: Names, property: "Turn" | "Store", object: string): string {
  return `GRAPH <${names.turnsGraph}> { <${names.turnsGraph}> <${names.ns(`projection${property}`)}> ${object} }`;
}
