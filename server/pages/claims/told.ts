// The claims as db/rules/claim-queue.sql returns them to reviewers.
import type { choices, enums } from "../../../db/catalog.ts";

type Status = (typeof enums.claim_review_status)[number];

/** app_private.queued_claim */
export type Line = Readonly<{
  id: string;
  email: string;
  name: string | null;
  orgName: string;
  isNewOrg: boolean;
  createdAt: string;
  status: Status;
  isProven: boolean;
  /** At a domain that is registered, and not only stated. */
  domainMatch: boolean;
  reviewedBy: string | null;
  reviewedAt: string | null;
  /** May be decided, but not by the claimant. */
  isOpen: boolean;
  isOwn: boolean;
}>;

/** app_private.roles_to_give */
export type Role = Readonly<{ role: string; description: string; isUsual: boolean }>;

/** app_private.claim_queue */
export type Queue = Readonly<{
  total: number;
  start: number;
  counts: Readonly<Record<Status, number>>;
  claims: readonly Line[];
  roles: readonly Role[];
  reasons: readonly string[];
  /** Claims in these pages. */
  previousPage: string | null;
  nextPage: string | null;
  /** Claims before and after the one that is open. */
  preceding: string | null;
  following: string | null;
}>;

/** app_private.earlier_claim */
export type Earlier = Line & Readonly<{ orgUri: string; notes: string | null; role: string | null }>;

type Organization = Readonly<{
  uri: string;
  name: string;
  status: (typeof enums.organization_status)[number];
  type: string | null;
  website: string | null;
  domain: string | null;
  members: number;
}>;

/** app_private.reviewed_organization */
type ReviewedOrganization = Organization &
  Readonly<{
    administrators: number;
    administratorsNamed: readonly Readonly<{ email: string; name: string | null }>[];
    needs: number;
    commitments: number;
    engagementClaims: number;
  }>;

/** app_private.similar_organizations */
type SimilarOrganization = Organization &
  Readonly<{ alike: readonly ("name" | "domain" | "website")[]; waiting: number }>;

/** app_private.claim_to_review */
export type Claim = Line &
  Readonly<{
    sentTo: (typeof choices)["organization_claims.routed_to"][number] | null;
    newOrgType: string | null;
    newOrgWebsite: string | null;
    statedRoles: readonly string[];
    emailDomain: string;
    isFreeMail: boolean;
    orgDomain: string | null;
    isAtDomain: boolean;
    isDomainStated: boolean;
    notes: string | null;
    role: string | null;
    steps: readonly Readonly<{ to: Status; by: string | null; at: string }>[];
    /** Empty if the visitor may not decide. */
    roles: readonly Role[];
    reasons: readonly string[];
    organization: ReviewedOrganization;
    similar: readonly SimilarOrganization[];
    earlier: readonly Earlier[];
    others: readonly Earlier[];
    othersTotal: number;
  }>;

/** app_private.claims_in_brief */
export type Brief = Line &
  Readonly<{ role: string | null; warnings: readonly Readonly<{ code: string; message: string }>[] }>;

/** How lists name a person. */
export function personOf({ name, email }: Pick<Line, "name" | "email">): string {
  return name ?? email;
}
