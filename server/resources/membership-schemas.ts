// The wire formats that onboarding, claim review, members and platform users share.
import { z } from "zod";
import { choices, enums } from "../../db/catalog.ts";
import * as s from "../rest/schemas.ts";

export const organizationRole = s.oneOf(enums.organization_role);
export const membershipStatus = s.oneOf(enums.membership_status);
export const claimStatus = s.oneOf(enums.claim_review_status);
export const resultVariant = z.enum(choices["organization_claims.result_variant"]);

/** A text that may be left out, be null, or be empty, all of which mean the same: not given. */
export const optionalText = s.optionalText.nullable();
export const optionalName = s.optionalName.nullable();

export const domain = z
  .string({ error: "must be a domain name such as example.org" })
  .max(1000, "must be a domain name such as example.org")
  .refine((value) => !value.includes("\0"), "must not contain a NUL character")
  .meta({ examples: ["river.example"] });

/** The person who acts, named in a header because a GET has no body. */
export const actingAdmin = z.object({ adminEmail: s.actingEmail });
