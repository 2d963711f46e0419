// How much one request may ask for. Two things are measured: the text, before it is validated, and the work, with
// the request's variables. Every refusal is a 400 validation_failed and names the bound.
import {
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  Kind,
  parse,
  valueFromASTUntyped,
} from "postgraphile/graphql";
import type {
  DocumentNode,
  FieldNode,
  GraphQLCompositeType,
  GraphQLField,
  GraphQLObjectType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
} from "postgraphile/graphql";
import { ApiError } from "../errors.ts";
import { PAGE_DEFAULT, PAGE_DEFAULT_NESTED, PAGE_MAX } from "./paging.ts";

/** The bounds of one request. */
export const BOUNDS = {
  /** Characters in the text. */
  textLength: 32_768,
  /** Tokens in the text, a measure of what parsing and validating it costs. */
  tokens: 4_000,
  /** Fields, counting every fragment wherever it is spread. */
  fields: 1_000,
  /** Fields of Query or Mutation in one operation. */
  rootFields: 20,
  /** Fields with an alias. */
  aliases: 50,
  /** Records and groups that could come back if every list were full. */
  records: 25_000,
  /** Orderings or groupings of one list. */
  orderings: 5,
  /** Individual values in the arguments of one field, including those in variables. */
  argumentValues: 500,
  /** How deep the arguments of one field may nest. */
  argumentDepth: 16,
} as const;

/** How many groups grouped aggregates are counted as; the real number is not known in advance. */
const GROUPS = 100;

const number = new Intl.NumberFormat("en");

function refuse(what: string, bound: number, found?: number): never {
  const counted = found === undefined ? "" : ` This one has ${number.format(found)}.`;
  throw new ApiError("validation_failed", { message: `${what} ${number.format(bound)}.${counted}` });
}

/**
 * Parses a text, unless it is too long to be worth it.
 * @throws GraphQLError for its syntax, ApiError 400 for its size
 */
export function parseWithin(text: string): DocumentNode {
  if (text.length > BOUNDS.textLength) {
    refuse("The number of characters in a GraphQL text must not exceed", BOUNDS.textLength, text.length);
  }
  try {
    return parse(text, { maxTokens: BOUNDS.tokens });
  } catch (error) {
    // The parser is recursive: a text nested too deeply for it is the caller's fault.
    if (error instanceof RangeError) {
      throw new ApiError("validation_failed", {
        message: "The GraphQL text is nested too deeply.",
        cause: error,
      });
    }
    throw error;
  }
}

type Variables = Readonly<Record<string, unknown>>;

/**
 * Measures an operation of a valid document.
 * @param variables as the request brought them
 * @throws ApiError 400 naming the bound it exceeds
 */
export function measure(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | undefined,
  variables: Variables,
): void {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const operation = operations.find(
    ({ name }) => operationName === undefined || name?.value === operationName,
  );
  const root = operation && schema.getRootType(operation.operation);
  // If it is unclear which operation is meant, execution will say so.
  if (!operation || !root) return;
  new Measurement(schema, document, withDefaults(operation, variables)).ofRoot(root, operation.selectionSet);
}

function withDefaults(operation: OperationDefinitionNode, variables: Variables): Variables {
  const defaults = (operation.variableDefinitions ?? [])
    .filter(({ defaultValue }) => defaultValue !== undefined)
    .map(({ variable, defaultValue }) => [variable.name.value, valueFromASTUntyped(defaultValue!)] as const);
  return { ...Object.fromEntries(defaults), ...variables };
}

class Measurement {
  readonly #schema: GraphQLSchema;
  readonly #fragments: Map<string, { type: string; selections: SelectionSetNode }>;
  readonly #variables: Variables;
  #fields = 0;
  #aliases = 0;
  #records = 0;

