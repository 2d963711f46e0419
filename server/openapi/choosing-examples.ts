// The examples of the lists that people choose from.
import type { Example } from "./example.ts";

/** @see examplesOf */
export function choosingExamples(orgUri: string): Record<string, Example> {
  const organization = {
    orgUri,
    orgName: "Northern Light Fellowship",
    orgType: "sending agency",
    orgWebsite: "https://northern-light.example",
    orgDomain: "northern-light.example",
  };
  const kenya = { countryCode: "KE", countryCodeAlpha3: "KEN", countryName: "Kenya" };
  return {
    listOrganizations: {
      scope: "api_read",
      query: { q: "north light", limit: 10 },
      answer: { organizations: [organization], total: 1 },
    },
    getOrganization: { scope: "api_read", params: { orgUri }, answer: organization },
    listPeopleGroups: {
      scope: "api_read",
      query: { q: "somali", limit: 10 },
      answer: { peopleGroups: [{ peopleGroupRop3: "109392", peopleGroupName: "Somali" }], total: 1 },
    },
    listCountries: {
      scope: "api_read",
      query: { q: "keny" },
      answer: { countries: [kenya], total: 1 },
    },
  };
}
