// Confirms what an application has claimed in a person's name: by a mailed link, or while signed in. The link
// only shows a page with a button that confirms, because programs that scan mails follow links.
import type { Request, RequestHandler } from "express";
import { html } from "hono/html";
import { linkLasts } from "../../../db/catalog.ts";
import { ApiError } from "../../errors.ts";
import { readCookie, SESSION } from "../../identity/cookies.ts";
import { networkOf } from "../../identity/network.ts";
import type { Sessions } from "../../identity/sessions.ts";
import { formToken, requireForm, requireOwnForm } from "../form.ts";
import { sendPage } from "../page.ts";
import { ownPath } from "./own-path.ts";

export const CONFIRM = "/confirm-address";

const STATES: Record<string, string> = {
  approved: "approved",
  pending: "confirmed, and waiting for review",
};

/** Shows the claims that wait to be confirmed. */
export function showClaims(sessions: Sessions): RequestHandler {
  return async (request, response) => {
    const { token, returnTo } = request.query;
    const secret = secretOf(request, token);
    const waiting =
      secret === undefined ? undefined : await sessions.claimsToConfirm(secret, networkOf(request));
    if (secret === undefined || !waiting) {
      if (token !== undefined) throw over();
      return response.redirect(303, `/sign-in?${new URLSearchParams({ returnTo: CONFIRM }).toString()}`);
    }
    if (waiting.claims.length === 0) {
      return sendPage(request, response, {
        title: "Nothing to confirm",
        content: html`<p>Nothing in your name is waiting to be confirmed.</p>`,
      });
    }
    const back = ownPath(returnTo);
    const claims = waiting.claims.map(
      ({ orgName, createdAt }) => html`<li>${orgName}, on ${createdAt.slice(0, 10)}</li>`,
    );
    const ids = waiting.claims.map(({ claimId }) => claimId);
    const key =
      secret === token
        ? html`<input name="token" type="hidden" value="${secret}" />`
        : html`<input name="form" type="hidden" value="${formToken(secret)}" />`;
    await sendPage(request, response, {
      title: "Is this you?",
      content: html`<form method="post" action="${CONFIRM}">
        <p>An application says that ${waiting.email} belongs to:</p>
        <ul>
          ${claims}
        </ul>
        <p>
          Confirm it if this is your address, and you have asked for it. Otherwise there is nothing you need
          to do.
        </p>
        ${key}
        <input name="claims" type="hidden" value="${ids.join(" ")}" />
        <div class="actions">
          <button type="submit">Confirm</button>
          <a href="${back}">Not now</a>
        </div>
      </form>`,
    });
  };
}

/** Lets only forms pass that may confirm claims. */
export const requireConfirmation: RequestHandler = (request, response, next) => {
  const { token } = (request.body ?? {}) as Record<string, unknown>;
  // Sent twice, it is a list, which no form of ours sends.
  return typeof token === "string"
    ? requireOwnForm(request, response, next)
    : requireForm(request, response, next);
};

/** Confirms the claims, and shows their outcomes. */
export function confirmClaims(sessions: Sessions): RequestHandler {
  return async (request, response) => {
    const { token, claims } = request.body as Record<string, unknown>;
    const secret = secretOf(request, token);
    // Only the claims that were shown, not any that an application has made since.
    const shown = typeof claims === "string" ? claims.split(" ") : [];
    const outcomes =
      secret === undefined ? undefined : await sessions.confirmClaims(secret, networkOf(request), shown);
    if (!outcomes) throw over();
    const items = outcomes.map(
      ({ orgName, status }) => html`<li>${orgName}: ${STATES[status] ?? status}</li>`,
    );
    await sendPage(request, response, {
      title: "Thank you",
      content: html`<p>
          ${outcomes.length > 0 ? "Your address is confirmed." : "Nothing is waiting any more."}
        </p>
        <ul>
          ${items}
        </ul>`,
    });
  };
}

function secretOf(request: Request, token: unknown): string | undefined {
  return typeof token === "string" ? token : readCookie(request, SESSION);
}

function over(): ApiError {
  return new ApiError("sign_in_refused", {
    message: `This link has already been used, or is older than ${linkLasts.confirm_claim}. Sign in to see what is waiting for you.`,
  });
}
