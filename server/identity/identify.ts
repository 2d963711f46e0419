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

/** Those who know who is calling. */
export type Credentials = {
  keys: KeyRing;
  /** Undefined where no provider of tokens is configured. */
  tokens: Pick<PersonTokens, "identify"> | undefined;
  sessions: Pick<Sessions, "find">;
};

/** Those who know it again and again. */
export type LastingCredentials = Credentials & { sessions: Pick<Sessions, "findAgain"> };

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

/** A credential where it may stand, of which no more is known. */
type Claimed = Readonly<{ kind: "key" | "token" | "session"; text: string }>;

/**
 * What a request is to be identified by. What is refused here is refused for the request, and not for what the credential is.
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
      message: "A person's token may stand in the Authorization header alone: addresses end up in logs.",
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
 * Requires it once more, of who is told for hours over a connection that has been let in: thousands may be asked about at once,
 * many of them with the same credential.
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

/** Whose a credential is. What comes of it is of the credential, and of the address that it is used from. */
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
      message: "This service takes API keys, and no tokens of persons.",
    });
  }
  return callerAs(await tokens.identify(text));
}

/** A key is ek_ and base64url, in which there is no dot; the parts of a token are separated by dots. */
function isToken(text: string): boolean {
  return text.includes(".");
}
