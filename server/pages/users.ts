// The people whom the service knows, at /admin/users, and their roles on the platform.
import { html } from "hono/html";
import { enums } from "../../db/catalog.ts";
import type { ApiError } from "../errors.ts";
import type { Member, Some } from "./organization/data.ts";
import { format } from "./overview/numbers.ts";
import type { Content, Page, Shown, Visit } from "./page.ts";
import { attempt, outcome, ownAddress } from "./parts/attempt.ts";
import { pageOf, pager } from "./parts/pager.ts";
import { searchForm, wordsOf } from "./parts/search-form.ts";
import { begin } from "./parts/text.ts";
import { day } from "./parts/time.ts";
import { organizationPath } from "./record/kinds.ts";

type Role = (typeof enums.platform_role)[number];
type User = {
  email: string;
  firstName: string | null;
  lastName: string | null;
  roles: Role[];
  since: string;
  memberships: (Pick<Member, "status"> & { orgUri: string; orgName: string })[];
  /** In all. */
  belongsTo: number;
};

const PAGE = 25;
const SENTENCES = { grant: "The role was given.", revoke: "The role was taken away." };

/** For visitors who may see people; giving them roles takes another permission. */
export const users: Page = {
  path: "/admin/users",
  show: (visit) => show(visit),
  act: (visit) =>
    attempt(
      visit,
      () => change(visit),
      (refusal) => show(visit, refusal),
    ),
};

async function show(visit: Visit, refusal?: ApiError): Promise<Shown> {
  const q = wordsOf(visit, 200);
  const page = pageOf(visit);
  const { items, total } = await visit.ask<Some<User>>(FOUND, { q, page });
  return {
    title: "People",
    content: html`${outcome(visit, SENTENCES, refusal)}
      ${searchForm({ action: "/admin/users", label: "Name or address", value: q })}
      <p role="status">
        ${q ? html`${format(total)} found for “<bdi>${q}</bdi>”` : html`${format(total)} in all, newest first`}
      </p>
      <ul class="rows">
        ${items.map((user) => item(visit, user))}
      </ul>
      ${pager(visit, { page, pages: Math.ceil(total / PAGE) }, "the people")}`,
  };
}

function item(
  visit: Visit,
  { email, firstName, lastName, roles, since, memberships, belongsTo }: User,
): Content {
  const name = [firstName, lastName].filter((part) => part !== null).join(" ");
  return html`<li>
    <b><bdi>${name === "" ? email : begin(name, 80)}</bdi></b> ${name === "" ? "" : html`<bdi>${email}</bdi>`}
    <span class="quiet"
      >known since
      ${day(since)}${roles.length > 0 ? html`; on the platform: <b>${roles.join(", ")}</b>` : ""}</span
    >
    ${memberships.map(
      ({ orgUri, orgName, status }) =>
        html`<span class="quiet"
          ><a href="${organizationPath(orgUri)}"><bdi>${begin(orgName, 80)}</bdi></a
          >${status === "active" ? "" : html` (${status})`}</span
        >`,
    )}
    ${
      belongsTo > memberships.length
        ? html`<span class="quiet">and ${format(belongsTo - memberships.length)} more organizations</span>`
        : ""
    }
    ${visit.visitor?.permissions.has("roles:assign") ? changes(visit, email, roles) : ""}
  </li>`;
}

function changes(visit: Visit, email: string, held: readonly Role[]): Content {
  return html`<details>
    <summary>
      Change <span class="hidden">the roles of <bdi>${email}</bdi></span>
    </summary>
    ${enums.platform_role.map((role) => {
      const isHeld = held.includes(role);
      return html`<form method="post" action="${ownAddress(visit)}">
        ${visit.proof}
        <input name="email" type="hidden" value="${email}" />
        <input name="role" type="hidden" value="${role}" />
        <p>
          <button class="plain" name="do" value="${isHeld ? "revoke" : "grant"}">
            ${isHeld ? "Take away" : "Give"} the role ${role}
          </button>
        </p>
      </form>`;
    })}
  </details>`;
}

async function change({ ask, field }: Visit): Promise<string> {
  const action = field("do") ?? "";
  await ask(
    `select to_json(u.email)::text from app_public.set_platform_role($1 ->> 'email',
       ($1 ->> 'role')::app_public.platform_role, null, ($1 ->> 'action')::app_public.platform_role_action) as u`,
    { email: field("email"), role: field("role"), action },
  );
  return action;
}

// Only the first few memberships of each: an account may have any number of them.
const FOUND = `
  select json_build_object('total', page.total, 'items', coalesce((
    select json_agg(json_build_object(
      'email', person.email, 'firstName', person.first_name, 'lastName', person.last_name,
      'roles', person.platform_roles, 'since', person.created_at,
      'memberships', (
        select coalesce(json_agg(json_build_object('orgUri', m.org_uri, 'orgName', m.org_name, 'status', m.status)), '[]')
        from unnest(person.memberships[1:5]) as m),
      'belongsTo', cardinality(person.memberships)) order by person.ordinality)
    from unnest(page.users) with ordinality as person), '[]'))::text
  from app_public.platform_users(null, ${PAGE}, (($1 ->> 'page')::integer - 1) * ${PAGE}, $1 ->> 'q') as page`;