  constructor(schema: GraphQLSchema, document: DocumentNode, variables: Variables) {
    this.#schema = schema;
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

  ofRoot(root: GraphQLObjectType, selections: SelectionSetNode): void {
    let rootFields = 0;
    this.#each(root, selections, (type, node) => {
      if (++rootFields > BOUNDS.rootFields)
        refuse("The number of fields at the root of an operation must not exceed", BOUNDS.rootFields);
      this.#field(type, node, 1, undefined);
    });
    if (this.#records > BOUNDS.records) {
      refuse(
        "The number of records that a request could return if all its lists were full must not exceed",
        BOUNDS.records,
        this.#records,
      );
    }
  }

  // `times`: how often the field's parent occurs; `page`: the size of the page that the parent is or belongs to.
  #field(parent: GraphQLCompositeType, node: FieldNode, times: number, page: number | undefined): void {
    if (++this.#fields > BOUNDS.fields)
      refuse("The number of fields in an operation must not exceed", BOUNDS.fields);
    if (node.alias && ++this.#aliases > BOUNDS.aliases)
      refuse("The number of aliases in an operation must not exceed", BOUNDS.aliases);
    const name = node.name.value;
    const field = "getFields" in parent ? parent.getFields()[name] : undefined;
    // Introspection is bounded separately, by depth.
    if (!field) return;
    const given = this.#arguments(node);
    for (const [argument, value] of Object.entries(given))
      checkArgument(`${name}(${argument}:)`, argument, value);
    const type = getNamedType(field.type);
    if (!isCompositeType(type) || !node.selectionSet) return;

    const isPaged = field.args.some((argument) => argument.name === "first");
    const pageHere = isPaged ? pageSize(name, given, parent.name === "Query") : undefined;
    const isList = isListType(getNullableType(field.type));
    const occurrences = times * (isList ? listSize(name, field, given, page) : 1);
    // A single record that belongs to another is not counted, since the number of fields already bounds it.
    if (isList) this.#records += occurrences;
    // Pages and their edges pass the size of the page down to the list within.
    this.#each(type, node.selectionSet, (on, child) => this.#field(on, child, occurrences, pageHere));
  }

  #each(
    type: GraphQLCompositeType,
    selections: SelectionSetNode,
    visit: (type: GraphQLCompositeType, node: FieldNode) => void,
  ): void {
    for (const node of selections.selections) {
      if (node.kind === Kind.FIELD) {
        visit(type, node);
        continue;
      }
      // A spread counts as a field: fragments that spread other fragments must not be free.
      if (++this.#fields > BOUNDS.fields)
        refuse("The number of fields in an operation must not exceed", BOUNDS.fields);
      const fragment =
        node.kind === Kind.FRAGMENT_SPREAD
          ? this.#fragments.get(node.name.value)
          : { type: node.typeCondition?.name.value ?? type.name, selections: node.selectionSet };
      const on = fragment && this.#schema.getType(fragment.type);
      if (fragment && isCompositeType(on)) this.#each(on, fragment.selections, visit);
    }
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

function pageSize(name: string, given: Variables, isRoot: boolean): number {
  for (const argument of ["first", "last"]) {
    const size = given[argument];
    if (typeof size !== "number") continue;
    if (size < 0 || size > PAGE_MAX) {
      const message = `must be from 0 to ${PAGE_MAX}`;
      throw new ApiError("validation_failed", {
        message: `${name}: ${argument} ${message}.`,
        details: [{ path: argument, message }],
      });
    }
    return size;
  }
  return isRoot ? PAGE_DEFAULT : PAGE_DEFAULT_NESTED;
}

function listSize(
  name: string,
  field: GraphQLField<unknown, unknown>,
  given: Variables,
  page: number | undefined,
): number {
  if (name === "groupedAggregates") return GROUPS;
  const limit = field.args.find((argument) => argument.name === "limit");
  if (limit) return typeof given["limit"] === "number" ? given["limit"] : PAGE_DEFAULT_NESTED;
  return page ?? 1;
}

function checkArgument(path: string, name: string, value: unknown): void {
  if ((name === "orderBy" || name === "groupBy") && Array.isArray(value) && value.length > BOUNDS.orderings) {
    refuse(`The number of items in ${path} must not exceed`, BOUNDS.orderings, value.length);
  }
  let values = 0;
  const visit = (part: unknown, at: string[]): void => {
    if (at.length > BOUNDS.argumentDepth)
      refuse(`The number of levels in ${path} must not exceed`, BOUNDS.argumentDepth);
    if (part === null && name === "filter" && at.length > 0) refuseNull([name, ...at].join("."));
    if (typeof part !== "object" || part === null) {
      if (++values > BOUNDS.argumentValues)
        refuse(`The number of values in ${path} must not exceed`, BOUNDS.argumentValues);
      return;
    }
    for (const [key, item] of Object.entries(part)) visit(item, [...at, key]);
  };
  visit(value, []);
}

// A null here could mean "anything" or "nothing", and neither is what every caller would expect.
function refuseNull(path: string): never {
  const message = "must not be null; leave it out, or use isNull";
  throw new ApiError("validation_failed", { message: `${path} ${message}.`, details: [{ path, message }] });
}
