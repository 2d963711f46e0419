// What the worker reads from the tables: the rows of records, and the lists that they point to.
import type { ClientBase } from "pg";
import type { enums } from "../db/catalog.ts";
import type { Names } from "../graph/namespaces.ts";
import { RECORDS, RECORD_KINDS } from "../records/index.ts";
import { columnOf, fieldsOf, idOf } from "../records/record.ts";
import type { FieldType, RecordKind } from "../records/record.ts";
import type { CheckContext } from "../graph/load-check.ts";
import { WRITABLE } from "./references.ts";
import type { ConceptIris, ProjectedRecord } from "../graph/triples.ts";

/** Anything that runs queries: a connection, or a pool. */
export type Queryable = Pick<ClientBase, "query">;

/** A record at one revision; without `record` if its row has been deleted. */
export interface Revision {
  kind: RecordKind;
  id: string;
  revision: string;
  record: ProjectedRecord | undefined;
}

/** The lists, as far as a batch needs them. */
export interface Lists {
  concepts: ConceptIris;
  /** the ROP3 codes that are registered, of those asked for; undefined if there is no registry */
  peopleGroups: ReadonlySet<string> | undefined;
  /** the records that exist, of those asked for */
  targets: readonly { kind: RecordKind; id: string }[];
}

// Only the columns that reach the graph: what is not read here cannot get there.
const SOURCES = Object.fromEntries(
  RECORD_KINDS.map((kind) => {
    const description = RECORDS[kind];
    const columns = fieldsOf(description)
      .filter(({ graph }) => typeof graph === "string" || !("withheld" in graph))
      .map(({ type, column }) => asRead(type, column));
    const source = {
      table: `app_public.${description.table}`,
      key: columnOf(idOf(description)),
      columns: columns.join(", "),
    };
    return [kind, source];
  }),
) as Record<RecordKind, { table: string; key: string; columns: string }>;

function asRead(type: FieldType, column: string): string {
  if (type === "timestamp")
    return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') as ${column}`;
  // A JSON number would be rounded.
  return type === "number" ? `${column}::text` : column;
}

const rowAsJson = (kind: RecordKind) => {
  const { table, key, columns } = SOURCES[kind];
  return `when '${kind}' then
    (select row_to_json(found) from (select ${columns} from ${table} where ${key} = marked.record_id) as found)`;
};
const ROW = `case marked.kind ${RECORD_KINDS.map(rowAsJson).join(" ")} end`;

interface MarkedRow {
  kind: RecordKind;
  id: string;
  revision: string;
  row: ProjectedRecord["row"] | null;
}

function toRevision({ kind, id, revision, row }: MarkedRow): Revision {
  return { kind, id, revision, record: row === null ? undefined : { kind, row } };
}

/**
 * The records that have waited longest for the graph, with their rows, all read at the same moment.
 * @param onlyFree leaves out records that a writer holds, which takes a lock on each of the others
 */
export async function readDirty(db: Queryable, limit: number, onlyFree: boolean): Promise<Revision[]> {
  const dirty = (columns: string) =>
    `select ${columns} from app_private.dirty_records order by dirty_since limit $1`;
  // Locking a row reads its current version, which may be newer than what the rest of the statement sees.
  // A revision read that way would be noted as written with the content of the one before, so it is read
  // once more, from the snapshot.
  const marked = onlyFree
    ? `free as materialized (${dirty("kind, record_id")} for no key update skip locked), marked as (
         select kind, record_id, revision from free join app_private.graph_records using (kind, record_id)
       )`
    : `marked as materialized (${dirty("kind, record_id, revision")})`;
  const { rows } = await db.query<MarkedRow>({
    name: onlyFree ? "read_free" : "read_dirty",
    text: `with ${marked} select marked.kind, marked.record_id as id, marked.revision, ${ROW} as row from marked`,
    values: [limit],
  });
  return rows.map(toRevision);
}

/** The revision of a record that no trigger has seen. */
export const NEVER_MARKED = "0";

/** A record with its state in the graph, as read page by page. */
export interface PageRow extends Revision {
  state: (typeof enums.graph_status)[number];
}

async function readRows(
  db: Queryable,
  kind: RecordKind,
  condition: string,
  values: readonly unknown[],
): Promise<PageRow[]> {
  const { table, key, columns } = SOURCES[kind];
  const { rows } = await db.query<MarkedRow & Pick<PageRow, "state">>(
    `select '${kind}' as kind, page.${key} as id, coalesce(marked.revision, ${NEVER_MARKED}) as revision,
       coalesce(marked.state, 'pending') as state, row_to_json(page) as row
     from (select ${columns} from ${table} where ${key} ${condition}) as page
     left join app_private.graph_records as marked on marked.kind = '${kind}' and marked.record_id = page.${key}
     order by page.${key}`,
    [...values],
  );
  return rows.map((row) => ({ ...toRevision(row), state: row.state }));
}

