// The "not found" page for browsers; programs get the error that all doors share.
import express from "express";
import { html } from "hono/html";
import type { Database } from "../database.ts";
import type { Door } from "../door.ts";
import { unlessAway } from "../identity/guards.ts";
import { sendPage } from "./page.ts";
import { asPage } from "./refusal.ts";
import { noteVisitor } from "./visitor.ts";

const HTML = "text/html";
/** Paths for programs only: old libraries ask for HTML first, though it is no use to them. */
const OF_PROGRAMS = "/v0/";

/** The last of all doors. */
export function nowhere(database: Database): Door {
  return (app, guards) => {
    // Not a route: logs and metrics group requests by route, and must not get every path that callers invent.
    const router = express.Router();
    router.use((request, _response, next) => {
      // The first type is for clients that accept anything, as programs do and browsers do not.
      const isAsked = request.method === "GET" || request.method === "HEAD";
      const wanted = isAsked && request.accepts(["application/json", HTML]);
      next(wanted === HTML && !request.path.startsWith(OF_PROGRAMS) ? undefined : "router");
    });
    router.use(asPage, ...guards.openPage, unlessAway(noteVisitor(database)), async (request, response) => {
      response.vary("accept");
      await sendPage(request, response, {
        title: "There is nothing here",
        status: 404,
        content: html`<p>The address may have been cut off, or what was here is gone.</p>
          <p><a href="/search">Search</a> for it, or go back to the <a href="/">overview</a>.</p>`,
      });
    });
    app.use(router);
  };
}
