// Formats of values, checked before PostgreSQL reads them. Its own types would take "tomorrow" for a date and
// any 32 hexadecimal digits for a UUID; here, as in REST, there is only one way of writing each.
import { getNamedType, isInputObjectType, isListType, getNullableType } from "postgraphile/graphql";
import type { GraphQLInputType } from "postgraphile/graphql";
import { z } from "zod";
import type { ErrorDetail } from "../errors.ts";
import { detailsOf, readAs } from "../rest/body.ts";
import { date, NUL, timestamp, uuid } from "../rest/schemas.ts";

const SCALARS: Readonly<Record<string, z.ZodType>> = {
  UUID: uuid,
  Date: date,
  Datetime: timestamp,
  BigInt: z.union(
    [z.int(), z.string().refine((text) => /^-?\d{1,19}$/.test(text) && isInEightBytes(BigInt(text)))],
    { error: "must be an integer of at most eight bytes" },
  ),
  String: z.unknown().refine((text) => typeof text !== "string" || !text.includes("\0"), NUL),
};

function isInEightBytes(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

/** What is wrong with the format of a single value, if anything. */
export function problemOf(type: GraphQLInputType | undefined, value: unknown): string | undefined {
  // Of a list each item is judged by itself, so an empty one has nothing wrong with it.
  if (!type || value === null || Array.isArray(value)) return undefined;
  return SCALARS[getNamedType(type).name]?.safeParse(value).error?.issues[0]?.message;
}

/** The body schemas of REST's routes, by the name of the corresponding mutation. */
export type Bodies = ReadonlyMap<string, z.ZodObject>;

/**
 * What is wrong with the input of a mutation, in the words of REST about the body of the corresponding route.
 */
export function problemsOfInput(body: z.ZodObject, type: GraphQLInputType, input: unknown): ErrorDetail[] {
  const named = getNamedType(type);
  if (!isInputObjectType(named) || typeof input !== "object" || input === null) return [];
  const { clientMutationId: _, ...given } = input as Record<string, unknown>;
  for (const [name, value] of Object.entries(given)) {
    // In GraphQL a single value may stand for a list of one.
    const isList = isListType(getNullableType(named.getFields()[name]?.type));
    if (isList && value !== null && !Array.isArray(value)) given[name] = [value];
  }
  return [...detailsOf(readAs(body, given).error?.issues ?? [])];
}
