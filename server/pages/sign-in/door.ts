// Signing in and out on the service's own pages: by a mailed link, or at an OpenID provider.
import type { Request, RequestHandler } from "express";
import { html } from "hono/html";
import { isLoopback } from "../../../config.ts";
import { linkLasts } from "../../../db/catalog.ts";
import type { Database } from "../../database.ts";
import type { Door } from "../../door.ts";
import { ApiError } from "../../errors.ts";
import { BROWSER, clearCookie, readCookie, SESSION, setCookie } from "../../identity/cookies.ts";
import { isFromOwnPage } from "../../identity/own-page.ts";
import { newSecret } from "../../identity/sessions.ts";
import type { HoldBack } from "../../identity/hold-back.ts";
import type { Browser, Sessions } from "../../identity/sessions.ts";
import { limitNetwork, networkOf } from "../../identity/network.ts";
import { formToken, readForm, requireForm } from "../form.ts";
import { sendPage } from "../page.ts";
import { asPage } from "../refusal.ts";
import { noteVisitor, visitorOf } from "../visitor.ts";
import { CONFIRM, confirmClaims, requireConfirmation, showClaims } from "./confirm.ts";
import { ownPath } from "./own-path.ts";
import type { SignInProvider } from "./provider.ts";

/** What signing in needs. */
export type SignInParts = {
  sessions: Sessions;
  database: Database;
  holdBack: HoldBack;
  /** Undefined: a link is mailed. */
  provider: SignInProvider | undefined;
  /** The address to which mails and the provider link back, without a trailing slash. */
  ownUrl: () => string;
};

const SIGN_IN = "/sign-in";
const SIGN_OUT = "/sign-out";
const CALLBACK = `${SIGN_IN}/callback`;
/** As long as a link is valid (db/rules/sessions.sql), and some time to request it. */
const BROWSER_SECONDS = 3_600;
/** Of one network: enough for many people behind one address, too few to guess secrets. */
const REQUESTS_PER_MINUTE = 300;

/** /sign-in, /sign-out, /confirm-address; and tells pages who is signed in. */
export function signInPages(parts: SignInParts): Door {
  return (app, guards) => {
    const form = [readForm, requireForm];
    const pages = [SIGN_IN, SIGN_OUT, CONFIRM];
    app.use(
      pages,
      asPage,
      parts.holdBack.slowly(limitNetwork(REQUESTS_PER_MINUTE)),
      requireHttps(parts.ownUrl),
      guards.page,
      noteVisitor(parts.database),
    );
    app.get(SIGN_IN, showSignIn(parts));
    app.post(SIGN_IN, form, sendLink(parts));
    app.get(`${SIGN_IN}/provider`, goToProvider(parts));
    app.get(CALLBACK, finish(parts));
    app.get(`${SIGN_IN}/session`, tellSession(parts));
    app.get(SIGN_OUT, showSignOut);
    app.post(SIGN_OUT, form, signOut(parts));
    app.get(CONFIRM, showClaims(parts.sessions));
    app.post(CONFIRM, readForm, requireConfirmation, confirmClaims(parts.sessions));
  };
}

function showSignIn({ provider, ownUrl }: SignInParts): RequestHandler {
  return (request, response) => {
    const elsewhere = ownName(request, ownUrl());
    if (elsewhere) return response.redirect(303, elsewhere);
    const returnTo = ownPath(request.query["returnTo"]);
    if (request.query["sent"] !== undefined) {
      return sendPage(request, response, {
        title: "Check your mail",
        content: html`<p>
          A link is on its way to the address that you gave. It works once, for ${linkLasts.sign_in}, and only
          in this browser.
        </p>`,
      });
    }
    if (provider) {
      const query = new URLSearchParams({ returnTo });
      return sendPage(request, response, {
        title: "Sign in",
        content: html`<p>
          <a href="${`${SIGN_IN}/provider?${query.toString()}`}">Sign in with your account</a>
        </p>`,
      });
    }
    const browser = readCookie(request, BROWSER) ?? newSecret();
    setCookie(response, BROWSER, browser, BROWSER_SECONDS);
    return sendPage(request, response, {
      title: "Sign in",
      content: html`<form method="post" action="${SIGN_IN}">
        <p>There is no password: you get a link by mail, which signs you in.</p>
        <label>
          Your e-mail
          <input name="email" type="email" autocomplete="email" maxlength="254" required />
        </label>
        <input name="returnTo" type="hidden" value="${returnTo}" />
        <input name="form" type="hidden" value="${formToken(browser)}" />
        <button type="submit">Send the link</button>
      </form>`,
    });
  };
}

function sendLink({ sessions, provider, ownUrl }: SignInParts): RequestHandler {
  return async (request, response) => {
    if (provider) throw new ApiError("sign_in_refused", { message: "Sign in at the provider." });
    const browser = browserOf(request);
    const { email, returnTo } = request.body as Record<string, unknown>;
    const secret = newSecret();
    await sessions.sendLink(typeof email === "string" ? email.trim() : "", {
      ...{ secret, browser, returnTo: ownPath(returnTo) },
      // Never the host that the request names: the requester could choose where the secret is sent.
      link: `${ownUrl()}${CALLBACK}?token=${secret}`,
    });
    response.redirect(303, `${SIGN_IN}?sent`);
  };
}

