import type { RecordDescription } from "./record.ts";

/** On the wire an engagement claim; in the graph an attestation, as the specification's vocabulary has it. */
export const engagementClaim = {
  kind: "engagement_claim",
  table: "engagement_claims",
  path: "engagement-claims",
  class: "ns:EngagementAttestation",
  create: "submit_engagement_claim",
  setStatus: "update_engagement_claim_status",
  statuses: "engagement_claim_status",
  fields: {
    claimId: { type: "uuid", graph: "dct:identifier" },
    orgUri: { type: "httpUri", input: "required", graph: "prov:wasAttributedTo" },
    orgName: { type: "text", input: "required", graph: "ns:orgName" },
    claimedByEmail: { type: "email", input: "required", graph: { withheld: "it names a person" } },
    engagementAccelerators: {
      type: "acceleratorCodes",
      input: "required",
      graph: { link: "ns:accelerator", code: "ns:acceleratorCode" },
    },
    peopleGroupRop3: {
      type: "rop3",
      input: "optional",
      graph: { link: "ns:concernsPeopleGroup", code: "ns:peopleGroupRop3" },
    },
    peopleGroupName: { type: "text", input: "optional", graph: "ns:peopleGroupName" },
    peopleGroupRog3: { type: "rog3", input: "optional", graph: "ns:peopleGroupRog3" },
    countryCode: {
      type: "countryCode",
      input: "optional",
      graph: { link: "ns:concernsCountry", code: "ns:countryCode" },
    },
    countryName: { type: "text", input: "optional", graph: "ns:countryName" },
    description: { type: "text", input: "optional", graph: "ns:attestationDescription" },
    fulfillsCommitmentId: {
      type: "uuid",
      input: "optional",
      graph: { link: "ns:fulfillsCommitment", to: "commitment" },
    },
    status: { type: "status", graph: "ns:attestationStatus" },
    createdAt: { type: "timestamp", graph: "prov:generatedAtTime" },
    updatedAt: { type: "timestamp", graph: "dct:modified" },
  },
} as const satisfies RecordDescription;
