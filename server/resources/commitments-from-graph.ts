// What commitments contain, read from the graph. Which ones, in which order and how many, the table has said before.
import { itemReader } from "../../graph/items.ts";
import type { Names } from "../../graph/namespaces.ts";
import { GraphRejected, GraphUnavailable } from "../../graph/store.ts";
import type { GraphStore } from "../../graph/store.ts";
import { commitment } from "../../records/commitment.ts";
import { itemOf } from "../rest/records.ts";

export const item = itemOf(commitment, "Commitment");

/** A commitment as the table has it. */
export type Commitment = Readonly<Record<string, unknown>> & {
  commitmentId: string;
  updatedAt: string;
  graphStatus: string;
};

// Longer than a healthy store takes, yet short enough for a caller to wait for.
const TIMEOUT_MS = 5_000;

/**
 * Puts what the graph says in place of what the table says, for those commitments that the graph holds as they are.
 * The graph is asked even if it holds none of them, so that the answer always tells whether it can be reached.
 * @returns undefined when it cannot
 */
export async function withGraphContent(
  store: GraphStore,
  names: Names,
  commitments: readonly Commitment[],
): Promise<Record<string, unknown>[] | undefined> {
  const synced = commitments.filter(({ graphStatus }) => graphStatus === "synced");
  const iriOf = ({ commitmentId }: Commitment) => names.record(commitment.kind, commitmentId);
  const inGraph = await describe(store, names, synced.map(iriOf));
  if (!inGraph) return undefined;
  const read = itemReader(commitment, names);
  return commitments.map((fromTable) => {
    const properties = fromTable.graphStatus === "synced" ? inGraph.get(iriOf(fromTable)) : undefined;
    return properties ? merge(fromTable, read(properties)) : { ...fromTable };
  });
}

/** All properties of commitments, by IRI; undefined when the graph gives no answer. */
async function describe(
  store: GraphStore,
  names: Names,
  iris: readonly string[],
): Promise<Map<string, Map<string, string[]>> | undefined> {
  const query = `
    select ?commitment ?property ?value where {
      values ?commitment { ${iris.map((iri) => `<${iri}>`).join(" ")} }
      graph <${names.graphs.commitment}> { ?commitment ?property ?value }
    }`;
  try {
    const described = new Map<string, Map<string, string[]>>();
    for (const { commitment: subject, property, value } of await store.select(query, {
      timeoutMs: TIMEOUT_MS,
    })) {
      if (!subject || !property || !value) continue;
      const properties = described.get(subject.value) ?? new Map<string, string[]>();
      described.set(subject.value, properties);
      properties.set(property.value, [...(properties.get(property.value) ?? []), value.value]);
    }
    return described;
  } catch (error) {
    // A store that refuses even this is of no more use than one that is down.
    if (error instanceof GraphUnavailable || error instanceof GraphRejected) return undefined;
    throw error;
  }
}

/** The commitment with the graph's values, unless what the graph says is of another moment, or damaged. */
function merge(fromTable: Commitment, fromGraph: Record<string, unknown>): Record<string, unknown> {
  // It has been changed, and written to the graph, since the table was read: its status may not even match the filter.
  if (fromGraph["updatedAt"] !== fromTable.updatedAt) return { ...fromTable };
  const merged: Record<string, unknown> = { ...fromTable };
  for (const [name, value] of Object.entries(fromGraph)) {
    const known = fromTable[name];
    if (value === null && known !== null) return { ...fromTable };
    merged[name] = Array.isArray(value) && Array.isArray(known) ? inOrderOf(known, value) : value;
  }
  return item.safeParse(merged).success ? merged : { ...fromTable };
}

/** The codes in the order in which they were posted; undefined when one of these is missing. */
function inOrderOf(posted: readonly unknown[], codes: readonly unknown[]): unknown[] | undefined {
  if (posted.some((code) => !codes.includes(code))) return undefined;
  return [...posted, ...codes.filter((code) => !posted.includes(code))];
}
