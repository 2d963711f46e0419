// The forms of these pages: that they come from a page of ours, in the browser that it was shown in.
import { createHash } from "node:crypto";
import express from "express";
import type { RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { BROWSER, readCookie, SESSION } from "../identity/cookies.ts";
import { isFromOwnPage } from "../identity/own-page.ts";

// A note of the longest, in which each character takes twelve.
const FORM_LIMIT = "256kb";

export const readForm: RequestHandler = express.urlencoded({ extended: false, limit: FORM_LIMIT });

/** A form of ours, sent by the browser that it was made for. */
export const requireForm: RequestHandler = (request, _response, next) => {
  const { form } = (request.body ?? {}) as Record<string, unknown>;
  const secrets = [BROWSER, SESSION].map((name) => readCookie(request, name));
  const isOurs = secrets.some((secret) => secret !== undefined && form === formToken(secret));
  if (!isFromOwnPage(request) || !isOurs) throw notOurs();
  next();
};

/** A form of ours, with a secret in it, which nobody else could have put there. */
export const requireOwnForm: RequestHandler = (request, _response, next) => {
  if (!isFromOwnPage(request)) throw notOurs();
  next();
};

/** Says that who sends a form has seen the page: other sites can make a browser send its cookie, and not read it. */
export function formToken(secret: string): string {
  return createHash("sha256").update(`form ${secret}`).digest("base64url");
}

function notOurs(): ApiError {
  return new ApiError("session_not_allowed", {
    message: "This form did not come from this service's own page, or too long ago; load the page again.",
  });
}
