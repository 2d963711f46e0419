// Writes revisions of records to the graph: build, check, write. Knows nothing about queues and locks.
import { createLoadCheck } from "../graph/load-check.ts";
import type { LoadCheck, LoadError } from "../graph/load-check.ts";
import { createNames } from "../graph/namespaces.ts";
import type { Names, NamesConfig } from "../graph/namespaces.ts";
import type { RecordKind } from "../records/record.ts";
import { requireUpdates } from "../graph/session.ts";
import type { GraphSession } from "../graph/session.ts";
import { GraphFailed, GraphRejected, GraphUnavailable } from "../graph/store.ts";
import { createTripleBuilder } from "../graph/triples.ts";
import type { RecordTriples, TripleBuilder } from "../graph/triples.ts";
import { createTurtleWriter, replaceRecords } from "../graph/turtle.ts";
import type { TurtleWriter } from "../graph/turtle.ts";
import type { Numbered, Turn } from "../graph/turns.ts";
import { noteTurns } from "./marks.ts";
import { checkContext, readLists } from "./records.ts";
import type { Queryable, Revision } from "./records.ts";

// In characters. Stores read a whole update before they start on it.
const LONGEST_UPDATE = 8_000_000;
// How often a record is tried before it is removed from the graph: the store, or a proxy,
// may have refused it only once.
const ATTEMPTS = 3;

/** What became of one revision: in the graph, refused, or (a deleted row) gone from it. */
interface Outcome {
  kind: RecordKind;
  id: string;
  revision: string;
  state: "synced" | "rejected" | "removed";
  errors: readonly LoadError[];
  /** whether the store refused it, which may not happen again */
  byStore: boolean;
}

/** An outcome that the store shows, with the number of its update. */
export type Confirmed = Outcome & { turn: Turn };

/** Everything that turns rows into triples, for one set of names. */
export interface Projector {
  names: Names;
  build: TripleBuilder;
  check: LoadCheck;
  writer: TurtleWriter;
}

/** Makes a projector; reads the shapes. */
export function createProjector(config: NamesConfig): Projector {
  const names = createNames(config);
  return {
    names,
    build: createTripleBuilder(names),
    check: createLoadCheck(names),
    writer: createTurtleWriter(names),
  };
}

/** Revisions that have been built and checked: what the graph should hold for them. */
export interface Prepared {
  accepted: { revision: Revision; triples: RecordTriples }[];
  refused: { revision: Revision; errors: readonly LoadError[] }[];
  /** revisions whose rows have been deleted */
  gone: Revision[];
}

/** Builds the triples of revisions and checks them against the shapes. */
export async function prepare(
  projector: Projector,
  db: Queryable,
  revisions: readonly Revision[],
): Promise<Prepared> {
  const lists = await readLists(db, revisions);
  const built: Prepared["accepted"] = [];
  const gone: Revision[] = [];
  for (const revision of revisions) {
    if (revision.record) built.push({ revision, triples: projector.build(revision.record, lists.concepts) });
    else gone.push(revision);
  }
  const errors = await projector.check(
    built.map(({ triples }) => triples),
    checkContext(lists, projector.names),
  );
  if (errors.size === 0) return { accepted: built, refused: [], gone };
  return {
    accepted: built.filter(({ triples }) => !errors.has(triples.iri)),
    refused: built
      .filter(({ triples }) => errors.has(triples.iri))
      .map(({ revision, triples }) => ({ revision, errors: errors.get(triples.iri) ?? [] })),
    gone,
  };
}

/**
 * Replaces what the graph holds for the prepared revisions, in one update. If the store refuses it or fails
 * on it, the revisions are halved until the records at fault are found, and the others are written. A record
 * is at fault if the store refuses it repeatedly, and takes other changes in between.
 * @throws GraphUnavailable when the store cannot be used now; some of the revisions may have been written
 */
