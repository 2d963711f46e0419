import { z } from "zod";
import { longestText } from "../../db/catalog.ts";
import { REFUSALS } from "../rest/route.ts";
import type { RestRoute } from "../rest/route.ts";
import * as s from "../rest/schemas.ts";
import * as m from "./membership-schemas.ts";

const organizationChange = z.strictObject({
  orgUri: s.httpUri,
  adminEmail: s.actingEmail,
  // A stored name or type that is longer than new ones may be can be sent back unchanged with other changes.
  name: s.requiredText
    .optional()
    .describe(`A new one is of one line, and of at most ${longestText.name} characters, as is a type.`),
  type: s.optionalText.describe("An empty text clears it; the same goes for website and domain."),
  website: z.union([s.httpUri, z.literal("")], { error: "must be an absolute http or https URI" }).optional(),
  domain: m.domain.optional(),
});

const organization = z
  .object({
    orgUri: s.httpUri,
    name: z.string(),
    type: z.string().nullable(),
    website: z.string().nullable(),
    domain: z.string().nullable(),
    updatedAt: s.timestamp,
  })
  .meta({ id: "Organization" });

export const organizationRoutes: RestRoute[] = [
  {
    method: "post",
    path: "/v0/orgs/metadata",
    operationId: "updateOrganization",
    tag: "Members",
    summary: "Change an organization's name, type, website or domain",
    description: "What is left out stays unchanged; an empty text clears type, website or domain.",
    body: organizationChange,
    answer: { status: 200, schema: organization, description: "The organization after the change." },
    errors: [...REFUSALS.asMember],
    statement: `
      select json_build_object(
        'orgUri', organization.org_uri, 'name', organization.name, 'type', organization.type,
        'website', organization.website, 'domain', organization.domain, 'updatedAt', organization.updated_at)::text
      from app_public.update_organization(
        $1 ->> 'orgUri', $1 ->> 'adminEmail', $1 ->> 'name', $1 ->> 'type', $1 ->> 'website',
        $1 ->> 'domain') as organization`,
  },
];
