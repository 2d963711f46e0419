// What the bodies of all routes have in common, for REST and for the mutations of GraphQL that have the same name as a
// route: the same judgement in the same words.
import type { z } from "zod";
import { MOST_DETAILS, validationFailed } from "../errors.ts";
import type { ApiError, ErrorDetail } from "../errors.ts";

/** The body of a route as callers may send it: what may be left out may also be null, which means the same. */
export function withNullable(body: z.ZodObject): z.ZodObject {
  return body.extend(
    Object.fromEntries(
      optionalOf(body)
        .map((name) => [name, body.shape[name] as z.ZodType] as const)
        .filter(([, field]) => !field.safeParse(null).success)
        .map(([name, field]) => [name, field.nullable().meta(field.meta() ?? {})]),
    ),
  );
}

/** Reads a body; what is null and may be left out is left out. */
export function readAs(body: z.ZodObject, value: unknown): ReturnType<z.ZodObject["safeParse"]> {
  if (typeof value !== "object" || value === null) return strictly(body, value);
  const given = { ...value } as Record<string, unknown>;
  for (const name of optionalOf(body)) if (given[name] === null) delete given[name];
  return strictly(body, given);
}

/** Reads values as they are; with the input, so that what is missing can be told from what is wrong. */
export const strictly: typeof readAs = (schema, value) => schema.safeParse(value, { reportInput: true });

/** The refusal of what a schema has found wrong. Of thousands of fields those that it does not name are only counted. */
export function malformed(issues: readonly z.core.$ZodIssue[]): ApiError {
  const count = issues.reduce((sum, issue) => sum + (isOfKeys(issue) ? issue.keys.length : 1), 0);
  return validationFailed(detailsOf(issues).take(MOST_DETAILS).toArray(), { count });
}

/** What a schema has found wrong, field by field. */
export function* detailsOf(issues: readonly z.core.$ZodIssue[]): Generator<ErrorDetail> {
  for (const issue of issues) {
    if (!isOfKeys(issue))
      yield { path: pathOf(issue.path), message: isMissing(issue) ? "is required" : issue.message };
    else
      for (const key of issue.keys)
        yield { path: pathOf([...issue.path, key]), message: "is not a field of this request" };
  }
}

function isOfKeys(issue: z.core.$ZodIssue): issue is z.core.$ZodIssueUnrecognizedKeys {
  return issue.code === "unrecognized_keys";
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  return issue.code !== "custom" && "input" in issue && issue.input === undefined;
}

/** A path as refusals write it: filter.needId.in[0]. */
export function pathOf(parts: readonly PropertyKey[]): string {
  return parts.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part),
    "",
  );
}

const known = new WeakMap<z.ZodObject, readonly string[]>();

function optionalOf(body: z.ZodObject): readonly string[] {
  const names =
    known.get(body) ??
    Object.keys(body.shape).filter((name) => (body.shape[name] as z.ZodType).safeParse(undefined).success);
  known.set(body, names);
  return names;
}
