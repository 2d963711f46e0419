// How many needs reach each stage: declared, committed to, attested.
import { html } from "hono/html";
import { explorerLink, listLink } from "./links.ts";
import { count, numbers } from "./numbers.ts";
import { picture } from "./picture.ts";

type Total = { totalCount: number };
type Answer = Record<"declared" | "committed" | "attested" | "met" | "commitments" | "attestations", Total>;

const COMMITTED = "{ commitmentsExist: true }";
const ATTESTED = "{ commitments: { some: { engagementClaimsExist: true } } }";

export const funnel = picture<Answer>({
  id: "funnel",
  title: "From need to attestation",
  query: `{
  declared: needs {
    totalCount
  }
  committed: needs(filter: ${COMMITTED}) {
    totalCount
  }
  attested: needs(filter: ${ATTESTED}) {
    totalCount
  }
  met: needs(filter: { status: { equalTo: met } }) {
    totalCount
  }
  commitments {
    totalCount
  }
  attestations: engagementClaims {
    totalCount
  }
}`,
  draw: ({ declared, committed, attested, met, commitments, attestations }) => {
    const stages = [
      ["Needs declared", declared, listLink("needs")],
      ["… that somebody committed to", committed, explorerLink(needsThat(COMMITTED))],
      ["… of which work is attested", attested, explorerLink(needsThat(ATTESTED))],
      ["… that are met", met, listLink("needs", { status: "met" })],
    ] as const;
    return html`${numbers(
        "Needs by how far they have come",
        ["Needs", "Number"],
        stages.map(([name, { totalCount }, href]) => ({
          name,
          numbers: [count(totalCount, href)],
          bar: declared.totalCount === 0 ? 0 : totalCount / declared.totalCount,
        })),
      )}
      <p class="quiet">
        In all, there are ${count(commitments.totalCount, listLink("commitments"))} commitments and
        ${count(attestations.totalCount, explorerLink(ATTESTATIONS))} attestations.
      </p>`;
  },
});

function needsThat(filter: string): string {
  return `{
  needs(first: 50, filter: ${filter}) {
    totalCount
    nodes {
      needDescription
      status
      organization {
        name
      }
    }
  }
}
`;
}

const ATTESTATIONS = `{
  engagementClaims(first: 50) {
    totalCount
    nodes {
      description
      status
      organization {
        name
      }
    }
  }
}
`;
