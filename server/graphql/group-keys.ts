// The keys of groups, with their types and links: a group by accelerator has its label, one by organization
// its name. The links are looked up for all groups at once.
import type { Step } from "postgraphile/grafast";
import type { PgCodec, PgResource, PgSelectSingleStep, PgSelectStep } from "postgraphile/@dataplan/pg";
import type { GraphQLOutputType } from "postgraphile/graphql";
import { groupingsIn } from "./grouping.ts";
import type { Grouping, Table } from "./grouping.ts";

/** The groupBy argument of each selection of groups; lookups find a key by its position in it. */
const asked = new WeakMap<object, Step>();

/** Records the groupBy argument of a selection of groups. */
export function groupedBy($groups: PgSelectStep, $groupBy: Step): void {
  asked.set($groups, $groupBy);
}

/** The tables that list codes, by the columns that hold these codes. */
const CODES = [
  { column: /accelerator/, list: "accelerators", key: "code", field: "accelerator" },
  { column: /country_code$/, list: "countries", key: "alpha2", field: "country" },
  { column: /rop3$/, list: "people_groups", key: "rop3", field: "peopleGroup" },
];

const typeName = (build: GraphileBuild.Build, table: Table) =>
  `${build.inflection.tableType(table.codec)}Group`;

export const GroupKeysPlugin: GraphileConfig.Plugin = {
  name: "GroupKeysPlugin",
  after: ["PgAggregatesAddAggregateTypesPlugin"],
  schema: {
    hooks: {
      init(_, build) {
        for (const table of groupedTables(build)) {
          build.registerObjectType(
            typeName(build, table),
            {},
            () => ({
              description:
                "What the records of a group have in common; null for what they are not grouped by.",
              fields: () => fieldsOf(build, table),
            }),
            "What groups have in common",
          );
        }
        return _;
      },
      GraphQLObjectType_fields(fields, build, { scope, fieldWithHooks }) {
        const { isPgAggregateContainerType, pgTypeResource: table } = scope;
        const type = table && isPgAggregateContainerType && build.getTypeByName(typeName(build, table));
        if (!type) return fields;
        return build.extend(
          fields,
          {
            group: fieldWithHooks({ fieldName: "group" }, () => ({
              description: "What the group has in common; null for all records together.",
              type: type as GraphQLOutputType,
              plan: ($group: PgSelectSingleStep) =>
                asked.has($group.getClassStep()) ? $group : build.grafast.constant(null),
            })),
          },
          "Adding what groups have in common",
        );
      },
    },
  },
};

function groupedTables(build: GraphileBuild.Build): Table[] {
  return (Object.values(build.input.pgRegistry.pgResources) as Table[]).filter(
    (table) =>
      !table.parameters &&
      build.behavior.pgResourceMatches(table, "resource:groupedAggregates") &&
      groupingsIn(build, table).length > 0,
  );
}

function fieldsOf(build: GraphileBuild.Build, table: Table) {
  const { inflection } = build;
  const { lambda } = build.grafast;
  const key = ($group: PgSelectSingleStep, { name }: Grouping) => {
    const $groups = $group.getClassStep();
    const $details = $groups.getGroupDetails() as Step<Details>;
    return lambda([$details, asked.get($groups)!, $group as Step], ([details, groupBy, row]) => {
      const at = (groupBy as readonly string[]).indexOf(name);
      const place = details.indicies[at];
      const value = place && (row as readonly (string | null)[])[place.index];
      return value === undefined || value === null ? null : (place!.codec.fromPg(value) as unknown);
    });
  };
  return Object.fromEntries(
    groupingsIn(build, table).flatMap((grouping) => {
      const type = build.getGraphQLTypeByPgCodec(grouping.codec, "output");
      const own = {
        type,
        description: `The key of groups by \`${grouping.name}\`.`,
        plan: ($group: PgSelectSingleStep) => key($group, grouping),
      };
      const link = grouping.suffix === "" ? linkOf(build, table, grouping.attributeName) : undefined;
      const linked = link && {
        type: build.getTypeByName(inflection.tableType(link.resource.codec)),
        description: `What the key of groups by \`${grouping.name}\` stands for; null where it is not public, or in no list.`,
        plan: ($group: PgSelectSingleStep) => link.resource.get({ [link.key]: key($group, grouping) }),
      };
      return [[inflection.camelCase(grouping.name), own], ...(link ? [[link.field, linked]] : [])];
    }),
  );
}

type Details = { indicies: readonly { index: number; codec: PgCodec }[] };

function linkOf(build: GraphileBuild.Build, table: Table, attributeName: string) {
  const { pgResources } = build.input.pgRegistry;
  for (const [relationName, relation] of Object.entries(table.getRelations())) {
    const { isReferencee, localAttributes, remoteAttributes, remoteResource } = relation as {
      isReferencee?: boolean;
      localAttributes: readonly string[];
      remoteAttributes: readonly string[];
      remoteResource: PgResource;
    };
    if (isReferencee || localAttributes[0] !== attributeName) continue;
    const field = build.inflection.singleRelation({
      registry: build.input.pgRegistry,
      codec: table.codec,
      relationName,
    });
    return { resource: remoteResource, key: remoteAttributes[0]!, field };
  }
  const code = CODES.find(({ column }) => column.test(attributeName));
  const resource = code && (pgResources[code.list] as PgResource | undefined);
  return resource && { resource, key: code.key, field: code.field };
}
