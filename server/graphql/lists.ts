// Lists contain no nulls, a record always has a graphStatus, and what the load check found is a list of problems
// rather than a JSON document.
import type {
  GraphQLEnumType,
  GraphQLNullableType,
  GraphQLOutputType,
  GraphQLType,
} from "postgraphile/graphql";

// Fields of function results that are never null, which a composite type cannot declare.
const ALWAYS = new RegExp(
  `^(${[
    "\\w+Page\\.(claims|users|total)",
    "\\w*OrganizationClaim(Item|Result|Decision)?\\.(claimId|orgUri|orgName|status|newStatus)",
    "\\w*OrganizationClaim(Item)?\\.(isNewOrg|emailVerified|createdAt|history)",
    "OrganizationClaimItem\\.(userEmail|emailDomain|domainMatch|orgDomainStated|statedRoles)",
    "OrganizationClaimResult\\.resultVariant",
    "OrganizationClaimStep\\.(toStatus|changedAt)",
    "OrganizationMember\\.(orgUri|orgName|userEmail|role|status|createdAt|updatedAt)",
    "Belonging\\.(orgUri|orgName|role)",
    "ReviewWarning\\.\\w+",
    "PlatformUser\\.(userId|email|createdAt)",
    "ChurchSearchResult\\.(church|cursor)",
    "UserCheck\\.exists",
  ].join("|")})$`,
);

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
        // No group has more different values than there are records, and these are Ints.
        if (isPgAggregateType) return { ...field, type: build.graphql.GraphQLInt };
        if (ALWAYS.test(`${context.Self.name}.${fieldName}`)) {
          const type = fieldName === "total" ? build.graphql.GraphQLInt : field.type;
          const nullable = build.graphql.getNullableType(type) as GraphQLNullableType & GraphQLOutputType;
          return { ...field, type: new GraphQLNonNull(withoutNulls(build, nullable)) };
        }
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
