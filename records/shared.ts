// What several kinds of record have in common: whole fields, and the properties that stand for a code in the graph.
import type { Field } from "./record.ts";

export const inGraph = {
  accelerator: { link: "ns:accelerator", code: "ns:acceleratorCode" },
  peopleGroup: { link: "ns:concernsPeopleGroup", code: "ns:peopleGroupRop3" },
  country: { link: "ns:concernsCountry", code: "ns:countryCode" },
  person: { withheld: "it names a person" },
} as const satisfies Record<string, Field["graph"]>;

export const shared = {
  orgName: {
    type: "name",
    description: "The organization's display name when the record was created.",
    input: "required",
    graph: "ns:orgName",
  },
  concernsPeopleGroupRop3: {
    type: "rop3s",
    description: "People groups concerned: ROP3 codes of six digits.",
    input: "optional",
    graph: inGraph.peopleGroup,
  },
  concernsCountryCode: {
    type: "countryCodes",
    description: "Countries concerned: ISO 3166-1 alpha-2.",
    input: "optional",
    graph: inGraph.country,
  },
  createdAt: {
    type: "timestamp",
    description: "When the record was created.",
    graph: "prov:generatedAtTime",
  },
  updatedAt: { type: "timestamp", description: "When its status was last set.", graph: "dct:modified" },
} as const satisfies Record<string, Field>;
