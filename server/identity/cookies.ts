// The cookies of signing in. Over https their names begin with __Host-, so that only this host can set them,
// and only over https: a cookie that an attacker on the network plants under the plain name is not read.
import type { CookieOptions, Request, Response } from "express";

/** SESSION: who is signed in; BROWSER: which browser has begun to sign in. */
export type CookieName = "engagement-session" | "engagement-sign-in";
export const SESSION: CookieName = "engagement-session";
export const BROWSER: CookieName = "engagement-sign-in";

/** The value of a cookie; undefined unless it has the form of our secrets. */
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
