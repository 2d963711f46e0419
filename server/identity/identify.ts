// From the Authorization header, or the cookie of a session, to the identity of a request.
import type { Request, RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { readCookie, SESSION } from "./cookies.ts";
import { callerAs, callerWith } from "./identity.ts";
import type { Caller, Person } from "./identity.ts";
import type { KeyRing } from "./keys.ts";
import { requireOwnPage } from "./own-page.ts";
import type { Sessions } from "./sessions.ts";
import type { PersonTokens } from "./tokens.ts";
import { addressOf, networkOf } from "./network.ts";

/** What identifies callers. */
export type Credentials = {
  keys: KeyRing;
  /** Undefined where no provider of tokens is configured. */
  tokens: Pick<PersonTokens, "identify"> | undefined;
  sessions: Pick<Sessions, "find">;
};

/** The same, for callers who are identified again and again. */
export type LastingCredentials = Credentials & { sessions: Pick<Sessions, "findAgain"> };

/** Where a credential may be given besides the Authorization header. */
type Places = {
  /** a key, but no token, as ?apiKey=, for clients that cannot set a header */
  inQuery?: boolean;
  /** the session of a page of this service */
  inCookie?: boolean;
};

/**
 * Pages take only the session: they are opened from anywhere, and change something only by their own forms.
 */
export type Credential = Places | "session of a page";

/** Stands for an invalid address: a key that is for certain networks cannot be used from it. */
const NOWHERE = "::";

/** The credential that a request is identified by. */
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

/** A credential in an accepted place, not checked yet. */
type Claimed = Readonly<{ kind: "key" | "token" | "session"; text: string }>;

/**
 * The credential to identify a request by. A refusal here is about the request, not about the credential.
 * @throws ApiError 401 missing_api_key, invalid_api_key, invalid_token; 403 session_not_allowed
 */
export function claimedBy(request: Request, expected: Credential): Claimed {
  const given = credentialOf(request, expected);
  if (!given) throw new ApiError("missing_api_key");
  if (given.in === "cookie") {
    if (expected !== "session of a page") requireOwnPage(request);
    return { kind: "session", text: given.text };
  }
  const text = given.in === "query" ? given.text : /^Bearer +(\S+) *$/i.exec(given.text)?.[1];
  if (text === undefined) {
    throw new ApiError("invalid_api_key", { message: "The Authorization header must be: Bearer <key>." });
  }
  if (!isToken(text)) return { kind: "key", text };
  if (given.in !== "header") {
    throw new ApiError("invalid_token", {
      message: "Send a person's token only in the Authorization header; URLs end up in logs.",
    });
  }
  return { kind: "token", text };
}

/** Requires `Authorization: Bearer <API key or token>`, or a credential elsewhere, and sets request.identity. */
export function requireIdentity(credentials: Credentials, expected: Credential): RequestHandler {
  return async (request, response, next) => {
    const claimed = claimedBy(request, expected);
    const gone = hungUp(response);
    request.identity = { ...(await callerBy(claimed, credentials, request)), gone };
    next();
  };
}

/**
 * Identifies a caller again whose connection lasts for hours. Thousands may be checked at once, many of them
 * with the same token, which is checked once then.
 */
export function requireIdentityAgain({ keys, tokens, sessions }: LastingCredentials): RequestHandler {
  const underWay = new Map<string, Promise<Person>>();
  const identify = (token: string, provider: NonNullable<typeof tokens>) => {
    const identified = provider.identify(token).finally(() => underWay.delete(token));
    underWay.set(token, identified);
    return identified;
  };
  const again: Credentials = {
    keys,
    tokens: tokens && { identify: (token) => underWay.get(token) ?? identify(token, tokens) },
    sessions: { find: (secret) => sessions.findAgain(secret) },
  };
  return requireIdentity(again, { inCookie: true });
}

/** The caller of a credential. The result depends only on it, and on the address that it is used from. */
export async function callerBy(
  { kind, text }: Claimed,
  { keys, tokens, sessions }: Credentials,
  request: Request,
): Promise<Caller> {
  if (kind === "key") return callerWith(await keys.identify(text, addressOf(request) ?? NOWHERE));
  if (kind === "session") {
    const person = await sessions.find(text, networkOf(request));
    if (!person) throw new ApiError("invalid_session");
    return callerAs(person);
  }
  if (!tokens) {
    throw new ApiError("invalid_token", {
      message: "This service accepts API keys only, not persons' tokens.",
    });
  }
  return callerAs(await tokens.identify(text));
}

/** A key is ek_ and base64url, in which there is no dot; the parts of a token are separated by dots. */
function isToken(text: string): boolean {
  return text.includes(".");
}
