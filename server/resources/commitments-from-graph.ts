// Reads the content of commitments from the graph. The table decides which ones, in which order and how many.
import { itemReader } from "../../graph/items.ts";
import type { Names } from "../../graph/namespaces.ts";
import { ASKED } from "../../graph/store.ts";
import { commitment } from "../../records/commitment.ts";
import type { GraphReads } from "../graph-reads.ts";
import type { Identity } from "../identity/identity.ts";
import { itemOf } from "../rest/records.ts";

export const item = itemOf(commitment, "Commitment");

/** A commitment as the table has it. */
export type Commitment = Readonly<Record<string, unknown>> & {
  commitmentId: string;
  updatedAt: string;
  graphStatus: string;
};

/**
 * Replaces the table's values by the graph's, for the commitments that the graph holds in their present
 * state. Those that the table marks as synced, but that are missing or different in the graph, are shown as
 * pending: the verification that finds them comes later. The graph is asked even if it holds none of them, so
 * that the result always tells whether it answers.
 * @returns undefined when the graph does not answer
 */
export async function withGraphContent(
  graph: GraphReads,
  names: Names,
  commitments: readonly Commitment[],
  identity: Identity,
): Promise<Record<string, unknown>[] | undefined> {
  const synced = commitments.filter(({ graphStatus }) => graphStatus === "synced");
  const iriOf = ({ commitmentId }: Commitment) => names.record(commitment.kind, commitmentId);
  const inGraph = await describe(graph, names, synced.map(iriOf), identity);
  if (!inGraph) return undefined;
  const read = itemReader(commitment, names);
  return commitments.map((fromTable) => {
    if (fromTable.graphStatus !== "synced") return { ...fromTable };
    const properties = inGraph.get(iriOf(fromTable));
    return (properties && merge(fromTable, read(properties))) ?? { ...fromTable, graphStatus: "pending" };
  });
}

/** All properties of commitments, by IRI; undefined when the graph gives no answer. */
async function describe(
  graph: GraphReads,
  names: Names,
  iris: readonly string[],
  identity: Identity,
): Promise<Map<string, Map<string, string[]>> | undefined> {
  const query = `
    select ?${ASKED} ?commitment ?property ?value where {
      optional {
        values ?commitment { ${iris.map((iri) => `<${iri}>`).join(" ")} }
        graph <${names.graphs.commitment}> { ?commitment ?property ?value }
      }
    }`;
  const rows = await graph.select(query, identity);
  // A fresh answer always has this variable, even without commitments; any other may be to another query.
  if (!rows?.some((row) => row[ASKED])) return undefined;
  const described = new Map<string, Map<string, string[]>>();
  for (const { commitment: subject, property, value } of rows) {
    if (!subject || !property || !value) continue;
    const properties = described.get(subject.value) ?? new Map<string, string[]>();
    described.set(subject.value, properties);
    properties.set(property.value, [...(properties.get(property.value) ?? []), value.value]);
  }
  return described;
}

/** The commitment with the graph's values; undefined if those are from another moment, or damaged. */
function merge(
  fromTable: Commitment,
  fromGraph: Record<string, unknown>,
): Record<string, unknown> | undefined {
  // It may have been changed, and written to the graph, since the table was read: its status may not even match the filter.
  if (fromGraph["updatedAt"] !== fromTable.updatedAt) return undefined;
  const merged: Record<string, unknown> = { ...fromTable };
  for (const [name, value] of Object.entries(fromGraph)) {
    const known = fromTable[name];
    if (value === null && known !== null) return undefined;
    merged[name] = Array.isArray(value) && Array.isArray(known) ? inOrderOf(known, value) : value;
  }
  return item.safeParse(merged).success ? merged : undefined;
}

/** The codes in the order in which they were posted; undefined when one of these is missing. */
function inOrderOf(posted: readonly unknown[], codes: readonly unknown[]): unknown[] | undefined {
  if (posted.some((code) => !codes.includes(code))) return undefined;
  return [...posted, ...codes.filter((code) => !posted.includes(code))];
}
