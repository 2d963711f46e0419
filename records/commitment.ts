import type { RecordDescription } from "./record.ts";
import { inGraph, shared } from "./shared.ts";

export const commitment = {
  kind: "commitment",
  table: "commitments",
  path: "commitments",
  class: "ns:FulfillmentCommitment",
  create: "declare_commitment",
  setStatus: "update_commitment_status",
  statuses: "commitment_status",
  fields: {
    commitmentId: {
      type: "uuid",
      description: "The commitment's identifier, the same in every API and in the graph.",
      graph: "dct:identifier",
    },
    orgUri: {
      type: "httpUri",
      description: "Graph URI of the organization that made the commitment.",
      input: "required",
      graph: "prov:wasAttributedTo",
    },
    orgName: shared.orgName,
    declaredByEmail: {
      type: "email",
      description: "Who declared it on the organization's behalf.",
      input: "actor",
      graph: inGraph.person,
    },
    commitmentDescription: {
      type: "text",
      description: "What the organization commits to.",
      input: "required",
      graph: "ns:commitmentDescription",
    },
    acceleratorScope: {
      type: "acceleratorCodes",
      description: "Codes of the accelerator scheme; at least one.",
      input: "required",
      graph: inGraph.accelerator,
    },
    concernsNeedId: {
      type: "uuid",
      description: "The need that it answers, if any.",
      input: "optional",
      graph: { link: "ns:concernsNeed", to: "need" },
    },
    concernsPeopleGroupRop3: shared.concernsPeopleGroupRop3,
    concernsCountryCode: shared.concernsCountryCode,
    targetCompletionDate: {
      type: "date",
      description: "When it should be done: YYYY-MM-DD.",
      input: "optional",
      graph: "ns:targetCompletionDate",
    },
    status: {
      type: "status",
      description: "Any status can be followed by any other.",
      graph: "ns:commitmentStatus",
    },
    createdAt: shared.createdAt,
    updatedAt: shared.updatedAt,
  },
} as const satisfies RecordDescription;
