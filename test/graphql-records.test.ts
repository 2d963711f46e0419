// Records over GraphQL: the chain both ways, and filters.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ask, refusal } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG, OTHER_ORG, otherAdmin } from "./support/world.ts";

let service: TestService;
const ids = { need: "", otherNeed: "", commitment: "", claim: "" };

const river = { orgUri: ORG, orgName: "River Mission", declaredByEmail: admin };
const harbor = { orgUri: OTHER_ORG, orgName: "Harbor Trust", declaredByEmail: otherAdmin };

beforeAll(async () => {
  service = await startTestService();
  const declareNeed = async (input: object) =>
    (
      await ask(
        service,
        "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }",
        { input },
        "write",
      )
    ).declareNeed.need.needId as string;
  ids.need = await declareNeed({
    ...river,
    needDescription: "Water & prayer 🚰 بئر",
    accelerators: ["PRA", "PRA-INT"],
    concernsCountryCode: ["KE", "UG"],
    concernsPeopleGroupRop3: ["100123"],
  });
  ids.otherNeed = await declareNeed({ ...harbor, needDescription: "Boats", accelerators: ["PRA"] });
  const commitment = await ask(
    service,
    `mutation ($input: DeclareCommitmentInput!) {
      declareCommitment(input: $input) { commitment { commitmentId status concernsNeed { needId } } }
    }`,
    {
      input: {
        ...harbor,
        commitmentDescription: "We dig",
        acceleratorScope: ["PRA-INT"],
        concernsNeedId: ids.need,
        targetCompletionDate: "2028-02-29",
      },
    },
    "write",
  );
  ids.commitment = commitment.declareCommitment.commitment.commitmentId;
  const claim = await ask(
    service,
    `mutation ($input: SubmitEngagementClaimInput!) {
      submitEngagementClaim(input: $input) { engagementClaim { claimId } }
    }`,
    {
      input: {
        orgUri: ORG,
        orgName: "River Mission",
        claimedByEmail: admin,
        engagementAccelerators: ["PRA"],
        countryCode: "KE",
        fulfillsCommitmentId: ids.commitment,
      },
    },
    "write",
  );
  ids.claim = claim.submitEngagementClaim.engagementClaim.claimId;
});
afterAll(() => service.stop());

