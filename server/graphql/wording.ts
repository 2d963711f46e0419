// Describes every part of the schema that has no description, and corrects the English of PostGraphile's own.
import type { GraphQLEnumValueConfigMap } from "postgraphile/graphql";
import { WORDS } from "./words.ts";

const DIRECTIONS = { ASC: "ascending", DESC: "descending" } as const;

type Described = { description?: string | null | undefined };

function described<T extends Described>(part: T, ...names: string[]): T {
  const known = names.map((name) => WORDS.get(name)).find((text) => text !== undefined);
  const description = part.description?.replace(/\bA `([AEIOU])/, "An `$1") ?? known;
  return description === undefined ? part : { ...part, description };
}

export const WordingPlugin: GraphileConfig.Plugin = {
  name: "WordingPlugin",
  after: ["PgAggregatesOrderByAggregatesPlugin", "StatusDescriptionsPlugin"],
  schema: {
    hooks: {
      GraphQLObjectType(type, _build, { scope }) {
        if (scope.isPgAggregateContainerType)
          return { ...type, description: "Aggregates of all records, or of one group of them." };
        if (scope.isPgAggregateType)
          return { ...type, description: "How many different values each field has; null does not count." };
        return described(type, type.name);
      },
      GraphQLInputObjectType: (type) => described(type, type.name),
      GraphQLEnumType: (type) => described(type, type.name),
      GraphQLScalarType: (type) => described(type, type.name),
      GraphQLEnumType_values: (values, build, { Self, scope }) =>
        mapped(values, (value, name) =>
          scope.isPgRowSortEnum
            ? { ...value, description: value.description ?? orderOf(build, name) }
            : described(value, `${Self.name}.${name}`),
        ),
      GraphQLObjectType_fields_field: (field, _build, { Self, scope }) =>
        described(field, `${Self.name}.${scope.fieldName}`, scope.fieldName),
      GraphQLInterfaceType_fields_field: (field, _build, { scope }) => described(field, scope.fieldName),
      GraphQLObjectType_fields_field_args_arg: (arg, _build, { Self, scope }) =>
        described(arg, `${Self.name}.${scope.fieldName}.${scope.argName}`, scope.argName),
      GraphQLInputObjectType_fields_field: (field, _build, { Self, scope }) =>
        described(field, `${Self.name}.${scope.fieldName}`, scope.fieldName),
    },
  },
};

function mapped(
  values: GraphQLEnumValueConfigMap,
  change: (value: GraphQLEnumValueConfigMap[string], name: string) => GraphQLEnumValueConfigMap[string],
): GraphQLEnumValueConfigMap {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}

function orderOf({ inflection }: GraphileBuild.Build, name: string): string {
  const [, column, direction] = /^(\w+)_(ASC|DESC)$/.exec(name) ?? [];
  if (column === undefined) return "In no particular order.";
  const how = DIRECTIONS[direction as keyof typeof DIRECTIONS];
  if (column === "PRIMARY_KEY") return `By the key, ${how}.`;
  const [, linked] = /^(\w+)_COUNT$/.exec(column) ?? [];
  return linked === undefined
    ? `By \`${inflection.camelCase(column)}\`, ${how}.`
    : `By the number of \`${inflection.camelCase(linked)}\`, ${how}.`;
}
