// Whether a request comes from a page of this service. A browser sends the cookie of a session with any
// request to this service: it says who is sitting there, but not that they meant to send the request.
import type { Request } from "express";
import { ApiError } from "../errors.ts";
import { SESSION_HEADER } from "../headers.ts";

/** Whether the browser's headers say so. Without them, only requests that read are accepted. */
export function isFromOwnPage(request: Request): boolean {
  const site = request.get("sec-fetch-site");
  const origin = request.get("origin");
  if (site !== undefined) return site === "same-origin" || (site === "none" && isReading(request));
  // Browsers leave out Sec-Fetch-Site over http.
  if (origin !== undefined) return origin === `${request.protocol}://${request.get("host")}`;
  return isReading(request);
}

/**
 * Requires what a page of this service sends along with the cookie of a session.
 * @throws ApiError 403 session_not_allowed
 */
export function requireOwnPage(request: Request): void {
  const meant = isReading(request) || request.get(SESSION_HEADER) !== undefined;
  if (!meant || !isFromOwnPage(request)) throw new ApiError("session_not_allowed");
}

function isReading({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}
