// Who sits before a page.
import type { Request, RequestHandler, Response } from "express";
import type { Database } from "../database.ts";
import { apiErrorFrom } from "../errors.ts";
import { readCookie, SESSION } from "../identity/cookies.ts";
import type { Identity } from "../identity/identity.ts";
import { knowStill } from "../identity/still-known.ts";

/** Somebody who is signed in. */
export type Visitor = Readonly<{
  email: string;
  /** What their forms prove themselves by (form.ts). */
  session: string;
  identity: Identity;
  /** What is worth showing them; whether they may do it, the rules decide when they do. */
  permissions: ReadonlySet<string>;
}>;

const VISITOR = "visitor";

/** The visitor of a page; undefined for who is not signed in. */
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

/** Notes it anew once a form has come, which can take its time: their session may be over by then. */
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
