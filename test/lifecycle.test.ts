// The main job, end to end: a need, a commitment, an attestation, and one query that returns all three.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually } from "./support/eventually.ts";
import { addOrganization } from "./support/membership.ts";
import { call, startTestServiceWithGraph } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, member, ORG, OTHER_ORG, otherAdmin } from "./support/world.ts";

const NS = "https://ontology.example.org/core#";
const DATA = "https://data.example.org";
const CHAIN = `
  prefix ns: <${NS}>
  select ?need ?commitment ?attestation ?needStatus ?commitmentStatus ?attestationStatus where {
    ?commitment ns:concernsNeed ?need ; ns:commitmentStatus ?commitmentStatus .
    ?attestation ns:fulfillsCommitment ?commitment ; ns:attestationStatus ?attestationStatus .
    ?need ns:needStatus ?needStatus .
  }`;

let service: TestService;
beforeAll(async () => {
  service = await startTestServiceWithGraph();
});
afterAll(() => service.stop());

/** Waits until everything is in the graph: lists, and what it says of itself, get there beside whatever a test writes. */
const settled = () =>
  eventually(async () => {
    const { body } = await call(`${service.url}/v0/health`, "GET", service.keys.read);
    expect(body).toMatchObject({ graphState: "current", pending: 0, pendingLists: [] });
  });

const post = (path: string, body: unknown, headers?: Record<string, string>) =>
  call(`${service.url}${path}`, "POST", service.keys.write, body, headers);

async function sparql(query: string): Promise<Record<string, string>[]> {
  const answer = await post("/v0/sparql", query, { "content-type": "application/sparql-query" });
  expect(answer.status).toBe(200);
  return (answer.body.results.bindings as Record<string, { value: string }>[]).map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, term]) => [name, term.value])),
  );
}

test("need, commitment and attestation come back together, and each change of status follows", async () => {
  const need = await post("/v0/needs", {
    orgUri: ORG,
    orgName: "River Mission",
    declaredByEmail: contributor,
    needDescription: "Audio Scriptures",
    accelerators: ["PRA-INT"],
  });
  const commitment = await post("/v0/commitments", {
    orgUri: OTHER_ORG,
    orgName: "Harbor Trust",
    declaredByEmail: otherAdmin,
    commitmentDescription: "We record them",
    acceleratorScope: ["PRA-INT"],
    concernsNeedId: need.body.needId,
    targetCompletionDate: "2099-12-31",
  });
  const claim = await post("/v0/engagement-claims/submit", {
    orgUri: ORG,
    orgName: "River Mission",
    claimedByEmail: contributor,
    engagementAccelerators: ["PRA-INT"],
    fulfillsCommitmentId: commitment.body.commitmentId,
  });
  const chain = {
    need: `${DATA}/needs/${need.body.needId}`,
    commitment: `${DATA}/commitments/${commitment.body.commitmentId}`,
    attestation: `${DATA}/engagement-claims/${claim.body.claimId}`,
  };
  // "Within seconds" means two on an idle machine, but this one may be busy with other tests.
  await eventually(async () =>
    expect(await sparql(CHAIN)).toEqual([
      { ...chain, needStatus: "open", commitmentStatus: "declared", attestationStatus: "active" },
    ]),
  );

  await post("/v0/needs/status", {
    needId: need.body.needId,
    status: "partially_met",
    actorEmail: contributor,
  });
  await post("/v0/commitments/status", {
    commitmentId: commitment.body.commitmentId,
    status: "fulfilled",
    actorEmail: otherAdmin,
  });
  await post("/v0/engagement-claims/status", {
    claimId: claim.body.claimId,
    status: "completed",
    actorEmail: contributor,
  });
  await eventually(async () =>
    expect(await sparql(CHAIN)).toEqual([
      {
        ...chain,
        needStatus: "partially_met",
        commitmentStatus: "fulfilled",
        attestationStatus: "completed",
      },
    ]),
  );
  await eventually(async () => {
    const read = await call(`${service.url}/v0/needs/${need.body.needId}`, "GET", service.keys.read);
    expect(read.body.graphStatus).toBe("synced");
  });
});

