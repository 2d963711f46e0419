// An attestation of work and a claim to an organization are both called claims, and REST calls the id of both
// claimId. Here each also has an id field with its own name, and a claim links to its organization.
import type { Step } from "postgraphile/grafast";

const ATTESTATION = "EngagementClaim";
const CLAIM = /^(OwnOrganizationClaim|OrganizationClaim(Item|Result|Decision))$/;

export const ClaimsPlugin: GraphileConfig.Plugin = {
  name: "ClaimsPlugin",
  after: ["PgAttributesPlugin"],
  before: ["WordingPlugin"],
  schema: {
    hooks: {
      GraphQLObjectType_fields(fields, build, { Self, fieldWithHooks }) {
        const own =
          Self.name === ATTESTATION
            ? "engagementClaimId"
            : CLAIM.test(Self.name)
              ? "organizationClaimId"
              : undefined;
        const { claimId, orgUri } = fields;
        if (!own || !claimId) return fields;
        const organizations = build.input.pgRegistry.pgResources["organizations"];
        const withId = build.extend(
          { ...fields, claimId: { ...claimId, deprecationReason: `Use ${own}.` } },
          {
            [own]: fieldWithHooks({ fieldName: own }, () => ({
              type: new build.graphql.GraphQLNonNull(build.getOutputTypeByName("UUID")),
              plan: claimId.plan!,
            })),
          },
          "Naming the two kinds of claim apart",
        );
        if (own === "engagementClaimId" || !orgUri || !organizations) return withId;
        return build.extend(
          withId,
          {
            organization: fieldWithHooks({ fieldName: "organization" }, () => ({
              type: build.getOutputTypeByName("Organization"),
              plan: ($claim: Step) =>
                organizations.get({
                  org_uri: ($claim as Step & { get: (attribute: string) => never }).get("org_uri"),
                }),
            })),
          },
          "Leading from a claim to its organization",
        );
      },
    },
  },
};
