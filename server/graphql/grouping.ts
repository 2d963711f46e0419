// What aggregates can be grouped by: single columns, the items of lists (one group per code, not per
// combination), and months or days of times. Also how many records are in a group.
import type {
  PgCodec,
  PgCodecRelation,
  PgSelectQueryBuilder,
  PgSelectSingleStep,
  PgSelectStep,
} from "postgraphile/@dataplan/pg";
import type { Step } from "postgraphile/grafast";
import type { GraphQLInputType, GraphQLNullableType } from "postgraphile/graphql";
import type { SQL } from "postgraphile/pg-sql2";

import { RECORDS } from "../../records/index.ts";
import { columnOf, fieldsOf, idOf } from "../../records/record.ts";
import { countIn, needRecords } from "./totals.ts";

const PERIODS = ["month", "day"] as const;
type Period = (typeof PERIODS)[number];

// Free texts, keys and update times would make as many groups as there are records. Enums, booleans, lists and links do
// not, and neither do these texts and times.
const GROUPABLE =
  /^(org_name|type|(from|to)_status|country_\w+|people_group_\w+|(created|changed)_at|target_completion_date)$/;

/** A way to group the records of a table. */
export type Grouping = {
  /** name of the enum value */
  name: string;
  /** the column it groups by; the suffix says how its values are truncated */
  attributeName: string;
  suffix: string;
  /** codec of the groups' keys */
  codec: PgCodec;
  description: string;
  apply: (query: PgSelectQueryBuilder) => void;
};

export const GroupingPlugin: GraphileConfig.Plugin = {
  name: "GroupingPlugin",
  after: ["PgAggregatesSpecsPlugin", "PgAggregatesAddAggregateTypesPlugin"],
  schema: {
    behaviorRegistry: {
      add: {
        // The plugin that adds groupedAggregates refers to it; the one that would register it is disabled.
        "resource:groupedAggregates:having": {
          description: "may groups be filtered?",
          entities: ["pgResource"],
        },
      },
    },
    hooks: {
      GraphQLEnumType_values(values, build, context) {
        const { isPgAggregateGroupEnum, pgTypeResource: table } = context.scope;
        if (!isPgAggregateGroupEnum || !table?.codec.attributes) return values;
        const groupings = groupingsIn(build, table).map(
          ({ name, description, apply, suffix, attributeName }) => {
            // The column, if groups are by its unchanged values; read by totals.ts.
            const extensions = {
              grafast: { apply },
              ...(!suffix && attributeName in table.codec.attributes && { column: attributeName }),
            };
            return [name, { description, extensions }] as const;
          },
        );
        return build.extend(values, Object.fromEntries(groupings), "Adding groupings");
      },
      GraphQLObjectType_fields(fields, build, context) {
        if (!context.scope.isPgAggregateContainerType) return fields;
        const { graphql } = build;
        const { TYPES } = build.dataplanPg;
        const statuses = statusesOf(build, context.scope.pgTypeResource);
        return build.extend(
          fields,
          {
            count: context.fieldWithHooks({ fieldName: "count" }, () => ({
              description: "How many records there are, or how many in some statuses.",
              type: new graphql.GraphQLNonNull(graphql.GraphQLInt),
              args: statuses?.args ?? {},
              plan: ($group: PgSelectSingleStep, fieldArgs: FieldArgs) => {
                const $records = $group.getClassStep();
                return $group.select(
                  statuses?.countIn($records, fieldArgs) ?? countIn(build, $records),
                  TYPES.int,
                );
              },
            })),
            ...(statuses && {
              share: context.fieldWithHooks({ fieldName: "share" }, () => ({
                description:
                  "Which part of the records is in some statuses, from 0 to 1; null where there are none.",
                type: graphql.GraphQLFloat,
                args: statuses.requiredArgs,
                plan: ($group: PgSelectSingleStep, fieldArgs: FieldArgs) => {
                  const count = statuses.countIn($group.getClassStep(), fieldArgs)!;
                  return $group.select(build.sql`${count}::float8 / nullif(count(*), 0)`, TYPES.float);
                },
              })),
            }),
          },
          "Adding the count of records",
        );
      },
      GraphQLObjectType_fields_field: (field, _build, context) =>
        context.scope.isPgAggregateContainerType && context.scope.fieldName === "keys"
          ? {
              ...field,
              description: "What the group has in common: one value for each item of groupBy, as text.",
            }
          : field,
    },
  },
};

type FieldArgs = { getRaw: (name: string) => unknown };

/**
 * The argument that names statuses, and the count of records in them; undefined where records have no status.
 */
function statusesOf(build: GraphileBuild.Build, table: Table | undefined) {
  const { graphql, inflection, sql } = build;
  const { listOfCodec, TYPES } = build.dataplanPg;
  const column = ["status", "to_status"].find((name) => table?.codec.attributes[name] !== undefined);
  const type = column && build.getGraphQLTypeByPgCodec(table!.codec.attributes[column]!.codec, "input");
  if (!type) return undefined;
  const argument = inflection.attribute({ codec: table!.codec, attributeName: column });
  const list = new graphql.GraphQLList(new graphql.GraphQLNonNull(type)) as GraphQLInputType &
    GraphQLNullableType;
  const args = (of: GraphQLInputType) => ({
    [argument]: { type: of, description: "Only of records in one of these." },
  });
  return {
    args: args(list),
    requiredArgs: args(new graphql.GraphQLNonNull(list)),
    countIn($records: PgSelectStep, fieldArgs: FieldArgs): SQL | undefined {
      const $statuses = fieldArgs.getRaw(argument) as Step & { evalIs: (value: unknown) => boolean };
      if ($statuses.evalIs(undefined) || $statuses.evalIs(null)) return undefined;
      needRecords($records);
      const asked = $records.placeholder($statuses, listOfCodec(TYPES.text));
      return sql`count(*) filter (where ${$records.alias}.${sql.identifier(column)}::text = any (${asked}))`;
    },
  };
}