/**
 * A page of all records of a kind in order of their ids.
 * @param after the last id of the previous page; undefined for the first page
 */
export function readPage(
  db: Queryable,
  kind: RecordKind,
  after: string | undefined,
  limit: number,
): Promise<PageRow[]> {
  const { key } = SOURCES[kind];
  return after === undefined
    ? readRows(db, kind, `is not null order by ${key} limit $1`, [limit])
    : readRows(db, kind, `> $2 order by ${key} limit $1`, [limit, after]);
}

/** Some records of a kind; those that do not exist are left out. */
export function readRecords(db: Queryable, kind: RecordKind, ids: readonly string[]): Promise<PageRow[]> {
  return readRows(db, kind, "= any ($1)", [ids]);
}

/**
 * Which of these records the graph may hold, with their states: those that exist, and
 * those that are yet to be removed.
 */
export async function existingIds(
  db: Queryable,
  kind: RecordKind,
  ids: readonly string[],
): Promise<Map<string, PageRow["state"]>> {
  const { table, key } = SOURCES[kind];
  const { rows } = await db.query<{ id: string; state: PageRow["state"] }>(
    `select asked.id, coalesce(marked.state, 'pending') as state
     from unnest($1::uuid[]) as asked (id)
     left join app_private.graph_records as marked on marked.kind = '${kind}' and marked.record_id = asked.id
     where marked.state = 'pending' or exists (select from ${table} as page where page.${key} = asked.id)`,
    [ids],
  );
  return new Map(rows.map(({ id, state }) => [id, state]));
}

/** The number of records of a kind. */
export async function countRecords(db: Queryable, kind: RecordKind): Promise<number> {
  const { rows } = await db.query<{ count: string }>(`select count(*) from ${SOURCES[kind].table}`);
  return Number(rows[0]!.count);
}

// $1 holds the people groups; the records of each kind follow.
const EXISTING = RECORD_KINDS.map(
  (kind, index) =>
    `select '${kind}' as kind, ${SOURCES[kind].key} as id from ${SOURCES[kind].table}
     where ${SOURCES[kind].key} = any ($${index + 2}::uuid[])`,
).join(" union all ");

type Reference = { column: string; to: RecordKind | "people_group" };

/** The columns by which a record refers to people groups and to other records. */
const REFERENCES = Object.fromEntries(
  RECORD_KINDS.map((kind) => [
    kind,
    fieldsOf(RECORDS[kind]).flatMap(({ type, column, graph }): Reference[] => {
      if (type === "rop3" || type === "rop3s") return [{ column, to: "people_group" }];
      return typeof graph === "object" && "to" in graph ? [{ column, to: graph.to }] : [];
    }),
  ]),
) as Record<RecordKind, Reference[]>;

/**
 * The lists for a batch. Must be read after the batch: a list that changes in between marks the records
 * concerned again.
 */
export async function readLists(db: Queryable, records: readonly Revision[]): Promise<Lists> {
  const peopleGroups = new Set<string>();
  const targets: Record<RecordKind, Set<string>> = {
    need: new Set(),
    commitment: new Set(),
    engagement_claim: new Set(),
  };
  for (const { record } of records) {
    if (!record) continue;
    for (const { column, to } of REFERENCES[record.kind]) {
      for (const value of [record.row[column] ?? []].flat()) {
        (to === "people_group" ? peopleGroups : targets[to]).add(String(value));
      }
    }
  }
  const { rows } = await db.query<{
    concepts: Record<string, string> | null;
    hasRegistry: boolean;
    peopleGroups: string[];
    targets: { kind: RecordKind; id: string }[] | null;
  }>({
    name: "read_lists",
    text: `
      select
        (select json_object_agg(code, concept_uri) from app_public.accelerators
         where ${WRITABLE.accelerators}) as concepts,
        exists (select from app_public.people_groups) as "hasRegistry",
        array(select rop3 from app_public.people_groups where rop3 = any ($1)) as "peopleGroups",
        (select json_agg(target) from (${EXISTING}) as target) as targets`,
    values: [[...peopleGroups], ...RECORD_KINDS.map((kind) => [...targets[kind]])],
  });
  const found = rows[0]!;
  return {
    concepts: new Map(Object.entries(found.concepts ?? {})),
    peopleGroups: found.hasRegistry ? new Set(found.peopleGroups) : undefined,
    targets: found.targets ?? [],
  };
}

/** The lists in the form that the load check takes. */
export function checkContext(lists: Lists, names: Names): CheckContext {
  return {
    concepts: lists.concepts.values(),
    peopleGroups: lists.peopleGroups && new Set([...lists.peopleGroups].map(names.peopleGroup)),
    targets: lists.targets.map(({ kind, id }) => ({ kind, iri: names.record(kind, id) })),
  };
}
