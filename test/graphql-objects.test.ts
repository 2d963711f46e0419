// Objects by their global ids, claims with their organization and history, and what groups have in common.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ask, refusal, send } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG, OTHER_ORG, stranger } from "./support/world.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  await service.database.owner.query(`
    insert into app_public.people_groups (rop3, name) values ('109392', 'Somali')
      on conflict (rop3) do update set name = excluded.name;
    insert into app_public.needs
      (org_uri, org_name, declared_by_email, need_description, accelerators, concerns_people_group_rop3,
       concerns_country_code, status, created_at)
    values
      ('${ORG}', 'River Mission', '${admin}', 'a', '{PRA,PRA-INT}', '{109392}', '{KE}', 'open', '2026-01-31 23:59:59Z'),
      ('${OTHER_ORG}', 'Harbor Trust', '${admin}', 'b', '{PRA}', '{}', '{}', 'met', '2026-02-01Z');
    insert into app_public.commitments
      (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, target_completion_date)
    values
      ('${ORG}', 'River Mission', '${admin}', 'c', '{PRA}', '2027-06-30'),
      ('${ORG}', 'River Mission', '${admin}', 'd', '{PRA}', '2027-06-01'),
      ('${ORG}', 'River Mission', '${admin}', 'e', '{PRA}', null);
    insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators)
    values ('${ORG}', 'River Mission', '${admin}', '{PRA}');
    insert into app_public.platform_roles (user_id, role)
      select user_id, 'admin' from app_public.users where email = '${admin}';`);
});
afterAll(() => service.stop());

test("every record is found again by its id, whatever it is", async () => {
  const lists = ["needs", "commitments", "engagementClaims", "organizations", "accelerators", "countries"];
  const data = await ask(
    service,
    `{ ${lists.map((list) => `${list}(first: 1) { nodes { __typename id } }`).join(" ")}
       needs2: needs(first: 1) { nodes { statusHistory { nodes { __typename id } } } } }`,
  );
  const objects = [...lists.map((list) => data[list].nodes[0]), data.needs2.nodes[0].statusHistory.nodes[0]];
  expect(new Set(objects.map(({ id }) => id)).size).toBe(7);
  for (const { id, __typename } of objects) {
    const { node } = await ask(service, "query ($id: ID!) { node(id: $id) { __typename id } }", { id });
    expect(node).toEqual({ id, __typename });
  }
  const [{ id }] = objects;
  const { node } = await ask(
    service,
    "query ($id: ID!) { node(id: $id) { ... on Need { needDescription organization { name } } } }",
    { id },
  );
  expect(node).toEqual({ needDescription: "b", organization: { name: "Harbor Trust" } });
});

test("an organization with the longest URI is found by it, and by its id", async () => {
  const { owner } = service.database;
  const uri = `https://data.example.org/${"日".repeat(2_023)}`;
  await owner.query("insert into app_public.organizations (org_uri, name) values ($1, 'Long')", [uri]);
  const { organization } = await ask(
    service,
    "query ($uri: String!) { organization(orgUri: $uri) { id orgUri } }",
    { uri },
  );
  const { id } = organization;
  const { node } = await ask(service, "query ($id: ID!) { node(id: $id) { id } }", { id });
  expect([organization.orgUri.length, node]).toEqual([2_048, { id }]);
  await owner.query("delete from app_public.organizations where org_uri = $1", [uri]);
});

test.each(["", "x", "WyJOZWVkIl0=", "WyJuZWVkcyIsIngiXQ==", "bnVsbA==", "W10="])(
  "an id that is none, %j, finds nothing",
  async (id) => {
    const { node } = await ask(service, "query ($id: ID!) { node(id: $id) { id } }", { id });
    expect(node).toBeNull();
  },
);

