import type { RecordDescription } from "./record.ts";
import { inGraph, shared } from "./shared.ts";

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
    orgName: shared.orgName,
    declaredByEmail: {
      type: "email",
      description: "Who declared it on the organization's behalf.",
      input: "actor",
      graph: inGraph.person,
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
      graph: inGraph.accelerator,
    },
    concernsPeopleGroupRop3: shared.concernsPeopleGroupRop3,
    concernsCountryCode: shared.concernsCountryCode,
    status: {
      type: "status",
      description: "Any status can be followed by any other.",
      graph: "ns:needStatus",
    },
    createdAt: shared.createdAt,
    updatedAt: shared.updatedAt,
  },
} as const satisfies RecordDescription;
