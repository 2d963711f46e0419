// Descriptions of the schema's names that have none elsewhere: in comments of tables and functions, in
// records/ or in db/churches/columns.ts. A key is a type, a type with a field or value, or a name that means
// the same everywhere.
import { organizationRoles, platformRoles, usualRole } from "../../db/catalog.ts";
import { CHURCH_COLUMNS } from "../../db/churches/columns.ts";
import { actingEmail } from "../rest/schemas.ts";
import { churchQuery } from "../resources/church-schemas.ts";
import { whom } from "../resources/onboarding.ts";
import { RECORDS } from "../../records/index.ts";
import { fieldsOf } from "../../records/record.ts";

const actor = actingEmail.description!;
const claimIds = {
  attestation: "The attestation's id, as REST calls it; a claim to an organization has another.",
  claim: "The id of the claim to an organization, as REST calls it; an attestation of work has another.",
};

/** The inputs of the church search, in the words of REST. */
const churchInputs = Object.entries(churchQuery.shape).map(
  ([name, { description }]) =>
    [
      `Query.churches.${name.replace(/_./g, ([, letter]) => letter!.toUpperCase())}`,
      description
        ?.replaceAll(/\b[a-z]+_[a-z_]+\b/g, (word) =>
          word.replace(/_./g, ([, letter]) => letter!.toUpperCase()),
        )
        .replace(/^The nextCursor of the previous page/, "The cursor of the last result"),
    ] as const,
);

const recordFields = Object.values(RECORDS).flatMap((record) =>
  fieldsOf(record).flatMap(({ name, description, input }) =>
    input ? [[name, input === "actor" ? actor : description] as const] : [],
  ),
);

const enumeration = (type: string, description: string, values: Record<string, string>) =>
  Object.fromEntries([
    [type, description],
    ...Object.entries(values).map(([name, meaning]) => [`${type}.${name}`, meaning]),
  ]) as Record<string, string>;

