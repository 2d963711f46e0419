// Lists of records: what may be asked of them, and the statement that answers.
import type { Request, Response } from "express";
import { escapeLiteral } from "pg";
import { z } from "zod";
import { idOf } from "../../records/record.ts";
import type { RecordDescription } from "../../records/record.ts";
import type { Database } from "../database.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { Place } from "./cursor.ts";
import type { Input } from "./route.ts";
import { paging, searchText, timestamp } from "./schemas.ts";

/** A list of records. */
export type ListQuery = {
  record: RecordDescription;
  /** The member of the answer that holds the items. */
  items: string;
  /** A condition for each filter that a caller may give; $1 is the input. */
  filters: Record<string, Filter>;
};

type Filter = {
  /** Which records are meant, for readers of the API reference. */
  description: string;
  condition: string | ((value: unknown) => string);
  /** The argument of app_private.record_total with the same meaning; not all have totals together. */
  kept?: "org_uri" | "status" | "accelerator" | "country";
  /** Looks for a code in a list, or for words: an index finds such records, but in no order. */
  unordered?: true;
  /** The condition in the form in which that index has it, for lists that are filtered by a code as well. */
  withCode?: string;
};

export const orgUriFilter: Filter = {
  description: "Those of this organization.",
  condition: `"orgUri" = $1 ->> 'orgUri'`,
  withCode: `array["orgUri"] @> array[$1 ->> 'orgUri']`,
  kept: "org_uri",
};

/**
 * The filter on a status. The value is a literal in the statement, because PostgreSQL cannot estimate a parameter
 * that it has to cast to an enum, and would plan a rare status as if it were a common one.
 */
export const statusFilter: Filter = {
  description: "Those with this status.",
  condition: (value) => `status = ${escapeLiteral(String(value))}`,
  kept: "status",
};

/** A filter of every list; with it, records come in the order in which they were updated. */
const updatedSince: Filter = {
  description:
    "Those that were created or updated at this time or later, in the order of their updatedAt, the earliest first. A " +
    "change that took long to commit keeps the earlier time at which it was made; deletions do not appear. To keep a copy, " +
    "read GET /v0/changes.",
  condition: `"updatedAt" >= ($1 ->> 'updatedSince')::timestamptz`,
};

/** A filter of every list, the same as `search` in GraphQL. */
function withWords(record: RecordDescription): Filter {
  return {
    description:
      "Those that have all of these words, in any order, in their texts and in the names of their organization, people group and " +
      "country; case and accents aside, and the beginning of a word is enough. White space alone counts as left out.",
    condition: `"${idOf(record)}" in (
      select found.id from app_private.${record.table}_with_words($1 ->> 'q', 'q', false) as found)`,
    unordered: true,
  };
}

function filtersOf({ record, filters }: ListQuery): ListQuery["filters"] {
  return { ...filters, q: withWords(record), updatedSince };
}

/** What a caller may ask of a list: its filters, and which page. */
export function listInput(list: ListQuery, filters: Record<string, z.ZodType>): z.ZodObject {
  const forms = Object.entries({ ...filters, q: searchText, updatedSince: timestamp.optional() });
  const explained = forms.map(([name, form]) => {
    const { description } = filtersOf(list)[name]!;
    // In addition to the schema's own description, such as what each status means.
    return [name, form.meta({ param: { description } })];
  });
  return z
    .object({
      ...(Object.fromEntries(explained) as Record<string, z.ZodType>),
      ...paging,
      after: z
        .string()
        .optional()
        .meta({
          description:
            "Where the page before ended, as the header Link of its answer says: the next page, however far down the " +
            "list, as fast as the first, without losing or repeating records that were there. For the same filters, and " +
            "instead of offset.",
        }),
    })
    .superRefine((input: Input, context) => {
      if (input["after"] === undefined) return;
      if (!placeIn(list, input))
        context.addIssue({
          code: "custom",
          path: ["after"],
          message: "must be a cursor of this list and these filters",
        });
      if (input["offset"] !== 0)
        context.addIssue({
          code: "custom",
          path: ["offset"],
          message: "must not be given together with after",
        });
    });
}

/** The input by which a list is filtered, in a fixed order. */
function filteredBy(list: ListQuery, input: Input): unknown {
  return [list.record.kind, ...Object.keys(filtersOf(list)).map((name) => [name, input[name]])];
}

function placeIn(list: ListQuery, input: Input): Place | undefined {
  return readCursor(String(input["after"]), filteredBy(list, input));
}

/**
 * Reads a page of a list, and names the next one in the header Link.
 * @returns the JSON of the answer
 */
export async function readPage(
  database: Database,
  list: ListQuery,
  input: Input,
  { request, response }: { request: Request; response: Response },
): Promise<string> {
  const answer = (await database.read(request.identity, listStatement(list, input), input)) ?? "";
  const end = answer.indexOf("\n");
  const [at, id] = answer.slice(0, end).split(" ");
  if (id) {
    const after = cursorOf({ at: Number(at), id }, filteredBy(list, input));
    const given = ["limit", ...Object.keys(filtersOf(list))].filter((name) => input[name] !== undefined);
    const query = new URLSearchParams();
    for (const name of given) query.set(name, String(input[name]));
    query.set("after", after);
    response.links({ next: `${request.path}?${query.toString()}` });
  }
  return answer.slice(end + 1);
}

