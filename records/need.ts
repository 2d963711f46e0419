import type { RecordDescription } from "./record.ts";

export const need = {
  kind: "need",
  table: "needs",
  path: "needs",
  class: "ns:Need",
  create: "declare_need",
  setStatus: "update_need_status",
  statuses: "need_status",
  fields: {
    needId: {
      type: "uuid",
      description: "The need's identifier, the same in every API and in the graph.",
      graph: "dct:identifier",
    },
    orgUri: {
      type: "httpUri",
      description: "Graph URI of the organization that declared it.",
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
    needDescription: {
      type: "text",
      description: "What is needed.",
      input: "required",
      graph: "ns:needDescription",
    },
    accelerators: {
      type: "acceleratorCodes",
      description: "Codes of the accelerator scheme; at least one.",
      input: "required",
      graph: { link: "ns:accelerator", code: "ns:acceleratorCode" },
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
    status: {
      type: "status",
      description: "Any status can be followed by any other.",
      graph: "ns:needStatus",
    },
    createdAt: {
      type: "timestamp",
      description: "When the record was created.",
      graph: "prov:generatedAtTime",
    },
    updatedAt: { type: "timestamp", description: "When its status was last set.", graph: "dct:modified" },
  },
} as const satisfies RecordDescription;
