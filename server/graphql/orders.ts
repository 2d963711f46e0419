// Ordering by columns that may be null, so that pages neither lose nor repeat a record. @dataplan/pg 1.1
// swaps the two cases in which one of two values is null, and treats a unique column as unique although its
// nulls are not.
import type { PgCodec, PgCodecWithAttributes, PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";

const DIRECTIONS = { asc: "ASC", desc: "DESC" } as const;

// Stand-ins for null, which is compared only with other nulls, so that any value will do. Without nulls in
// the order, a page begins with one lookup in an index on the same expressions, such as
// commitments_in_order_of_target_date.
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
