import type { DatasetCore, Quad, Term } from "@rdfjs/types";
import { RDF } from "./namespaces.ts";

const RDF_TYPE = `${RDF}type`;

type Pattern = Term | null | undefined;

/** A short list of quads that can be queried like a dataset. */
class QuadList implements DatasetCore {
  readonly #quads: readonly Quad[];

  constructor(quads: readonly Quad[]) {
    this.#quads = quads;
  }

  get size(): number {
    return this.#quads.length;
  }

  [Symbol.iterator](): Iterator<Quad> {
    return this.#quads[Symbol.iterator]();
  }

  has(quad: Quad): boolean {
    return this.#quads.some((other) => other.equals(quad));
  }

  match(subject?: Pattern, predicate?: Pattern, object?: Pattern): QuadList {
    return new QuadList(
      this.#quads.filter(
        (quad) =>
          (!subject || subject.equals(quad.subject)) &&
          (!predicate || predicate.equals(quad.predicate)) &&
          (!object || object.equals(quad.object)),
      ),
    );
  }

  add(): this {
    throw new TypeError("the answer to a pattern is read-only");
  }

  delete(): this {
    throw new TypeError("the answer to a pattern is read-only");
  }
}

const NOTHING = new QuadList([]);

/**
 * The data graph of one load check, indexed by exactly what a SHACL validator asks for: the values of a
 * property, and the instances of a class. General-purpose stores are ten times slower at this.
 *
 * Records are what is checked. Context is what they point to: it can be seen from the records, but is
 * not among the instances of its class, because otherwise it would itself be checked as a record.
 */
export class BatchDataset implements DatasetCore {
  readonly #subjects = new Map<string, Map<string, Quad[]>>();
  readonly #instances = new Map<string, Quad[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  addRecord(quads: readonly Quad[]): void {
    for (const quad of quads) {
      this.add(quad);
      if (quad.predicate.value === RDF_TYPE) {
        const instances = this.#instances.get(quad.object.value);
        if (instances) instances.push(quad);
        else this.#instances.set(quad.object.value, [quad]);
      }
    }
  }

  addContext(quad: Quad): void {
    this.add(quad);
  }

  add(quad: Quad): this {
    let properties = this.#subjects.get(quad.subject.value);
    if (!properties) this.#subjects.set(quad.subject.value, (properties = new Map<string, Quad[]>()));
    const values = properties.get(quad.predicate.value);
    if (values) values.push(quad);
    else properties.set(quad.predicate.value, [quad]);
    this.#size += 1;
    return this;
  }

  match(subject?: Pattern, predicate?: Pattern, object?: Pattern): QuadList {
    if (subject) {
      const properties = this.#subjects.get(subject.value);
      if (!properties) return NOTHING;
      const quads = predicate ? (properties.get(predicate.value) ?? []) : [...properties.values()].flat();
      return object ? new QuadList(quads).match(null, null, object) : new QuadList(quads);
    }
    if (predicate?.value === RDF_TYPE && object) {
      return new QuadList(this.#instances.get(object.value) ?? []);
    }
    if (predicate?.value.startsWith("http://www.w3.org/2000/01/rdf-schema#")) return NOTHING;
    return new QuadList([...this]).match(null, predicate, object);
  }

  has(quad: Quad): boolean {
    return this.match(quad.subject, quad.predicate, quad.object).size > 0;
  }

  delete(): this {
    throw new TypeError("a batch only grows");
  }

  *[Symbol.iterator](): Iterator<Quad> {
    for (const properties of this.#subjects.values()) {
      for (const quads of properties.values()) yield* quads;
    }
  }
}

/**
 * A place in a dataset from which properties are followed: the few steps of the Clownface interface
 * that a SHACL validator uses on its data, without the bookkeeping that makes up most of their cost.
 */
export class BatchPointer {
  readonly dataset: BatchDataset;
  readonly terms: readonly Term[];

  constructor(dataset: BatchDataset, terms: readonly Term[] = []) {
    this.dataset = dataset;
    this.terms = terms;
  }

  get term(): Term | undefined {
    return this.terms.length === 1 ? this.terms[0] : undefined;
  }

  node(term: Term): BatchPointer {
    return new BatchPointer(this.dataset, [term]);
  }

  out(predicate: Term): BatchPointer {
    const objects: Term[] = [];
    for (const term of this.terms) {
      for (const quad of this.dataset.match(term, predicate)) objects.push(quad.object);
    }
    return new BatchPointer(this.dataset, objects);
  }

  in(predicate: Term): BatchPointer {
    const subjects: Term[] = [];
    for (const term of this.terms) {
      for (const quad of this.dataset.match(null, predicate, term)) subjects.push(quad.subject);
    }
    return new BatchPointer(this.dataset, subjects);
  }

  toArray(): BatchPointer[] {
    return this.terms.map((term) => this.node(term));
  }
}
