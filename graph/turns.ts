// Keeps an update that arrives late from undoing a later one. A process that was killed, or cut off from the
// database, may still have an update under way while another process is already writing newer records. So each
// drain has a turn, a number that only grows; in one step an update notes its turn and writes, and it does
// nothing if the graph has seen a later turn.
import type { Names } from "./namespaces.ts";
import { XSD } from "./namespaces.ts";
import type { GraphStore } from "./store.ts";

/** The number of a drain. */
export type Turn = bigint;

/** The update operation that notes a turn, unless a later one has been noted. */
export function takeTurn(names: Names, turn: Turn): string {
  const place = noted(names);
  return `DELETE { ${place("?turn")} } INSERT { ${place(String(turn))} }
WHERE { ${unlessTurnIsOver(names, turn)} OPTIONAL { ${place("?turn")} } }`;
}

/** The condition under which operations of a turn have an effect. */
export function unlessTurnIsOver(names: Names, turn: Turn): string {
  return `FILTER NOT EXISTS { ${noted(names)("?later")} FILTER(?later > ${turn}) }`;
}

/** The turn that a store has noted; 0 if there is none. */
export async function readTurn(store: GraphStore, names: Names): Promise<Turn> {
  const rows = await store.select(`SELECT ?turn WHERE { ${noted(names)("?turn")} }`);
  return rows.reduce((latest, row) => {
    const turn = row["turn"];
    const value = turn?.datatype === `${XSD}integer` ? BigInt(turn.value) : 0n;
    return value > latest ? value : latest;
  }, 0n);
}

const noted = (names: Names) => (turn: string) =>
  `GRAPH <${names.turnsGraph}> { <${names.turnsGraph}> <${names.ns("projectionTurn")}> ${turn} }`;
