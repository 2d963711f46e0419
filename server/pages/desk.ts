// The pages where people look and decide: each shows what the rules let its visitor see, and its forms call
// the same functions as the other doors.
import { join } from "node:path";
import express from "express";
import type { RequestHandler } from "express";
import { html } from "hono/html";
import type { Database } from "../database.ts";
import type { Door } from "../door.ts";
import { unlessAway } from "../identity/guards.ts";
import { boundAddress } from "./address.ts";
import { claim, claims } from "./claims/page.ts";
import { readForm, requireForm } from "./form.ts";
import { serveModules } from "./modules.ts";
import { organization } from "./organization/page.ts";
import { organizations } from "./organizations.ts";
import { sendPage, visitOf } from "./page.ts";
import type { Page, Shown, Visit } from "./page.ts";
import { recordPages } from "./record/page.ts";
import { asPage } from "./refusal.ts";
import { search } from "./search.ts";
import { users } from "./users.ts";
import { noteVisitor, noteVisitorStill, visitorOf } from "./visitor.ts";
import { written } from "./written.ts";

/** Answered as a whole, and nothing else at any path: `send` has errors of its own for what it cannot do. */
const ASSETS = { acceptRanges: false, redirect: false };
const PAGES: readonly Page[] = [claims, claim, organizations, organization, search, users, ...recordPages];

/**
 * All pages but those for signing in, and their assets.
 * @param more pages that need more than the database
 */
export function desk(database: Database, more: readonly Page[]): Door {
  return (app, guards) => {
    const router = express.Router();
    router.use("/assets", express.static(join(import.meta.dirname, "assets"), ASSETS));
    serveModules(router);
    for (const page of [...more, ...PAGES]) {
      const guarded = [asPage, boundAddress, ...guards.page, noteVisitor(database)];
      const opened = [asPage, boundAddress, ...guards.openPage, unlessAway(noteVisitor(database))];
      router.get(
        page.path,
        page.open === "always" ? opened : guarded,
        page.open ? [] : requireVisitor,
        show(page, database),
      );
      const form = [readForm, noteVisitorStill(database), keepWords, requireForm];
      if (page.act) router.post(page.path, guarded, form, act(page, database));
    }
    app.use(router);
  };
}

const requireVisitor: RequestHandler = (request, response, next) => {
  if (visitorOf(response)) return next();
  response.redirect(303, signInFor(request.originalUrl));
};

/** Shows visitors whose session has ended what they wrote: a redirect to the sign-in would lose it. */
const keepWords: RequestHandler = async (request, response, next) => {
  if (visitorOf(response)) return next();
  await sendPage(request, response, {
    title: "You are not signed in",
    status: 401,
    content: html`<p role="alert">Nothing was changed.</p>
      <p><a href="${signInFor(request.path)}">Sign in</a>, and send it again.</p>
      ${written(request)}`,
  });
};

function signInFor(returnTo: string): string {
  return `/sign-in?${new URLSearchParams({ returnTo }).toString()}`;
}

function show({ show }: Page, database: Database): RequestHandler {
  return answer(async (visit) => show(visit), database);
}

function act({ act }: Page, database: Database): RequestHandler {
  return answer((visit) => act!(visit), database);
}

function answer(make: (visit: Visit) => Promise<string | Shown>, database: Database): RequestHandler {
  return async (request, response) => {
    const made = await make(visitOf(request, response, database));
    if (typeof made === "string") response.redirect(303, made);
    else await sendPage(request, response, made);
  };
}
