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
    commitmentId: { type: "uuid", graph: "dct:identifier" },
    orgUri: { type: "httpUri", input: "required", graph: "prov:wasAttributedTo" },
    orgName: { type: "text", input: "required", graph: "ns:orgName" },
    declaredByEmail: { type: "email", input: "required", graph: { withheld: "it names a person" } },
    commitmentDescription: { type: "text", input: "required", graph: "ns:commitmentDescription" },
    acceleratorScope: {
      type: "acceleratorCodes",
      input: "required",
      graph: { link: "ns:accelerator", code: "ns:acceleratorCode" },
    },
    concernsNeedId: { type: "uuid", input: "optional", graph: { link: "ns:concernsNeed", to: "need" } },
    concernsPeopleGroupRop3: {
      type: "rop3s",
      input: "optional",
      graph: { link: "ns:concernsPeopleGroup", code: "ns:peopleGroupRop3" },
    },
    concernsCountryCode: {
      type: "countryCodes",
      input: "optional",
      graph: { link: "ns:concernsCountry", code: "ns:countryCode" },
    },
    targetCompletionDate: { type: "date", input: "optional", graph: "ns:targetCompletionDate" },
    status: { type: "status", graph: "ns:commitmentStatus" },
    createdAt: { type: "timestamp", graph: "prov:generatedAtTime" },
    updatedAt: { type: "timestamp", graph: "dct:modified" },
  },
} as const satisfies RecordDescription;
