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

/**
 * The statement for a list: newest first, ties by id, with the total of all matches. It contains only the filters
 * that were given, so that PostgreSQL plans for these and no others.
 */
export function listStatement({ record, items, filters }: ListQuery, input: Input): string {
  const given = Object.entries(filters).filter(([name]) => input[name] !== undefined);
  const conditions = given.map(([name, filter]) =>
    typeof filter === "string" ? filter : filter(input[name]),
  );
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  const view = `rest.${record.table}`;
  return `
    select json_build_object(
      '${items}', coalesce((
        select json_agg(page) from (
          select * from ${view} ${where}
          order by "createdAt" desc, "${idOf(record)}" desc
          limit ($1 ->> 'limit')::integer offset ($1 ->> 'offset')::bigint
        ) as page), '[]'),
      'total', (select count(*) from ${view} ${where}))::text`;
}
