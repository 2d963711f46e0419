// Measures an operation, with the variables of the request: what it could return if every list were full.
import {
  getNamedType,
  getNullableType,
  GraphQLObjectType,
  isCompositeType,
  isListType,
  Kind,
  print,
  valueFromASTUntyped,
} from "postgraphile/graphql";
import type {
  DocumentNode,
  FieldNode,
  GraphQLCompositeType,
  GraphQLField,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
} from "postgraphile/graphql";
import { ApiError } from "../errors.ts";
import { checkArgument } from "./arguments.ts";
import { BOUNDS, refuse } from "./bounds.ts";
import type { Bodies } from "./forms.ts";
import { GROUPS_DEFAULT, GROUPS_MAX } from "./groups.ts";
import { PAGE_DEFAULT, PAGE_DEFAULT_NESTED, PAGE_MAX } from "./paging.ts";

type Variables = Readonly<Record<string, unknown>>;

/** What was found out about an operation. */
export type Measured = {
  fields: number;
  /** How often the same part of an answer is requested under different names, at most. */
  copies: number;
  /** How many requests it counts as before it is run, for the rate limit. */
  requests: number;
};

/** Fields of a connection that are computed over all of its records, so that each counts as a request. */
const AGGREGATIONS = new Set(["aggregates", "groupedAggregates"]);

/**
 * Measures an operation of a valid document.
 * @param variables as they were sent
 * @param bodies the body schemas of mutations
 * @throws ApiError 400 naming the bound it exceeds
 */
export function measure(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | undefined,
  variables: Variables,
  bodies: Bodies,
): Measured {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const operation = operations.find(
    ({ name }) => operationName === undefined || name?.value === operationName,
  );
  // If it is unclear which operation is meant, execution will say so.
  if (!operation) return { fields: 0, copies: 1, requests: 1 };
  const root = schema.getRootType(operation.operation);
  if (!root) {
    throw new ApiError("validation_failed", { message: `There are no ${operation.operation}s here.` });
  }
  return new Measurement(schema, document, withDefaults(operation, variables), bodies).ofRoot(
    root,
    operation.selectionSet,
  );
}

/** The variables of a request, with the defaults of those that it left out. */
export function withDefaults(operation: OperationDefinitionNode, variables: Variables): Variables {
  const defaults = (operation.variableDefinitions ?? [])
    .filter(({ defaultValue }) => defaultValue !== undefined)
    .map(({ variable, defaultValue }) => [variable.name.value, valueFromASTUntyped(defaultValue!)] as const);
  return { ...Object.fromEntries(defaults), ...variables };
}

/** Where a field is found. */
type Place = {
  /** How often its parent occurs. */
  times: number;
  /** The size of the page that its parent is or belongs to. */
  page: number | undefined;
  /** The lists around it, with their sizes. */
  lists: readonly string[];
};

class Measurement {
  readonly #schema: GraphQLSchema;
  readonly #fragments: Map<string, { type: string; selections: SelectionSetNode }>;
  readonly #variables: Variables;
  readonly #bodies: Bodies;
  #fields = 0;
  #aliases = 0;
  #records = 0;
  #values = 0;
  #introspected = 0;
  #aggregations = 0;
  #largest: { records: number; lists: readonly string[] } = { records: 0, lists: [] };

