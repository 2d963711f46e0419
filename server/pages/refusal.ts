// The page that says that something was refused, or has failed.
import type { ErrorRequestHandler, Request, RequestHandler, Response } from "express";
import { html } from "hono/html";
import { apiErrorFrom } from "../errors.ts";
import type { ApiError, ErrorCode } from "../errors.ts";
import { pass } from "../identity/guards.ts";
import { isFromOwnPage } from "../identity/own-page.ts";
import { currentRequest } from "../request-context.ts";
import { readForm } from "./form.ts";
import type { Content } from "./layout.ts";
import { sendPage } from "./page.ts";
import { written } from "./written.ts";

const PAGE = "page";

/** Notes that a person looks at the answer: errors of the request are shown on a page. */
export const asPage: RequestHandler = (_request, response, next) => {
  response.locals[PAGE] = true;
  next();
};

/** Shows an error on a page, and gives back what the visitor had written; passes on those of other requests. */
export const showError: ErrorRequestHandler = async (error: unknown, request, response, next) => {
  if (response.locals[PAGE] !== true) return next(error);
  const refusal = apiErrorFrom(error);
  const isFailure = refusal.statusCode >= 500;
  const isReceived = request.body !== undefined;
  if (isFailure && isFromOwnPage(request)) await receive(request, response);
  response.set(refusal.headers);
  await sendPage(request, response, {
    title: "That did not work",
    status: refusal.statusCode,
    content: html`<p role="alert">${(isFailure && FOR_PEOPLE[refusal.code]) || refusal.message}</p>
      ${wayOn(request, refusal, isReceived)} ${isFailure ? inLog(currentRequest()?.id) : ""}
      ${written(request)}`,
  });
};

/** Reads the form if that is still to be done: a session that cannot be looked up fails before it. */
async function receive(request: Request, response: Response): Promise<void> {
  try {
    await pass(readForm, request, response);
  } catch {
    // The failure is what there is to tell; of this form nothing can be given back.
  }
}

/** Failures whose sentences are for programs. */
const FOR_PEOPLE: Partial<Record<ErrorCode, string>> = {
  service_busy: "The service is busy; try again in a moment.",
  database_unavailable: "The database is not available; try again in a moment.",
  identity_provider_unavailable: "The identity provider does not answer; try again in a moment.",
};

function inLog(id: string | undefined): Content {
  return html`<p class="quiet">Whoever runs this service finds this in its log as <code>${id}</code>.</p>`;
}

/** @param isReceived whether what a form asks for may have been begun */
function wayOn(
  { method, path, originalUrl }: Request,
  { statusCode, code }: ApiError,
  isReceived: boolean,
): Content | string {
  // What the provider has sent the browser back with works only once.
  if (statusCode === 401 || code === "sign_in_refused" || (statusCode >= 500 && path.startsWith("/sign-in/")))
    return html`<p><a href="/sign-in">Sign in</a></p>`;
  if (statusCode < 500) return "";
  if (method !== "POST") return html`<p><a href="${originalUrl}">Try again</a></p>`;
  return isReceived
    ? html`<p>
        If something was to be changed, that may have been done, or a part of it:
        <a href="${originalUrl}">look at the page</a> first. Sending it again does no harm.
      </p>`
    : html`<p>Nothing was changed. <a href="${originalUrl}">Back to the page</a></p>`;
}
