// The list of commitments as the graph has it.
import { GraphUnavailable } from "../../graph/store.ts";
import type { GraphStore, Row } from "../../graph/store.ts";
import { DCTERMS, PROV } from "../../graph/namespaces.ts";
import type { Names } from "../../graph/namespaces.ts";
import type { Input } from "./route.ts";
import { httpUri } from "./schemas.ts";

/** A commitment as far as the graph knows it: no e-mail, no projection state. Lists come in alphabetical order. */
export type GraphCommitment = {
  commitmentId: string;
  orgUri: string;
  orgName: string;
  commitmentDescription: string;
  acceleratorScope: string[];
  concernsNeedId: string | null;
  concernsPeopleGroupRop3: string[];
  concernsCountryCode: string[];
  targetCompletionDate: string | null;
  status: string;
  createdAt: string;
  updatedAt: string;
};

// Longer than a healthy store takes, short enough that a caller would still wait for the table.
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
  // What is no URI is no organization's.
  if (input["orgUri"] !== undefined && !httpUri.safeParse(input["orgUri"]).success)
    return { commitments: [], total: 0 };
  const pattern = matching(names, input);
  try {
    const [rows, counted] = await Promise.all([
      store.select(page(names, pattern, input), { timeoutMs: TIMEOUT_MS }),
      store.select(
        `select (count(*) as ?total) where { graph <${names.graphs.commitment}> { ${pattern} } }`,
        {
          timeoutMs: TIMEOUT_MS,
        },
      ),
    ]);
    return { commitments: assemble(names, rows), total: Number(counted[0]?.["total"]?.value ?? 0) };
  } catch (error) {
    if (error instanceof GraphUnavailable) return undefined;
    throw error;
  }
}

function matching(names: Names, input: Input): string {
  const conditions = [`?commitment a <${names.ns("FulfillmentCommitment")}>`];
  const { orgUri, status, concernsNeedId } = input as Partial<Record<string, string>>;
  if (orgUri !== undefined) conditions.push(`<${PROV}wasAttributedTo> <${orgUri}>`);
  if (status !== undefined) conditions.push(`<${names.ns("commitmentStatus")}> "${status}"`);
  if (concernsNeedId !== undefined) {
    conditions.push(`<${names.ns("concernsNeed")}> <${names.record("need", concernsNeedId.toLowerCase())}>`);
  }
  return conditions.join(" ; ");
}

function page(names: Names, pattern: string, input: Input): string {
  return `
    select ?commitment ?property ?value where {
      {
        select ?commitment where {
          graph <${names.graphs.commitment}> {
            ${pattern} ; <${PROV}generatedAtTime> ?created ; <${DCTERMS}identifier> ?id .
          }
        }
        order by desc(?created) desc(?id) limit ${Number(input["limit"])} offset ${Number(input["offset"])}
      }
      graph <${names.graphs.commitment}> { ?commitment ?property ?value }
    }`;
}

function assemble(names: Names, rows: readonly Row[]): GraphCommitment[] {
  const described = new Map<string, Map<string, string[]>>();
  for (const { commitment, property, value } of rows) {
    if (!commitment || !property || !value) continue;
    const properties = described.get(commitment.value) ?? new Map<string, string[]>();
    described.set(commitment.value, properties);
    properties.set(property.value, [...(properties.get(property.value) ?? []), value.value]);
  }
  const commitments = [...described].map(([iri, properties]): GraphCommitment => {
    const all = (property: string) => (properties.get(property) ?? []).toSorted();
    const one = (property: string) => properties.get(property)?.[0] ?? null;
    const text = (property: string) => one(property) ?? "";
    return {
      commitmentId: iri.slice(names.graphs.commitment.length),
      orgUri: text(`${PROV}wasAttributedTo`),
      orgName: text(names.ns("orgName")),
      commitmentDescription: text(names.ns("commitmentDescription")),
      acceleratorScope: all(names.ns("acceleratorCode")),
      concernsNeedId: one(names.ns("concernsNeed"))?.slice(names.graphs.need.length) ?? null,
      concernsPeopleGroupRop3: all(names.ns("peopleGroupRop3")),
      concernsCountryCode: all(names.ns("countryCode")),
      targetCompletionDate: one(names.ns("targetCompletionDate")),
      status: text(names.ns("commitmentStatus")),
      createdAt: asInTable(text(`${PROV}generatedAtTime`)),
      updatedAt: asInTable(text(`${DCTERMS}modified`)),
    };
  });
  return commitments.toSorted(
    (a, b) => order(instant(b.createdAt), instant(a.createdAt)) || order(b.commitmentId, a.commitmentId),
  );
}

/** A canonical xsd:dateTime in the form in which PostgreSQL writes it into JSON. */
function asInTable(dateTime: string): string {
  return dateTime.replace(/Z$/, "+00:00");
}

/** Times without their trailing zeros do not sort as text; with microseconds filled up they do. */
function instant(time: string): string {
  const [, seconds = "", fraction = ""] = /^([^.+]*)(?:\.(\d*))?/.exec(time) ?? [];
  return `${seconds}.${fraction.padEnd(6, "0")}`;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
