/** The groups of the document, in reading order. */
export const TAGS: { name: string; description: string }[] = [
  { name: "Needs", description: "Work that organizations declare to be needed." },
  {
    name: "Commitments",
    description: "Work that organizations promise, in answer to a need or independently of one.",
  },
  {
    name: "Engagement claims",
    description:
      "Work that organizations attest to be done, in fulfilment of a commitment or independently of one.",
  },
  { name: "Changes", description: "What has changed in the records, for those who keep a copy." },
  { name: "Vocabulary", description: "The codes by which records are classified." },
  { name: "Organizations", description: "The organizations that are public, for a person to choose from." },
  { name: "Church search", description: "Churches by words, place, tradition, language and program." },
  { name: "Graph", description: "The records as RDF, for SPARQL." },
  { name: "Tools", description: "What AI clients call." },
  { name: "Onboarding", description: "How a person comes to act for an organization." },
  {
    name: "Claim review",
    description: "How organizations and the platform decide on people's claims to belong to an organization.",
  },
  { name: "Members", description: "Members and metadata of an organization, for its administrators." },
  { name: "Platform users", description: "Everybody the service knows, and their roles on the platform." },
  { name: "Service", description: "The service itself." },
];