function goToProvider({ sessions, provider, ownUrl }: SignInParts): RequestHandler {
  return async (request, response) => {
    // A page of another site must not sign people in who have not asked for it.
    if (!provider || !isFromOwnPage(request)) throw new ApiError("sign_in_refused", { message: BEGIN_HERE });
    const secret = readCookie(request, BROWSER) ?? newSecret();
    setCookie(response, BROWSER, secret, BROWSER_SECONDS);
    const state = newSecret();
    const address = await provider.begin({ state, browser: secret }, `${ownUrl()}${CALLBACK}`);
    const browser = { secret, session: undefined, network: networkOf(request) };
    await sessions.askProvider(state, browser, ownPath(request.query["returnTo"]));
    response.redirect(303, address);
  };
}

function finish({ sessions, provider, ownUrl }: SignInParts): RequestHandler {
  return async (request, response) => {
    const browser = browserOf(request);
    const { token, state } = request.query;
    let signedIn: { session: string; returnTo: string } | undefined;
    if (typeof token === "string") {
      signedIn = await sessions.followLink(token, browser);
    } else if (typeof state === "string" && provider) {
      const returnTo = await sessions.backFromProvider(state, browser);
      if (returnTo !== undefined) {
        const address = new URL(request.originalUrl, ownUrl());
        const person = await provider.finish(address, { state, browser: browser.secret });
        signedIn = { session: await sessions.begin(person, browser), returnTo };
      }
    }
    if (!signedIn) throw new ApiError("sign_in_refused");
    clearCookie(response, BROWSER);
    setCookie(response, SESSION, signedIn.session);
    response.set("cache-control", "no-store");
    // Signing in does not confirm what applications have claimed for this person: they must do so themselves.
    const waiting = await sessions.claimsToConfirm(signedIn.session, browser.network);
    const { returnTo } = signedIn;
    response.redirect(
      303,
      waiting?.claims.length ? `${CONFIRM}?${new URLSearchParams({ returnTo }).toString()}` : returnTo,
    );
  };
}

function tellSession({ sessions }: SignInParts): RequestHandler {
  return async (request, response) => {
    const session = readCookie(request, SESSION);
    const person =
      session !== undefined && isFromOwnPage(request)
        ? await sessions.find(session, networkOf(request))
        : undefined;
    response.set("cache-control", "no-store").json({ email: person?.email ?? null });
  };
}

const showSignOut: RequestHandler = (request, response) => {
  const visitor = visitorOf(response);
  if (!visitor) {
    return sendPage(request, response, {
      title: "Signed out",
      content: html`<p>You are not signed in. <a href="/sign-in">Sign in</a></p>`,
    });
  }
  return sendPage(request, response, {
    title: "Sign out",
    content: html`<form method="post" action="${SIGN_OUT}">
      <p>You are signed in as <bdi>${visitor.email}</bdi>.</p>
      <input name="form" type="hidden" value="${formToken(visitor.session)}" />
      <div class="actions">
        <button type="submit">Sign out</button>
        <button class="plain" type="submit" name="everywhere" value="yes">Sign out everywhere</button>
      </div>
    </form>`,
  });
};

function signOut({ sessions }: SignInParts): RequestHandler {
  return async (request, response) => {
    const { everywhere } = request.body as Record<string, unknown>;
    const session = readCookie(request, SESSION);
    const isEverywhere = everywhere === "yes";
    const isDone = session !== undefined && (await sessions.end(session, networkOf(request), isEverywhere));
    clearCookie(response, SESSION);
    // If the session is over already, the person is unknown, and so are their other sessions.
    if (isEverywhere && !isDone) throw new ApiError("invalid_session", { message: STILL_ELSEWHERE });
    response.redirect(303, SIGN_OUT);
  };
}

const STILL_ELSEWHERE =
  "Your session had already ended, so nothing was changed. To end your other sessions, sign in again and sign out everywhere.";
const BEGIN_HERE = "Sign-in begins on this service's own page: /sign-in.";

/** If the service is on https, refuses sign-in over http, or if the proxy that says https is not trusted. */
function requireHttps(ownUrl: () => string): RequestHandler {
  return (request, _response, next) => {
    if (request.secure || !ownUrl().startsWith("https:")) return next();
    throw new ApiError("sign_in_refused", {
      message: "Sign-in requires https; behind a proxy, set TRUST_PROXY.",
    });
  };
}

/** Redirects between names of the own machine: localhost and 127.0.0.1 do not share cookies. */
function ownName(request: Request, ownUrl: string): string | undefined {
  const own = new URL(ownUrl);
  const isElsewhere =
    request.get("host") !== own.host && isLoopback(request.hostname) && isLoopback(own.hostname);
  return isElsewhere ? new URL(request.originalUrl, own).href : undefined;
}

function browserOf(request: Request): Browser {
  const secret = readCookie(request, BROWSER);
  if (secret === undefined) throw new ApiError("sign_in_refused");
  return { secret, session: readCookie(request, SESSION), network: networkOf(request) };
}
