// Whether a request comes from a page of this service. A browser sends the cookie of a session along with whatever asks for
// it, so the cookie alone says who is sitting there, and not that they meant it.
import type { Request } from "express";
import { ApiError } from "../errors.ts";
import { SESSION_HEADER } from "../headers.ts";

/** Whether the browser says so. Nothing is believed of one that says nothing, unless it only wants to read. */
export function isFromOwnPage(request: Request): boolean {
  const site = request.get("sec-fetch-site");
  const origin = request.get("origin");
  if (site !== undefined) return site === "same-origin" || (site === "none" && isReading(request));
  // Browsers leave it out over http.
  if (origin !== undefined) return origin === `${request.protocol}://${request.get("host")}`;
  return isReading(request);
}

/**
 * Requires what a page of this service sends with the cookie of a session.
 * @throws ApiError 403 session_not_allowed
 */
export function requireOwnPage(request: Request): void {
  const meant = isReading(request) || request.get(SESSION_HEADER) !== undefined;
  if (!meant || !isFromOwnPage(request)) throw new ApiError("session_not_allowed");
}

function isReading({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}
