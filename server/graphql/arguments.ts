// Limits on the arguments of one field: number of values, depth, length, conditions on linked records.
import { getNamedType, GraphQLBoolean, isInputObjectType } from "postgraphile/graphql";
import type { GraphQLArgument, GraphQLInputType } from "postgraphile/graphql";
import type { z } from "zod";
import { ApiError, validationFailed } from "../errors.ts";
import type { ErrorDetail } from "../errors.ts";
import { pathOf } from "../rest/body.ts";
import { BOUNDS, refuse } from "./bounds.ts";
import { problemOf, problemsOfInput } from "./forms.ts";

/**
 * Whether a text is a cursor or an id: the values of a record that its list is ordered by, which may be texts of any length, or
 * its URI, and nothing within them.
 */
function isOfValues(text: string): boolean {
  try {
    const values: unknown = JSON.parse(Buffer.from(text, "base64").toString());
    return Array.isArray(values) && values.every((value) => typeof value !== "object" || value === null);
  } catch {
    return false;
  }
}

/**
 * Checks one argument of a field.
 * @param field its name, for the message
 * @param options.isMutation the length of texts in mutations is left to the rules, which name the invalid
 * input
 * @param options.body the body schema of the REST route with the same name, if there is one
 * @throws ApiError 400 naming the bound it exceeds, or every value that is not well-formed
 */
export function checkArgument(
  field: string,
  argument: GraphQLArgument,
  value: unknown,
  options: { isMutation: boolean; body?: z.ZodObject | undefined },
): void {
  const { name } = argument;
  const path = `${field}(${name}:)`;
  if ((name === "orderBy" || name === "groupBy") && Array.isArray(value)) {
    if (value.length > BOUNDS.orderings)
      refuse(`The number of items in ${path} must not exceed`, BOUNDS.orderings, value.length);
    // Grouping twice by the same list would produce every pair of its items.
    if (name === "groupBy" && new Set(value).size < value.length)
      throw new ApiError("validation_failed", { message: `The items in ${path} must differ.` });
  }
  const counts = { values: 0, links: 0 };
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
      // An empty object or list counts as a value, too.
      if (++counts.values > BOUNDS.argumentValues)
        refuse(`The number of values in ${path} must not exceed`, BOUNDS.argumentValues);
      const isLong = typeof part === "string" && part.length > BOUNDS.argumentLength && !options.isMutation;
      if (isLong && !(/^(Cursor|ID)\b/.test(String(type)) && isOfValues(part)))
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
}

const COMBINATIONS = ["and", "or", "not"];

// Conditions on linked records: a nested filter under any key but and, or and not, or a Boolean field of a
// filter, which asks whether there are linked records.
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
