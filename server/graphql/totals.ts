// Counts of all records, and by status, accelerator, country or organization, where nothing else filters:
// read from the totals that the database maintains (db/rules/record-totals.sql) instead of counted.
import type { PgResource, PgSelectStep } from "postgraphile/@dataplan/pg";
import type { SQL } from "postgraphile/pg-sql2";
import { RECORDS } from "../../records/index.ts";
import { fieldsOf } from "../../records/record.ts";
import { isSearched } from "./search.ts";
import type { FieldType, RecordDescription } from "../../records/record.ts";

type Facet = "org_uri" | "status" | "accelerator" | "country";

const FACETS: Partial<Record<FieldType, Facet>> = {
  status: "status",
  acceleratorCodes: "accelerator",
  countryCodes: "country",
  countryCode: "country",
};

/** The fields of a group that totals can answer. */
const KNOWN_OF_GROUPS: ReadonlySet<string> = new Set(["keys", "group", "count"]);
/** Lists without a filter or a search. */
const unfiltered = new WeakSet<object>();
/**
 * A selection from totals: how to count its records, and whether the records themselves are needed as well.
 */
type Selected = { count: SQL; needsRecords: boolean };
const fromTotals = new WeakMap<object, Selected>();

/** How many records a selection, or each of its groups, stands for. */
export function countIn({ sql }: GraphileBuild.Build, $select: PgSelectStep): SQL {
  return fromTotals.get($select)?.count ?? sql`count(*)`;
}

/** Notes that a selection needs the records themselves. */
export function needRecords($select: PgSelectStep): void {
  const selected = fromTotals.get($select);
  if (selected) selected.needsRecords = true;
}

export const TotalsPlugin: GraphileConfig.Plugin = {
  name: "TotalsPlugin",
  after: ["PgAggregatesAddConnectionGroupedAggregatesPlugin", "PgAggregatesAddConnectionAggregatesPlugin"],
  before: ["GroupsPlugin"],
  schema: {
    hooks: {
      GraphQLObjectType_fields_field(field, build, context) {
        const { plan } = field;
        if (!plan) return field;
        const { TYPES } = build.dataplanPg;
        const { fieldName, isPgFieldConnection, pgFieldResource, isConnectionType } = context.scope;
        if (context.Self.name === "Query" && isPgFieldConnection && recordOf(pgFieldResource)) {
          return {
            ...field,
            plan($parent, fieldArgs, info) {
              const $list = plan($parent, fieldArgs, info) as object;
              const $filter = fieldArgs.getRaw("filter") as unknown as {
                evalIs: (value: unknown) => boolean;
              };
              if (($filter.evalIs(undefined) || $filter.evalIs(null)) && !isSearched(fieldArgs))
                unfiltered.add($list);
              return $list as ReturnType<typeof plan>;
            },
          };
        }
        if (context.scope.isPgAggregateContainerType && !KNOWN_OF_GROUPS.has(fieldName)) {
          return {
            ...field,
            plan($group: { getClassStep: () => PgSelectStep }, fieldArgs, info) {
              needRecords($group.getClassStep());
              return plan($group, fieldArgs, info);
            },
          };
        }
        const table = isConnectionType ? tableOf(build, context.scope.pgCodec) : undefined;
        const record = recordOf(table);
        if (!table || !record) return field;
        const select = (facets: readonly Facet[]) => selectTotals(build, table, record, facets);
        switch (fieldName) {
          case "totalCount":
            return {
              ...field,
              plan($connection: object, fieldArgs, info) {
                if (!unfiltered.has($connection)) return plan($connection, fieldArgs, info);
                const $totals = select([]);
                return $totals.singleAsRecord().select(countIn(build, $totals), TYPES.bigint, false);
              },
            };
          case "aggregates":
            return {
              ...field,
              plan: ($connection: object, fieldArgs, info) =>
                unfiltered.has($connection) ? select([]).single() : plan($connection, fieldArgs, info),
            };
          case "groupedAggregates":
            return {
              ...field,
              plan($connection: object, fieldArgs, info) {
                const facets = unfiltered.has($connection)
                  ? facetsOf(build, table, record, fieldArgs)
                  : undefined;
                return facets ? select(facets) : plan($connection, fieldArgs, info);
              },
            };
          default:
            return field;
        }
      },
    },
  },
};

type Table = PgResource;

function tableOf(build: GraphileBuild.Build, codec: unknown): Table | undefined {
  const resources = Object.values(build.input.pgRegistry.pgResources) as Table[];
  return resources.find((resource) => resource.codec === codec && !resource.parameters);
}

