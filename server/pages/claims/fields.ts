// The form fields of a decision, on one claim or several.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { begin } from "../parts/text.ts";
import type { Role } from "./told.ts";

export const LONGEST_NOTES = 10_000;
const LONGEST_OPTION = 80;

type Fields = {
  roles: readonly Role[];
  reasons: readonly string[];
  /** Distinguishes the fields of one form from those of another. */
  of: string;
  /** Follows the verb on a button; empty for the one claim that is shown. */
  whom?: string;
};

/** Role, notes and buttons. */
export function decisionFields({ roles, reasons, of, whom = "" }: Fields): Content {
  return html`<label>
      Role if approved
      <select name="role">
        ${roleOptions(roles)}
      </select>
    </label>
    <label>
      Notes, which the person will read; required to reject
      <textarea name="notes" rows="3" maxlength="${LONGEST_NOTES}" data-draft="${of}"></textarea>
    </label>
    ${
      reasons.length === 0
        ? ""
        : html`<label>
            Or one of your earlier reasons
            <select name="reason">
              <option value="">none</option>
              ${reasons.map((reason) => html`<option value="${reason}">${begin(reason, LONGEST_OPTION)}</option>`)}
            </select>
          </label>`
    }
    <p class="problem bad" role="alert"></p>
    <div class="actions">
      <button name="action" type="submit" value="approve">${`Approve ${whom}`.trim()}</button>
      <button name="action" type="submit" value="reject" class="reject">${`Reject ${whom}`.trim()}</button>
    </div>`;
}

function roleOptions(roles: readonly Role[]): Content[] {
  return roles.map(
    ({ role, description, isUsual }) =>
      html`<option value="${role}" ${isUsual ? "selected" : ""}>${role}: ${description}</option>`,
  );
}
