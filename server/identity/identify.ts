// From the Authorization header, or the cookie of a session, to the identity of a request.
import type { Request, RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { readCookie, SESSION } from "./cookies.ts";
import { callerAs, callerWith } from "./identity.ts";
import type { Caller } from "./identity.ts";
import type { KeyRing } from "./keys.ts";
import { requireOwnPage } from "./own-page.ts";
import type { Sessions } from "./sessions.ts";
import type { PersonTokens } from "./tokens.ts";
import { addressOf, networkOf } from "./network.ts";

/** Those who know who is calling. */
export type Credentials = {
  keys: KeyRing;
  /** Undefined where no provider of tokens is configured. */
  tokens: PersonTokens | undefined;
  sessions: Pick<Sessions, "find">;
};

/** Where a credential may stand besides the Authorization header. */
type Places = {
  /** a key, and no token, as ?apiKey=, for clients that cannot set a header */
  inQuery?: boolean;
  /** the session of a page of this service */
  inCookie?: boolean;
};

/** Of a page, which is opened from anywhere and changes nothing but by a form of its own, the session and nothing else. */
export type Credential = Places | "session of a page";

/** The address of nobody, which stands for what is none: a key that is for certain networks is not for it. */
const NOWHERE = "::";

/** What a request is identified by. */
export function credentialOf(
  request: Request,
  expected: Credential,
): { in: "header" | "cookie" | "query"; text: string } | undefined {
  const isPage = expected === "session of a page";
  const { inQuery, inCookie }: Places = isPage ? { inCookie: true } : expected;
  const header = isPage ? undefined : request.get("authorization");
  if (header !== undefined) return { in: "header", text: header };
  const session = inCookie ? readCookie(request, SESSION) : undefined;
  if (session !== undefined) return { in: "cookie", text: session };
  const key = inQuery ? request.query["apiKey"] : undefined;
  return typeof key === "string" ? { in: "query", text: key } : undefined;
}

/** Requires `Authorization: Bearer <API key or token>`, or a credential elsewhere, and sets request.identity. */
export function requireIdentity(credentials: Credentials, expected: Credential): RequestHandler {
  return async (request, response, next) => {
    const given = credentialOf(request, expected);
    const gone = hungUp(response);
    if (!given) throw new ApiError("missing_api_key");
    if (given.in === "cookie") {
      if (expected !== "session of a page") requireOwnPage(request);
      const person = await credentials.sessions.find(given.text, networkOf(request));
      if (!person) throw new ApiError("invalid_session");
      request.identity = { ...callerAs(person), gone };
      return next();
    }
    const text = given.in === "query" ? given.text : /^Bearer +(\S+) *$/i.exec(given.text)?.[1];
    if (text === undefined) {
      throw new ApiError("invalid_api_key", { message: "The Authorization header must be: Bearer <key>." });
    }
    const caller = isToken(text)
      ? await personBy(text, credentials, given.in === "header")
      : callerWith(await credentials.keys.identify(text, addressOf(request) ?? NOWHERE));
    request.identity = { ...caller, gone };
    next();
  };
}

/** A key is ek_ and base64url, in which there is no dot; the parts of a token are separated by dots. */
function isToken(text: string): boolean {
  return text.includes(".");
}

async function personBy(token: string, { tokens }: Credentials, inHeader: boolean): Promise<Caller> {
  if (!inHeader) {
    throw new ApiError("invalid_token", {
      message: "A person's token may stand in the Authorization header alone: addresses end up in logs.",
    });
  }
  if (!tokens) {
    throw new ApiError("invalid_token", {
      message: "This service takes API keys, and no tokens of persons.",
    });
  }
  return callerAs(await tokens.identify(token));
}
