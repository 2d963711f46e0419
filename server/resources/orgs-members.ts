import { z } from "zod";
import * as m from "./membership-schemas.ts";
import { REFUSALS } from "../rest/route.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

const member = z
  .object({
    orgUri: s.httpUri,
    userEmail: s.email,
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    role: m.organizationRole,
    status: m.membershipStatus,
    createdAt: s.timestamp,
    updatedAt: s.timestamp,
  })
  .meta({ id: "Member" });

const memberRoleChange = z.strictObject({
  orgUri: s.httpUri,
  userEmail: s.email,
  role: m.organizationRole,
  adminEmail: s.actingEmail,
});

const administratorAppointment = z.strictObject({
  orgUri: s.httpUri,
  userEmail: s.email,
  role: m.organizationRole
    .nullable()
    .optional()
    .describe("A role that manages members; org_admin by default."),
  adminEmail: s.actingEmail,
});

const memberStatusChange = z.strictObject({
  orgUri: s.httpUri,
  userEmail: s.email,
  status: m.membershipStatus,
  adminEmail: s.actingEmail,
});

const MEMBER = `json_build_object(
  'orgUri', member.org_uri, 'userEmail', member.user_email, 'firstName', member.first_name,
  'lastName', member.last_name, 'role', member.role, 'status', member.status,
  'createdAt', member.created_at, 'updatedAt', member.updated_at)`;

export const memberRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/orgs/members",
    isPersonal: true,
    operationId: "listMembers",
    tag: "Members",
    summary: "List the members of an organization, sorted by e-mail address, for those who belong to it",
    headers: m.actingAdmin,
    query: z.object({ orgUri: s.httpUri.describe("The organization whose members are meant.") }),
    answer: {
      status: 200,
      schema: z.object({ members: z.array(member), total: z.int() }),
      description:
        "The active members; to those who may manage members also those who were suspended or have left.",
    },
    errors: [...REFUSALS.asMember],
    statement: `
      select json_build_object(
        'members', coalesce(json_agg(${MEMBER} order by member.ordinality), '[]'), 'total', count(*))::text
      from app_public.organization_members($1 ->> 'orgUri', $1 ->> 'adminEmail') with ordinality as member`,
  },
  {
    method: "post",
    path: "/v0/orgs/members/leave",
    operationId: "leaveOrganization",
    tag: "Members",
    summary: "End your own membership",
    body: z.strictObject({ orgUri: s.httpUri, userEmail: s.actingEmail }),
    answer: { status: 200, schema: member, description: "The membership, revoked." },
    errors: [...REFUSALS.forOrganization, "membership_required", "last_admin"],
    statement: `
      select ${MEMBER}::text from app_public.leave_organization($1 ->> 'orgUri', $1 ->> 'userEmail') as member`,
  },
  {
    method: "post",
    path: "/v0/orgs/members/appoint",
    operationId: "appointAdministrator",
    tag: "Members",
    summary: "Make a person the administrator of an organization that nobody manages",
    body: administratorAppointment,
    answer: {
      status: 200,
      schema: member,
      description: "The member, active, in a role that manages members.",
    },
    errors: [
      ...REFUSALS.forOrganization,
      "permission_required",
      "organization_not_found",
      "user_not_found",
      "has_administrator",
    ],
    statement: `
      select ${MEMBER}::text
      from app_public.appoint_administrator(
        $1 ->> 'orgUri', $1 ->> 'userEmail', $1 ->> 'adminEmail',
        ($1 ->> 'role')::app_public.organization_role) as member`,
  },
  {
    method: "post",
    path: "/v0/orgs/members/role",
    operationId: "setMemberRole",
    tag: "Members",
    summary: "Give a member a different role",
    body: memberRoleChange,
    answer: { status: 200, schema: member, description: "The member, with the new role." },
    errors: [...REFUSALS.asMember, "member_not_found", "last_admin"],
    statement: `
      select ${MEMBER}::text
      from app_public.set_member_role(
        $1 ->> 'orgUri', $1 ->> 'userEmail', ($1 ->> 'role')::app_public.organization_role,
        $1 ->> 'adminEmail') as member`,
  },
  {
    method: "post",
    path: "/v0/orgs/members/status",
    operationId: "setMemberStatus",
    tag: "Members",
    summary: "Suspend or revoke a membership, or make it active again",
    body: memberStatusChange,
    answer: { status: 200, schema: member, description: "The member, with the new status." },
    errors: [...REFUSALS.asMember, "member_not_found", "last_admin"],
    statement: `
      select ${MEMBER}::text
      from app_public.set_member_status(
        $1 ->> 'orgUri', $1 ->> 'userEmail', ($1 ->> 'status')::app_public.membership_status,
        $1 ->> 'adminEmail') as member`,
  },
];
