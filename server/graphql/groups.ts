// How many groups grouped aggregates return, and in which order.
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import type { GraphQLEnumType } from "postgraphile/graphql";
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

const isDated = (codec: { attributes?: object | undefined }) => "created_at" in (codec.attributes ?? {});

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
        for (const table of Object.values(build.input.pgRegistry.pgResources)) {
          if (table.parameters || !build.behavior.pgResourceMatches(table, "resource:groupedAggregates"))
            continue;
          const values = { ...BY_COUNT, ...(isDated(table.codec) && BY_TIME) };
          build.registerEnumType(
            orderType(build, table),
            {},
            () => ({
              description: "In which order groups come.",
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
        const { sql } = build;
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
          },
          plan($connection, fieldArgs, info) {
            const $groups = plan($connection, fieldArgs, info) as PgSelectStep;
            const created = sql`${$groups.alias}.created_at`;
            const count = countIn(build, $groups);
            const orders = {
              COUNT_DESC: { fragment: count, codec: TYPES.bigint, direction: "DESC" },
              COUNT_ASC: { fragment: count, codec: TYPES.bigint, direction: "ASC" },
              OLDEST: { fragment: sql`min(${created})`, codec: TYPES.timestamptz, direction: "ASC" },
              NEWEST: { fragment: sql`max(${created})`, codec: TYPES.timestamptz, direction: "DESC" },
            } as const;
            // Grafast's types leave out that a plan may depend on the value of an argument.
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