/** Descriptions by type, by type and field or value, and by name. */
export const WORDS: ReadonlyMap<string, string> = new Map<string, string>([
  ...recordFields,
  ...churchInputs.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])),
  ...Object.entries({
    ...enumeration("AcceleratorKind", "The two levels of the accelerator scheme.", {
      accelerator: "A broad category of work.",
      function: "One of the categories below an accelerator.",
    }),
    ...enumeration("ChangedKind", "What changed.", {
      need: "A need.",
      commitment: "A commitment.",
      engagement_claim: "An attestation of work.",
      organization_claim: "A claim to an organization.",
    }),
    ...enumeration("ChangeEvent", "What happened.", {
      created: "It is new.",
      updated: "Something in it changed, perhaps its status.",
      deleted: "It is gone.",
    }),
    ...enumeration("ChurchBelief", "The traditions of churches.", {
      anglican: "Anglican and Episcopal churches.",
      orthodox: "Eastern and Oriental Orthodox churches.",
      other: "Any other tradition.",
      protestant: "Protestant and free churches.",
      roman_catholic: "The Roman Catholic Church.",
      unknown: "The source does not say.",
    }),
    ...enumeration("ClaimReviewAction", "What a reviewer decides about a claim to an organization.", {
      approve: "The claimant gets a role in the organization.",
      reject: "The claimant gets none; notes say why.",
    }),
    ...enumeration("ClaimReviewStatus", "Where a claim to an organization stands.", {
      pending: "It waits for its review.",
      approved: "The claimant belongs to the organization.",
      rejected: "A reviewer rejected it; the notes say why.",
      withdrawn: "The claimant withdrew it.",
    }),
    ...enumeration("ClaimResultVariant", "The immediate result of a claim to an organization.", {
      claimed: "It was approved automatically.",
      request_sent: "It was sent to the organization's administrators.",
      manual_review: "It was sent to the platform's reviewers.",
      new_org: "It proposes a new organization, and was sent to the platform's reviewers.",
    }),
    ...enumeration("ClaimRoute", "Who reviews a claim to an organization.", {
      organization: "Those who manage the members of the organization.",
      platform: "The platform's reviewers.",
    }),
    ...enumeration("MembershipStatus", "Whether a person may act for an organization.", {
      active: "They may, as far as their role allows.",
      suspended: "They may not until they are made active again.",
      revoked: "They no longer belong to it, and may claim again.",
    }),
    ...enumeration(
      "OrganizationRole",
      "A person's role in an organization.",
      Object.fromEntries(
        Object.entries(organizationRoles).map(([role, { title, description }]) => [
          role,
          `${title[0]!.toUpperCase()}${title.slice(1)}: ${description}.`,
        ]),
      ),
    ),
    ...enumeration("OrganizationStatus", "Whether an organization is public.", {
      proposed: "A claim names it that waits for its review.",
      active: "It is public.",
      rejected: "No claim to it was approved.",
    }),
    ...enumeration(
      "PlatformRole",
      "A person's role on the platform.",
      Object.fromEntries(
        Object.entries(platformRoles).map(([role, permissions]) => [
          role,
          permissions.length > 0 ? `May: ${permissions.join(", ")}.` : "May do nothing more than others.",
        ]),
      ),
    ),
    ...enumeration("PlatformRoleAction", "What becomes of a role on the platform.", {
      grant: "The person has it from now on.",
      revoke: "The person no longer has it.",
    }),
    CommitmentStatus: "How far a commitment has come.",
    EngagementClaimStatus: "Whether attested work goes on.",
    GraphStatus: "Whether the graph holds a record.",
    NeedStatus: "Whether a need is met.",
    RecordStatus: "Every status of a need, a commitment or an engagement claim.",

    // Who and where.
    id: "Identifies the object among all objects of all types; it stays the same.",
    actorEmail: actor,
    adminEmail: actor,
    userEmail: "The person's e-mail address.",
    "ClaimOrganizationInput.userEmail": actor,
    "LeaveOrganizationInput.userEmail": actor,
    "WithdrawOrganizationClaimInput.userEmail": actor,
    "Query.ownOrganizationClaims.userEmail": actor,
    "OrganizationClaimItem.userEmail": "The claimant's e-mail address.",
    "Query.checkUser.email": whom.description!,
    email: "The person's e-mail address.",
    userId: "The person's id.",
    firstName: "The person's first name.",
    lastName: "The person's last name.",
    userFirstName: "The claimant's first name.",
    userLastName: "The claimant's last name.",
    role: "The person's role in the organization.",
    "ReviewOrganizationClaimInput.role": `The claimant's role if approved; ${usualRole} by default.`,
    "OwnOrganizationClaim.role": "The role that the approval gave.",
    platformRoles: "The person's roles on the platform.",
    "SetPlatformRoleInput.role": "The role to give or take.",
    "SetPlatformRoleInput.action": "Whether to give it or take it; it is given by default.",
    memberships: "The organizations that the person belongs to.",
    roles: "What the person says they do there; shown to the reviewer.",
    statedRoles: "What the claimant says they do there.",

    // Organizations.
    orgUri: "URI that names the organization in the graph.",
    orgName: "The organization's name.",
    orgType: "What kind of organization it is.",
    name: "Its name.",
    type: "What kind of organization it is.",
    website: "Its address on the web.",
    domain: "Its registered e-mail domain.",
    isNewOrg: "Whether the organization is a new one.",
    newOrgName: "The new organization's name, if different from orgName.",
    newOrgType: "What kind of organization the new one is.",
    newOrgWebsite: "The new organization's address on the web.",
    orgDomain: "The organization's e-mail domain.",
    "ClaimOrganizationInput.orgDomain": "The e-mail domain of a new organization.",
    "ClaimOrganizationInput.orgUri": "The organization that is claimed; required unless isNewOrg.",
    emailDomain: "The domain of the claimant's e-mail address.",
    emailVerified: "Whether the claimant's e-mail address is proven, or was stated by an application.",
    organization: "The organization; null while it is not public.",

    // Claims to organizations.
    organizationClaimId: "The id of the claim to the organization.",
    claim: "The claim to the organization.",
    claims: "The claims to organizations of this page.",
    resultVariant: "The immediate result of the claim.",
    routedTo: "Who reviews it; null if it was approved automatically.",
    reviewedAt: "When it was decided; null until then.",
    reviewedBy: "Who decided; null until somebody did.",
    reviewNotes: "What the reviewer wrote.",
    "ReviewOrganizationClaimInput.notes": "Why; required to reject. The claimant will read it.",
    "ReviewOrganizationClaimInput.action": "What is decided.",
    decision: "What was decided.",
    newStatus: "Where the claim stands now.",
    warnings: "What the reviewer should know about it.",
    "ReviewWarning.code": "What it is, as a code.",
    "ReviewWarning.message": "What it is, in a sentence.",
    OrganizationClaimStep: "A step that a claim to an organization has taken.",
    "OrganizationClaimStep.fromStatus": "Where it stood before; null for the first step.",
    "OrganizationClaimStep.toStatus": "Where it stood from then on.",
    history: "Every step it has taken, oldest first.",
    ...Object.fromEntries(
      [
        ...["OrganizationClaimItem", "OrganizationClaimResult", "OrganizationClaimDecision"],
        ...["OwnOrganizationClaim", "ReviewOrganizationClaimInput", "WithdrawOrganizationClaimInput"],
      ].map((type) => [`${type}.claimId`, claimIds.claim]),
    ),

    // Records.
    engagementClaimId: "The attestation's id.",
    "EngagementClaim.claimId": claimIds.attestation,
    "UpdateEngagementClaimStatusInput.claimId": claimIds.attestation,
    "Query.engagementClaim.claimId": claimIds.attestation,
    commitmentId: "The commitment's id.",
    needId: "The need's id.",
    status: "Where it stands.",
    need: "The need.",
    commitment: "The commitment.",
    engagementClaim: "The engagement claim.",
    member: "The membership.",
    user: "The person.",
    users: "The people of this page.",
    total: "How many there are in all, on this page and others.",
    createdAt: "When it was created.",
    updatedAt: "When it was last changed.",
    changedAt: "When it was set.",
    changedByEmail: "Who did it; null if the service itself did.",
    toStatus: "The status that was set.",
    fromStatus: "The status before; null for the first.",
    statusHistoryId: "The entry's number; later entries have greater ones.",

    // Codes.
    alpha2: "The country's code of two letters, ISO 3166-1.",
    alpha3: "The country's code of three letters, ISO 3166-1.",
    rop3: "The people group's code, ROP3, of six digits.",
    broaderCode: "The code of the accelerator that it belongs to.",
    code: "The code of the accelerator scheme.",
    "Country.name": "The country's name in ISO 3166-1.",
    "PeopleGroup.name": "What the registry calls the people group.",

    // Churches.
    church: "The church.",
    churchId: CHURCH_COLUMNS["church_id"]!.description,
    cursor: "Continues the search after it.",
    distanceM: "Metres from the centre of a radius search; null in any other.",

    // Pages.
    limit: "How many to return at most, 1 to 200; 50 by default.",
    offset: "How many to skip.",
    "Query.platformUsers.q": "Words, or parts of them, each of which must occur in their names or address.",
    exists: "Whether the service knows the person.",
    "UserCheck.orgUri": "URI of the organization that they joined last.",
    "UserCheck.orgName": "The name of the organization that they joined last.",
    "UserCheck.orgType": "What kind of organization that is.",
  }),
]);
