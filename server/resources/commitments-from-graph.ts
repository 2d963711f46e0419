// The list of commitments as the graph holds it.
import { itemReader } from "../../graph/items.ts";
import type { Names } from "../../graph/namespaces.ts";
import { GraphUnavailable } from "../../graph/store.ts";
import type { GraphStore, Row } from "../../graph/store.ts";
import { commitment } from "../../records/commitment.ts";
import type { Input } from "../rest/route.ts";
import { httpUri } from "../rest/schemas.ts";

/** A commitment, as far as the graph holds it. */
export type GraphCommitment = Record<string, unknown> & { commitmentId: string };

// Longer than a healthy store takes, yet short enough for a caller to wait for the table's answer as well.
const TIMEOUT_MS = 5_000;

/**
 * Reads a page of commitments from the graph, newest first, ties by id, and how many match in all.
 * @returns undefined when the graph cannot be reached
 */
export async function listFromGraph(
  store: GraphStore,
  names: Names,
  input: Input,
): Promise<{ commitments: GraphCommitment[]; total: number } | undefined> {
  // Something that is not a URI cannot belong to any organization.
  if (input["orgUri"] !== undefined && !httpUri.safeParse(input["orgUri"]).success)
    return { commitments: [], total: 0 };
  try {
    const [rows, counted] = await Promise.all([
      store.select(page(names, input), { timeoutMs: TIMEOUT_MS }),
      store.select(count(names, input), { timeoutMs: TIMEOUT_MS }),
    ]);
    return { commitments: assemble(names, rows), total: Number(counted[0]?.["total"]?.value ?? 0) };
  } catch (error) {
    if (error instanceof GraphUnavailable) return undefined;
    throw error;
  }
}

/** The filters on a commitment, to be appended to a property that every commitment has. */
function filters(names: Names, input: Input): string {
  const { orgUri, status, concernsNeedId } = input as Partial<Record<string, string>>;
  const { fields } = commitment;
  return [
    orgUri !== undefined && `; <${names.iri(fields.orgUri.graph)}> <${orgUri}>`,
    status !== undefined && `; <${names.iri(fields.status.graph)}> "${status}"`,
    concernsNeedId !== undefined &&
      `; <${names.iri(fields.concernsNeedId.graph.link)}> <${names.record("need", concernsNeedId.toLowerCase())}>`,
  ]
    .filter((condition) => condition !== false)
    .join(" ");
}

function count(names: Names, input: Input): string {
  const commitments = `?commitment a <${names.iri(commitment.class)}> ${filters(names, input)}`;
  return `select (count(*) as ?total) where { graph <${names.graphs.commitment}> { ${commitments} } }`;
}

/**
 * The query for a page. Stores sort times fast and IRIs slowly, so the time of the page's last commitment is found
 * first, and ties are broken by IRI only among those that are not older. (The last page may have no such time.)
 */
function page(names: Names, input: Input): string {
  const graph = `graph <${names.graphs.commitment}>`;
  const [limit, offset] = [Number(input["limit"]), Number(input["offset"])];
  const created = (subject: string, time: string) =>
    `${graph} { ${subject} <${names.iri(commitment.fields.createdAt.graph)}> ${time} ${filters(names, input)} }`;
  return `
    select ?commitment ?property ?value where {
      {
        select ?commitment where {
          optional {
            select ?oldest where { ${created("?any", "?oldest")} }
            order by desc(?oldest) limit 1 offset ${offset + limit - 1}
          }
          ${created("?commitment", "?created")}
          filter(!bound(?oldest) || ?created >= ?oldest)
        }
        order by desc(?created) desc(?commitment) limit ${limit} offset ${offset}
      }
      ${graph} { ?commitment ?property ?value }
    }`;
}

function assemble(names: Names, rows: readonly Row[]): GraphCommitment[] {
  const described = new Map<string, Map<string, string[]>>();
  for (const { commitment: subject, property, value } of rows) {
    if (!subject || !property || !value) continue;
    const properties = described.get(subject.value) ?? new Map<string, string[]>();
    described.set(subject.value, properties);
    properties.set(property.value, [...(properties.get(property.value) ?? []), value.value]);
  }
  const read = itemReader(commitment, names);
  return [...described.values()]
    .map((properties) => read(properties) as GraphCommitment)
    .toSorted(
      (a, b) =>
        order(instant(String(b["createdAt"])), instant(String(a["createdAt"]))) ||
        order(b.commitmentId, a.commitmentId),
    );
}

/** Times without their trailing zeros do not sort correctly as text; padded to microseconds they do. */
function instant(time: string): string {
  const [, seconds = "", fraction = ""] = /^([^.+]*)(?:\.(\d*))?/.exec(time) ?? [];
  return `${seconds}.${fraction.padEnd(6, "0")}`;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
