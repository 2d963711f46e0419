import type { RecordDescription } from "./record.ts";

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
    orgName: {
      type: "text",
      description: "The organization's display name when the record was created.",
      input: "required",
      graph: "ns:orgName",
    },
    declaredByEmail: {
      type: "email",
      description: "Who declared it on the organization's behalf.",
      input: "required",
      graph: { withheld: "it names a person" },
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
      graph: { link: "ns:accelerator", code: "ns:acceleratorCode" },
    },
    concernsNeedId: {
      type: "uuid",
      description: "The need that it answers, if any.",
      input: "optional",
      graph: { link: "ns:concernsNeed", to: "need" },
    },
    concernsPeopleGroupRop3: {
      type: "rop3s",
      description: "People groups concerned: ROP3 codes of six digits.",
      input: "optional",
      graph: { link: "ns:concernsPeopleGroup", code: "ns:peopleGroupRop3" },
    },
    concernsCountryCode: {
      type: "countryCodes",
      description: "Countries concerned: ISO 3166-1 alpha-2.",
      input: "optional",
      graph: { link: "ns:concernsCountry", code: "ns:countryCode" },
    },
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
    createdAt: {
      type: "timestamp",
      description: "When the record was created.",
      graph: "prov:generatedAtTime",
    },
    updatedAt: { type: "timestamp", description: "When its status was last set.", graph: "dct:modified" },
  },
} as const satisfies RecordDescription;
