// Text columns that take only certain values are enums in the schema.
import { enumCodec } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import { choices, enums } from "../../db/catalog.ts";
import { RECORDS } from "../../records/index.ts";

const enumOf = (name: string, values: readonly string[]) =>
  enumCodec({ name, identifier: sql`text`, values: [...values] });

/** By column name, which means the same in every table and type. */
const ENUMS = {
  from_status: enumOf("record_status", statuses()),
  routed_to: enumOf("claim_route", choices["organization_claims.routed_to"]),
  result_variant: enumOf("claim_result_variant", choices["organization_claims.result_variant"]),
};
const BY_COLUMN: Readonly<Record<string, (typeof ENUMS)[keyof typeof ENUMS]>> = {
  ...ENUMS,
  to_status: ENUMS.from_status,
};

function statuses(): string[] {
  return Object.values(RECORDS).flatMap(({ statuses: type }) => [...enums[type as keyof typeof enums]]);
}

export const ChoicesPlugin: GraphileConfig.Plugin = {
  name: "ChoicesPlugin",
  gather: {
    hooks: {
      pgCodecs_attribute(_info, { pgAttribute, attribute }) {
        const codec = BY_COLUMN[pgAttribute.attname];
        if (codec && attribute.codec.name === "text") attribute.codec = codec;
      },
    },
  },
};
