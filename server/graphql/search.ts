// Full-text search: an argument of every list of records, which ranks them unless another order is requested.
import type { ConnectionStep } from "postgraphile/grafast";
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import { RECORDS } from "../../records/index.ts";
import { columnOf, idOf } from "../../records/record.ts";
import type { RecordDescription } from "../../records/record.ts";
import { namesOrder } from "./paging.ts";

type Raw = { eval: () => unknown; evalIs: (value: unknown) => boolean };

/** Whether a list is searched; with white space it restricts nothing (db/rules/search.sql), but that is not known yet. */
export function isSearched(fieldArgs: { getRaw: (name: string) => unknown }): boolean {
  const $search = fieldArgs.getRaw("search") as Raw;
  return !$search.evalIs(undefined) && !$search.evalIs(null) && !$search.evalIs("");
}

export const SearchPlugin: GraphileConfig.Plugin = {
  name: "SearchPlugin",
  before: ["TotalsPlugin"],
  schema: {
    hooks: {
      GraphQLObjectType_fields_field_args(args, build, { scope }) {
        if (!scope.isPgFieldConnection || !recordOf(scope.pgFieldResource)) return args;
        return build.extend(
          args,
          {
            search: {
              type: build.graphql.GraphQLString,
              description:
                "Words that a record must have, in any order, in its texts and in the names of its organization, people group and " +
                "country; case and accents aside, and the beginning of a word is enough. The best match comes first, unless orderBy asks for another order; " +
                "where more than a thousand match, the newest thousand are ranked, and the others follow, newest first. White space alone counts as left out.",
            },
          },
          "Adding the search",
        );
      },
      GraphQLObjectType_fields_field(field, build, { scope }) {
        const { plan } = field;
        const record = scope.isPgFieldConnection ? recordOf(scope.pgFieldResource) : undefined;
        if (!record || !plan) return field;
        const { sql } = build;
        const { TYPES } = build.dataplanPg;
        const byDefault = JSON.stringify(["CREATED_AT_DESC", "PRIMARY_KEY_DESC"]);
        return {
          ...field,
          plan($parent, fieldArgs, info) {
            const $list = plan($parent, fieldArgs, info) as ConnectionStep<unknown>;
            if (!isSearched(fieldArgs)) return $list;
            const $records = $list.getSubplan() as unknown as PgSelectStep;
            const alias = sql.identifier(Symbol("found"));
            const found = sql.identifier("app_private", `${record.table}_with_words`);
            const order = (fieldArgs.getRaw("orderBy") as unknown as Raw).eval();
            const isRanked = !namesOrder(order) || JSON.stringify(order) === byDefault;
            const words = $records.placeholder(fieldArgs.getRaw("search") as never, TYPES.text);
            $records.join({
              type: "inner",
              from: sql`${found}(${words}, 'search', ${sql.literal(isRanked)})`,
              alias,
              conditions: [sql`${alias}.id = ${$records.alias}.${sql.identifier(columnOf(idOf(record)))}`],
            });
            if (isRanked)
              $records.orderBy({ fragment: sql`${alias}.rank`, codec: TYPES.float4, direction: "DESC" });
            return $list;
          },
        };
      },
    },
  },
};

// By the type of the rows: the list may be of a table, or of a function that returns its rows.
function recordOf(resource: unknown): RecordDescription | undefined {
  const { codec } = (resource ?? {}) as { codec?: { extensions?: { pg?: { name?: string } } } };
  return Object.values(RECORDS).find(({ table }) => table === codec?.extensions?.pg?.name);
}