test.each([["needs", "x"], ["needs", null], ["needs", {}], ["needs"], ["status_history", "x"]])(
  "an id of %s that no record can have is refused, or finds nothing",
  async (...parts) => {
    const { needs } = await ask(
      service,
      "{ needs(first: 1) { nodes { id statusHistory { nodes { id } } } } }",
    );
    const [record] = needs.nodes;
    const { id } = parts[0] === "needs" ? record : record.statusHistory.nodes[0];
    const [type] = JSON.parse(Buffer.from(id, "base64").toString());
    const forged = Buffer.from(JSON.stringify([type, ...parts.slice(1)])).toString("base64");
    const { data, errors } = await send(service, "query ($id: ID!) { node(id: $id) { id } }", { id: forged });
    expect(data).toEqual({ node: null });
    for (const { extensions } of errors ?? []) expect(extensions["code"]).toBe("validation_failed");
  },
);

test("an id of what is not public finds nothing", async () => {
  const proposed = "https://data.example.org/org/proposed";
  await service.database.owner.query(
    "insert into app_public.organizations (org_uri, name, status) values ($1, 'Proposed', 'proposed')",
    [proposed],
  );
  const shown = await ask(service, "query ($orgUri: String!) { organization(orgUri: $orgUri) { id } }", {
    orgUri: ORG,
  });
  const [type] = JSON.parse(Buffer.from(shown.organization.id, "base64").toString());
  const idOf = (orgUri: string) => Buffer.from(JSON.stringify([type, orgUri])).toString("base64");
  const node = async (id: string) =>
    (await ask(service, "query ($id: ID!) { node(id: $id) { id } }", { id })).node;
  expect(await node(idOf(ORG))).toEqual({ id: shown.organization.id });
  expect(await node(idOf(proposed))).toBeNull();
});

test("the two kinds of claim have ids of different names, and claims to organizations lead on", async () => {
  const { engagementClaims } = await ask(
    service,
    "{ engagementClaims { nodes { claimId engagementClaimId } } }",
  );
  const [attestation] = engagementClaims.nodes;
  expect(attestation.engagementClaimId).toBe(attestation.claimId);
  const { claimOrganization } = await ask(
    service,
    `mutation ($input: ClaimOrganizationInput!) {
       claimOrganization(input: $input) { claim { organizationClaimId resultVariant organization { name } } } }`,
    {
      input: {
        ...{ userEmail: stranger, firstName: "Ana", lastName: "Lima", roles: ["translator"] },
        ...{ orgName: "River Mission", orgUri: ORG, isNewOrg: false },
      },
    },
    "write",
  );
  const organization = { name: "River Mission" };
  const { organizationClaimId } = claimOrganization.claim;
  expect(claimOrganization.claim).toEqual({
    ...{ organizationClaimId, resultVariant: "request_sent", organization },
  });
  const seen = `{ organizationClaimsForReview(adminEmail: "${admin}") { total claims {
    organizationClaimId routedTo statedRoles organization { name }
    history { fromStatus toStatus changedByEmail } } } }`;
  const waiting = {
    ...{ organizationClaimId, routedTo: "organization", statedRoles: ["translator"], organization },
    history: [{ fromStatus: null, toStatus: "pending", changedByEmail: stranger }],
  };
  const before = await ask(service, seen, {}, "review");
  const claimIn = (page: { claims: { organizationClaimId: string }[] }) =>
    page.claims.find((claim) => claim.organizationClaimId === organizationClaimId);
  expect(claimIn(before.organizationClaimsForReview)).toEqual(waiting);
  await ask(
    service,
    `mutation ($input: ReviewOrganizationClaimInput!) {
       reviewOrganizationClaim(input: $input) { decision { organizationClaimId newStatus } } }`,
    { input: { claimId: organizationClaimId, action: "approve", adminEmail: admin } },
    "review",
  );
  const after = await ask(service, seen, {}, "review");
  expect(claimIn(after.organizationClaimsForReview)).toEqual({
    ...waiting,
    history: [...waiting.history, { fromStatus: "pending", toStatus: "approved", changedByEmail: admin }],
  });
});

