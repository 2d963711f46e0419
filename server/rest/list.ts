// The statement for a list of records.
import { escapeLiteral } from "pg";
import { idOf } from "../../records/record.ts";
import type { RecordDescription } from "../../records/record.ts";
import type { Input } from "./route.ts";

/** A list of records. */
export type ListQuery = {
  record: RecordDescription;
  /** The member of the answer that holds the items. */
  items: string;
  /** A condition for each filter that a caller may give; $1 is the input. */
  filters: Record<string, string | ((value: unknown) => string)>;
};

/**
 * The filter on a status. The value is a literal in the statement, because PostgreSQL cannot estimate a parameter
 * that it has to cast to an enum, and would plan a rare status as if it were a common one.
 */
export function statusFilter(value: unknown): string {
  return `status = ${escapeLiteral(String(value))}`;
}

// The filters by which totals are kept; see db/rules/record-totals.sql.
const KEPT: readonly string[] = ["orgUri", "status"];

/**
 * The statement for a list: newest first, ties by id, with the total of all matches. It contains only the filters
 * that were given, so that PostgreSQL plans for these and no others. The page is found by its ids, which the indexes
 * hold: what else an item has would be worked out for every row that is skipped as well.
 */
export function listStatement({ record, items, filters }: ListQuery, input: Input): string {
  const given = Object.entries(filters).filter(([name]) => input[name] !== undefined);
  const conditions = given.map(([name, filter]) =>
    typeof filter === "string" ? filter : filter(input[name]),
  );
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  const view = `rest.${record.table}`;
  const id = `"${idOf(record)}"`;
  const total = given.every(([name]) => KEPT.includes(name))
    ? `app_private.record_total('${record.kind}', $1 ->> 'orgUri', $1 ->> 'status')`
    : `(select count(*) from ${view} ${where})`;
  return `
    with page as materialized (
      select ${id} from ${view} ${where}
      order by "createdAt" desc, ${id} desc
      limit ($1 ->> 'limit')::integer offset ($1 ->> 'offset')::bigint
    )
    select json_build_object(
      '${items}', coalesce((
        select json_agg(item order by item."createdAt" desc, item.${id} desc)
        from page join ${view} as item using (${id})), '[]'),
      'total', ${total})::text`;
}
