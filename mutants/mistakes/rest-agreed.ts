// What REST has agreed with its clients, changed by a slip: a field, a bound, a scope, a status, a header.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: ["rest-agreed"], only }));

export const AGREED: readonly Mistake[] = [
  {
    rule: "a key that is not valid is described as one, and not one that may not",
    file: "server/openapi/errors.ts",
    before: '401: "The API key or token is missing or not valid.",',
    after: '401: "The key or the person may not do this.",',
    tests: ["rest-agreed"],
    only: "words that belong",
  },
  {
    rule: "what names something that does not exist is described as that",
    file: "server/openapi/errors.ts",
    before: '422: "The input is well-formed, but names something that does not exist.",',
    after: '422: "The request is not well-formed.",',
    tests: ["rest-agreed"],
    only: "words that belong",
  },
  ...slips(
    "server/resources/admin-claims.ts",
    [
      "get /v0/admin/claims$",
      "a list of claims always has its total",
      "claims: z.array(claimItem), total: z.int()",
      "claims: z.array(claimItem), total: z.int().optional()",
    ],
    [
      "OrganizationClaim$",
      "a claim's domain may be unknown",
      "org_domain: z.string().nullable()",
      "org_domain: z.string()",
    ],
    [
      "OrganizationClaim$",
      "what a claimant does there is a list",
      "stated_roles: z.array(z.string())",
      "stated_roles: z.string()",
    ],
    [
      "post /v0/admin/claims/review",
      "a review need not give a role",
      "role: m.organizationRole\n    .nullable()\n    .optional()",
      "role: m.organizationRole\n    .nullable()",
    ],
    [
      "post /v0/admin/claims/review",
      "a review takes nothing but what it knows",
      "const claimReview = z.strictObject({",
      "const claimReview = z.object({",
    ],
    [
      "post /v0/admin/claims/review",
      "that a claim is decided already is among what a review may be refused with",
      '"claim_not_found", "already_reviewed"',
      '"claim_not_found"',
    ],
  ),
  ...slips(
    "server/resources/admin-users.ts",
    [
      "post /v0/admin/users/role",
      "a role is given where nothing is said",
      'default("grant")',
      'default("revoke")',
    ],
    [
      "PlatformUser",
      "a person's first name may be unknown",
      "firstName: z.string().nullable()",
      "firstName: z.string()",
    ],
    [
      "get /v0/admin/users$",
      "people are found by what is typed",
      'q: s.partsOf("their names or address"), ...s.paging',
      "...s.paging",
    ],
  ),
  ...slips(
    "server/resources/orgs-members.ts",
    [
      "post /v0/orgs/members/appoint",
      "who is appointed has the usual role where none is named",
      "role: m.organizationRole\n    .nullable()\n    .optional()",
      "role: m.organizationRole\n    .nullable()",
    ],
    [
      "post /v0/orgs/members/status",
      "a membership's new status is one of the statuses of memberships",
      "  status: m.membershipStatus,\n  adminEmail",
      "  status: m.claimStatus,\n  adminEmail",
    ],
    [
      "post /v0/orgs/members/leave",
      "who leaves is told if they are the last administrator",
      '[...REFUSALS.forOrganization, "membership_required", "last_admin"]',
      '[...REFUSALS.forOrganization, "membership_required"]',
    ],
  ),
  ...slips(
    "server/resources/orgs-metadata.ts",
    [
      "post /v0/orgs/metadata",
      "an empty website clears it",
      'z.union([s.httpUri, z.literal("")],',
      "z.union([s.httpUri],",
    ],
    [
      "Organization$",
      "an organization's website may be unknown",
      "website: z.string().nullable()",
      "website: z.string()",
    ],
  ),
  ...slips(
    "server/resources/onboarding.ts",
    [
      "claim-org",
      "whether an organization is new is said",
      'isNewOrg: z.boolean({ error: "must be true or false" })',
      'isNewOrg: z.boolean({ error: "must be true or false" }).default(false)',
    ],
    ["claim-org", "a claimant has a last name", "lastName: s.requiredName", "lastName: m.optionalName"],
    [
      "OwnOrganizationClaim",
      "what somebody gave as their reason may be nothing",
      "reviewNotes: z.string().nullable()",
      "reviewNotes: z.string()",
    ],
    [
      "get /v0/onboarding/check-user",
      "who is asked for is asked by their address",
      "query: z.object({ email: s.email.describe",
      "query: z.object({ userEmail: s.email.describe",
    ],
    [
      "get /v0/onboarding/claims",
      "somebody's claims come in pages",
      "z.object({ userEmail: s.actingEmail, ...s.paging })",
      "z.object({ userEmail: s.actingEmail })",
    ],
    [
      "claims/withdraw",
      "whose claim is taken back is said",
      "claimId: s.uuid, userEmail: s.actingEmail }",
      "claimId: s.uuid, adminEmail: s.actingEmail }",
    ],
  ),
  ...slips(
    "server/resources/accelerators.ts",
    ["Accelerator", "a code may have none above it", "broader: z.string().nullable()", "broader: z.string()"],
    ["Accelerator", "a code says whether it is deprecated", "    deprecated: z.boolean(),\n", ""],
  ),
  ...slips(
    "server/resources/changes.ts",
    [
      "^has the fields that were agreed Change",
      "what was deleted has no record any more",
      "    record: record\n      .nullable()",
      "    record: record",
    ],
    [
      "get /v0/changes",
      "changes are of one organization if that is asked for",
      'orgUri: s.filterText.describe("Records of this organization alone."),',
      "",
    ],
    [
      "get /v0/admin/claims/changes",
      "that changes are not kept for ever is among what may be refused",
      '"permission_required", "changes_expired"',
      '"permission_required"',
    ],
  ),
  ...slips(
    "server/resources/choosing.ts",
    [
      "get /v0/people-groups",
      "people groups come in pages",
      'q: q("its name or ROP3 code"), ...s.paging',
      'q: q("its name or ROP3 code")',
    ],
    ["Country", "a country has its code of three letters too", "countryCodeAlpha3: z.string(), ", ""],
    [
      "ListedOrganization",
      "an organization's type may be unknown",
      "orgType: z.string().nullable()",
      "orgType: z.string()",
    ],
  ),
  ...slips(
    "server/resources/church-schemas.ts",
    ["FoundChurch", "a church that is found always has its id", "  .required({ church_id: true })\n", ""],
    [
      "get /v0/orgs/search",
      "two hundred characters may be searched for",
      "const MAX_TEXT = 200;",
      "const MAX_TEXT = 100;",
    ],
    [
      "get /v0/orgs/search",
      "a map may be turned a hundred times",
      "const FARTHEST = 36_000;",
      "const FARTHEST = 3_600;",
    ],
    [
      "get /v0/orgs/search",
      "a cursor may have two thousand characters",
      "cursor: textUpTo(2_000)",
      "cursor: textUpTo(1_000)",
    ],
    [
      "get /v0/orgs/search",
      "a search is answered as JSON where nothing is said",
      '.default("json")',
      '.default("geojson")',
    ],
    [
      "get /v0/orgs/search",
      "of languages a hundred may be named",
      '.max(100, "must have at most 100 items")',
      '.max(50, "must have at most 100 items")',
    ],
    ["ChurchFeatures", "where a church is may be unknown", "geometry: point.nullable()", "geometry: point"],
    [
      "ChurchPage",
      "a last page has no cursor",
      "next_cursor: z\n    .string()\n    .nullable()",
      "next_cursor: z\n    .string()",
    ],
    [
      "Church$",
      "any but the id of a church may be unknown",
      '(always || kind === "json" ? value : value.nullable())',
      "value",
    ],
  ),
  ...slips(
    "server/resources/health.ts",
    [
      "get /v0/health",
      "how many triples there are may be unknown",
      "tripleCount: z.int().nullable()",
      "tripleCount: z.int()",
    ],
    ["get /v0/health", "health says how many records are refused", "          rejected: z.int(),\n", ""],
  ),
  ...slips("server/resources/history.ts", [
    "get /v0/needs/.*history",
    "the service itself may have set a status",
    "changedByEmail: s.email.nullable()",
    "changedByEmail: s.email",
  ]),
  ...slips(
    "server/resources/needs.ts",
    ["get /v0/needs$", "needs are found by their people group", "      rop3: s.rop3.optional(),\n", ""],
    ["post /v0/needs$", "a need is declared once, however often it is sent", "    idempotent: true,\n", ""],
    [
      "post /v0/needs/status",
      "that there is no such need is among what a status may be refused with",
      '[...REFUSALS.asMember, "need_not_found"]',
      "[...REFUSALS.asMember]",
    ],
    [
      "get /v0/needs/{needId}$",
      "a need that the graph refused says why",
      "schema: item.extend({ graphErrors: s.graphErrors.optional() })",
      "schema: item",
    ],
  ),
  ...slips(
    "server/resources/commitments.ts",
    [
      "get /v0/commitments$",
      "commitments are found by their need",
      "      concernsNeedId: s.uuid.optional(),\n",
      "",
    ],
    [
      "get /v0/commitments$",
      "a list from the graph says so",
      'enum: ["graph", "database"]',
      'enum: ["graph"]',
    ],
    [
      "post /v0/commitments$",
      "that there is no such need is among what a commitment may be refused with",
      '"unknown_accelerator_code", "unknown_need"',
      '"unknown_accelerator_code"',
    ],
  ),
  ...slips(
    "server/resources/engagement-claims.ts",
    [
      "get /v0/engagement-claims$",
      "attestations are found by their country",
      "      countryCode: s.countryCode.optional(),\n",
      "",
    ],
    [
      "engagement-claims/submit",
      "what is attested is read at its own address",
      'location: "/v0/engagement-claims/{claimId}",\n      schema: r.createdOf',
      'location: "/v0/engagement-claims/{claimId}",\n      schema: r.itemOf',
    ],
  ),
  ...slips(
    "server/rest/schemas.ts",
    [
      "post /v0/needs$",
      "a code has sixty-four characters and no more",
      ".meta({ maxLength: 64, examples",
      ".meta({ maxLength: 65, examples",
    ],
    [
      "get /v0/organizations$",
      "an offset is any whole number that there can be",
      "wholeNumber(0, 2_147_483_647)",
      "wholeNumber(0, 10_000)",
    ],
    ["post /v0/needs$", "a list names at least one code", '.min(1, "must name at least one item")', ""],
    [
      "post /v0/needs$",
      "a name may not be empty",
      ".meta({ minLength: 1, maxLength: longest })",
      ".meta({ maxLength: longest })",
    ],
    [
      "post /v0/engagement-claims/submit",
      "a ROG3 code has two or three letters",
      "/^[A-Z]{2,3}$/",
      "/^[A-Z]{3}$/",
    ],
  ),
  ...slips(
    "server/rest/records.ts",
    [
      "post /v0/needs/status",
      "a change of a status takes nothing but what it knows",
      "body: z.strictObject({ ...changed",
      "body: z.object({ ...changed",
    ],
    [
      "post /v0/needs$",
      "what is declared takes nothing but what it knows",
      "return z.strictObject(Object.fromEntries(given));",
      "return z.object(Object.fromEntries(given));",
    ],
    [
      "post /v0/needs$",
      "what may be left out is optional",
      "isRequired ? type : type.optional(), field",
      "type, field",
    ],
    [
      "get /v0/needs/{needId}$",
      "a record says how it is in the graph",
      "...Object.fromEntries(shown), graphStatus: s.graphStatus }",
      "...Object.fromEntries(shown) }",
    ],
  ),
  ...slips("server/rest/body.ts", [
    "post /v0/commitments$",
    "what may be left out may be null",
    ".map(([name, field]) => [name, field.nullable()",
    ".map(([name, field]) => [name, field",
  ]),
  ...slips("server/rest/list.ts", [
    "get /v0/needs$",
    "a list is found by words, and by when it changed",
    "{ ...filters, q: searchText, updatedSince",
    "{ ...filters, updatedSince",
  ]),
  ...slips("server/rest/route.ts", [
    "post /v0/needs$",
    "a key that is for certain organizations is refused for others",
    'const forOrganization = [...forPerson, "key_not_for_organization"]',
    "const forOrganization = [...forPerson]",
  ]),
  ...slips(
    "server/openapi/document.ts",
    [
      "post /v0/needs$",
      "what was created says where it is read",
      "...(answer.status === 201 && LOCATION_HEADER),",
      "",
    ],
    ["get /v0/needs$", "an answer that has not changed is spared", "...(mayBeKept(route) && UNCHANGED),", ""],
    ["get /v0/needs$", "a list leads on", "...(route.list && LINK_HEADER),", ""],
    ["get /v0/organizations$", "any route may be refused for too many requests", '    "rate_limited",\n', ""],
  ),
  ...slips(
    "server/openapi/errors.ts",
    [
      "Problem",
      "a problem names the request",
      "pick({ error: true, details: true, requestId: true })",
      "pick({ error: true, details: true })",
    ],
    [
      "get /v0/needs$",
      "who has sent too many requests is told when to come again",
      "429: { ...WAIT, ...RATE_LIMIT_HEADERS }",
      "429: RATE_LIMIT_HEADERS",
    ],
    ["get /v0/needs$", "a service that is busy says when to come again", "  503: WAIT,\n", ""],
  ),
];
