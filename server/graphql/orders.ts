// Orders by columns that may be null, so that pages neither lose nor repeat a record. @dataplan/pg 1.1 has the two cases
// the wrong way round in which one of two values is null, and takes a column for unique whose nulls are not.
import type { PgCodec, PgCodecWithAttributes, PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";

const DIRECTIONS = { asc: "ASC", desc: "DESC" } as const;

// What stands for null among nulls, where it is as good as any other value. With it the order is one of values, whose
// pages begin with one look into an index on the same expressions, such as commitments_in_order_of_target_date.
const STAND_INS: Readonly<Record<string, string>> = {
  bool: "false",
  date: "1970-01-01",
  float8: "0",
  int4: "0",
  int8: "0",
  numeric: "0",
  text: "",
  timestamptz: "1970-01-01 00:00:00+00",
  uuid: "00000000-0000-0000-0000-000000000000",
};

export const OrdersPlugin: GraphileConfig.Plugin = {
  name: "OrdersPlugin",
  after: ["PgOrderAllAttributesPlugin"],
  schema: {
    hooks: {
      GraphQLEnumType_values(values, build, context) {
        const { pgCodec, isPgRowSortEnum } = context.scope;
        if (!isPgRowSortEnum || !pgCodec?.attributes) return values;
        const codec = pgCodec as PgCodecWithAttributes;
        const { inflection, sql } = build;
        const { TYPES } = build.dataplanPg;
        for (const [attributeName, { notNull, codec: type }] of Object.entries(codec.attributes)) {
          if (notNull || type.notNull) continue;
          const standIn = STAND_INS[type.name];
          for (const variant of ["asc", "desc"] as const) {
            const direction = DIRECTIONS[variant];
            const value = values[inflection.orderByAttributeEnum({ codec, attributeName, variant })];
            if (!value) continue;
            const apply = (query: PgSelectQueryBuilder) => {
              const column = sql`${query.alias}.${sql.identifier(attributeName)}`;
              const order = (fragment: typeof column, type: PgCodec) =>
                query.orderBy({ fragment, codec: type, nullable: false, direction });
              // Nulls stay where PostgreSQL has them: last, or first in descending order.
              order(sql`(${column} is null)`, TYPES.boolean);
              if (standIn === undefined) query.orderBy({ attribute: attributeName, direction });
              else order(sql`coalesce(${column}, ${sql.literal(standIn)}::${type.sqlType})`, type);
            };
            value.extensions = { ...value.extensions, grafast: { ...value.extensions?.grafast, apply } };
          }
        }
        return values;
      },
    },
  },
};
