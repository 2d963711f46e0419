// The page that says that something was refused.
import type { ErrorRequestHandler } from "express";
import { html } from "hono/html";
import { apiErrorFrom } from "../errors.ts";
import { currentRequest } from "../request-context.ts";
import { sendPage } from "./page.ts";
import { written } from "./written.ts";

/** Shows a refusal on a page, and gives back what the visitor had written. */
export const showError: ErrorRequestHandler = async (error: unknown, request, response, next) => {
  const refusal = apiErrorFrom(error);
  // Failures are logged by the general error handler.
  if (response.headersSent || (refusal.statusCode >= 500 && refusal.code !== "identity_provider_unavailable"))
    return next(error);
  currentRequest()?.errors.add(refusal.code);
  response.set(refusal.headers);
  const isOver = refusal.statusCode === 401 || refusal.code === "sign_in_refused";
  await sendPage(request, response, {
    title: "That did not work",
    status: refusal.statusCode,
    content: html`<p role="alert">${refusal.message}</p>
      ${isOver ? html`<p><a href="/sign-in">Sign in</a></p>` : ""} ${written(request)}`,
  });
};