export async function write(
  projector: Projector,
  session: GraphSession,
  prepared: Prepared,
  signal?: AbortSignal,
): Promise<Confirmed[]> {
  const { names, writer } = projector;
  const outcomes: Confirmed[] = [];
  const withdrawn = [
    ...prepared.refused.map(({ revision, errors }) => outcome(revision, "rejected", errors)),
    ...prepared.gone.map((revision) => outcome(revision, "removed")),
  ];
  async function send(accepted: Prepared["accepted"], withdrawals: readonly Outcome[]): Promise<void> {
    const update = (parts: Numbered) =>
      replaceRecords(
        writer,
        names,
        parts,
        accepted.map(({ triples }) => triples),
        withdrawals.map(({ kind, id }) => ({ kind, iri: names.record(kind, id) })),
      );
    const kinds = new Set(
      [...accepted.map(({ revision }) => revision), ...withdrawals].map(({ kind }) => kind),
    );
    const turn = await session.update(
      [...kinds],
      (parts) => withinLimit(update(parts), accepted.length),
      signal,
    );
    const written = [...withdrawals, ...accepted.map(({ revision }) => outcome(revision, "synced"))];
    outcomes.push(...written.map((each) => ({ ...each, turn })));
  }

  /** @returns why the store refused it, or failed on it */
  async function refusalOf(
    accepted: Prepared["accepted"],
    withdrawals: readonly Outcome[],
  ): Promise<GraphRejected | GraphFailed | undefined> {
    try {
      await send(accepted, withdrawals);
      return undefined;
    } catch (error) {
      if (error instanceof GraphRejected || error instanceof GraphFailed) return error;
      throw error;
    }
  }

  async function load(accepted: Prepared["accepted"], withdrawals: readonly Outcome[]): Promise<void> {
    const refusal = await refusalOf(accepted, withdrawals);
    if (refusal) await afterRefusal(accepted, withdrawals, refusal);
  }

  async function afterRefusal(
    accepted: Prepared["accepted"],
    withdrawals: readonly Outcome[],
    cause: GraphRejected | GraphFailed,
  ): Promise<void> {
    const [record] = accepted;
    if (!record) {
      // An update that only removes records contains nothing that a store could refuse for its content.
      throw new GraphUnavailable(`The graph store refuses every update: ${cause.message}`, { cause });
    }
    if (accepted.length > 1) {
      const middle = Math.ceil(accepted.length / 2);
      await load(accepted.slice(0, middle), withdrawals);
      await load(accepted.slice(middle), []);
      return;
    }
    let last = cause;
    for (let attempt = 2; attempt <= ATTEMPTS; attempt += 1) {
      // A store that fails on this as well is not failing because of the record.
      await requireUpdates(session, undefined, signal);
      const again = await refusalOf(accepted, withdrawals);
      if (!again) return;
      last = again;
    }
    const refusal = {
      path: "",
      message: `The graph store refused the record: ${last.message.slice(0, 300)}`,
    };
    const rejected = { ...outcome(record.revision, "rejected", [refusal]), byStore: true };
    await load([], [...withdrawals, rejected]);
  }

  if (prepared.accepted.length + withdrawn.length > 0) await load(prepared.accepted, withdrawn);
  return outcomes;
}

/** @throws GraphRejected for an update that is better sent in pieces */
function withinLimit(update: string, records: number): string {
  if (update.length <= LONGEST_UPDATE || records <= 1) return update;
  throw new GraphRejected(413, "The update is longer than a store should have to read at once.");
}

function outcome(revision: Revision, state: Outcome["state"], errors: readonly LoadError[] = []): Outcome {
  return { kind: revision.kind, id: revision.id, revision: revision.revision, state, errors, byStore: false };
}

/**
 * Notes what the graph now holds, for exactly the revisions that were written. Rows that a writer holds right
 * now are left out: they are about to get another revision, and neither side waits for the other. A removed
 * record keeps its row, as a reminder that the graph must hold nothing for it.
 * @returns how many were noted
 */
export async function noteOutcomes(db: Queryable, outcomes: readonly Confirmed[]): Promise<number> {
  const turns = new Map<RecordKind, Turn>();
  // In the order in which they were written.
  for (const { kind, turn } of outcomes) turns.set(kind, turn);
  await noteTurns(db, turns);
  const { rowCount } = await db.query({
    name: "note_outcomes",
    text: `
      with written as (
        select * from unnest(
          $1::app_public.record_kind[], $2::uuid[], $3::bigint[], $4::app_public.graph_status[], $5::jsonb[], $6::bigint[], $7::boolean[]
        ) as w (kind, record_id, revision, state, errors, turn, by_store)
      ), free as materialized (
        select r.kind, r.record_id, w.revision, w.state, w.errors, w.turn, w.by_store
        from app_private.graph_records as r
        join written as w on r.kind = w.kind and r.record_id = w.record_id
        where r.revision = w.revision
        for no key update of r skip locked
      )
      update app_private.graph_records as r
      set synced_revision = f.revision, synced_at = now(), dirty_since = null, state = f.state, errors = f.errors,
        turn = f.turn,
        refusals = case when f.by_store then r.refusals + 1 else 0 end,
        -- It has been sent three times already.
        retry_at = case when f.by_store then now() + app_private.retry_after(r.refusals + 4) end
      from free as f
      where r.kind = f.kind and r.record_id = f.record_id`,
    values: [
      outcomes.map((each) => each.kind),
      outcomes.map((each) => each.id),
      outcomes.map((each) => each.revision),
      outcomes.map((each) => (each.state === "removed" ? "synced" : each.state)),
      outcomes.map((each) => JSON.stringify(each.errors)),
      outcomes.map((each) => each.turn),
      outcomes.map((each) => each.byStore),
    ],
  });
  return rowCount ?? 0;
}

/** Marks records whose state in the graph has become uncertain, or that were never marked at all. */
export async function markAgain(db: Queryable, kind: RecordKind, ids: readonly string[]): Promise<void> {
  await db.query("select app_private.mark_records($1, $2)", [kind, ids]);
}
