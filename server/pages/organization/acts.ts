// The actions of the forms on an organization's page: each calls one function of the rules, which decides
// whether the visitor may do this.
import type { Visit } from "../page.ts";
import { unknownAct } from "../parts/attempt.ts";

type Act = { statement: string; done: string; input?: (visit: Visit) => Record<string, unknown> };

const FIELDS = ["name", "type", "website", "domain"] as const;

/** The name of the hidden field with the value that a field had when the form was shown. */
export const before = (field: string) => `${field}Before`;

/** Only the fields that the visitor changed, so that changes made meanwhile by others are not undone. */
function changes({ fields }: Visit): Record<string, unknown> {
  return Object.fromEntries(
    FIELDS.map((field) => [field, fields(field)[0]] as const).filter(
      ([field, value]) => value !== undefined && value !== (fields(before(field))[0] ?? ""),
    ),
  );
}

const ofMember = ({ field }: Visit) => ({ email: field("email"), role: field("role") });

function statusOf(status: string, done = status): Act {
  return {
    done,
    input: (visit) => ({ ...ofMember(visit), status }),
    statement: `select to_json(m)::text from app_public.set_member_status(
      $1 ->> 'orgUri', $1 ->> 'email', ($1 ->> 'status')::app_public.membership_status, null) as m`,
  };
}

const ACTS: Readonly<Record<string, Act>> = {
  edit: {
    done: "edited",
    input: changes,
    statement: `select to_json(o.org_uri)::text from app_public.update_organization(
      $1 ->> 'orgUri', null, $1 ->> 'name', $1 ->> 'type', $1 ->> 'website', $1 ->> 'domain') as o`,
  },
  role: {
    done: "role",
    input: ofMember,
    statement: `select to_json(m)::text from app_public.set_member_role(
      $1 ->> 'orgUri', $1 ->> 'email', ($1 ->> 'role')::app_public.organization_role, null) as m`,
  },
  active: statusOf("active", "reinstated"),
  suspended: statusOf("suspended"),
  revoked: statusOf("revoked"),
  appoint: {
    done: "appointed",
    input: ofMember,
    statement: `select to_json(m)::text from app_public.appoint_administrator($1 ->> 'orgUri', $1 ->> 'email', null) as m`,
  },
  leave: {
    done: "left",
    statement: `select to_json(m)::text from app_public.leave_organization($1 ->> 'orgUri', null) as m`,
  },
  claim: {
    done: "claimed",
    input: ({ field }) => ({
      ...{ firstName: field("firstName"), lastName: field("lastName") },
      roles: [field("duty") ?? []].flat(),
    }),
    statement: `select to_json(c)::text from app_public.claim_organization(
      null, $1 ->> 'firstName', $1 ->> 'lastName', array(select jsonb_array_elements_text($1 -> 'roles')),
      (select o.name from app_public.organizations as o where o.org_uri = $1 ->> 'orgUri'), false, $1 ->> 'orgUri') as c`,
  },
  withdraw: {
    done: "withdrawn",
    input: ({ field }) => ({ claimId: field("claimId") }),
    statement: `select to_json(c)::text from app_public.withdraw_organization_claim(($1 ->> 'claimId')::uuid, null) as c`,
  },
};

/** The message shown once an action is done. */
export const SENTENCES: Readonly<Record<string, string>> = {
  edited: "The organization was changed.",
  role: "The member has another role now.",
  reinstated: "The membership is active again.",
  suspended: "The membership is suspended.",
  revoked: "The membership has ended.",
  appointed: "The organization has an administrator now.",
  left: "You have left the organization.",
  claimed: "Your request to join was sent; see below for its outcome.",
  withdrawn: "Your claim was withdrawn.",
  nothing: "Nothing was different, so nothing was changed.",
};

/** Performs the action of the pressed button; returns the word for what was done. */
export async function act(visit: Visit): Promise<string> {
  const wanted = visit.field("do") ?? "";
  const found = Object.hasOwn(ACTS, wanted) ? ACTS[wanted] : undefined;
  if (!found) throw unknownAct();
  const input = found.input?.(visit) ?? {};
  if (wanted === "edit" && Object.keys(input).length === 0) return "nothing";
  await visit.ask(found.statement, { orgUri: visit.part("orgUri"), ...input });
  return found.done;
}
