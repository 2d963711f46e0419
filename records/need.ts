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
    needId: { type: "uuid", graph: "dct:identifier" },
    orgUri: { type: "httpUri", input: "required", graph: "prov:wasAttributedTo" },
    orgName: { type: "text", input: "required", graph: "ns:orgName" },
    declaredByEmail: { type: "email", input: "required", graph: { withheld: "it names a person" } },
    needDescription: { type: "text", input: "required", graph: "ns:needDescription" },
    accelerators: {
      type: "acceleratorCodes",
      input: "required",
      graph: { link: "ns:accelerator", code: "ns:acceleratorCode" },
    },
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
    status: { type: "status", graph: "ns:needStatus" },
    createdAt: { type: "timestamp", graph: "prov:generatedAtTime" },
    updatedAt: { type: "timestamp", graph: "dct:modified" },
  },
} as const satisfies RecordDescription;
