import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Quad, Term } from "@rdfjs/types";
import { Parser } from "n3";
import SHACLValidator from "rdf-validate-shacl";
import type { Options } from "rdf-validate-shacl";
import { BatchDataset, BatchPointer } from "./batch-dataset.ts";
import { DEFAULT_NAMESPACE, RDF, SHACL, rebase } from "./namespaces.ts";
import type { Names } from "./namespaces.ts";
import { RECORDS } from "../records/index.ts";
import { fieldsOf } from "../records/record.ts";
import type { RecordKind } from "../records/record.ts";
import { namedNode, triple } from "./terms.ts";
import type { RecordTriples } from "./triples.ts";

/** One reason for refusing a record; `path` is the wire name of the field, with an index in a list. */
export interface LoadError {
  path: string;
  message: string;
}

/** What the records of a batch may point to. */
export interface CheckContext {
  /** IRIs of the concepts of the accelerator scheme */
  concepts: Iterable<string>;
  /**
   * IRIs of the registered people groups that the batch names; undefined if there is no
   * registry and so all are accepted
   */
  peopleGroups: ReadonlySet<string> | undefined;
  /** the existing records that the batch points to */
  targets: Iterable<{ kind: RecordKind; iri: string }>;
}

/**
 * Checks a batch against the shapes.
 * @returns the errors of each refused record by its IRI; a record that is not listed has passed
 */
export type LoadCheck = (
  records: readonly RecordTriples[],
  context: CheckContext,
) => Promise<Map<string, LoadError[]>>;

/** The shapes as shipped: shapes.ttl, and the closed lists that are generated next to it. */
export function readShapes(): string {
  return ["shapes.ttl", "code-lists.ttl"]
    .map((file) => readFileSync(join(import.meta.dirname, file), "utf8"))
    .join("\n");
}

/**
 * Prepares the load check for one set of names.
 * @param shapes Turtle text, in the default namespace
 * @throws Error when a pattern in them is not a regular expression
 */
export function createLoadCheck(names: Names, shapes = readShapes()): LoadCheck {
  const shapeQuads = rebase(new Parser().parse(shapes), DEFAULT_NAMESPACE, names.namespaceUrl);
  requirePatterns(shapeQuads);
  // By default the validator stops looking at a node after fifty visits, and would miss any error from
  // there on; 0 removes the limit.
  const options: Options & { maxNodeChecks: number } = { maxNodeChecks: 0 };
  const validator = new SHACLValidator(new BatchDatasetOf(shapeQuads), options);
  const fields = describeFields(shapeQuads);

  const type = namedNode(`${RDF}type`);
  const accelerator = namedNode(names.ns("EngagementAccelerator"));
  const peopleGroup = namedNode(names.ns("PeopleGroup"));
  const toPeopleGroups = new Set(
    Object.values(RECORDS).flatMap((record) =>
      fieldsOf(record).flatMap(({ type: form, graph }) =>
        (form === "rop3" || form === "rop3s") && typeof graph === "object" && "link" in graph
          ? names.iri(graph.link)
          : [],
      ),
    ),
  );

  return async (records, context) => {
    const data = new BatchDataset();
    for (const record of records) data.addRecord(record.quads);
    for (const iri of context.concepts) data.addContext(triple(namedNode(iri), type, accelerator));
    for (const { kind, iri } of context.targets) {
      data.addContext(triple(namedNode(iri), type, namedNode(names.iri(RECORDS[kind].class))));
    }
    const known = context.peopleGroups ?? referenced(records, toPeopleGroups);
    for (const iri of known) data.addContext(triple(namedNode(iri), type, peopleGroup));

    const report = await validator.validate(new BatchPointer(data));
    const errors = new Map<string, LoadError[]>();
    if (report.conforms) return errors;
    const byIri = new Map(records.map((record) => [record.iri, record]));
    for (const result of report.results) {
      const record = byIri.get(result.focusNode?.value ?? "");
      if (!record) continue;
      const found = errors.get(record.iri) ?? [];
      errors.set(record.iri, found);
      const error = {
        path: pathOf(record, result.path, result.value, fields.get(result.sourceShape?.value ?? "")),
        message: messageOf(result.message, result.value),
      };
      // One broken value can violate several constraints on its field, yet there is only one thing to fix.
      if (!found.some((other) => other.path === error.path && other.message === error.message)) {
        found.push(error);
      }
    }
    return errors;
  };
}

/** The shapes graph, in the same kind of small dataset; a shape is never an instance that needs checking. */
class BatchDatasetOf extends BatchDataset {
  constructor(quads: readonly Quad[]) {
    super();
    this.addRecord(quads);
  }
}

/**
 * Checks the patterns at the start: the validator would find an invalid one only at the first record,
 * and then fail at every record.
 */
function requirePatterns(shapes: readonly Quad[]): void {
  for (const { subject, predicate, object } of shapes) {
    if (predicate.value !== `${SHACL}pattern`) continue;
    const of = (name: string) =>
      shapes.find((quad) => quad.subject.equals(subject) && quad.predicate.value === SHACL + name)?.object
        .value;
    try {
      RegExp(object.value, of("flags"));
    } catch (error) {
      const shape = of("name") ?? of("path") ?? subject.value;
      throw new Error(`The pattern of the shape ${shape} cannot be used: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}

interface Field {
  name: string;
  isList: boolean;
}

/** What the property shapes say about their fields, by shape. */
function describeFields(shapes: readonly Quad[]): Map<string, Field> {
  const fields = new Map<string, Field>();
  for (const { subject, predicate, object } of shapes) {
    if (predicate.value === `${SHACL}name`) {
      fields.set(subject.value, { name: object.value, isList: true });
    }
  }
  for (const { subject, predicate } of shapes) {
    const field = fields.get(subject.value);
    if (field && predicate.value === `${SHACL}maxCount`) field.isList = false;
  }
  return fields;
}

function* referenced(records: readonly RecordTriples[], predicates: ReadonlySet<string>): Iterable<string> {
  for (const record of records) {
    for (const quad of record.quads) if (predicates.has(quad.predicate.value)) yield quad.object.value;
  }
}

function pathOf(
  record: RecordTriples,
  path: Term | null | undefined,
  value: Term | null | undefined,
  field: Field | undefined,
): string {
  const name = field?.name ?? path?.value.replace(/^.*[#/]/, "") ?? "";
  if (!field?.isList || !value || !path) return name;
  const index = record.quads
    .filter((quad) => quad.predicate.value === path.value)
    .findIndex((quad) => quad.object.value === value.value);
  return index < 0 ? name : `${name}[${index}]`;
}

function messageOf(messages: readonly Term[], value: Term | null | undefined): string {
  const text = messages.map((message) => message.value).join(" ") || "The value is not allowed.";
  return value ? `${text} Found: ${value.value.slice(0, 200)}` : text;
}
