// The members of an organization, and the forms with which its administrators manage them.
import { html } from "hono/html";
import { enums } from "../../../db/catalog.ts";
import type { Content, Visit } from "../page.ts";
import { format } from "../overview/numbers.ts";
import { ownAddress } from "../parts/attempt.ts";
import { pageOf, pager } from "../parts/pager.ts";
import { begin } from "../parts/text.ts";
import { day } from "../parts/time.ts";
import { inWords, PAGE } from "./data.ts";
import type { Member, MembershipStatus, Organization, Role, Some, Standing } from "./data.ts";

/** The label of the button that puts a member into each status. */
const BUTTONS: Readonly<Record<MembershipStatus, string>> = {
  active: "Reinstate",
  suspended: "Suspend",
  revoked: "End the membership",
};

export function members(
  visit: Visit,
  { items, total }: Some<Member>,
  { organization, standing }: { organization: Organization; standing: Standing },
): Content {
  const manages = standing.permissions.includes("members:manage");
  return html`<section class="card" aria-labelledby="members">
    <h2 id="members">Members: ${format(total)}</h2>
    <ul class="rows">
      ${items.map((member) => html`<li>${shown(member)} ${manages ? changes(visit, member) : ""}</li>`)}
    </ul>
    ${pager(visit, { page: pageOf(visit, "members"), pages: Math.ceil(total / PAGE) }, "the members", "members")}
    ${manages ? invitation(organization) : ""}
  </section>`;
}

function shown({ email, firstName, lastName, role, status, since }: Member): Content {
  const name = [firstName, lastName].filter((part) => part !== null).join(" ");
  return html`<b><bdi>${name === "" ? email : begin(name, 80)}</bdi></b>
    ${name === "" ? "" : html`<bdi>${email}</bdi>`}
    <span class="quiet"
      >${inWords(role).title}${status === "active" ? "" : html`, <span class="bad">${status}</span>`}, since
      ${day(since)}</span
    >`;
}

function changes(visit: Visit, { email, role, status }: Member): Content {
  const others = enums.membership_status.filter((each) => each !== status);
  return html`<details>
    <summary>
      Change <span class="hidden">the membership of <bdi>${email}</bdi></span>
    </summary>
    <form method="post" action="${ownAddress(visit)}" class="inline">
      ${visit.proof}
      <input name="email" type="hidden" value="${email}" />
      <label>Role ${roles(role)}</label>
      <div class="actions">
        <button name="do" value="role">Give this role</button>
        ${others.map((each) => html`<button class="plain" name="do" value="${each}">${BUTTONS[each]}</button>`)}
      </div>
    </form>
  </details>`;
}

function roles(held: Role): Content {
  return html`<select name="role">
    ${[...new Set([...enums.organization_role, held])].map((role) => {
      const { title, description } = inWords(role);
      return html`<option value="${role}" ${role === held ? "selected" : ""}>
        ${title}: ${description}
      </option>`;
    })}
  </select>`;
}

/** People are not added as members: they ask to join on this page, and prove their address by signing in. */
function invitation({ orgName }: Organization): Content {
  const subject = `Join ${begin(orgName, 80)}`;
  return html`<details>
    <summary>Invite somebody</summary>
    <p>
      Send them the address of this page. They sign in with their own e-mail, ask to belong to the
      organization below, and
      <a href="/admin/claims">their claim</a> is yours to approve, with the role that you choose.
    </p>
    <p>
      <a href="mailto:?${new URLSearchParams({ subject }).toString().replaceAll("+", "%20")}">Write a mail</a>
    </p>
  </details>`;
}