/**
 * The statement for a list: newest first, or in the order of updates, ties by id, with the total of all
 * matches. It contains only the filters that were given, so that PostgreSQL plans for these and no others.
 * The page is found by ids, which the indexes hold: other columns would be computed for every skipped row.
 * @returns SQL for one text: the place of the last item, if more follow, a line feed, and the answer's JSON
 */
export function listStatement(list: ListQuery, input: Input): string {
  const { record, items } = list;
  const given = Object.entries(filtersOf(list)).filter(([name]) => input[name] !== undefined);
  const hasCode = given.some(([, { unordered }]) => unordered);
  const conditions = given.map(([name, { condition, withCode }]) => {
    if (hasCode && withCode) return withCode;
    return typeof condition === "string" ? condition : condition(input[name]);
  });
  const view = `rest.${record.table}`;
  const id = `"${idOf(record)}"`;
  const isByUpdate = input["updatedSince"] !== undefined;
  const at = isByUpdate ? `"updatedAt"` : `"createdAt"`;
  const orderIn = (direction: "asc" | "desc") => (of: string) =>
    `order by ${of}.${at} ${direction}, ${of}.${id} ${direction}`;
  const [order, backwards] = isByUpdate
    ? [orderIn("asc"), orderIn("desc")]
    : [orderIn("desc"), orderIn("asc")];
  const place = input["after"] === undefined ? undefined : placeIn(list, input);
  const after = place
    ? [
        `(item.${at}, item.${id}) ${isByUpdate ? ">" : "<"} ` +
          `(timestamptz 'epoch' + ${place.at} * interval '1 microsecond', '${place.id}'::uuid)`,
      ]
    : [];
  const ids = (from: string, where: readonly string[]) =>
    `select item.${id}, item.${at} from ${from} as item ${where.length > 0 ? `where ${where.join(" and ")}` : ""}`;
  const page = (from: string, where: readonly string[]) => `
    (${ids(from, where)} ${order("item")}
     limit ($1 ->> 'limit')::integer + 1 offset ($1 ->> 'offset')::bigint)`;
  const total = keptTotal(record, given);
  const among = keptTotal(
    record,
    given.filter(([, { unordered }]) => !unordered),
  );
  // Records with a code are found in one of two ways: all of them by the code, and then sorted; or by reading
  // all records from the newest on, until enough have the code. PostgreSQL would have to guess which takes
  // fewer steps, and would read everything for a code that no record has; the totals tell.
  const areFew = "(select is_short from counted)";
  // Skipped rows have to be read, so pages of the second half are read from the end: the last is as fast as
  // the first. Not where the total counts records that the caller cannot see: it gives no positions then.
  const fromTheEnd = `
    (${ids(view, [...conditions, "(select is_late from counted)"])} ${backwards("item")}
     limit (select least(($1 ->> 'limit')::integer + 1, greatest(total - ($1 ->> 'offset')::bigint, 0)) from counted)
     offset (select greatest(total - ($1 ->> 'offset')::bigint - ($1 ->> 'limit')::integer - 1, 0) from counted))`;
  const found = !hasCode
    ? `counted as materialized (
         select total, total < 2 * ($1 ->> 'offset')::bigint and app_private.is_wholly_visible('${record.kind}') as is_late
         from (select ${total ?? `(select count(*) from (${ids(view, conditions)}) as matching)`} as total) as totals),
       page as materialized (
         ${page(view, [...conditions, ...after, "not (select is_late from counted)"])} union all ${fromTheEnd})`
    : total === undefined
      ? `matching as materialized (${ids(view, conditions)}),
         counted as materialized (select count(*) as total from matching),
         page as materialized ${page("matching", after)}`
      : `counted as materialized (
           select total, total::float8 ^ 2 <= among::float8 * (($1 ->> 'limit')::integer + ($1 ->> 'offset')::bigint) as is_short
           from (select ${total} as total, ${among} as among) as totals),
         matching as materialized (${ids(view, [...conditions, areFew])}),
         page as materialized (
           ${page("matching", after)} union all ${page(view, [...conditions, ...after, `not ${areFew}`])})`;
  return `
    with ${found},
    shown as materialized (select * from page ${order("page")} limit ($1 ->> 'limit')::integer)
    select coalesce((
        select concat_ws(' ', (extract(epoch from shown.${at}) * 1000000)::bigint, shown.${id}) from shown
        where (select count(*) from page) > ($1 ->> 'limit')::integer
        ${backwards("shown")} limit 1), '')
      || E'\\n'
      || json_build_object(
        '${items}', coalesce((
          select json_agg(item ${order("item")}) from shown join ${view} as item using (${id})), '[]'),
        'total', (select total from counted))`;
}

/** SQL for the stored total of a list; undefined where it has to be counted. */
function keptTotal(record: RecordDescription, given: readonly [string, Filter][]): string | undefined {
  const is = (argument: Filter["kept"]) => given.some(([, { kept }]) => kept === argument);
  if (is(undefined) || (is("org_uri") && (is("accelerator") || is("country")))) return undefined;
  const args = given.map(([name, { kept }]) => `${kept} => $1 ->> '${name}'`);
  return `app_private.record_total(${[`'${record.kind}'`, ...args].join(", ")})`;
}
