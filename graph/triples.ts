import type { NamedNode, Quad } from "@rdfjs/types";
import { DCTERMS, PROV, RDF, XSD } from "./namespaces.ts";
import type { Names, RecordKind } from "./namespaces.ts";
import { literal, namedNode, triple } from "./terms.ts";

/** What all three kinds of record have in common. Times are UTC text, as `toDateTime` takes it. */
interface CommonRow {
  org_uri: string;
  org_name: string;
  status: string;
  created_at: string;
  updated_at: string;
}

export interface NeedRow extends CommonRow {
  need_id: string;
  need_description: string;
  accelerators: readonly string[];
  concerns_people_group_rop3: readonly string[] | null;
  concerns_country_code: readonly string[] | null;
}

export interface CommitmentRow extends CommonRow {
  commitment_id: string;
  commitment_description: string;
  accelerator_scope: readonly string[];
  concerns_need_id: string | null;
  concerns_people_group_rop3: readonly string[] | null;
  concerns_country_code: readonly string[] | null;
  /** YYYY-MM-DD */
  target_completion_date: string | null;
}

export interface EngagementClaimRow extends CommonRow {
  claim_id: string;
  engagement_accelerators: readonly string[];
  people_group_rop3: string | null;
  people_group_name: string | null;
  people_group_rog3: string | null;
  country_code: string | null;
  country_name: string | null;
  description: string | null;
  fulfills_commitment_id: string | null;
}

/**
 * A record as the projection reads it. Columns that are not named here never reach the graph, the
 * e-mail addresses among them.
 */
export type ProjectedRecord =
  | { kind: "need"; row: NeedRow }
  | { kind: "commitment"; row: CommitmentRow }
  | { kind: "engagement_claim"; row: EngagementClaimRow };

/** IRI of the SKOS concept of an accelerator code, as the vocabulary has it. */
export type ConceptIris = ReadonlyMap<string, string>;

/** The resource of a record and everything the graph says of it. */
export interface RecordTriples {
  kind: RecordKind;
  id: string;
  iri: string;
  quads: Quad[];
}

/** Builds the triples of records; see graph/ontology.ttl for what each property means. */
export type TripleBuilder = (record: ProjectedRecord, concepts: ConceptIris) => RecordTriples;

/**
 * xsd:dateTime in canonical form, from UTC text such as `2026-01-31T08:00:00.120000`. Stores keep such
 * values as numbers and drop trailing zeros, so only the canonical form comes back as it was written.
 */
export function toDateTime(utc: string): string {
  return `${utc.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")}Z`;
}

