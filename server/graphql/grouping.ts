// What aggregates can be grouped by: single columns, the items of lists (one group per code, not per combination), and
// the month or day of creation. Also how many records are in a group.
import type { PgCodecRelation, PgSelectQueryBuilder, PgSelectSingleStep } from "postgraphile/@dataplan/pg";

import { countIn } from "./totals.ts";

const PERIODS = ["month", "day"] as const;

// Free texts, keys and update times would make as many groups as there are records. Enums, booleans, lists and links do
// not, and neither do these texts and times.
const GROUPABLE = /^(org_name|type|(from|to)_status|country_\w+|people_group_\w+|(created|changed)_at)$/;

type Grouping = { description: string; apply: (query: PgSelectQueryBuilder) => void };

export const GroupingPlugin: GraphileConfig.Plugin = {
  name: "GroupingPlugin",
  after: ["PgAggregatesSpecsPlugin", "PgAggregatesAddAggregateTypesPlugin"],
  schema: {
    behaviorRegistry: {
      add: {
        // The plugin that adds groupedAggregates refers to it, but the one that would register it is left out of this schema.
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
        const { codec: tableCodec } = table;
        const groupings = Object.keys(tableCodec.attributes)
          .filter((name) => isGroupable(build, table, name) && !isKey(table, name))
          .filter((name) => build.behavior.pgCodecAttributeMatches([tableCodec, name], "select"))
          .flatMap((attributeName) => {
            const name = build.inflection.aggregateGroupByAttributeEnum({ resource: table, attributeName });
            return groupingsOf(build, table, attributeName).map(({ suffix, description, apply }) => {
              // The column where groups are of its values, for totals.ts.
              const extensions = { grafast: { apply }, ...(!suffix && { column: attributeName }) };
              return [name + suffix, { description, extensions }] as const;
            });
          });
        return build.extend(values, Object.fromEntries(groupings), "Adding groupings");
      },
      GraphQLObjectType_fields(fields, build, context) {
        if (!context.scope.isPgAggregateContainerType) return fields;
        const { graphql } = build;
        const { TYPES } = build.dataplanPg;
        return build.extend(
          fields,
          {
            count: context.fieldWithHooks({ fieldName: "count" }, () => ({
              description: "How many records there are.",
              type: new graphql.GraphQLNonNull(graphql.GraphQLInt),
              plan: ($group: PgSelectSingleStep) =>
                $group.select(countIn(build, $group.getClassStep()), TYPES.int),
            })),
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

type Table = NonNullable<GraphileBuild.ScopeEnum["pgTypeResource"]>;

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

function isKey(table: Table, name: string): boolean {
  return table.uniques.some(
    (unique: { attributes: readonly string[] }) =>
      unique.attributes.length === 1 && unique.attributes[0] === name,
  );
}

function groupingsOf(
  build: GraphileBuild.Build,
  table: Table,
  attributeName: string,
): (Grouping & { suffix: string })[] {
  const { sql } = build;
  const { TYPES } = build.dataplanPg;
  const codec = table.codec.attributes[attributeName].codec;
  const field = build.inflection.attribute({ codec: table.codec, attributeName });
  const column = (query: PgSelectQueryBuilder) => sql`${query.alias}.${sql.identifier(attributeName)}`;

  if (codec.arrayOfCodec) {
    return [
      {
        suffix: "",
        description: `One group for each code of \`${field}\`. A record is in the group of each of its codes.`,
        apply(query) {
          // A join rather than unnest() itself, which would pair the items of two lists instead of crossing them.
          const alias = sql.identifier(Symbol(attributeName));
          query.join({ type: "cross", lateral: true, from: sql`unnest(${column(query)})`, alias });
          query.groupBy({ fragment: sql`${alias}.${alias}`, codec: codec.arrayOfCodec });
        },
      },
    ];
  }
  if (codec === TYPES.timestamptz) {
    return PERIODS.map((period) => ({
      suffix: `_TRUNCATED_TO_${period.toUpperCase()}`,
      description: `One group for each ${period} of \`${field}\`, in UTC, with the first instant of that ${period} as its key.`,
      apply: (query) =>
        query.groupBy({
          fragment: sql`date_trunc(${sql.literal(period)}, ${column(query)}, 'UTC')`,
          codec: TYPES.timestamptz,
        }),
    }));
  }
  return [
    {
      suffix: "",
      description: `One group for each value of \`${field}\`.`,
      apply: (query) => query.groupBy({ fragment: column(query), codec }),
    },
  ];
}
