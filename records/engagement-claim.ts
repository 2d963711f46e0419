import type { RecordDescription } from "./record.ts";
import { inGraph, shared } from "./shared.ts";

/** Called an engagement claim on the wire, but an attestation in the graph. */
export const engagementClaim = {
  kind: "engagement_claim",
  table: "engagement_claims",
  path: "engagement-claims",
  class: "ns:EngagementAttestation",
  create: "submit_engagement_claim",
  setStatus: "update_engagement_claim_status",
  statuses: "engagement_claim_status",
  fields: {
    claimId: {
      type: "uuid",
      description: "The engagement claim's identifier, the same in every API and in the graph.",
      graph: "dct:identifier",
    },
    orgUri: {
      type: "httpUri",
      description: "Graph URI of the organization that attests.",
      input: "required",
      graph: "prov:wasAttributedTo",
    },
    orgName: shared.orgName,
    claimedByEmail: {
      type: "email",
      description: "Who attested it on the organization's behalf.",
      input: "actor",
      graph: inGraph.person,
    },
    engagementAccelerators: {
      type: "acceleratorCodes",
      description: "Codes of the accelerator scheme; at least one.",
      input: "required",
      graph: inGraph.accelerator,
    },
    peopleGroupRop3: {
      type: "rop3",
      description: "The people group that was engaged: a ROP3 code of six digits.",
      input: "optional",
      graph: inGraph.peopleGroup,
    },
    peopleGroupName: {
      type: "name",
      description: "The people group's display name.",
      input: "optional",
      graph: "ns:peopleGroupName",
    },
    peopleGroupRog3: {
      type: "rog3",
      description: "ROG3 code of the country; with peopleGroupRop3 the key of a people group in a country.",
      input: "optional",
      graph: "ns:peopleGroupRog3",
    },
    countryCode: {
      type: "countryCode",
      description: "The country: ISO 3166-1 alpha-2.",
      input: "optional",
      graph: inGraph.country,
    },
    countryName: {
      type: "name",
      description: "The country's display name.",
      input: "optional",
      graph: "ns:countryName",
    },
    description: {
      type: "text",
      description: "What took place, in free text.",
      input: "optional",
      graph: "ns:attestationDescription",
    },
    fulfillsCommitmentId: {
      type: "uuid",
      description: "The commitment that it fulfils, if any.",
      input: "optional",
      graph: { link: "ns:fulfillsCommitment", to: "commitment" },
    },
    status: {
      type: "status",
      description: "Any status can be followed by any other.",
      graph: "ns:attestationStatus",
    },
    createdAt: shared.createdAt,
    updatedAt: shared.updatedAt,
  },
} as const satisfies RecordDescription;
