// What the plugins in this folder and @graphile/pg-aggregates add to PostGraphile's types.
import "postgraphile";
import "@graphile/pg-aggregates/dist/AddAggregateTypesPlugin.js";
import "@graphile/pg-aggregates/dist/AddGroupByAggregateEnumValuesForAttributesPlugin.js";
import "@graphile/pg-aggregates/dist/InflectionPlugin.js";
import "@graphile/pg-aggregates/dist/interfaces.js";
import type { Repeatable } from "../repeatable.ts";

declare global {
  namespace Grafast {
    interface Context {
      /** Only for subscriptions. */
      changes?: unknown;
      /** Only for requests with an Idempotency-Key. */
      repeatable?: Repeatable | undefined;
      /** Counts the request as several. */
      countAs?: ((requests: number) => Promise<void>) | undefined;
      /** The same, once the cost is known. */
      countAfterwards?: ((requests: number) => void) | undefined;
    }
  }
  namespace GraphileBuild {
    interface BehaviorStrings {
      "resource:aggregate": true;
      "resource:groupedAggregates:having": true;
    }
  }
  namespace GraphileConfig {
    interface GatherHelpers {
      extensionTypes: Record<string, never>;
    }
    interface Provides {
      columnRules: true;
      functionRules: true;
      oneKey: true;
    }
  }
}
