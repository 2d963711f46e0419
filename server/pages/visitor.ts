// The visitor of a page.
import type { Request, RequestHandler, Response } from "express";
import type { Database } from "../database.ts";
import { apiErrorFrom } from "../errors.ts";
import { readCookie, SESSION } from "../identity/cookies.ts";
import type { Identity } from "../identity/identity.ts";
import { knowStill } from "../identity/still-known.ts";

/** Somebody who is signed in. */
export type Visitor = Readonly<{
  email: string;
  /** The secret of their session, from which their forms get their proof (form.ts). */
  session: string;
  identity: Identity;
  /** Decides what is worth showing to them; whether they may do it, the rules decide when they try. */
  permissions: ReadonlySet<string>;
}>;

const VISITOR = "visitor";

/** The visitor of a page; undefined if nobody is signed in. */
export function visitorOf(response: Response): Visitor | undefined {
  return response.locals[VISITOR] as Visitor | undefined;
}

/** Notes who the visitor is, once a guard has identified them. */
export function noteVisitor(database: Database): RequestHandler {
  return async (request, response, next) => {
    response.locals[VISITOR] = await find(database, request);
    next();
  };
}

/** Notes the visitor again once a form has been received: meanwhile the session may have ended. */
export function noteVisitorStill(database: Database): RequestHandler {
  return async (request, response, next) => {
    try {
      if (await knowStill(request)) response.locals[VISITOR] = await find(database, request);
    } catch (error) {
      if (apiErrorFrom(error).statusCode !== 401) throw error;
      response.locals[VISITOR] = undefined;
    }
    next();
  };
}

async function find(database: Database, request: Request): Promise<Visitor | undefined> {
  const { identity } = request as { identity?: Identity };
  const session = readCookie(request, SESSION);
  if (!identity?.person || session === undefined) return undefined;
  const held = await database.read(identity, "select to_json(app_private.own_permissions())::text");
  const permissions = new Set(JSON.parse(held ?? "[]") as string[]);
  return { email: identity.person.email, session, identity, permissions };
}