/** Prepares the builder for one set of names, so that the constant terms are made once. */
export function createTripleBuilder(names: Names): TripleBuilder {
  const ns = (local: string) => namedNode(names.ns(local));
  const dateTime = namedNode(`${XSD}dateTime`);
  const date = namedNode(`${XSD}date`);
  const type = namedNode(`${RDF}type`);
  const identifier = namedNode(`${DCTERMS}identifier`);
  const modified = namedNode(`${DCTERMS}modified`);
  const attributedTo = namedNode(`${PROV}wasAttributedTo`);
  const generatedAt = namedNode(`${PROV}generatedAtTime`);
  const classes: Record<RecordKind, NamedNode> = {
    need: ns("Need"),
    commitment: ns("FulfillmentCommitment"),
    engagement_claim: ns("EngagementAttestation"),
  };
  const statuses: Record<RecordKind, NamedNode> = {
    need: ns("needStatus"),
    commitment: ns("commitmentStatus"),
    engagement_claim: ns("attestationStatus"),
  };
  const orgName = ns("orgName");
  const accelerator = ns("accelerator");
  const acceleratorCode = ns("acceleratorCode");
  const concernsPeopleGroup = ns("concernsPeopleGroup");
  const peopleGroupRop3 = ns("peopleGroupRop3");
  const concernsCountry = ns("concernsCountry");
  const countryCode = ns("countryCode");

  /** Collects the triples of one subject. */
  class Description implements RecordTriples {
    readonly kind: RecordKind;
    readonly id: string;
    readonly iri: string;
    readonly quads: Quad[] = [];
    readonly #subject: NamedNode;

    constructor(kind: RecordKind, id: string, row: CommonRow) {
      this.kind = kind;
      this.id = id;
      this.iri = names.record(kind, id);
      this.#subject = namedNode(this.iri);
      this.link(type, classes[kind]);
      this.text(identifier, id);
      this.link(attributedTo, namedNode(row.org_uri));
      this.text(orgName, row.org_name);
      this.text(statuses[kind], row.status);
      this.typed(generatedAt, toDateTime(row.created_at), dateTime);
      this.typed(modified, toDateTime(row.updated_at), dateTime);
    }

    link(predicate: NamedNode, object: NamedNode) {
      this.quads.push(triple(this.#subject, predicate, object));
    }

    /** Adds a plain literal; a value that is absent adds nothing. */
    text(predicate: NamedNode, value: string | null) {
      if (value !== null) this.quads.push(triple(this.#subject, predicate, literal(value)));
    }

    typed(predicate: NamedNode, value: string, datatype: NamedNode) {
      this.quads.push(triple(this.#subject, predicate, literal(value, datatype)));
    }

    record(predicate: NamedNode, kind: RecordKind, id: string | null) {
      if (id !== null) this.link(predicate, namedNode(names.record(kind, id)));
    }

    accelerators(codes: readonly string[], concepts: ConceptIris) {
      for (const code of new Set(codes)) {
        // A code that the vocabulary lacks still gets a link, for the load check to refuse by name.
        this.link(accelerator, namedNode(concepts.get(code) ?? names.ns(encodeURIComponent(code))));
        this.text(acceleratorCode, code);
      }
    }

    peopleGroups(codes: readonly string[]) {
      for (const code of new Set(codes)) {
        this.link(concernsPeopleGroup, namedNode(names.peopleGroup(code)));
        this.text(peopleGroupRop3, code);
      }
    }

    countries(codes: readonly string[]) {
      for (const code of new Set(codes)) {
        this.link(concernsCountry, namedNode(names.country(code)));
        this.text(countryCode, code);
      }
    }
  }

  const needDescription = ns("needDescription");
  const commitmentDescription = ns("commitmentDescription");
  const concernsNeed = ns("concernsNeed");
  const targetCompletionDate = ns("targetCompletionDate");
  const attestationDescription = ns("attestationDescription");
  const fulfillsCommitment = ns("fulfillsCommitment");
  const peopleGroupName = ns("peopleGroupName");
  const peopleGroupRog3 = ns("peopleGroupRog3");
  const countryName = ns("countryName");

  function need(row: NeedRow, concepts: ConceptIris): RecordTriples {
    const description = new Description("need", row.need_id, row);
    description.text(needDescription, row.need_description);
    description.accelerators(row.accelerators, concepts);
    description.peopleGroups(row.concerns_people_group_rop3 ?? []);
    description.countries(row.concerns_country_code ?? []);
    return description;
  }

  function commitment(row: CommitmentRow, concepts: ConceptIris): RecordTriples {
    const description = new Description("commitment", row.commitment_id, row);
    description.text(commitmentDescription, row.commitment_description);
    description.accelerators(row.accelerator_scope, concepts);
    description.record(concernsNeed, "need", row.concerns_need_id);
    description.peopleGroups(row.concerns_people_group_rop3 ?? []);
    description.countries(row.concerns_country_code ?? []);
    if (row.target_completion_date !== null) {
      description.typed(targetCompletionDate, row.target_completion_date, date);
    }
    return description;
  }

  function engagementClaim(row: EngagementClaimRow, concepts: ConceptIris): RecordTriples {
    const description = new Description("engagement_claim", row.claim_id, row);
    description.text(attestationDescription, row.description);
    description.accelerators(row.engagement_accelerators, concepts);
    description.record(fulfillsCommitment, "commitment", row.fulfills_commitment_id);
    description.peopleGroups(row.people_group_rop3 === null ? [] : [row.people_group_rop3]);
    description.text(peopleGroupName, row.people_group_name);
    description.text(peopleGroupRog3, row.people_group_rog3);
    description.countries(row.country_code === null ? [] : [row.country_code]);
    description.text(countryName, row.country_name);
    return description;
  }

  return (record, concepts) => {
    if (record.kind === "need") return need(record.row, concepts);
    if (record.kind === "commitment") return commitment(record.row, concepts);
    return engagementClaim(record.row, concepts);
  };
}