  constructor(schema: GraphQLSchema, document: DocumentNode, variables: Variables, bodies: Bodies) {
    this.#schema = schema;
    this.#bodies = bodies;
    this.#variables = variables;
    this.#fragments = new Map(
      document.definitions
        .filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
        .map((node) => [
          node.name.value,
          { type: node.typeCondition.name.value, selections: node.selectionSet },
        ]),
    );
  }

  ofRoot(root: GraphQLObjectType, selections: SelectionSetNode): Measured {
    const rootFields = this.#fieldsOf(root, selections);
    if (rootFields.length > BOUNDS.rootFields)
      refuse("The number of fields at the root of an operation must not exceed", BOUNDS.rootFields);
    this.#each(rootFields, { times: 1, page: undefined, lists: [] });
    if (this.#records > BOUNDS.records) {
      refuse(
        "The number of records that a request could return if all its lists were full must not exceed",
        BOUNDS.records,
        this.#records,
        this.#advice(),
      );
    }
    if (this.#values > BOUNDS.values) {
      refuse(
        "The number of values that a request could return if all its lists were full must not exceed",
        BOUNDS.values,
        this.#values,
        this.#advice(),
      );
    }
    const copies = this.#copiesIn(rootFields);
    return { fields: this.#fields, copies, requests: Math.max(1, this.#aggregations) };
  }

  /**
   * How often the same field is requested under different names. Fields with the same name are merged into
   * one, however many fragments request them.
   */
  #copiesIn(fields: readonly Selected[]): number {
    const named = Map.groupBy(fields, ({ node }) => (node.alias ?? node.name).value);
    const asked = Map.groupBy(named.values(), ([first]) => print(barely(first!.node)));
    const copies = [...asked.values()].flatMap((alike) =>
      alike.map((merged) => alike.length * this.#copiesIn(merged.flatMap((each) => this.#fieldsBelow(each)))),
    );
    return Math.max(1, ...copies);
  }

  #fieldsBelow({ parent, node }: Selected): Selected[] {
    const field = "getFields" in parent ? parent.getFields()[node.name.value] : undefined;
    const type = field && getNamedType(field.type);
    return isCompositeType(type) && node.selectionSet ? this.#fieldsOf(type, node.selectionSet) : [];
  }

  #each(fields: readonly Selected[], place: Place): void {
    for (const field of fields) this.#field(field, place);
  }

  #field({ parent, node, given }: Selected, { times, page, lists }: Place): void {
    this.#fields++;
    if (node.alias && ++this.#aliases > BOUNDS.aliases)
      refuse("The number of aliases in an operation must not exceed", BOUNDS.aliases);
    const name = node.name.value;
    if (parent === this.#schema.getQueryType()) {
      if (name === "__schema") return this.#introspect("__Schema", [this.#schema], node);
      const typeName = given["name"];
      if (name === "__type" && typeof typeName === "string")
        return this.#introspect("__Type", [this.#schema.getType(typeName)], node);
    }
    const field = "getFields" in parent ? parent.getFields()[name] : undefined;
    const isMutation = parent === this.#schema.getMutationType();
    const body = isMutation ? this.#bodies.get(name) : undefined;
    for (const argument of field?.args ?? []) {
      // A variable that is left out leaves its argument out.
      if (given[argument.name] !== undefined)
        checkArgument(name, argument, given[argument.name], { isMutation, body });
    }
    if (AGGREGATIONS.has(name) && parent.name.endsWith("Connection")) this.#aggregations++;
    const type = field && getNamedType(field.type);
    if (!field || !isCompositeType(type) || !node.selectionSet) {
      this.#values += times;
      return;
    }
    const isPaged = field.args.some((argument) => argument.name === "first");
    const pageHere = isPaged ? pageSize(field, given, parent.name === "Query") : undefined;
    const isList = isListType(getNullableType(field.type));
    const occurrences = times * (isList ? (pageHere ?? listSize(field, given, page)) : 1);
    // A single record that belongs to another is not counted, since the number of fields already bounds it.
    if (isList) this.#records += occurrences;
    const size = pageHere ?? (isList && page === undefined ? listSize(field, given, page) : undefined);
    const around = size === undefined ? lists : [...lists, `${name} (${size})`];
    if (isList && occurrences > this.#largest.records)
      this.#largest = { records: occurrences, lists: around };
    // Pages and their edges pass the size of the page down to the list within.
    this.#each(this.#fieldsOf(type, node.selectionSet), {
      times: occurrences,
      page: pageHere,
      lists: around,
    });
  }

  // Pages multiply, and default page sizes do not show in the text.
  #advice(): string {
    return `Most of it is ${this.#largest.lists.join(" › ")}: ask for fewer in one of these lists.`;
  }

  // What introspection returns is known in advance, so its values are counted exactly.
  #introspect(typeName: string, returned: readonly unknown[], { selectionSet }: FieldNode): void {
    const type = this.#schema.getType(typeName);
    if (!(type instanceof GraphQLObjectType) || !selectionSet) return;
    const sources = returned.flat().filter((source) => source !== undefined && source !== null);
    for (const { node, given } of this.#fieldsOf(type, selectionSet)) {
      this.#introspected += sources.length;
      if (this.#introspected > BOUNDS.introspection)
        refuse("The number of values in an introspection must not exceed", BOUNDS.introspection);
      const field = type.getFields()[node.name.value];
      if (!field || !node.selectionSet) continue;
      const values = sources.map((source) =>
        field.resolve?.(source, given, undefined, { schema: this.#schema } as GraphQLResolveInfo),
      );
      this.#introspect(getNamedType(field.type).name, values, node);
    }
  }

  /** The fields of a selection, those of its fragments included. */
  #fieldsOf(type: GraphQLCompositeType, { selections }: SelectionSetNode): Selected[] {
    return selections.flatMap((node) => {
      if (node.kind === Kind.FIELD) return [{ parent: type, node, given: this.#arguments(node) }];
      const fragment =
        node.kind === Kind.FRAGMENT_SPREAD
          ? this.#fragments.get(node.name.value)
          : { type: node.typeCondition?.name.value ?? type.name, selections: node.selectionSet };
      const on = fragment && this.#schema.getType(fragment.type);
      return fragment && isCompositeType(on) ? this.#fieldsOf(on, fragment.selections) : [];
    });
  }

  #arguments(node: FieldNode): Variables {
    return Object.fromEntries(
      (node.arguments ?? []).map(({ name, value }) => [
        name.value,
        valueFromASTUntyped(value, this.#variables),
      ]),
    );
  }
}

type Selected = { parent: GraphQLCompositeType; node: FieldNode; given: Variables };

/**
 * A field without its alias, directives and selections, by which requests for the same thing are recognized.
 */
function barely(node: FieldNode): FieldNode {
  const given = node.arguments?.toSorted((one, other) => (one.name.value < other.name.value ? -1 : 1));
  return { ...node, arguments: given, alias: undefined, directives: undefined, selectionSet: undefined };
}

type Field = GraphQLField<unknown, unknown>;

function pageSize({ name, args }: Field, given: Variables, isRoot: boolean): number {
  const isGroups = args.some((argument) => argument.name === "groupBy");
  const most = isGroups ? GROUPS_MAX : PAGE_MAX;
  const { first, last, offset } = given;
  const sizes = Object.entries({ first, last }).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  const problems = [
    ...sizes
      .filter(([, size]) => size < 0 || size > most)
      .map(([path]) => ({ path, message: `must be from 0 to ${most}` })),
    ...(sizes.length > 1 ? [{ path: "last", message: "must not be given with first" }] : []),
    ...(typeof offset === "number" && offset < 0 ? [{ path: "offset", message: "must be at least 0" }] : []),
  ];
  if (problems.length > 0) {
    const said = problems.map(({ path, message }) => `${path} ${message}`).join("; ");
    throw new ApiError("validation_failed", { message: `${name}: ${said}.`, details: problems });
  }
  const [asked] = sizes;
  if (asked) return asked[1];
  if (isGroups) return GROUPS_DEFAULT;
  return isRoot ? PAGE_DEFAULT : PAGE_DEFAULT_NESTED;
}

function listSize({ args }: Field, given: Variables, page: number | undefined): number {
  if (!args.some((argument) => argument.name === "limit")) return page ?? 1;
  const limit = given["limit"];
  // A negative limit, which the function refuses, counts as zero: it must not make room for other lists.
  return typeof limit === "number" ? Math.max(0, limit) : PAGE_DEFAULT_NESTED;
}
