// The review of claims at /admin/claims, which talks to the REST API with the reviewer's session or key.
import { html } from "hono/html";
import { enums, organizationRoles } from "../../db/catalog.ts";
import type { Content, Page } from "./page.ts";

export const claims: Page = {
  path: "/admin/claims",
  open: true,
  show: () => ({
    title: "Organization claims",
    scripts: ["claims.js"],
    content: html`<p>People who say that they belong to an organization and are waiting for your answer.</p>
      <form class="card" id="sign-in" aria-labelledby="sign-in-title">
        <h2 id="sign-in-title">Who is reviewing?</h2>
        <p><a href="/sign-in?returnTo=/admin/claims">Sign in</a>, or use an API key:</p>
        <p>
          The API key needs the scope <code>api_review</code>. It stays in this tab until you close or reload
          it.
        </p>
        <label>
          Your e-mail
          <input name="email" type="email" autocomplete="username" required />
        </label>
        <label>
          API key
          <input name="key" type="password" autocomplete="current-password" spellcheck="false" required />
        </label>
        <button type="submit">Show claims</button>
      </form>
      <p id="message" role="status" tabindex="-1"></p>

      <section id="review" aria-labelledby="list-title" hidden>
        <form id="filter">
          <h2 id="list-title">Claims</h2>
          <label>
            Show
            <select name="status">
              ${enums.claim_review_status.map((status) => html`<option>${status}</option>`)}
              <option value="">all</option>
            </select>
          </label>
          <button type="submit">Refresh</button>
        </form>
        <p id="count"></p>
        <ol id="claims"></ol>
        <nav class="actions" aria-label="Pages of the list">
          <button id="newer" class="plain" type="button">Newer</button>
          <button id="older" class="plain" type="button">Older</button>
        </nav>
      </section>
      <template id="claim">
        <li>
          <article class="card">
            <h3></h3>
            <p class="hint"></p>
            <dl></dl>
            <form class="decision">
              <label>
                Role if approved
                <select name="role">
                  ${roleOptions()}
                </select>
              </label>
              <label>
                Notes, which the person will read; required to reject
                <textarea name="notes" rows="2" maxlength="10000"></textarea>
              </label>
              <div class="actions">
                <button type="submit" value="approve">Approve</button>
                <button type="submit" value="reject" class="reject">Reject</button>
              </div>
              <p class="problem" role="alert"></p>
            </form>
          </article>
        </li>
      </template>`,
  }),
};

/** The roles that a reviewer may give, the one that may do the least first. */
function roleOptions(): Content[] {
  type Role = { description: string; permissions: readonly string[] };
  return Object.entries<Role>(organizationRoles)
    .toSorted(([, a], [, b]) => a.permissions.length - b.permissions.length)
    .map(([role, { description, permissions }]) => {
      const text = `${role}: ${description}`;
      return permissions.includes("members:manage")
        ? html`<option value="${role}" data-manages="">${text}</option>`
        : html`<option value="${role}">${text}</option>`;
    });
}