describe("the chain", () => {
  test("from the need to the engagement, with every organization on the way", async () => {
    const { need } = await ask(
      service,
      `query ($needId: UUID!) {
        need(needId: $needId) {
          needDescription accelerators concernsCountryCode status graphStatus graphErrors { path message }
          organization { name }
          commitments {
            totalCount
            nodes {
              commitmentId targetCompletionDate organization { orgUri }
              engagementClaims { nodes { claimId organization { name } } }
            }
          }
        }
      }`,
      { needId: ids.need },
    );
    expect(need).toEqual({
      needDescription: "Water & prayer 🚰 بئر",
      accelerators: ["PRA", "PRA-INT"],
      concernsCountryCode: ["KE", "UG"],
      status: "open",
      graphStatus: "pending",
      graphErrors: [],
      organization: { name: "River Mission" },
      commitments: {
        totalCount: 1,
        nodes: [
          {
            commitmentId: ids.commitment,
            targetCompletionDate: "2028-02-29",
            organization: { orgUri: OTHER_ORG },
            engagementClaims: { nodes: [{ claimId: ids.claim, organization: { name: "River Mission" } }] },
          },
        ],
      },
    });
  });

  test("groups of what answers a need, or fulfils a commitment, lead to it", async () => {
    const { commitments, engagementClaims, statusChanges } = await ask(
      service,
      `{ commitments { groupedAggregates(groupBy: [CONCERNS_NEED_ID]) {
           count group { concernsNeedId concernsNeed { needId } organization { name } } } }
         engagementClaims { groupedAggregates(groupBy: [FULFILLS_COMMITMENT_ID]) {
           count group { fulfillsCommitmentId fulfillsCommitment { commitmentId } } } }
         statusChanges(filter: { needId: { isNull: false } }) {
           groupedAggregates(groupBy: [NEED_ID], orderBy: OLDEST) { count group { need { needId } commitment { commitmentId } } } } }`,
    );
    const [concernsNeed, fulfillsCommitment] = [{ needId: ids.need }, { commitmentId: ids.commitment }];
    expect([commitments.groupedAggregates, engagementClaims.groupedAggregates]).toEqual([
      [{ count: 1, group: { concernsNeedId: ids.need, concernsNeed, organization: null } }],
      [{ count: 1, group: { fulfillsCommitmentId: ids.commitment, fulfillsCommitment } }],
    ]);
    expect(statusChanges.groupedAggregates).toEqual(
      [ids.need, ids.otherNeed].map((needId) => ({
        count: 1,
        group: { need: { needId }, commitment: null },
      })),
    );
  });

  test("from the engagement back to the need", async () => {
    const { engagementClaim } = await ask(
      service,
      `query ($claimId: UUID!) {
        engagementClaim(claimId: $claimId) { fulfillsCommitment { concernsNeed { needId organization { orgUri } } } }
      }`,
      { claimId: ids.claim },
    );
    expect(engagementClaim).toEqual({
      fulfillsCommitment: { concernsNeed: { needId: ids.need, organization: { orgUri: ORG } } },
    });
  });

  test("the whole of it from the root, with no page size given, is within the bounds", async () => {
    const { needs } = await ask(
      service,
      "{ needs { nodes { commitments { nodes { engagementClaims { nodes { claimId } } } } } } }",
    );
    expect(needs.nodes).toHaveLength(2);
  });

  test("an organization has its needs, commitments and engagement claims", async () => {
    const { organization } = await ask(
      service,
      `query ($orgUri: String!) {
        organization(orgUri: $orgUri) {
          needs { nodes { needId } } commitments { totalCount } engagementClaims { nodes { claimId } }
        }
      }`,
      { orgUri: ORG },
    );
    expect(organization).toEqual({
      needs: { nodes: [{ needId: ids.need }] },
      commitments: { totalCount: 0 },
      engagementClaims: { nodes: [{ claimId: ids.claim }] },
    });
  });

  test("an organization's activity is each status of its own records, the newest first, to every key", async () => {
    const seen: unknown[] = [];
    for (const scope of ["read", "write", "review"] as const) {
      const { organization } = await ask(
        service,
        `query ($orgUri: String!) {
          organization(orgUri: $orgUri) {
            activity { nodes { needId commitmentId engagementClaimId changedByKey } }
          }
        }`,
        { orgUri: OTHER_ORG },
        scope,
      );
      const nodes = organization.activity.nodes as Record<string, string | null>[];
      const records = nodes.map((node) => [node["needId"], node["commitmentId"], node["engagementClaimId"]]);
      expect(records.slice(-2)).toEqual([
        [null, ids.commitment, null],
        [ids.otherNeed, null, null],
      ]);
      for (const other of [ids.need, ids.claim]) expect(records.flat()).not.toContain(other);
      seen.push(nodes.some((node) => node["changedByKey"] !== null));
    }
    // Which key it was is for those who review.
    expect(seen).toEqual([false, false, true]);
    const { organization } = await ask(
      service,
      `query ($orgUri: String!) {
        organization(orgUri: $orgUri) { activity { nodes { needId commitmentId engagementClaimId } } }
      }`,
      { orgUri: ORG },
    );
    const own = organization.activity.nodes.flatMap((node: object) => Object.values(node).filter(Boolean));
    expect(own).toEqual(expect.arrayContaining([ids.need, ids.claim]));
    for (const other of [ids.otherNeed, ids.commitment]) expect(own).not.toContain(other);
  });

  test("an organization's activity is in the order of its times, and what is of one time comes last noted first", async () => {
    const { owner } = service.database;
    const orgUri = "https://data.example.org/org/at-once";
    await owner.query(
      "insert into app_public.organizations (org_uri, name, status) values ($1, 'At Once', 'active')",
      [orgUri],
    );
    const { rows } = await owner.query<{ id: string }>(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
       select $1, 'At Once', $2, 'Wells', '{PRA}' from generate_series(1, 6) returning need_id as id`,
      [orgUri, admin],
    );
    try {
      await owner.query(
        "update app_public.status_history set changed_at = changed_at + interval '1 second' where need_id = $1",
        [rows[2]!.id],
      );
      const { rows: noted } = await owner.query<{ id: string }>(
        `select h.need_id as id from app_public.status_history as h join app_public.needs using (need_id)
         where org_uri = $1 order by h.status_history_id`,
        [orgUri],
      );
      const { organization } = await ask(
        service,
        "query ($orgUri: String!) { organization(orgUri: $orgUri) { activity { nodes { needId } } } }",
        { orgUri },
      );
      const ids = noted.map(({ id }) => id);
      const latest = rows[2]!.id;
      expect(organization.activity.nodes.map(({ needId }: { needId: string }) => needId)).toEqual([
        latest,
        ...ids.filter((id) => id !== latest).toReversed(),
      ]);
    } finally {
      await owner.query("delete from app_public.needs where org_uri = $1", [orgUri]);
      await owner.query("delete from app_public.organizations where org_uri = $1", [orgUri]);
    }
  });

  test("the status history says who, from what, to what", async () => {
    const { updateCommitmentStatus } = await ask(
      service,
      `mutation ($input: UpdateCommitmentStatusInput!) {
        updateCommitmentStatus(input: $input) {
          commitment { status statusHistory { nodes { fromStatus toStatus changedByEmail } } }
        }
      }`,
      { input: { commitmentId: ids.commitment, status: "in_progress", actorEmail: otherAdmin } },
      "write",
    );
    expect(updateCommitmentStatus.commitment).toEqual({
      status: "in_progress",
      statusHistory: {
        nodes: [
          { fromStatus: null, toStatus: "declared", changedByEmail: otherAdmin },
          { fromStatus: "declared", toStatus: "in_progress", changedByEmail: otherAdmin },
        ],
      },
    });
  });

  test("what the load check found is a list of problems", async () => {
    await service.database.owner.query(
      `update app_private.graph_records set synced_revision = revision, state = 'rejected',
         errors = '[{"path": "orgUri", "message": "is not well-formed"}]' where record_id = $1`,
      [ids.otherNeed],
    );
    const { need } = await ask(
      service,
      "query ($needId: UUID!) { need(needId: $needId) { graphStatus graphErrors { path message } } }",
      { needId: ids.otherNeed },
    );
    expect(need).toEqual({
      graphStatus: "rejected",
      graphErrors: [{ path: "orgUri", message: "is not well-formed" }],
    });
    const { needs } = await ask(
      service,
      "{ needs(filter: { graphStatus: { equalTo: rejected } }) { nodes { needId } } }",
    );
    expect(needs.nodes).toEqual([{ needId: ids.otherNeed }]);
    // What was found then says nothing of the record as it is since.
    await service.database.owner.query("select app_private.mark_records('need', array[$1::uuid])", [
      ids.otherNeed,
    ]);
    const { need: changed } = await ask(
      service,
      "query ($needId: UUID!) { need(needId: $needId) { graphStatus graphErrors { path message } } }",
      { needId: ids.otherNeed },
    );
    expect(changed).toEqual({ graphStatus: "pending", graphErrors: [] });
  });

  test.each(["commitment", "engagement_claim"] as const)(
    "what the load check found of a %s is told of it",
    async (kind) => {
      const id = kind === "commitment" ? ids.commitment : ids.claim;
      const errors = [{ path: "orgUri", message: `of a ${kind}` }];
      await service.database.owner.query(
        `update app_private.graph_records set synced_revision = revision, state = 'rejected', errors = $2
         where record_id = $1`,
        [id, JSON.stringify(errors)],
      );
      const { record } = await ask(
        service,
        kind === "commitment"
          ? "query ($id: UUID!) { record: commitment(commitmentId: $id) { graphStatus graphErrors { path message } } }"
          : "query ($id: UUID!) { record: engagementClaim(claimId: $id) { graphStatus graphErrors { path message } } }",
        { id },
      );
      expect(record).toEqual({ graphStatus: "rejected", graphErrors: errors });
      await service.database.owner.query("select app_private.mark_records($1, array[$2::uuid])", [kind, id]);
    },
  );
});

describe("vocabulary", () => {
  test("an accelerator has its functions, a function its accelerator", async () => {
    const { accelerator, accelerators } = await ask(
      service,
      `{
        accelerator(code: "PRA-INT") { prefLabel kind broader { code } }
        accelerators(filter: { deprecatedAt: { isNull: true }, kind: { equalTo: accelerator } }) {
          nodes { code narrower(filter: { deprecatedAt: { isNull: true } }) { nodes { code } } }
        }
      }`,
    );
    expect(accelerator).toEqual({ prefLabel: "Intercession", kind: "function", broader: { code: "PRA" } });
    expect(accelerators.nodes).toEqual([{ code: "PRA", narrower: { nodes: [{ code: "PRA-INT" }] } }]);
  });

  test("countries and people groups can be looked up", async () => {
    await service.database.owner.query("insert into app_public.people_groups values ('100123', 'Testers')");
    const { country, peopleGroup } = await ask(
      service,
      '{ country(alpha2: "KE") { alpha3 name } peopleGroup(rop3: "100123") { name } }',
    );
    expect(country).toEqual({ alpha3: "KEN", name: "Kenya" });
    expect(peopleGroup).toEqual({ name: "Testers" });
  });
});

describe("filters", () => {
  const needsWhere = async (filter: object) =>
    (
      await ask(service, "query ($filter: NeedFilter) { needs(filter: $filter) { nodes { needId } } }", {
        filter,
      })
    ).needs.nodes.map(({ needId }: { needId: string }) => (needId === ids.need ? "need" : "otherNeed"));

  test.each<[string, object, string[]]>([
    ["status", { status: { equalTo: "open" } }, ["otherNeed", "need"]],
    ["several statuses", { status: { in: ["met", "withdrawn"] } }, []],
    ["organization", { orgUri: { equalTo: ORG } }, ["need"]],
    ["an accelerator among others", { accelerators: { contains: ["PRA-INT"] } }, ["need"]],
    ["any of several accelerators", { accelerators: { overlaps: ["PRA", "X"] } }, ["otherNeed", "need"]],
    ["a country", { concernsCountryCode: { contains: ["UG"] } }, ["need"]],
    ["a people group", { concernsPeopleGroupRop3: { contains: ["100123"] } }, ["need"]],
    ["words in any case", { needDescription: { includesInsensitive: "PRAYER" } }, ["need"]],
    ["the time of creation", { createdAt: { greaterThan: "2200-01-01T00:00:00Z" } }, []],
    ["a property of the organization", { organization: { name: { startsWith: "Harbor" } } }, ["otherNeed"]],
    [
      "a property of what answers it",
      { commitments: { some: { orgUri: { equalTo: OTHER_ORG } } } },
      ["need"],
    ],
    ["nothing answers it", { commitmentsExist: false }, ["otherNeed"]],
    [
      "the far end of the chain",
      { commitments: { some: { engagementClaims: { some: { countryCode: { equalTo: "KE" } } } } } },
      ["need"],
    ],
    [
      "or, not",
      {
        or: [{ orgUri: { equalTo: OTHER_ORG } }, { not: { accelerators: { contains: ["PRA"] } } }],
      },
      ["otherNeed"],
    ],
    ["nothing in particular", {}, ["otherNeed", "need"]],
    ["nothing in particular of a column", { status: {} }, ["otherNeed", "need"]],
    ["nothing in particular of what answers it", { commitments: { some: {} } }, ["otherNeed", "need"]],
    ["not nothing", { not: {} }, ["otherNeed", "need"]],
    ["one or nothing in particular", { or: [{}, { orgUri: { equalTo: ORG } }] }, ["need"]],
    ["none of the first organization", { orgUri: { notEqualTo: ORG } }, ["otherNeed"]],
    ["no text of a list", { orgUri: { notIn: [ORG] } }, ["otherNeed"]],
    ["no text at all", { orgUri: { in: [] } }, []],
    ["no id at all", { needId: { in: [] } }, []],
    ["any id but none", { needId: { notIn: [] } }, ["otherNeed", "need"]],
    ["no time at all", { createdAt: { in: [] } }, []],
    ["several conditions at once", { orgUri: { equalTo: ORG }, status: { equalTo: "met" } }, []],
    [
      "nothing that answers it is so",
      { commitments: { none: { status: { in: ["declared", "in_progress"] } } } },
      ["otherNeed"],
    ],
    [
      "all that answers it is so",
      { commitments: { every: { status: { equalTo: "funded" } } } },
      ["otherNeed"],
    ],
    ["a wildcard means itself", { needDescription: { includesInsensitive: "%" } }, []],
    [
      "an attempt at injection is only a text",
      { orgName: { equalTo: "'; drop table app_public.needs; --" } },
      [],
    ],
  ])("%s", async (_name, filter, found) => {
    expect(await needsWhere(filter)).toEqual(found);
  });

  test("a variable that is not sent leaves its condition out", async () => {
    const query = `query ($after: Datetime, $needId: UUID) {
      needs(filter: { createdAt: { greaterThan: $after }, needId: { equalTo: $needId } }) { totalCount } }`;
    expect((await ask(service, query)).needs.totalCount).toBe(2);
    expect((await ask(service, query, { needId: ids.need })).needs.totalCount).toBe(1);
    expect(await refusal(service, query, { after: null })).toEqual(["validation_failed", 400]);
  });

  test("null is refused where it could mean two things", async () => {
    expect(await refusal(service, "{ needs(filter: { orgUri: { equalTo: null } }) { totalCount } }")).toEqual(
      ["validation_failed", 400],
    );
    const data = await ask(service, "query ($filter: NeedFilter) { needs(filter: $filter) { totalCount } }", {
      filter: null,
    });
    expect(data.needs.totalCount).toBe(2);
  });
});
