// How many groups grouped aggregates return, and in which order.
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import type { Step } from "postgraphile/grafast";
import type { GraphQLEnumType } from "postgraphile/graphql";
import { sql } from "postgraphile/pg-sql2";
import { groupedBy } from "./group-keys.ts";
import { countIn, needRecords } from "./totals.ts";

/** Groups that are returned when `first` is not given. */
export const GROUPS_DEFAULT = 100;
/** The most that `first` may ask for; measure.ts refuses more. */
export const GROUPS_MAX = 1_000;

const BY_COUNT = {
  COUNT_DESC: "The largest groups first.",
  COUNT_ASC: "The smallest groups first.",
};
// A month comes before the next one, since all its records do.
const BY_TIME = {
  OLDEST: "By the oldest record of each group, as months follow one another.",
  NEWEST: "By the newest record of each group, the latest first.",
};
type Order = keyof typeof BY_COUNT | keyof typeof BY_TIME;

/** The column that says when a record was created. */
const dateOf = (codec: { attributes?: object | undefined }) =>
  ["created_at", "changed_at"].find((name) => name in (codec.attributes ?? {}));

/** Operators for conditions on a group's number of records. */
const COMPARISONS = {
  equalTo: [sql`=`, "As many."],
  greaterThan: [sql`>`, "More."],
  greaterThanOrEqualTo: [sql`>=`, "As many or more."],
  lessThan: [sql`<`, "Fewer."],
  lessThanOrEqualTo: [sql`<=`, "As many or fewer."],
} as const;
const COUNT_FILTER = "GroupCountFilter";
const HAVING = "GroupHaving";
type Having = { count?: Partial<Record<keyof typeof COMPARISONS, number | null>> | null } | null | undefined;

const orderType = (
  build: GraphileBuild.Build,
  table: NonNullable<GraphileBuild.ScopeEnum["pgTypeResource"]>,
) => `${build.inflection.tableType(table.codec)}GroupOrderBy`;

export const GroupsPlugin: GraphileConfig.Plugin = {
  name: "GroupsPlugin",
  after: ["PgAggregatesAddConnectionGroupedAggregatesPlugin"],
  schema: {
    hooks: {
      init(_, build) {
        const { GraphQLInt } = build.graphql;
        build.registerInputObjectType(
          COUNT_FILTER,
          {},
          () => ({
            description: "Numbers of records.",
            fields: Object.fromEntries(
              Object.entries(COMPARISONS).map(([name, [, description]]) => [
                name,
                { type: GraphQLInt, description },
              ]),
            ),
          }),
          "Conditions on counts",
        );
        build.registerInputObjectType(
          HAVING,
          {},
          () => ({
            description: "Which groups are wanted.",
            fields: () => ({
              count: {
                type: build.getInputTypeByName(COUNT_FILTER),
                description: "Groups with this many records.",
              },
            }),
          }),
          "Conditions on groups",
        );
        for (const table of Object.values(build.input.pgRegistry.pgResources)) {
          if (table.parameters || !build.behavior.pgResourceMatches(table, "resource:groupedAggregates"))
            continue;
          const values = { ...BY_COUNT, ...(dateOf(table.codec) !== undefined && BY_TIME) };
          build.registerEnumType(
            orderType(build, table),
            {},
            () => ({
              description: "The order of groups.",
              values: Object.fromEntries(
                Object.entries(values).map(([name, description]) => [name, { description }]),
              ),
            }),
            "Orders of groups",
          );
        }
        return _;
      },
      GraphQLObjectType_fields_field(field, build, context) {
        const { pgTypeResource, pgCodec, fieldName } = context.scope;
        const { plan } = field;
        if (fieldName !== "groupedAggregates" || !plan) return field;
        const table =
          pgTypeResource ??
          Object.values(build.input.pgRegistry.pgResources).find(
            (resource) => resource.codec === pgCodec && !resource.parameters,
          );
        if (!table) return field;
        const { TYPES } = build.dataplanPg;
        const { lambda } = build.grafast;
        return {
          ...field,
          description:
            "Aggregates of each group, over all records that the filter leaves, whatever page of them is asked for.",
          args: {
            ...field.args,
            first: {
              type: build.graphql.GraphQLInt,
              description: `Number of groups, 0 to ${GROUPS_MAX}; ${GROUPS_DEFAULT} when it is not given.`,
            },
            orderBy: {
              type: build.getTypeByName(orderType(build, table)) as GraphQLEnumType,
              description: "Which groups come first, and so which are left out where there are more.",
              defaultValue: "COUNT_DESC",
            },
            having: {
              type: build.getInputTypeByName(HAVING),
              description: "Leaves out groups of too few or too many records.",
            },
          },
          plan($connection, fieldArgs, info) {
            const $groups = plan($connection, fieldArgs, info) as PgSelectStep;
            groupedBy($groups, fieldArgs.getRaw("groupBy"));
            const created = sql`${$groups.alias}.${sql.identifier(dateOf(table.codec) ?? "created_at")}`;
            const count = countIn(build, $groups);
            const orders = {
              COUNT_DESC: { fragment: count, codec: TYPES.bigint, direction: "DESC" },
              COUNT_ASC: { fragment: count, codec: TYPES.bigint, direction: "ASC" },
              OLDEST: { fragment: sql`min(${created})`, codec: TYPES.timestamptz, direction: "ASC" },
              NEWEST: { fragment: sql`max(${created})`, codec: TYPES.timestamptz, direction: "DESC" },
            } as const;
            const $having = fieldArgs.getRaw("having") as Step<Having> & {
              evalIs: (value: unknown) => boolean;
            };
            if (!$having.evalIs(undefined) && !$having.evalIs(null)) {
              for (const [name, [operator]] of Object.entries(COMPARISONS)) {
                const $bound = lambda(
                  $having,
                  (having) => having?.count?.[name as keyof typeof COMPARISONS] ?? null,
                );
                const bound = $groups.placeholder($bound, TYPES.int);
                $groups.having(sql`(${bound} is null or ${count} ${operator} ${bound})`);
              }
            }
            // A plan may depend on the value of an argument, but Grafast's types do not say so.
            const $order = fieldArgs.getRaw("orderBy") as unknown as { eval: () => Order | null | undefined };
            const asked = $order.eval();
            if (asked && asked in BY_TIME) needRecords($groups);
            $groups.orderBy(orders[asked ?? "COUNT_DESC"]);
            $groups.setFirst(lambda(fieldArgs.getRaw("first"), (first) => first ?? GROUPS_DEFAULT));
            return $groups;
          },
        };
      },
    },
  },
};
