// Pages: how many records a list returns by default, and in which order.
import type { PgSelectQueryBuilder, PgSelectStep } from "postgraphile/@dataplan/pg";
import type { ConnectionStep } from "postgraphile/grafast";

/** Records in a page of a list at the root of a query, when neither first nor last is given. */
export const PAGE_DEFAULT = 50;
/** The same for a list within a list, where pages multiply. */
export const PAGE_DEFAULT_NESTED = 20;
/** The most that first or last may ask for; bounds.ts refuses more. */
export const PAGE_MAX = 200;

type PagedList = ConnectionStep<unknown>;

/** Lists whose records are requested, and not only their count or aggregates. */
const pagesAskedFor = new WeakSet<object>();
const PAGE_PARTS: ReadonlySet<string> = new Set(["nodes", "edges", "pageInfo"]);

/** Whether the argument orderBy names an order; otherwise the default applies. */
export function namesOrder(order: unknown): boolean {
  return Array.isArray(order) && order.length > 0;
}

export const PagingPlugin: GraphileConfig.Plugin = {
  name: "PagingPlugin",
  after: ["PgFirstLastBeforeAfterArgsPlugin", "PgConnectionArgOrderByDefaultValuePlugin"],
  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, context) {
        const { plan } = field;
        const { fieldName, isConnectionType, isPgFieldConnection } = context.scope;
        if (isConnectionType && PAGE_PARTS.has(fieldName)) {
          return {
            ...field,
            plan($list: PagedList, fieldArgs, info) {
              pagesAskedFor.add($list);
              return plan ? plan($list, fieldArgs, info) : $list.get(fieldName);
            },
          };
        }
        if (!isPgFieldConnection || !plan) return field;
        const { constant, lambda } = build.grafast;
        const byDefault = context.Self.name === "Query" ? PAGE_DEFAULT : PAGE_DEFAULT_NESTED;
        return {
          ...field,
          plan($parent, fieldArgs, info) {
            const $list = plan($parent, fieldArgs, info) as PagedList;
            const $last = "$last" in fieldArgs ? fieldArgs.getRaw("last") : constant(null);
            // What is requested of the list is known only once the whole operation has been planned.
            const isForNothing = () => !pagesAskedFor.has($list);
            const $first = lambda([fieldArgs.getRaw("first"), $last], ([first, last]) => {
              if (isForNothing()) return 0;
              return typeof first === "number" || typeof last === "number" ? first : byDefault;
            });
            $list.setFirst($first);
            $list.setLast($last);
            return $list;
          },
        };
      },
      GraphQLObjectType_fields_field_args(args, _build, context) {
        const { first, last, offset: _offset, ...others } = args;
        // A function that returns a list has its own limit.
        if (context.scope.isPgFieldSimpleCollection) return others;
        if (!context.scope.isPgFieldConnection || !first) return args;
        const byDefault = context.Self.name === "Query" ? PAGE_DEFAULT : PAGE_DEFAULT_NESTED;
        const pageSize = (text: string) =>
          `${text} 0 to ${PAGE_MAX}; ${byDefault} when neither first nor last is given.`;
        return {
          ...args,
          // The field's plan applies both, because it has to know them together.
          first: {
            ...first,
            applyPlan: undefined,
            description: pageSize("Number of records from the start of the list,"),
          },
          ...(last && {
            last: {
              ...last,
              applyPlan: undefined,
              description: pageSize("Number of records from the end of the list,"),
            },
          }),
        };
      },
      // Newest first, as in REST.
      GraphQLObjectType_fields_field_args_arg(arg, build, context) {
        const { argName, isPgFieldConnection, pgFieldResource } = context.scope;
        if (
          argName !== "orderBy" ||
          !isPgFieldConnection ||
          !pgFieldResource?.codec.attributes?.["created_at"]
        ) {
          return arg;
        }
        const { inflection } = build;
        const orderings = build.getTypeByName(
          inflection.orderByType(inflection.tableType(pgFieldResource.codec)),
        );
        if (!(orderings instanceof build.graphql.GraphQLEnumType)) return arg;
        const usual = ["CREATED_AT_DESC", "PRIMARY_KEY_DESC"].flatMap(
          (name) => orderings.getValue(name) ?? [],
        );
        if (usual.length < 2) return arg;
        return {
          ...arg,
          defaultValue: usual.map(({ value }) => value as unknown),
          // The default value does not apply if null is given.
          applyPlan(_$parent, $list: PagedList, given) {
            const $records = $list.getSubplan() as unknown as PgSelectStep;
            given.apply($records, (query: PgSelectQueryBuilder, order: unknown) => {
              if (namesOrder(order)) return query;
              for (const value of usual)
                value.extensions.grafast?.apply?.(query, { value, scope: undefined });
              return undefined;
            });
          },
        };
      },
    },
  },
};
