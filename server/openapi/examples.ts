// An example of every operation: a request that works on the demo data, and its answer.
import { demoId } from "../../db/demo/records.ts";
import { REQUEST_HEADERS } from "../headers.ts";
import { choosingExamples } from "./choosing-examples.ts";
import { churchExamples } from "./church-examples.ts";
import { WHEN } from "./example.ts";
import type { Example } from "./example.ts";
import { lifecycleExamples } from "./lifecycle-examples.ts";

const PLATFORM_ADMIN = "admin@platform.example";

/**
 * The examples by operationId.
 * @param graphDataUrl the beginning of organization URIs
 */
export function examplesOf(graphDataUrl: string): Readonly<Record<string, Example>> {
  const northernLight = `${graphDataUrl}/org/northern-light`;
  const cedarGate = `${graphDataUrl}/org/cedar-gate`;
  const admin = "admin@northern-light.example";
  const member = {
    orgUri: northernLight,
    userEmail: "member@northern-light.example",
    firstName: "Mei",
    lastName: "Tan",
    role: "org_member",
    status: "active",
    createdAt: WHEN,
    updatedAt: WHEN,
  };
  const claimId = demoId("organization claim", 0);
  const known = {
    exists: true,
    firstName: "Jonas",
    lastName: "Lindqvist",
    orgUri: northernLight,
    orgName: "Northern Light Fellowship",
    orgType: "sending agency",
    memberships: [
      {
        orgUri: northernLight,
        orgName: "Northern Light Fellowship",
        orgType: "sending agency",
        role: "org_contributor",
      },
    ],
  };
  const ownClaim = {
    claimId,
    orgUri: northernLight,
    orgName: "Northern Light Fellowship",
    isNewOrg: false,
    status: "pending",
    resultVariant: "request-sent",
    emailVerified: false,
    role: null,
    reviewNotes: null,
    reviewedAt: null,
    createdAt: WHEN,
  };
  const claim = {
    id: claimId,
    user_email: "noor@elsewhere.example",
    user_first_name: "Noor",
    user_last_name: "Haddad",
    org_uri: northernLight,
    org_name: "Northern Light Fellowship",
    is_new_org: false,
    email_domain: "elsewhere.example",
    org_domain: "northern-light.example",
    domain_match: false,
    status: "pending",
    routed_to: "organization",
    result_variant: "request-sent",
    new_org_website: null,
    new_org_type: null,
    reviewed_by: null,
    reviewed_at: null,
    review_notes: null,
    created_at: WHEN,
    email_verified: false,
    org_domain_stated: false,
    roles: ["translator"],
    history: [
      {
        from_status: null,
        to_status: "pending",
        changed_by_email: "noor@elsewhere.example",
        changed_at: WHEN,
      },
    ],
  };
  const contributor = "contributor@northern-light.example";
  return {
    ...lifecycleExamples(graphDataUrl),
    ...churchExamples(),
    ...choosingExamples(northernLight),

    claimOrganization: {
      scope: "api_write",
      body: {
        userEmail: "ines@cedar-gate.example",
        firstName: "Ines",
        lastName: "Moreau",
        roles: ["coordinator"],
        orgName: "Cedar Gate Mission",
        isNewOrg: false,
        orgUri: cedarGate,
      },
      answer: {
        claimId: "5b0cf2a4-52a6-4d0b-9e0b-0d3c0a6f7f21",
        resultVariant: "claimed",
        orgUri: cedarGate,
        orgName: "Cedar Gate Mission",
        status: "approved",
      },
    },
    listOwnOrganizationClaims: {
      scope: "api_write",
      query: { userEmail: "noor@elsewhere.example", limit: 10 },
      answer: { claims: [ownClaim], total: 1 },
    },
    withdrawOrganizationClaim: {
      scope: "api_write",
      body: { claimId: demoId("organization claim", 1), userEmail: "tomas@elsewhere.example" },
      answer: {
        ...ownClaim,
        claimId: demoId("organization claim", 1),
        orgUri: `${graphDataUrl}/org/open-well`,
        orgName: "Open Well Relief",
        status: "withdrawn",
      },
    },
    checkUser: { scope: "api_write", query: { email: contributor }, answer: known },
    checkUserByPost: { scope: "api_write", body: { email: contributor }, answer: known },

    listOrganizationClaims: {
      scope: "api_review",
      query: { status: "pending", limit: 10 },
      headers: { [REQUEST_HEADERS.adminEmail]: PLATFORM_ADMIN },
      answer: {
        claims: [{ ...claim, similar_organizations: [] }],
        total: 3,
      },
    },
    listOrganizationClaimChanges: {
      scope: "api_review",
      query: { limit: 10 },
      headers: { [REQUEST_HEADERS.adminEmail]: PLATFORM_ADMIN },
      answer: {
        changes: [
          {
            cursor: "21-1772443800000000",
            kind: "organization_claim",
            id: claimId,
            change: "created",
            changedAt: WHEN,
            orgUri: northernLight,
            needId: null,
            fromStatus: null,
            toStatus: "pending",
            item: claim,
          },
        ],
        next: "98-1772443800000000",
        hasMore: false,
      },
    },
    reviewOrganizationClaim: {
      scope: "api_review",
      body: {
        claimId,
        action: "approve",
        adminEmail: admin,
        role: "org_contributor",
        notes: "Noor has translated for us.",
      },
      answer: { success: true, claimId, newStatus: "approved", warnings: [] },
    },

    listMembers: {
      scope: "api_review",
      query: { orgUri: northernLight },
      headers: { [REQUEST_HEADERS.adminEmail]: admin },
      answer: { members: [member], total: 3 },
    },
    leaveOrganization: {
      scope: "api_write",
      body: { orgUri: `${graphDataUrl}/org/sahel-prayer`, userEmail: "contributor@sahel-prayer.example" },
      answer: {
        ...member,
        orgUri: `${graphDataUrl}/org/sahel-prayer`,
        userEmail: "contributor@sahel-prayer.example",
        firstName: "Jonas",
        lastName: "Lindqvist",
        role: "org_contributor",
        status: "revoked",
      },
    },
    appointAdministrator: {
      scope: "api_review",
      body: {
        orgUri: `${graphDataUrl}/org/stone-bridge`,
        userEmail: "noor@elsewhere.example",
        adminEmail: PLATFORM_ADMIN,
      },
      answer: {
        ...member,
        orgUri: `${graphDataUrl}/org/stone-bridge`,
        userEmail: "noor@elsewhere.example",
        firstName: "Noor",
        lastName: "Haddad",
        role: "org_admin",
      },
    },
    setMemberRole: {
      scope: "api_review",
      body: {
        orgUri: northernLight,
        userEmail: member.userEmail,
        role: "org_contributor",
        adminEmail: admin,
      },
      answer: { ...member, role: "org_contributor" },
    },
    setMemberStatus: {
      scope: "api_review",
      body: { orgUri: northernLight, userEmail: member.userEmail, status: "suspended", adminEmail: admin },
      answer: { ...member, role: "org_contributor", status: "suspended" },
    },
    updateOrganization: {
      scope: "api_review",
      body: { orgUri: northernLight, adminEmail: admin, website: "https://northern-light.example/about" },
      answer: {
        orgUri: northernLight,
        name: "Northern Light Fellowship",
        type: "sending agency",
        website: "https://northern-light.example/about",
        domain: "northern-light.example",
        updatedAt: WHEN,
      },
    },

    listUsers: {
      scope: "api_review",
      query: { limit: 20 },
      headers: { [REQUEST_HEADERS.adminEmail]: PLATFORM_ADMIN },
      answer: { users: [platformUser(northernLight, [])], total: 17 },
    },
    getOpenApi: {
      scope: "api_read",
      answer: { openapi: "3.1.0", info: { title: "Engagement graph", version: "0.1.0" }, paths: {} },
    },
    setPlatformRole: {
      scope: "api_review",
      body: { userEmail: admin, role: "support", action: "grant", adminEmail: PLATFORM_ADMIN },
      answer: platformUser(northernLight, ["support"]),
    },
  };
}

function platformUser(orgUri: string, platformRoles: string[]) {
  return {
    userId: "c1d0a5b4-0a53-4a0e-8f5d-6f0f8f1f2a11",
    email: "admin@northern-light.example",
    firstName: "Amina",
    lastName: "Okafor",
    platformRoles,
    memberships: [{ orgUri, orgName: "Northern Light Fellowship", role: "org_admin", status: "active" }],
    createdAt: WHEN,
  };
}
