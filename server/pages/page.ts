// What a page is, and how it is sent. Each has a file of its own in this folder; desk.ts has the list.
import { hash } from "node:crypto";
import type { Request, Response } from "express";
import { html } from "hono/html";
import type { Database } from "../database.ts";
import { ApiError } from "../errors.ts";
import { sendAnswer } from "../rest/answer.ts";
import { formToken } from "./form.ts";
import { layout } from "./layout.ts";
import type { Content, Shown } from "./layout.ts";
import { visitorOf } from "./visitor.ts";
import type { Visitor } from "./visitor.ts";

export type { Content, Shown } from "./layout.ts";

/** One page. */
export type Page = {
  /** As Express takes it: /admin/needs/:id. */
  path: string;
  /**
   * For everybody; the other pages redirect to the sign-in first. "always": also while sessions cannot be looked up, for what
   * does not depend on them.
   */
  open?: true | "always";
  /** Returns what to show, or a path to redirect to. */
  show: (visit: Visit) => Shown | Promise<Shown | string>;
  /** Does what its forms ask for; returns the path to redirect to, or what to show instead. */
  act?: (visit: Visit) => Promise<string | Shown>;
};

/** One request for a page. */
export type Visit = Readonly<{
  visitor: Visitor | undefined;
  /** The path and query of this page. */
  address: string;
  /** A parameter of the path. */
  part: (name: string) => string;
  /** A parameter of the query; undefined if it is empty or missing. */
  query: (name: string) => string | undefined;
  /** A field of the form; `fields` returns all of that name. */
  field: (name: string) => string | undefined;
  fields: (name: string) => readonly string[];
  /**
   * Asks the database as the visitor.
   * @param statement SQL that returns one JSON text; its $1 is `input`
   * @returns the parsed text; null if there was no row
   * @throws the refusals of the rules
   */
  ask: <T>(statement: string, input?: Record<string, unknown>) => Promise<T>;
  /** The underlying request and response, for code that needs them. */
  exchange: Readonly<{ request: Request; response: Response }>;
  /** The hidden field that each form of the page must contain. */
  proof: Content;
}>;

/** Allows only this service's own files and the text of the import map, and no framing by other pages. */
function headersFor({ imports }: Shown): Record<string, string> {
  const scripts = imports === undefined ? "" : ` 'sha256-${hash("sha256", imports, "base64")}'`;
  return {
    "content-security-policy":
      `default-src 'none'; script-src 'self'${scripts}; style-src 'self'; img-src 'self' data:; connect-src 'self'; ` +
      "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    // With no-referrer a browser would send `Origin: null` with the forms.
    "referrer-policy": "same-origin",
  };
}

/** Answers with a page. */
export async function sendPage(request: Request, response: Response, shown: Shown): Promise<void> {
  const { path, method, originalUrl } = request;
  // The answer to a form has no address at which it could be read again: use that of its page.
  const address = method === "GET" ? originalUrl : path;
  const page = await layout(shown, { address, visitor: visitorOf(response) });
  response
    .status(shown.status ?? 200)
    .set(headersFor(shown))
    .type("html");
  await sendAnswer(request, response, String(page), { isPersonal: true });
}

/** What a page gets to know of a request. */
export function visitOf(request: Request, response: Response, database: Database): Visit {
  const visitor = visitorOf(response);
  const form = (request.body ?? {}) as Record<string, string | string[] | undefined>;
  const fields = (name: string) => [form[name] ?? []].flat();
  const textOf = (given: unknown) => (typeof given === "string" && given !== "" ? given : undefined);
  return {
    visitor,
    address: request.originalUrl,
    part: (name) => String(request.params[name]),
    query: (name) => textOf(request.query[name]),
    field: (name) => textOf(fields(name)[0]),
    fields,
    ask: async <T>(statement: string, input: Record<string, unknown> = {}) => {
      if (!visitor) throw new ApiError("invalid_session");
      const asking =
        request.method === "POST"
          ? database.answer(visitor.identity, statement, input)
          : database.read(visitor.identity, statement, input);
      return JSON.parse((await asking) ?? "null") as T;
    },
    exchange: { request, response },
    proof: visitor ? html`<input name="form" type="hidden" value="${formToken(visitor.session)}" />` : html``,
  };
}
