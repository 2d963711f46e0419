// The forms of these pages: checks that they come from a page of ours, in the browser to which it was sent.
import { hash } from "node:crypto";
import express from "express";
import type { RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { BROWSER, readCookie, SESSION } from "../identity/cookies.ts";
import { isFromOwnPage } from "../identity/own-page.ts";

// Room for the longest note, each of whose characters may take twelve when encoded.
const FORM_LIMIT = "256kb";

export const readForm: RequestHandler = express.urlencoded({ extended: false, limit: FORM_LIMIT });

/** Lets only forms of ours pass, sent by the browser that they were made for. */
export const requireForm: RequestHandler = (request, _response, next) => {
  const { form } = (request.body ?? {}) as Record<string, unknown>;
  const secrets = [BROWSER, SESSION].map((name) => readCookie(request, name));
  const isOurs = secrets.some((secret) => secret !== undefined && form === formToken(secret));
  if (!isFromOwnPage(request) || !isOurs) throw notOurs();
  next();
};

/** Lets only forms of ours pass. For forms with a secret in them that no other site could have put there. */
export const requireOwnForm: RequestHandler = (request, _response, next) => {
  if (!isFromOwnPage(request)) throw notOurs();
  next();
};

/** Proves that the sender has seen our page: other sites can make a browser send its cookie, not read it. */
export function formToken(secret: string): string {
  return hash("sha256", `form ${secret}`, "base64url");
}

function notOurs(): ApiError {
  return new ApiError("session_not_allowed", {
    message: "This form is not from this service's own page, or is too old; reload the page.",
  });
}
