// The data of an organization's page, as far as its visitor may read them.
import { organizationRoles } from "../../../db/catalog.ts";
import type { enums } from "../../../db/catalog.ts";
import { RECORDS } from "../../../records/index.ts";
import { columnOf, idOf } from "../../../records/record.ts";
import type { RecordDescription, RecordKind } from "../../../records/record.ts";
import { ApiError } from "../../errors.ts";
import type { Visit } from "../page.ts";
import { pageOf } from "../parts/pager.ts";

export const PAGE = 25;

export type Organization = {
  orgUri: string;
  orgName: string;
  orgType: string | null;
  orgWebsite: string | null;
  orgDomain: string | null;
};

export type Role = (typeof enums.organization_role)[number];
/** A role in words; of one that came with a later version only its name is known. */
export function inWords(role: Role): { title: string; description: string } {
  const known: Partial<Record<Role, { title: string; description: string }>> = organizationRoles;
  return known[role] ?? { title: role, description: "of a later version" };
}

export type MembershipStatus = (typeof enums.membership_status)[number];

export type Standing = {
  role: Role | null;
  membership: MembershipStatus | null;
  permissions: string[];
  waitingClaim: { claimId: string; since: string } | null;
  firstName: string | null;
  lastName: string | null;
  appoints: boolean;
  reviews: boolean;
};

export type Listed = { id: string; text: string | null; status: string; at: string };
export type Member = {
  email: string;
  firstName: string | null;
  lastName: string | null;
  role: Role;
  status: MembershipStatus;
  since: string;
};
export type Claim = { id: string; email: string; status: string; at: string };
export type Some<T> = { items: T[]; total: number };

export type Found = {
  organization: Organization;
  standing: Standing;
  totals: Record<RecordKind, number>;
  records: Listed[];
};

/** The column with a record's description. */
export function textColumn(kind: RecordKind): string {
  return kind === "engagement_claim" ? "description" : `${kind}_description`;
}

/** Which records are shown: `?list=commitments`. */
export function listOf({ query }: Visit): RecordDescription {
  return Object.values(RECORDS).find(({ path }) => path === query("list")) ?? RECORDS.need;
}

/** @throws ApiError 404 */
export async function find(visit: Visit): Promise<Found> {
  const record = listOf(visit);
  const id = columnOf(idOf(record));
  const found = await visit.ask<Found | null>(
    `select json_build_object(
       'organization', organization,
       'standing', app_private.own_standing_in(organization."orgUri"),
       'totals', json_build_object(${Object.keys(RECORDS)
         .map((kind) => `'${kind}', app_private.record_total('${kind}', organization."orgUri")`)
         .join(", ")}),
       'records', coalesce((
         select json_agg(listed) from (
           select r.${id} as id, left(r.${textColumn(record.kind)}, 300) as text, r.status, r.created_at as at
           from app_public.${record.table} as r where r.org_uri = $1 ->> 'orgUri'
           order by r.created_at desc, r.${id} desc
           limit ${PAGE} offset (($1 ->> 'page')::bigint - 1) * ${PAGE}) as listed), '[]'))::text
     from rest.organizations as organization where organization."orgUri" = $1 ->> 'orgUri'`,
    { orgUri: visit.part("orgUri"), page: pageOf(visit) },
  );
  if (!found) throw new ApiError("organization_not_found");
  return found;
}

/** For visitors who may read the members. */
export function members(visit: Visit): Promise<Some<Member>> {
  return visit.ask(
    `with found as materialized (select * from app_public.organization_members($1 ->> 'orgUri', null))
     select json_build_object('total', (select count(*) from found), 'items', coalesce((
       select json_agg(json_build_object('email', m.user_email, 'firstName', m.first_name, 'lastName', m.last_name,
         'role', m.role, 'status', m.status, 'since', m.created_at))
       from (
         select * from found order by lower(user_email)
         limit ${PAGE} offset (($1 ->> 'page')::bigint - 1) * ${PAGE}) as m), '[]'))::text`,
    { orgUri: visit.part("orgUri"), page: pageOf(visit, "members") },
  );
}

/** For visitors who review the claims. */
export function claims(visit: Visit): Promise<Some<Claim>> {
  return visit.ask(
    `select json_build_object('total', page.total, 'items', coalesce((
       select json_agg(json_build_object('id', c.id, 'email', c.user_email, 'status', c.status, 'at', c.created_at))
       from unnest(page.claims) as c), '[]'))::text
     from app_private.claims_to_organization(
       $1 ->> 'orgUri', ${PAGE}, (($1 ->> 'page')::integer - 1) * ${PAGE}) as page`,
    { orgUri: visit.part("orgUri"), page: pageOf(visit, "claims") },
  );
}
