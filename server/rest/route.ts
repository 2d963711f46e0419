// What a REST route is: schemas for its input and output, and the statement that answers. The OpenAPI
// document, the validation and the served routes all come from these definitions.
import type { Request, Response } from "express";
import type { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import type { ListQuery } from "./list.ts";

/** The checked input of a request: path parameters, query, headers and body together. */
export type Input = Record<string, unknown>;

const forPerson = ["not_your_identity", "key_not_for_person"] as const;
const forOrganization = [...forPerson, "key_not_for_organization"] as const;

/** With what the database refuses callers who act for a person, for an organization, or as a member of it. */
export const REFUSALS = {
  forPerson,
  forOrganization,
  asMember: [...forOrganization, "membership_required", "insufficient_role"],
} as const satisfies Record<string, readonly ErrorCode[]>;

/** One REST route. */
export type RestRoute = {
  method: "get" | "post";
  /** As in OpenAPI: /v0/needs/{needId}. */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  /** By their names in REQUEST_HEADERS. */
  headers?: z.ZodObject;
  body?: z.ZodObject;
  /** Status and schema of success. */
  answer: {
    schema: z.ZodType;
    /** Schemas of media types besides application/json. */
    alternatives?: Record<string, z.ZodType>;
    /** Headers that only this route sends. */
    headers?: Record<
      string,
      { description: string; required?: false; schema: { type: "string"; enum?: string[] } }
    >;
    description: string;
  } & (
    | { status: 200 }
    | { status: 201; /** The path of the route that reads what was created. */ location: string }
  );
  /** Registered error codes that this route can return besides those that every route can. */
  errors: readonly ErrorCode[];
  /** Its answers are about persons, and depend on who acts. */
  isPersonal?: true;
  /** Takes an Idempotency-Key. */
  idempotent?: boolean;
  /** SQL that returns one JSON text; its $1 is the input. If there is no row, the answer is `missing`. */
  statement?: string | ((input: Input) => string);
  /** Instead of a statement: the list of which the answer is a page. */
  list?: ListQuery;
  /** The refusal when the statement returns null. */
  missing?: ErrorCode;
  /** For a route whose answer is not simply that of its statement or list: makes its text, or its pieces. */
  handle?: (request: Request, response: Response, input: Input) => Promise<string> | AsyncIterable<string>;
};