export type Table = NonNullable<GraphileBuild.ScopeEnum["pgTypeResource"]>;

function isGroupable(build: GraphileBuild.Build, table: Table, name: string): boolean {
  const { codec } = table.codec.attributes![name]!;
  const links = Object.values<PgCodecRelation>(table.getRelations()).filter(
    (relation) => !relation.isReferencee,
  );
  return (
    GROUPABLE.test(name) ||
    build.dataplanPg.isEnumCodec(codec) ||
    codec === build.dataplanPg.TYPES.boolean ||
    codec.arrayOfCodec !== undefined ||
    links.some(({ localAttributes }) => localAttributes.includes(name))
  );
}

/** The ways to group the records of a table. */
export function groupingsIn(build: GraphileBuild.Build, table: Table): Grouping[] {
  const { codec } = table;
  const own = Object.keys(codec.attributes)
    .filter((name) => isGroupable(build, table, name))
    .filter((name) => build.behavior.pgCodecAttributeMatches([codec, name], "select"))
    .flatMap((attributeName) => {
      const name = build.inflection.aggregateGroupByAttributeEnum({ resource: table, attributeName });
      return groupingsOf(build, table, attributeName).map((grouping) => ({
        ...grouping,
        attributeName,
        name: name + grouping.suffix,
      }));
    });
  return codec.extensions?.pg?.name === "status_history" ? [...own, acceleratorsOfChanged(build)] : own;
}

/** Groups status changes by the accelerators of their record. */
function acceleratorsOfChanged({ sql, dataplanPg: { TYPES } }: GraphileBuild.Build): Grouping {
  return {
    name: "ACCELERATORS",
    attributeName: "accelerators",
    suffix: "",
    codec: TYPES.text,
    description: "One group for each accelerator of the record. A change is in the group of each of them.",
    apply(query) {
      const alias = sql.identifier(Symbol("accelerators"));
      const records = Object.values(RECORDS).map((record) => {
        const id = sql`${query.alias}.${sql.identifier(`${record.kind}_id`)}`;
        const codes = fieldsOf(record).find(({ type }) => type === "acceleratorCodes")!.column;
        return sql`select unnest(${sql.identifier(codes)}) as code from ${sql.identifier("app_public", record.table)}
          where ${sql.identifier(columnOf(idOf(record)))} = ${id}`;
      });
      const from = sql`(${sql.join(records, " union all ")})`;
      query.join({ type: "cross", lateral: true, from, alias });
      query.groupBy({ fragment: sql`${alias}.code`, codec: TYPES.text });
    },
  };
}

function groupingsOf(
  build: GraphileBuild.Build,
  table: Table,
  attributeName: string,
): Omit<Grouping, "name" | "attributeName">[] {
  const { sql } = build;
  const { TYPES } = build.dataplanPg;
  const codec = table.codec.attributes[attributeName].codec;
  const field = build.inflection.attribute({ codec: table.codec, attributeName });
  const column = (query: PgSelectQueryBuilder) => sql`${query.alias}.${sql.identifier(attributeName)}`;

  if (codec.arrayOfCodec) {
    return [
      {
        suffix: "",
        codec: codec.arrayOfCodec,
        description: `One group for each code of \`${field}\`. A record is in the group of each of its codes.`,
        apply(query) {
          // A join: several unnest() in one select list would pair the items of lists, not cross them.
          const alias = sql.identifier(Symbol(attributeName));
          query.join({ type: "cross", lateral: true, from: sql`unnest(${column(query)})`, alias });
          query.groupBy({ fragment: sql`${alias}.${alias}`, codec: codec.arrayOfCodec });
        },
      },
    ];
  }
  const inPeriods = (
    periods: readonly Period[],
    truncated: (period: Period) => (at: SQL) => SQL,
    key: string,
  ) =>
    periods.map((period) => ({
      suffix: `_TRUNCATED_TO_${period.toUpperCase()}`,
      codec,
      description: `One group for each ${period} of \`${field}\`${key} of that ${period} as its key.`,
      apply: (query: PgSelectQueryBuilder) =>
        query.groupBy({ fragment: truncated(period)(column(query)), codec }),
    }));
  if (codec === TYPES.timestamptz) {
    return inPeriods(
      PERIODS,
      (period) => (at) => sql`date_trunc(${sql.literal(period)}, ${at})`,
      ", in UTC, with the first instant",
    );
  }
  const months =
    codec === TYPES.date
      ? inPeriods(
          ["month"],
          () => (at) => sql`date_trunc('month', ${at}::timestamp)::date`,
          ", with the first day",
        )
      : [];
  return [
    ...months,
    {
      suffix: "",
      codec,
      description: `One group for each value of \`${field}\`.`,
      apply: (query) => query.groupBy({ fragment: column(query), codec }),
    },
  ];
}