test("groups say what they have in common by name and type, and lead to it", async () => {
  const { needs } = await ask(
    service,
    `{ needs { aggregates { count group { status } } groupedAggregates(groupBy: [STATUS, ACCELERATORS]) {
         count keys group { accelerators accelerator { prefLabel } status orgUri organization { name } } } } }`,
  );
  expect(needs.aggregates).toEqual({ count: 2, group: null });
  const found = needs.groupedAggregates.toSorted((a: Group, b: Group) =>
    a.keys.join() < b.keys.join() ? -1 : 1,
  );
  type Group = { keys: string[] };
  const { rows } = await service.database.owner.query(
    "select code, pref_label from app_public.accelerators where code like 'PRA%'",
  );
  const label = Object.fromEntries(rows.map(({ code, pref_label }) => [code, { prefLabel: pref_label }]));
  const group = (status: string, accelerators: string) => ({
    count: 1,
    keys: [status, accelerators],
    group: {
      accelerators,
      accelerator: label[accelerators] ?? null,
      status,
      orgUri: null,
      organization: null,
    },
  });
  expect(found).toEqual([group("met", "PRA"), group("open", "PRA"), group("open", "PRA-INT")]);
});

test("a group of a country, or a people group, leads to it", async () => {
  const { needs } = await ask(
    service,
    `{ needs { countries: groupedAggregates(groupBy: [CONCERNS_COUNTRY_CODE]) { group { country { name } } }
         peopleGroups: groupedAggregates(groupBy: [CONCERNS_PEOPLE_GROUP_ROP3]) {
           group { peopleGroup { rop3 name } } } } }`,
  );
  expect(needs.countries).toEqual([{ group: { country: { name: "Kenya" } } }]);
  const somali = { rop3: "109392", name: "Somali" };
  expect(needs.peopleGroups).toEqual([{ group: { peopleGroup: somali } }]);
});

test("groups of organizations, months and target months", async () => {
  const { needs, commitments } = await ask(
    service,
    `{ needs { groupedAggregates(groupBy: [CREATED_AT_TRUNCATED_TO_MONTH, ORG_URI], orderBy: OLDEST) {
         group { createdAtTruncatedToMonth organization { name } } } }
       commitments { groupedAggregates(groupBy: [TARGET_COMPLETION_DATE_TRUNCATED_TO_MONTH]) {
         count keys group { targetCompletionDateTruncatedToMonth } } } }`,
  );
  expect(
    needs.groupedAggregates.map(({ group }: { group: { createdAtTruncatedToMonth: string } }) => ({
      ...group,
      createdAtTruncatedToMonth: new Date(group.createdAtTruncatedToMonth).toISOString(),
    })),
  ).toEqual([
    { createdAtTruncatedToMonth: "2026-01-01T00:00:00.000Z", organization: { name: "River Mission" } },
    { createdAtTruncatedToMonth: "2026-02-01T00:00:00.000Z", organization: { name: "Harbor Trust" } },
  ]);
  expect(commitments.groupedAggregates).toEqual([
    { count: 2, keys: ["2027-06-01"], group: { targetCompletionDateTruncatedToMonth: "2027-06-01" } },
    { count: 1, keys: [null], group: { targetCompletionDateTruncatedToMonth: null } },
  ]);
});

test("a status that no record has is refused in a filter of a history", async () => {
  expect(
    await refusal(
      service,
      "{ needs { nodes { statusHistory(filter: { toStatus: { equalTo: opened } }) { totalCount } } } }",
    ),
  ).toEqual(["validation_failed", 400]);
  const { needs } = await ask(
    service,
    "{ needs { nodes { statusHistory(filter: { toStatus: { in: [open, fulfilled] } }) { nodes { fromStatus toStatus } } } } }",
  );
  expect(needs.nodes.map((need: { statusHistory: unknown }) => need.statusHistory)).toEqual([
    { nodes: [] },
    { nodes: [{ fromStatus: null, toStatus: "open" }] },
  ]);
});
