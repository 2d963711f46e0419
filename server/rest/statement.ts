// A REST answer is what one statement of SQL says, run under the role of the key's scope.
import { escapeLiteral } from "pg";
import type pg from "pg";
import type { Identity } from "../identity/keys.ts";

/** What runs statements for a caller. */
export class Database {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /**
   * Runs one statement in one round trip, as the role of the caller's key (app_private.run_as).
   * @param statement SQL that returns one text; its $1 is `input` as jsonb
   * @param idempotencyKey the first answer for this key is given again
   * @returns the text, usually JSON to be passed on as it is; null when there was no row
   * @throws what PostgreSQL raised; apiErrorFrom knows what it means to callers
   */
  async answer(
    identity: Identity,
    statement: string,
    input: Record<string, unknown> = {},
    idempotencyKey?: string,
  ): Promise<string | null> {
    const { rows } = await this.#pool.query<{ answer: string | null }>({
      name: "run_as",
      text: "select app_private.run_as($1, $2, $3, $4, $5) as answer",
      values: [identity.scope, statement, JSON.stringify(input), identity.keyId, idempotencyKey ?? null],
    });
    return rows[0]?.answer ?? null;
  }
}

/** A list of records of a view in schema rest. */
export type ListQuery = {
  /** The view, which has a createdAt column. */
  view: string;
  /** The member of the answer that holds the items. */
  items: string;
  /** The column that breaks ties of createdAt. */
  id: string;
  /** A condition for each filter that a caller may give; $1 is the input. */
  filters: Record<string, string | ((value: unknown) => string)>;
};

/**
 * The filter of a status. The value stands in the statement as a literal, for PostgreSQL takes a parameter that it
 * has to cast to an enum for any value of it, and plans a rare status as if it were a common one.
 */
export function statusFilter(value: unknown): string {
  return `status = ${escapeLiteral(String(value))}`;
}

/**
 * The statement of a list: newest first, ties by id, with the total of all matches. Only the filters that were
 * given are in it, so that PostgreSQL plans for these and no others.
 */
export function listStatement(
  { view, items, id, filters }: ListQuery,
  input: Record<string, unknown>,
): string {
  const given = Object.entries(filters).filter(([name]) => input[name] !== undefined);
  const conditions = given.map(([name, filter]) =>
    typeof filter === "string" ? filter : filter(input[name]),
  );
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  return `
    select json_build_object(
      '${items}', coalesce((
        select json_agg(page) from (
          select * from ${view} ${where}
          order by "createdAt" desc, "${id}" desc
          limit ($1 ->> 'limit')::integer offset ($1 ->> 'offset')::bigint
        ) as page), '[]'),
      'total', (select count(*) from ${view} ${where}))::text`;
}

/**
 * The statement of one record: the item of the list, and what the load check found wrong where it refused it.
 * @param query.kind the record's kind in app_public.record_kind
 */
export function recordStatement({ view, id, kind }: { view: string; id: string; kind: string }): string {
  return `
    select case
      when item."graphStatus" <> 'rejected' then row_to_json(item)
      else (select row_to_json(refused) from (
        select item.*, app_public.record_graph_errors('${kind}', item."${id}") as "graphErrors") as refused)
    end::text
    from ${view} as item
    where item."${id}" = ($1 ->> '${id}')::uuid`;
}