test("a refused write leaves no triple", async () => {
  await settled();
  const before = await sparql("select (count(*) as ?n) where { graph ?g { ?s ?p ?o } }");
  const need = {
    orgUri: ORG,
    orgName: "River Mission",
    needDescription: "Refused",
    accelerators: ["PRA"],
    declaredByEmail: member,
  };
  expect((await post("/v0/needs", need)).status).toBe(403);
  expect(
    (await post("/v0/needs", { ...need, declaredByEmail: contributor, accelerators: ["NO"] })).status,
  ).toBe(422);
  expect((await post("/v0/needs", { ...need, declaredByEmail: contributor, orgName: "" })).status).toBe(400);
  // A write after the refused ones arrives, and nothing else does.
  const accepted = await post("/v0/needs", {
    ...need,
    declaredByEmail: contributor,
    needDescription: "Accepted",
  });
  await eventually(async () =>
    expect(
      await sparql(
        `select ?text where { <${DATA}/needs/${accepted.body.needId}> <${NS}needDescription> ?text }`,
      ),
    ).toEqual([{ text: "Accepted" }]),
  );
  const added = await sparql(
    `select (count(*) as ?n) where { <${DATA}/needs/${accepted.body.needId}> ?p ?o }`,
  );
  const after = await sparql("select (count(*) as ?n) where { graph ?g { ?s ?p ?o } }");
  expect(Number(after[0]!["n"])).toBe(Number(before[0]!["n"]) + Number(added[0]!["n"]));
});

test("no e-mail address and no personal name is in the graph", async () => {
  const { body } = await post("/v0/needs", {
    orgUri: ORG,
    orgName: "River Mission",
    declaredByEmail: contributor,
    needDescription: "By somebody",
    accelerators: ["PRA"],
  });
  await eventually(async () =>
    expect(
      await sparql(`select ?text where { <${DATA}/needs/${body.needId}> <${NS}needDescription> ?text }`),
    ).toEqual([{ text: "By somebody" }]),
  );
  expect(await sparql(`select * where { ?s ?p ?o filter(contains(str(?o), "@")) }`)).toEqual([]);
});

describe("text comes back from the graph byte for byte", () => {
  test.each([
    ["emoji", "Prayer 🙏🏽 for 👨‍👩‍👧‍👦 families"],
    ["right to left", "الصلاة \u200Fabc\u200E עברית"],
    ["combining", "e\u0301 is not é"],
    ["SPARQL injection", '""" } } ; DROP ALL ; INSERT DATA { <urn:a> <urn:b> "c'],
    ["Turtle injection", '\\" . <urn:a> <urn:b> <urn:c> . \\u0022 \\'],
    ["line ends", "a\r\nb\nc\td"],
  ])("%s", async (_, text) => {
    const need = await post("/v0/needs", {
      orgUri: ORG,
      orgName: text.replaceAll(/\s+/g, " "),
      declaredByEmail: contributor,
      needDescription: text,
      accelerators: ["PRA"],
    });
    await eventually(async () =>
      expect(
        await sparql(`
          select ?description ?name where {
            <${DATA}/needs/${need.body.needId}> <${NS}needDescription> ?description ; <${NS}orgName> ?name }`),
      ).toEqual([{ description: text, name: text.replaceAll(/\s+/g, " ") }]),
    );
    expect(await sparql("select * where { <urn:a> ?p ?o }")).toEqual([]);
  });
});

