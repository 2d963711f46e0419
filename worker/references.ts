// The named graphs of the lists, each written in full when its list has changed.
import type { Quad } from "@rdfjs/types";
import type { enums } from "../db/catalog.ts";
import { documentTriples } from "../graph/documents.ts";
import type { ListName, Names } from "../graph/namespaces.ts";
import {
  acceleratorTriples,
  countryTriples,
  organizationTriples,
  peopleGroupTriples,
} from "../graph/reference-triples.ts";
import type { Organization } from "../graph/reference-triples.ts";
import type { Logger } from "pino";
import { requireUpdates } from "../graph/session.ts";
import type { GraphSession } from "../graph/session.ts";
import { GraphFailed, GraphUnavailable, GraphUnconfirmed } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import type { Accelerator, Country, PeopleGroup } from "../graph/skos.ts";
import { noteTurns } from "./marks.ts";
import type { Projector } from "./projection.ts";
import type { Queryable } from "./records.ts";
import { replaceGraph } from "./replace.ts";

/**
 * SQL conditions for the rows of a list that can be in the graph: one URI that a store refuses would keep out
 * the whole list, and older rows were not checked as closely.
 */
export const WRITABLE = {
  accelerators: "app_private.is_concept_uri(concept_uri)",
  organizations: "app_private.is_http_uri(org_uri)",
};

/** The triples of each list as the tables have them. */
const LISTS: Record<ListName, (db: Queryable, names: Names) => Promise<Iterable<Quad>>> = {
  accelerators: async (db, names) => {
    const { rows } = await db.query<Accelerator & { deprecated: boolean }>(
      `select code, concept_uri as "conceptUri", kind, pref_label as "prefLabel", definition,
         broader_code as "broaderCode", deprecated_at is not null as deprecated
       from app_public.accelerators where ${WRITABLE.accelerators} order by code`,
    );
    return acceleratorTriples(rows, names);
  },
  people_groups: async (db, names) => {
    const { rows } = await db.query<PeopleGroup>(
      "select rop3, name from app_public.people_groups order by rop3",
    );
    return peopleGroupTriples(rows, names);
  },
  countries: async (db, names) => {
    const { rows } = await db.query<Country>("select alpha2, name from app_public.countries order by alpha2");
    return countryTriples(rows, names);
  },
  organizations: async (db, names) => {
    const { rows } = await db.query<Organization>(
      `select org_uri as "orgUri", name, type, case when app_private.is_http_uri(website) then website end as website
       from app_public.organizations where status = 'active' and ${WRITABLE.organizations} order by org_uri`,
    );
    return organizationTriples(rows, names);
  },
  ontology: (db, names) => publishedTriples(db, names, "ontology"),
  shapes: (db, names) => publishedTriples(db, names, "shapes"),
};

/** The URIs of rows that are left out of a list, because no store would take them. */
const LEFT_OUT: Partial<Record<ListName, string>> = {
  accelerators: `select concept_uri as uri from app_public.accelerators where not ${WRITABLE.accelerators}`,
  organizations: `select org_uri as uri from app_public.organizations
    where status = 'active' and not ${WRITABLE.organizations}`,
};

async function tellLeftOut(db: Queryable, list: ListName, logger: Logger): Promise<void> {
  if (!LEFT_OUT[list]) return;
  const { rows } = await db.query<{ uri: string }>(`${LEFT_OUT[list]} order by 1 limit 20`);
  if (rows.length === 0) return;
  logger.warn({ list, uris: rows.map(({ uri }) => uri) }, "invalid URIs are left out of a list in the graph");
}

async function publishedTriples(db: Queryable, names: Names, document: ListName): Promise<Quad[]> {
  const { rows } = await db.query<{ document: string | null }>(
    "select document from app_private.graph_references where name = $1",
    [document],
  );
  return documentTriples(rows[0]?.document ?? "", document, names);
}

/** The triples that the graph should hold for a list. */
export async function referenceTriples(db: Queryable, names: Names, list: ListName): Promise<Quad[]> {
  return [...(await LISTS[list](db, names))];
}

/**
 * Writes the lists that have changed since the graph last had them, each as a whole. A list that cannot be
 * written although the store takes other changes stays dirty and is tried again later, less and less
 * often; nothing else waits for it.
 * @throws GraphUnavailable when the store takes nothing
 */
export async function writeDirtyReferences(
  { names }: Projector,
  db: Queryable,
  store: GraphStore,
  session: GraphSession,
  logger: Logger,
  signal?: AbortSignal,
): Promise<void> {
  const { rows } = await db.query<{ name: ListName; revision: string }>(
    // Leaves out lists that a writer is about to change: noting them would mean waiting for that writer.
    "select name, revision from app_private.due_references for no key update skip locked",
  );
  for (const { name, revision } of rows) {
    try {
      await tellLeftOut(db, name, logger);
      const subjects = portions(await referenceTriples(db, names, name));
      const { shown } = await replaceGraph({ store, session, names, name, subjects, signal });
      await noteTurns(db, new Map([[name, shown]]));
      await db.query("select app_private.note_list_written($1, $2)", [name, revision]);
    } catch (error) {
      if (signal?.aborted) throw error;
      await requireUpdates(session, undefined, signal);
      const [trouble, reason] = troubleOf(error);
      await db.query("select app_private.note_list_refused($1, $2, $3, $4)", [
        name,
        revision,
        trouble,
        reason,
      ]);
      logger.error({ err: error, list: name }, "a list could not be written to the graph");
    }
  }
}

/** The state of a graph that lacks a list for this reason. */
function troubleOf(error: unknown): [(typeof enums.graph_state)[number], string] {
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof GraphUnconfirmed) return ["unconfirmed", reason];
  const isAsFromNobody = error instanceof GraphUnavailable && !(error instanceof GraphFailed);
  return [isAsFromNobody ? "unavailable" : "behind", reason];
}

const SUBJECTS_PER_PORTION = 500;

async function* portions(quads: readonly Quad[]): AsyncGenerator<Quad[][]> {
  const subjects = [...Map.groupBy(quads, ({ subject }) => subject.value).values()];
  for (let start = 0; start < subjects.length; start += SUBJECTS_PER_PORTION) {
    yield subjects.slice(start, start + SUBJECTS_PER_PORTION);
  }
}
