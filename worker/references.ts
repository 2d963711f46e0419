// The named graphs of the controlled lists, each written in full when its list has changed.
import type { Quad } from "@rdfjs/types";
import { choices } from "../db/catalog.ts";
import type { Names } from "../graph/namespaces.ts";
import { acceleratorTriples, countryTriples, peopleGroupTriples } from "../graph/reference-triples.ts";
import type { Logger } from "pino";
import type { GraphSession } from "../graph/session.ts";
import { GraphRejected } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import type { Turn } from "../graph/turns.ts";
import type { Accelerator, Country, PeopleGroup } from "../graph/skos.ts";
import type { Projector } from "./projection.ts";
import type { Queryable } from "./records.ts";
import { replaceGraph } from "./replace.ts";

/** A controlled list with a named graph of its own, as `graph_references` names it. */
export type Reference = (typeof REFERENCES)[number];

export const REFERENCES = choices["graph_references.name"];

/** What each list is in the graph: its named graph, and its triples as the tables have them. */
const LISTS: Record<
  Reference,
  {
    graph: "acceleratorsGraph" | "peopleGroupsGraph" | "countriesGraph";
    triples: (db: Queryable, names: Names) => Promise<Iterable<Quad>>;
  }
> = {
  accelerators: {
    graph: "acceleratorsGraph",
    triples: async (db, names) => {
      const { rows } = await db.query<Accelerator & { deprecated: boolean }>(
        `select code, concept_uri as "conceptUri", kind, pref_label as "prefLabel", definition,
           broader_code as "broaderCode", deprecated_at is not null as deprecated
         from app_public.accelerators order by code`,
      );
      return acceleratorTriples(rows, names);
    },
  },
  people_groups: {
    graph: "peopleGroupsGraph",
    triples: async (db, names) => {
      const { rows } = await db.query<PeopleGroup>(
        "select rop3, name from app_public.people_groups order by rop3",
      );
      return peopleGroupTriples(rows, names);
    },
  },
  countries: {
    graph: "countriesGraph",
    triples: async (db, names) => {
      const { rows } = await db.query<Country>(
        "select alpha2, name from app_public.countries order by alpha2",
      );
      return countryTriples(rows, names);
    },
  },
};

/** IRI of the named graph of a list. */
export function referenceGraph(names: Names, reference: Reference): string {
  return names[LISTS[reference].graph];
}

/** What the graph should hold for a list. */
export async function referenceTriples(db: Queryable, names: Names, reference: Reference): Promise<Quad[]> {
  return [...(await LISTS[reference].triples(db, names))];
}

/** Writes the lists that have changed since the graph last had them, each as a whole. */
export async function writeDirtyReferences(
  { names }: Projector,
  db: Queryable,
  store: GraphStore,
  session: GraphSession,
  logger: Logger,
  signal?: AbortSignal,
): Promise<void> {
  const { rows } = await db.query<{ name: Reference; revision: string }>(
    "select name, revision from app_private.dirty_references",
  );
  for (const { name, revision } of rows) {
    let written: { turn: Turn; triples: number } | undefined;
    try {
      const subjects = portions(await referenceTriples(db, names, name));
      written = await replaceGraph({ store, session, graph: referenceGraph(names, name), subjects, signal });
    } catch (error) {
      // Sending it again would not help, and records must not wait for it; `graph verify` will report it.
      if (!(error instanceof GraphRejected)) throw error;
      logger.error({ err: error, list: name }, "the graph store refused a list");
    }
    await db.query(
      `with store as (update app_private.graph_store set turn = greatest(turn, $3))
       update app_private.graph_references set synced_revision = $2, synced_at = now(), turn = $3, triples = $4
       where name = $1`,
      [name, revision, written && String(written.turn), written?.triples],
    );
  }
}

const SUBJECTS_PER_PORTION = 500;

async function* portions(quads: readonly Quad[]): AsyncGenerator<Quad[][]> {
  const subjects = [...Map.groupBy(quads, ({ subject }) => subject.value).values()];
  for (let start = 0; start < subjects.length; start += SUBJECTS_PER_PORTION) {
    yield subjects.slice(start, start + SUBJECTS_PER_PORTION);
  }
}
