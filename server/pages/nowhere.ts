// What browsers are shown at paths at which there is nothing; programs are told so by the error that all doors share.
import express from "express";
import { html } from "hono/html";
import type { Database } from "../database.ts";
import type { Door } from "../door.ts";
import { sendPage } from "./page.ts";
import { noteVisitor } from "./visitor.ts";

const HTML = "text/html";
/** Old programs' libraries name HTML first, though it is no use to them. */
const OF_PROGRAMS = "/v0/";

/** The last of all doors. */
export function nowhere(database: Database): Door {
  return (app, guards) => {
    // No route: whoever logs or counts requests by theirs is not to see every path that anybody thinks of.
    const router = express.Router();
    router.use((request, _response, next) => {
      // The first is for who takes anything, as programs do and browsers do not.
      const isAsked = request.method === "GET" || request.method === "HEAD";
      const wanted = isAsked && request.accepts(["application/json", HTML]);
      next(wanted === HTML && !request.path.startsWith(OF_PROGRAMS) ? undefined : "router");
    });
    router.use(...guards.page, noteVisitor(database), async (request, response) => {
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