describe("GET /v0/commitments", () => {
  const list = (query: string) => call(`${service.url}/v0/commitments?${query}`, "GET", service.keys.read);

  test("returns from the graph what the table holds", async () => {
    const need = await post("/v0/needs", {
      orgUri: ORG,
      orgName: "River Mission",
      declaredByEmail: contributor,
      needDescription: "Wells",
      accelerators: ["PRA"],
    });
    const concernsNeedId = need.body.needId;
    for (const [index, status] of ["declared", "funded", "declared", "abandoned", "declared"].entries()) {
      const made = await post("/v0/commitments", {
        orgUri: OTHER_ORG,
        orgName: "Harbor Trust",
        declaredByEmail: otherAdmin,
        commitmentDescription: `Number ${index}`,
        acceleratorScope: ["PRA", "PRA-INT"],
        concernsCountryCode: ["KE", "UG"],
        concernsPeopleGroupRop3: ["104425"],
        ...(index % 2 === 0 && { concernsNeedId, targetCompletionDate: "2031-02-28" }),
      });
      await post("/v0/commitments/status", {
        commitmentId: made.body.commitmentId,
        status,
        actorEmail: otherAdmin,
      });
    }
    await settled();

    const all = await list("limit=200");
    expect(all.headers.get("x-data-source")).toBe("graph");
    for (const item of all.body.commitments) {
      const record = await call(
        `${service.url}/v0/commitments/${item.commitmentId}`,
        "GET",
        service.keys.read,
      );
      expect(item).toEqual(record.body);
    }
    const created = all.body.commitments.map((item: { createdAt: string }) => item.createdAt);
    expect(created).toEqual(created.toSorted().toReversed());

    const { rows } = await service.database.owner.query<{ n: number }>(
      "select count(*)::integer as n from app_public.commitments",
    );
    expect(all.body.total).toBe(rows[0]!.n);
    expect((await list("limit=2&offset=1")).body).toEqual({
      commitments: all.body.commitments.slice(1, 3),
      total: rows[0]!.n,
    });
    expect((await list(`concernsNeedId=${concernsNeedId}`)).body.total).toBe(3);
    expect((await list(`concernsNeedId=${concernsNeedId.toUpperCase()}`)).body.total).toBe(3);
    expect((await list("status=abandoned")).body.total).toBe(1);
    expect((await list(`orgUri=${encodeURIComponent(ORG)}`)).body.total).toBe(0);
    expect((await list(`orgUri=${encodeURIComponent("> } ; select")}`)).body.total).toBe(0);
    expect((await list("limit=201")).body.error).toBe("validation_failed");
  });

  test("pages without gaps or repetitions where all are of one moment, and past the end", async () => {
    const { owner } = service.database;
    const organization = await addOrganization(owner, { writer: "org_contributor" });
    const own = `orgUri=${encodeURIComponent(organization.uri)}`;
    for (let n = 0; n < 5; n++) {
      const made = await post("/v0/commitments", {
        orgUri: organization.uri,
        orgName: organization.name,
        declaredByEmail: `writer@${organization.domain}`,
        commitmentDescription: `Number ${n}`,
        acceleratorScope: ["PRA"],
      });
      expect(made.status).toBe(201);
    }
    await owner.query(
      "update app_public.commitments set created_at = '2026-01-01T00:00:00Z' where org_uri = $1",
      [organization.uri],
    );
    await eventually(async () => {
      const all = (await list(`limit=200&${own}`)).body.commitments as { createdAt: string }[];
      expect(new Set(all.map((item) => item.createdAt))).toEqual(new Set(["2026-01-01T00:00:00+00:00"]));
    });
    const seen: string[] = [];
    for (let offset = 0; offset < 6; offset += 2) {
      const page = await list(`limit=2&offset=${offset}&${own}`);
      expect(page.headers.get("x-data-source")).toBe("graph");
      seen.push(...page.body.commitments.map((item: { commitmentId: string }) => item.commitmentId));
    }
    const { rows } = await owner.query<{ id: string }>(
      "select commitment_id as id from app_public.commitments where org_uri = $1 order by commitment_id desc",
      [organization.uri],
    );
    expect(rows).toHaveLength(5);
    expect(seen).toEqual(rows.map((row) => row.id));
    expect((await list(`offset=1000&${own}`)).body).toEqual({ commitments: [], total: rows.length });
  });
});
