// Lists contain no nulls, a record always has a graphStatus, and what the load check found is a list of problems
// rather than a JSON document.
import type { GraphQLEnumType, GraphQLType } from "postgraphile/graphql";

export const ListsPlugin: GraphileConfig.Plugin = {
  name: "ListsPlugin",
  schema: {
    hooks: {
      init(_, build) {
        const { GraphQLNonNull, GraphQLString } = build.graphql;
        build.registerObjectType(
          "GraphError",
          {},
          () => ({
            description: "One thing that the load check found wrong with a record.",
            fields: {
              path: { type: GraphQLString, description: "The property at fault." },
              message: { type: new GraphQLNonNull(GraphQLString), description: "What is wrong with it." },
            },
          }),
          "What graphErrors lists",
        );
        return _;
      },
      GraphQLObjectType_fields_field(field, build, context) {
        const { GraphQLList, GraphQLNonNull } = build.graphql;
        const { pgFieldAttribute, fieldName, isPgAggregateType } = context.scope;
        if (isPgAggregateType) return field;
        if (pgFieldAttribute?.codec.arrayOfCodec) return { ...field, type: withoutNulls(build, field.type) };
        if (fieldName === "graphStatus")
          return {
            ...field,
            type: new GraphQLNonNull(build.getOutputTypeByName("GraphStatus") as GraphQLEnumType),
          };
        if (fieldName !== "graphErrors") return field;
        const problem = build.getOutputTypeByName("GraphError");
        return {
          ...field,
          type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(problem))),
        };
      },
      GraphQLInputObjectType_fields_field(field, build, context) {
        const { pgConnectionFilterOperators, isMutationInput } = context.scope;
        return pgConnectionFilterOperators || isMutationInput
          ? { ...field, type: withoutNulls(build, field.type) }
          : field;
      },
      GraphQLObjectType_fields_field_args_arg: (arg, build) => ({
        ...arg,
        type: withoutNulls(build, arg.type),
      }),
    },
  },
};

function withoutNulls<T extends GraphQLType>(build: GraphileBuild.Build, type: T): T {
  const { GraphQLList, GraphQLNonNull, isListType, isNonNullType } = build.graphql;
  if (isNonNullType(type)) return new GraphQLNonNull(withoutNulls(build, type.ofType)) as GraphQLType as T;
  if (!isListType(type) || isNonNullType(type.ofType)) return type;
  return new GraphQLList(new GraphQLNonNull(type.ofType)) as GraphQLType as T;
}
