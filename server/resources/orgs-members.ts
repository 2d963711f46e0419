import { z } from "zod";
import * as m from "./membership-schemas.ts";
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
  adminEmail: s.email,
});

const memberStatusChange = z.strictObject({
  orgUri: s.httpUri,
  userEmail: s.email,
  status: m.membershipStatus,
  adminEmail: s.email,
});

const MEMBER = `json_build_object(
  'orgUri', member.org_uri, 'userEmail', member.user_email, 'firstName', member.first_name,
  'lastName', member.last_name, 'role', member.role, 'status', member.status,
  'createdAt', member.created_at, 'updatedAt', member.updated_at)`;

export const memberRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/orgs/members",
    operationId: "listMembers",
    tag: "Members",
    summary: "List the members of an organization, sorted by e-mail address, for those who may manage them",
    headers: m.actingAdmin,
    query: z.object({ orgUri: s.httpUri }),
    answer: {
      status: 200,
      schema: z.object({ members: z.array(member), total: z.int() }),
      description: "All members, whatever their status.",
    },
    errors: ["membership_required", "insufficient_role"],
    statement: `
      select json_build_object(
        'members', coalesce(json_agg(${MEMBER} order by lower(member.user_email)), '[]'), 'total', count(*))::text
      from app_public.organization_members($1 ->> 'orgUri', $1 ->> 'adminEmail') as member`,
  },
  {
    method: "post",
    path: "/v0/orgs/members/role",
    operationId: "setMemberRole",
    tag: "Members",
    summary: "Give a member a different role",
    body: memberRoleChange,
    answer: { status: 200, schema: member, description: "The member, with the new role." },
    errors: ["membership_required", "insufficient_role", "member_not_found", "last_admin"],
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
    errors: ["membership_required", "insufficient_role", "member_not_found", "last_admin"],
    statement: `
      select ${MEMBER}::text
      from app_public.set_member_status(
        $1 ->> 'orgUri', $1 ->> 'userEmail', ($1 ->> 'status')::app_public.membership_status,
        $1 ->> 'adminEmail') as member`,
  },
];
