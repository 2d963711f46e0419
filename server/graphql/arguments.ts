// What the arguments of one field may be: how many values, how deeply nested, how long, how many linked records.
import { getNamedType, GraphQLBoolean, isInputObjectType } from "postgraphile/graphql";
import type { GraphQLArgument, GraphQLInputType } from "postgraphile/graphql";
import type { z } from "zod";
import { ApiError, validationFailed } from "../errors.ts";
import type { ErrorDetail } from "../errors.ts";
import { pathOf } from "../rest/body.ts";
import { BOUNDS, refuse } from "./bounds.ts";
import { problemOf, problemsOfInput } from "./forms.ts";

/**
 * Checks one argument of a field.
 * @param field its name, for the message
 * @param options.isMutation texts of mutations are left to the rules, which name the input at fault
 * @param options.body what the route of the same name takes, if there is one
 * @returns how many conditions it has, if it is a filter: the values of an `in` or `notIn` are one, a long text is several
 * @throws ApiError 400 naming the bound it exceeds, or every value that is not well-formed
 */
export function checkArgument(
  field: string,
  argument: GraphQLArgument,
  value: unknown,
  options: { isMutation: boolean; body?: z.ZodObject | undefined },
): number {
  const { name } = argument;
  const path = `${field}(${name}:)`;
  if ((name === "orderBy" || name === "groupBy") && Array.isArray(value)) {
    if (value.length > BOUNDS.orderings)
      refuse(`The number of items in ${path} must not exceed`, BOUNDS.orderings, value.length);
    // The same list twice would be every pair of its items.
    if (name === "groupBy" && new Set(value).size < value.length)
      throw new ApiError("validation_failed", { message: `The items in ${path} must differ.` });
  }
  const counts = { values: 0, links: 0, conditions: 0 };
  const problems: ErrorDetail[] = [];
  const visit = (
    part: unknown,
    type: GraphQLInputType | undefined,
    at: readonly (string | number)[],
  ): void => {
    if (at.length > BOUNDS.argumentDepth)
      refuse(`The number of levels in ${path} must not exceed`, BOUNDS.argumentDepth);
    if (part === null && name === "filter" && at.length > 0) refuseNull(pathOf([name, ...at]));
    // A variable that was not sent leaves its field out.
    const parts = (typeof part === "object" && part !== null ? Object.entries(part) : []).filter(
      ([, item]) => item !== undefined,
    );
    if (parts.length === 0) {
      // An empty object or list is a condition, too.
      if (++counts.values > BOUNDS.argumentValues)
        refuse(`The number of values in ${path} must not exceed`, BOUNDS.argumentValues);
      counts.conditions += conditionsOf(part, at);
      if (typeof part === "string" && part.length > BOUNDS.argumentLength && !options.isMutation)
        refuse(
          `The number of characters of a text in ${path} must not exceed`,
          BOUNDS.argumentLength,
          part.length,
        );
      const message = problemOf(type, part);
      if (message !== undefined) problems.push({ path: pathOf([name, ...at]), message });
      return;
    }
    const named = type && getNamedType(type);
    const isList = Array.isArray(part);
    for (const [key, item] of parts) {
      const field = !isList && isInputObjectType(named) ? named.getFields()[key] : undefined;
      if (field && isLink(named, key, field.type) && ++counts.links > BOUNDS.links)
        refuse(`The number of conditions on linked records in ${path} must not exceed`, BOUNDS.links);
      visit(item, isList ? type : field?.type, [...at, isList ? Number(key) : key]);
    }
  };
  visit(value, argument.type, []);
  const found =
    options.body && name === "input" ? problemsOfInput(options.body, argument.type, value) : problems;
  if (found.length > 0) throw validationFailed(found);
  return name === "filter" ? counts.conditions : 0;
}

/** So many characters of a text take as long to look for as one short text. */
const CHARACTERS_PER_CONDITION = 50;

/** How many conditions a value is; the further ones of a list that is looked up as a whole are none. */
function conditionsOf(value: unknown, at: readonly (string | number)[]): number {
  const isFurther = Number(at.at(-1)) > 0 && (at.at(-2) === "in" || at.at(-2) === "notIn");
  if (isFurther) return 0;
  return typeof value === "string" ? Math.max(1, Math.ceil(value.length / CHARACTERS_PER_CONDITION)) : 1;
}

const COMBINATIONS = ["and", "or", "not"];

// A link is a whole filter in another place than those that combine filters, or asks whether there is any record.
function isLink(parent: GraphQLInputType | undefined, key: string, type: GraphQLInputType): boolean {
  const named = getNamedType(type);
  return named === GraphQLBoolean ? isFilter(parent) : isFilter(named) && !COMBINATIONS.includes(key);
}

function isFilter(type: GraphQLInputType | undefined): boolean {
  return isInputObjectType(type) && COMBINATIONS.every((key) => key in type.getFields());
}

// A null here could mean "anything" or "nothing", and neither is what every caller would expect.
function refuseNull(path: string): never {
  const message = "must not be null; leave it out, or use isNull";
  throw new ApiError("validation_failed", { message: `${path} ${message}.`, details: [{ path, message }] });
}
