// Which columns can be used to filter, order and aggregate, and what the schema leaves out as a rule.
import type { PgResourceParameter } from "postgraphile/@dataplan/pg";

const DOCUMENT = /^jsonb?$/;

export const BehaviorsPlugin: GraphileConfig.Plugin = {
  name: "BehaviorsPlugin",
  schema: {
    entityBehavior: {
      pgCodecAttribute: {
        inferred: {
          after: ["inferred"],
          provides: ["columnRules"],
          callback(behavior, [codec, name], build) {
            const attribute = codec.attributes[name]!;
            const isList = Boolean(attribute.codec.arrayOfCodec);
            const isEnum = build.dataplanPg.isEnumCodec(attribute.codec);
            const isDocument = DOCUMENT.test(attribute.codec.name);
            return [
              behavior,
              ...(isList ? (["-orderBy", "-aggregate"] as const) : []),
              ...(isEnum ? (["attribute:orderBy"] as const) : []),
              ...(isDocument ? (["-filterBy", "-orderBy", "-aggregate"] as const) : []),
            ];
          },
        },
      },
      // A function with its own `limit` argument returns a plain list; JSON documents have no aggregates.
      pgResource: {
        override: {
          after: ["override"],
          provides: ["functionRules"],
          callback: (behavior, { parameters, codec }) => [
            behavior,
            ...((parameters as PgResourceParameter[] | undefined)?.some(({ name }) => name === "limit")
              ? (["queryField:resource:list", "-queryField:resource:connection"] as const)
              : []),
            ...(DOCUMENT.test(codec.name) ? (["-resource:aggregate"] as const) : []),
          ],
        },
      },
      // A single record can be asked for only by its primary key.
      pgResourceUnique: {
        inferred: {
          after: ["inferred"],
          provides: ["oneKey"],
          callback: (behavior, [, unique]) => (unique.isPrimary ? behavior : [behavior, "-single"]),
        },
      },
    },
  },
};
