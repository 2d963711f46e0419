import { z } from "zod";
import { enums } from "../../db/catalog.ts";
import * as m from "./membership-schemas.ts";
import { REFUSALS } from "../rest/route.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";

const platformRole = s.oneOf(enums.platform_role);

const platformUser = z
  .object({
    userId: s.uuid,
    email: s.email,
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    platformRoles: z.array(platformRole),
    memberships: z.array(
      z.object({
        orgUri: s.httpUri,
        orgName: z.string(),
        role: m.organizationRole,
        status: m.membershipStatus,
      }),
    ),
    createdAt: s.timestamp,
  })
  .meta({ id: "PlatformUser" });

const platformRoleChange = z.strictObject({
  userEmail: s.email,
  role: platformRole,
  action: s.oneOf(enums.platform_role_action).default("grant"),
  adminEmail: s.actingEmail,
});

const USER = `json_build_object(
  'userId', person.user_id, 'email', person.email, 'firstName', person.first_name, 'lastName', person.last_name,
  'platformRoles', person.platform_roles,
  'memberships', (
    select coalesce(json_agg(json_build_object(
      'orgUri', membership.org_uri, 'orgName', membership.org_name, 'role', membership.role,
      'status', membership.status)), '[]')
    from unnest(person.memberships) as membership),
  'createdAt', person.created_at)`;

export const userRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/admin/users",
    isPersonal: true,
    operationId: "listUsers",
    tag: "Platform users",
    summary: "List and search everybody the service knows, newest first",
    headers: m.actingAdmin,
    query: z.object({ q: s.partsOf("their names or address"), ...s.paging }),
    answer: {
      status: 200,
      schema: z.object({ users: z.array(platformUser), total: z.int() }),
      description: "The page, and how many people there are in all.",
    },
    errors: [...REFUSALS.forOrganization, "permission_required"],
    statement: `
      select json_build_object(
        'users', (
          select coalesce(json_agg(${USER} order by person.ordinality), '[]')
          from unnest(page.users) with ordinality as person),
        'total', page.total)::text
      from app_public.platform_users(
        $1 ->> 'adminEmail', ($1 ->> 'limit')::integer, ($1 ->> 'offset')::integer, $1 ->> 'q') as page`,
  },
  {
    method: "post",
    path: "/v0/admin/users/role",
    operationId: "setPlatformRole",
    tag: "Platform users",
    summary: "Give a person a role on the platform, or take it away",
    body: platformRoleChange,
    answer: { status: 200, schema: platformUser, description: "The person, with their roles." },
    errors: [...REFUSALS.forOrganization, "permission_required", "user_not_found", "last_admin"],
    statement: `
      select ${USER}::text
      from app_public.set_platform_role(
        $1 ->> 'userEmail', ($1 ->> 'role')::app_public.platform_role, $1 ->> 'adminEmail',
        ($1 ->> 'action')::app_public.platform_role_action) as person`,
  },
];
