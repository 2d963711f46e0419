// What the graph must say about each record, read from the tables by SQL alone. It implements the contract
// and graph/ontology.ttl a second time on purpose: the code that counts errors shares nothing with the
// code that projects and verifies.
import type { Counted } from "./service.ts";
import type { Kind } from "./writer.ts";

export const DATA = "https://data.example.org";
export const NS = "https://ontology.example.org/core#";
export const MODIFIED = "http://purl.org/dc/terms/modified";

/** Named graph of each kind; the IRI of a record is this and its id. */
export const GRAPHS: Record<Kind, string> = {
  need: `${DATA}/needs/`,
  commitment: `${DATA}/commitments/`,
  engagement_claim: `${DATA}/engagement-claims/`,
};

/** Everything that the graph must say about one record. */
export type Expected = { facts: ReadonlySet<string>; modified: string };

export const iri = (value: string): string => `<${value}>`;
export const text = (value: string, datatype = ""): string => `"${value}"${datatype && `^^<${datatype}>`}`;
/** Whether two sets have the same elements. */
export const same = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((each) => other.has(each));

export const fact = (predicate: string, object: string): string => `${predicate} ${object}`;

const XSD = "http://www.w3.org/2001/XMLSchema#";
const PROV = "http://www.w3.org/ns/prov#";
const DCT = "http://purl.org/dc/terms/";

type Value = string | null;
type Row = { id: string; said: [predicate: string, form: string, values: Value[]][]; modified: string };

// A time as XSD writes it canonically.
const time = (column: string) =>
  `rtrim(rtrim(to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z'`;
const said = (predicate: string, form: string, values: string) =>
  `jsonb_build_array('${predicate}', '${form}', to_jsonb(${values}))`;
const one = (predicate: string, form: string, column: string) =>
  said(predicate, form, `array[${column}::text]`);
const coded = (link: string, form: string, code: string, values: string) => [
  said(`${NS}${link}`, form, values),
  said(`${NS}${code}`, "text", values),
];

const common = (id: string, className: string, codes: string, status: string) => [
  one("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "iri", `'${NS}${className}'`),
  one(`${DCT}identifier`, "text", id),
  one(`${PROV}wasAttributedTo`, "iri", "org_uri"),
  one(`${NS}orgName`, "text", "org_name"),
  one(`${NS}${status}`, "text", "status"),
  one(`${PROV}generatedAtTime`, "dateTime", time("created_at")),
  one(MODIFIED, "dateTime", time("updated_at")),
  ...coded("accelerator", "concept", "acceleratorCode", codes),
];
const concerned = (rop3: string, country: string) => [
  ...coded("concernsPeopleGroup", "rop3", "peopleGroupRop3", rop3),
  ...coded("concernsCountry", "country", "countryCode", country),
];

const STATEMENTS: Record<Kind, { table: string; id: string; says: string[] }> = {
  need: {
    table: "needs",
    id: "need_id",
    says: [
      ...common("need_id", "Need", "accelerators", "needStatus"),
      ...concerned("concerns_people_group_rop3", "concerns_country_code"),
      one(`${NS}needDescription`, "text", "need_description"),
    ],
  },
  commitment: {
    table: "commitments",
    id: "commitment_id",
    says: [
      ...common("commitment_id", "FulfillmentCommitment", "accelerator_scope", "commitmentStatus"),
      ...concerned("concerns_people_group_rop3", "concerns_country_code"),
      one(`${NS}commitmentDescription`, "text", "commitment_description"),
      one(`${NS}targetCompletionDate`, "date", "target_completion_date"),
      one(`${NS}concernsNeed`, "need", "concerns_need_id"),
    ],
  },
  engagement_claim: {
    table: "engagement_claims",
    id: "claim_id",
    says: [
      ...common("claim_id", "EngagementAttestation", "engagement_accelerators", "attestationStatus"),
      ...concerned("array[people_group_rop3]", "array[country_code]"),
      one(`${NS}peopleGroupName`, "text", "people_group_name"),
      one(`${NS}peopleGroupRog3`, "text", "people_group_rog3"),
      one(`${NS}countryName`, "text", "country_name"),
      one(`${NS}attestationDescription`, "text", "description"),
      one(`${NS}fulfillsCommitment`, "commitment", "fulfills_commitment_id"),
    ],
  },
};

/**
 * Reads what the graph must say, by the IRI of the record.
 * @param ids only these records, and of them only those that the service calls synced
 */
export async function readExpected(
  { sql }: Counted,
  kind: Kind,
  ids?: readonly string[],
): Promise<Map<string, Expected>> {
  const concepts = new Map(
    (
      await sql<{ code: string; uri: string }>("select code, concept_uri as uri from app_public.accelerators")
    ).map(({ code, uri }) => [code, uri]),
  );
  const { table, id, says } = STATEMENTS[kind];
  const rows = await sql<Row>(
    `select ${id} as id, jsonb_build_array(${says.join(", ")}) as said, ${time("updated_at")} as modified
     from app_public.${table}
     where $1::uuid[] is null
       or (${id} = any ($1) and app_public.record_graph_status('${kind}', ${id}) = 'synced')`,
    [ids ?? null],
  );
  const written = (form: string, value: string): string => {
    switch (form) {
      case "iri":
        return iri(value);
      case "concept":
        return iri(concepts.get(value) ?? value);
      case "rop3":
        return iri(`${DATA}/his/rop3/${value}`);
      case "country":
        return iri(`${DATA}/iso3166/${value}`);
      case "need":
      case "commitment":
        return iri(GRAPHS[form] + value);
      case "text":
        return text(value);
      default:
        return text(value, XSD + form);
    }
  };
  return new Map(
    rows.map(({ id, said, modified }) => {
      const facts = said.flatMap(([predicate, form, values]) =>
        values.flatMap((value) => (value === null ? [] : [fact(predicate, written(form, value))])),
      );
      return [GRAPHS[kind] + id, { facts: new Set(facts), modified }];
    }),
  );
}
