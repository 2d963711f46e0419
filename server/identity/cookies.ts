// The cookies of signing in. Over https they have names that only this host can set, and only over https: what somebody on
// the way plants under a plain name is not read there.
import type { CookieOptions, Request, Response } from "express";

/** SESSION: who is signed in; BROWSER: which browser has begun to. */
export type CookieName = "engagement-session" | "engagement-sign-in";
export const SESSION: CookieName = "engagement-session";
export const BROWSER: CookieName = "engagement-sign-in";

/** What the browser has sent under a name; undefined unless it is one of our secrets. */
export function readCookie(request: Request, name: CookieName): string | undefined {
  const wanted = `${nameOf(request, name)}=`;
  const values = (request.headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(wanted))
    .map((pair) => pair.slice(wanted.length));
  return values.find((value) => /^[\w-]{43}$/.test(value));
}

/** @param seconds how long the browser keeps it; until it is closed if undefined */
export function setCookie(response: Response, name: CookieName, value: string, seconds?: number): void {
  response.cookie(nameOf(response.req, name), value, {
    ...optionsFor(response.req),
    ...(seconds !== undefined && { maxAge: seconds * 1_000 }),
  });
}

export function clearCookie(response: Response, name: CookieName): void {
  response.clearCookie(nameOf(response.req, name), optionsFor(response.req));
}

function nameOf({ secure }: Request, name: CookieName): string {
  return secure ? `__Host-${name}` : name;
}

function optionsFor({ secure }: Request): CookieOptions {
  return { httpOnly: true, sameSite: "lax", path: "/", secure };
}