function recordOf(table: unknown): RecordDescription | undefined {
  const { name, parameters } = (table ?? {}) as Partial<Table>;
  return parameters ? undefined : Object.values(RECORDS).find((record) => record.table === name);
}

/** The columns that totals are kept by, with their facets and types. */
function facetColumns(record: RecordDescription) {
  return fieldsOf(record).flatMap(({ name, column, type }) => {
    const facet = name === "orgUri" ? "org_uri" : FACETS[type];
    return facet ? [{ column, facet, type }] : [];
  });
}

/** The facets to group by; undefined if no totals are kept for one of them, or for their combination. */
function facetsOf(
  build: GraphileBuild.Build,
  table: Table,
  record: RecordDescription,
  fieldArgs: { getRaw: (name: string) => unknown },
): Facet[] | undefined {
  const asked = (fieldArgs.getRaw("groupBy") as { eval: () => unknown }).eval();
  const groupings = build.getTypeByName(build.inflection.aggregateGroupByType({ resource: table }));
  if (!Array.isArray(asked) || !(groupings instanceof build.graphql.GraphQLEnumType)) return undefined;
  const columns = facetColumns(record);
  const facets = asked.map((name) => {
    const column = groupings.getValue(String(name))?.extensions["column"];
    return columns.find((each) => each.column === column)?.facet;
  });
  if (facets.includes(undefined)) return undefined;
  const ofOrganizations = facets.includes("org_uri");
  if (ofOrganizations && (facets.includes("accelerator") || facets.includes("country"))) return undefined;
  return facets as Facet[];
}

function selectTotals(
  build: GraphileBuild.Build,
  table: Table,
  record: RecordDescription,
  facets: readonly Facet[],
): PgSelectStep {
  const { sql } = build;
  const { constant, lambda } = build.grafast;
  let selected: Selected | undefined;
  // Whether records are needed is known only once the whole operation has been planned.
  const inTheEnd = (ofRecords: SQL, ofTotals: SQL) =>
    lambda(constant(null), () => (selected?.needsRecords ? ofRecords : ofTotals));
  const totals = sql`(${totalsIn(build, record, facets)})`;
  const $select = build.dataplanPg.pgSelect({
    resource: table,
    identifiers: [],
    mode: "aggregate",
    name: `${record.table}_totals`,
    from: { callback: ($root) => $root.deferredSQL(inTheEnd(table.from as SQL, totals)) },
  });
  const summed = sql`sum(${$select.alias}.records)::bigint`;
  selected = { count: $select.getPgRoot().deferredSQL(inTheEnd(sql`count(*)`, summed)), needsRecords: false };
  fromTotals.set($select, selected);
  return $select;
}

/** Rows in the form of the table's, one per group, each with the number of records that it stands for. */
function totalsIn(build: GraphileBuild.Build, record: RecordDescription, facets: readonly Facet[]): SQL {
  const { sql } = build;
  const kind = sql`${sql.literal(record.kind)}::app_public.record_kind`;
  if (facets.length === 0) return sql`select app_private.record_total(${kind}) as records`;
  const totalsBy = (some: readonly Facet[]) =>
    sql`app_private.record_totals_by(${kind}, array[${sql.join(
      some.map((facet) => sql.literal(facet)),
      ", ",
    )}]::text[])`;
  const columns = facetColumns(record).filter(({ facet }) => facets.includes(facet));
  const shown = columns.map(({ column, facet, type }) => {
    const value = sql.identifier(facet);
    const as = sql.identifier(column);
    switch (type) {
      case "status":
        return sql`${value}::${sql.identifier("app_public", record.statuses)} as ${as}`;
      case "acceleratorCodes":
      case "countryCodes":
        return sql`array[${value}] as ${as}`;
      default:
        return sql`nullif(${value}, '') as ${as}`;
    }
  });
  const withCodes = sql`select * from ${totalsBy(facets)}`;
  // A record with an empty list of codes is in no group; one without its optional single code has its own.
  const mayLack = columns.find(({ type }) => type === "countryCode");
  const rest = facets.filter((facet) => facet !== mayLack?.facet);
  const without =
    rest.length > 0
      ? totalsBy(rest)
      : sql`(select '' as org_uri, '' as status, '' as accelerator, app_private.record_total(${kind}) as total)`;
  const from = mayLack
    ? sql`${withCodes} union all
        select org_uri, status, accelerator, '', sum(total)::bigint from (
          select org_uri, status, accelerator, total from ${without} as every
          union all select org_uri, status, accelerator, -total from ${totalsBy(facets)} as coded
        ) as lacking group by org_uri, status, accelerator having sum(total) <> 0`
    : withCodes;
  return sql`select ${sql.join(shown, ", ")}, total as records from (${from}) as totals`;
}
