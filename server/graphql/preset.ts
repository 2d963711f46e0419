// The GraphQL schema: PostGraphile over app_public, as the API roles see it.
import "./environment.ts";
import type { Pool } from "pg";
import { PgAggregatesPreset } from "@graphile/pg-aggregates";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { PostGraphileConnectionFilterPreset } from "postgraphile-plugin-connection-filter";
import { ActorsPlugin } from "./actors.ts";
import { BehaviorsPlugin } from "./behaviors.ts";
import { ChoicesPlugin } from "./choices.ts";
import { ClaimsPlugin } from "./claims.ts";
import type { RequestConnections } from "./connections.ts";
import { DeliveryPlugin } from "./delivery.ts";
import { DescriptionsPlugin, StatusDescriptionsPlugin } from "./descriptions.ts";
import { boundedExecution } from "./execution.ts";
import type { Execution } from "./execution.ts";
import { EXPLORER_FILES, EXPLORER_PATH, ExplorerPlugin, explorerConfig } from "./explorer.ts";
import { ExtensionTypesPlugin } from "./extensions.ts";
import { GroupKeysPlugin } from "./group-keys.ts";
import { GroupingPlugin } from "./grouping.ts";
import { GroupsPlugin } from "./groups.ts";
import { MediaTypePlugin } from "./http.ts";
import { LivePlugin } from "./live.ts";
import { ListsPlugin } from "./lists.ts";
import { NamingPlugin } from "./naming.ts";
import { OrdersPlugin } from "./orders.ts";
import { PagingPlugin } from "./paging.ts";
import { SearchPlugin } from "./search.ts";
import { TotalsPlugin } from "./totals.ts";
import { TagsPlugin } from "./tags.ts";
import { UnavailablePlugin } from "./unavailable.ts";
import { WordingPlugin } from "./wording.ts";

/**
 * What the schema is built from and how it is served.
 * @param options.execution runs operations
 * @param options.connections run the statements of requests
 */
export function makePreset(
  pool: Pool,
  { execution, connections }: { execution: Execution; connections: RequestConnections },
): GraphileConfig.Preset {
  return {
    extends: [PostGraphileAmberPreset, PostGraphileConnectionFilterPreset, PgAggregatesPreset],
    plugins: [
      ActorsPlugin,
      ChoicesPlugin,
      ClaimsPlugin,
      TagsPlugin,
      DescriptionsPlugin,
      StatusDescriptionsPlugin,
      NamingPlugin,
      BehaviorsPlugin,
      ExtensionTypesPlugin,
      PagingPlugin,
      OrdersPlugin,
      GroupingPlugin,
      GroupKeysPlugin,
      SearchPlugin,
      TotalsPlugin,
      GroupsPlugin,
      ListsPlugin,
      LivePlugin,
      ExplorerPlugin,
      DeliveryPlugin,
      MediaTypePlugin,
      boundedExecution(execution),
      UnavailablePlugin,
      WordingPlugin,
    ],
    disablePlugins: [
      "NodeAccessorPlugin",
      "PgNodeIdAttributesPlugin",
      "QueryQueryPlugin",
      "RegisterQueryNodePlugin",
      "MutationPayloadQueryPlugin",
      "PgMutationPayloadEdgePlugin",
      "PgConditionArgumentPlugin",
      "PgIndexBehaviorsPlugin",
      "SwallowErrorsPlugin",
      "PgAggregatesAddGroupByAggregateEnumValuesForAttributesPlugin",
      "PgAggregatesAddHavingAggregateTypesPlugin",
      "PgAggregatesFilterRelationalAggregatesPlugin",
    ],
    grafserv: {
      graphqlPath: "/graphql",
      graphqlOverGET: true,
      graphiqlOnGraphQLGET: false,
      graphiqlPath: EXPLORER_PATH,
      graphiqlStaticPath: EXPLORER_FILES,
      websockets: false,
      maskError: execution.publicError,
    },
    grafast: {
      explain: false,
      context: ({ expressv4 }) => ({
        pgSettings: connections.begin(expressv4!.req.identity, expressv4!.res),
        repeatable: expressv4!.req.repeatable,
        countAs: expressv4!.req.countAs,
        countAfterwards: expressv4!.req.countAfterwards,
      }),
    },
    ruru: explorerConfig,
    gather: { pgStrictFunctions: true },
    pgServices: [connections.service(pool)],
    schema: {
      defaultBehavior: "-insert -update -delete -aggregate:orderBy",
      // No list has a null in it.
      pgForbidSetofFunctionsToReturnNull: true,
      // Warnings are about malformed ids, which are the caller's mistake.
      muteWarnings: true,
      connectionFilterRelations: true,
      connectionFilterAllowEmptyObjectInput: true,
      // A filter as a whole may be null; nulls within one are refused by arguments.ts, with an explanation.
      connectionFilterAllowNullInput: true,
      connectionFilterComputedColumns: false,
      connectionFilterSetofFunctions: false,
      connectionFilterAllowedOperators: OPERATORS,
    },
  };
}

// Operators that an index or one pass over the rows can serve; no regular expressions.
const OPERATORS = [
  ...["isNull", "equalTo", "notEqualTo", "in", "notIn"],
  ...["lessThan", "lessThanOrEqualTo", "greaterThan", "greaterThanOrEqualTo"],
  ...["includesInsensitive", "startsWith", "startsWithInsensitive"],
  ...["contains", "containedBy", "overlaps"],
];
