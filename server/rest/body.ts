// Validation of the bodies of all routes, and of the GraphQL mutations of the same name: both refuse the same
// input in the same words.
import type { z } from "zod";
import { MOST_DETAILS, validationFailed } from "../errors.ts";
import type { ApiError, ErrorDetail } from "../errors.ts";

/** The body of a route as callers may send it: optional fields may also be null, which means the same. */
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

/** Reads a body, without the optional fields that are null. */
export function readAs(body: z.ZodObject, value: unknown): ReturnType<z.ZodObject["safeParse"]> {
  if (typeof value !== "object" || value === null) return strictly(body, value);
  const given = { ...value } as Record<string, unknown>;
  for (const name of optionalOf(body)) if (given[name] === null) delete given[name];
  return strictly(body, given);
}

/** Reads values as they are. Issues carry their input, to tell a missing field from a wrong one. */
export const strictly: typeof readAs = (schema, value) => schema.safeParse(value, { reportInput: true });

/** The refusal for a schema's issues. It names MOST_DETAILS of them at most, and counts the rest. */
export function malformed(issues: readonly z.core.$ZodIssue[]): ApiError {
  const count = issues.reduce((sum, issue) => sum + (isOfKeys(issue) ? issue.keys.length : 1), 0);
  return validationFailed(detailsOf(issues).take(MOST_DETAILS).toArray(), { count });
}

/** A schema's issues, field by field. */
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
