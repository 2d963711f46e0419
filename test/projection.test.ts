// From the tables to the graph: what is written, when, and what is refused.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createPool } from "../db/pool.ts";
import { importPeopleGroups } from "../worker/imports.ts";
import { eventually } from "./support/eventually.ts";
import { DATA, NS, startProjection, startSharedStore } from "./support/projection.ts";
import type { Projection, SharedStore } from "./support/projection.ts";
import { testStores } from "./support/stores.ts";
import { contributor, ORG } from "./support/world.ts";

describe.each(testStores.filter((store) => store.available))("into $name", (kind) => {
  let store: SharedStore;
  let projection: Projection;
  beforeAll(async () => {
    store = await startSharedStore(kind);
    projection = await startProjection(store);
    await projection.startWorker();
    // With the lists that there are from the beginning.
    await projection.settled();
  });
  afterAll(async () => {
    await projection.stop();
    await store.remove();
  });

  const owner = () => projection.database.owner;

  async function describeResource(iri: string): Promise<string[]> {
    const text = await projection.running.client.construct(
      `construct { <${iri}> ?p ?o } where { <${iri}> ?p ?o }`,
    );
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => line.replace(`<${iri}> `, "").replace(/ \.$/, ""))
      .toSorted();
  }

  test("a record is described by exactly the documented properties", async () => {
    const { rows } = await owner().query<{ needId: string; commitmentId: string; claimId: string }>(
      `with n as (
         insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators,
           concerns_people_group_rop3, concerns_country_code, created_at, updated_at)
         values ($1, 'River Mission', $2, E'Line\\nof "text"', '{PRA,PRA-INT}', '{100001,100002}', '{KE}',
           '2026-01-02 03:04:05.120000+00', '2026-01-02 03:04:05+00') returning need_id
       ), c as (
         insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description,
           accelerator_scope, concerns_need_id, target_completion_date, created_at, updated_at)
         select $1, 'River Mission', $2, 'Will do', '{PRA}', need_id, '2031-02-28',
           '2026-01-02 03:04:05.123456+00', '2026-01-02 03:04:05+00' from n returning commitment_id
       )
       insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
         people_group_rop3, people_group_name, people_group_rog3, country_code, country_name, description,
         fulfills_commitment_id, created_at, updated_at)
       select $1, 'River Mission', $2, '{PRA}', '100001', 'Somali', 'KE', 'KE', 'Kenya', 'Done', commitment_id,
         '2026-01-02 03:04:05+00', '2026-01-02 03:04:05+00' from c
       returning claim_id as "claimId", fulfills_commitment_id as "commitmentId", (select need_id from n) as "needId"`,
      [ORG, contributor],
    );
    const { needId, commitmentId, claimId } = rows[0]!;
    await projection.settled();
    const ns = (local: string) => `<${NS}${local}>`;
    const time = (text: string) => `"${text}"^^<http://www.w3.org/2001/XMLSchema#dateTime>`;
    const common = (id: string, created: string) => [
      `<http://purl.org/dc/terms/identifier> "${id}"`,
      `<http://purl.org/dc/terms/modified> ${time("2026-01-02T03:04:05Z")}`,
      `<http://www.w3.org/ns/prov#generatedAtTime> ${time(created)}`,
      `<http://www.w3.org/ns/prov#wasAttributedTo> <${ORG}>`,
      `${ns("orgName")} "River Mission"`,
      `${ns("accelerator")} ${ns("accelerator-PRA")}`,
      `${ns("acceleratorCode")} "PRA"`,
    ];
    const type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
    expect(await describeResource(`${DATA}/needs/${needId}`)).toEqual(
      [
        ...common(needId, "2026-01-02T03:04:05.12Z"),
        `${type} ${ns("Need")}`,
        `${ns("needStatus")} "open"`,
        `${ns("needDescription")} "Line\\nof \\"text\\""`,
        `${ns("accelerator")} ${ns("accelerator-PRA-INT")}`,
        `${ns("acceleratorCode")} "PRA-INT"`,
        `${ns("concernsPeopleGroup")} <${DATA}/his/rop3/100001>`,
        `${ns("concernsPeopleGroup")} <${DATA}/his/rop3/100002>`,
        `${ns("peopleGroupRop3")} "100001"`,
        `${ns("peopleGroupRop3")} "100002"`,
        `${ns("concernsCountry")} <${DATA}/iso3166/KE>`,
        `${ns("countryCode")} "KE"`,
      ].toSorted(),
    );
    expect(await describeResource(`${DATA}/commitments/${commitmentId}`)).toEqual(
      [
        ...common(commitmentId, "2026-01-02T03:04:05.123456Z"),
        `${type} ${ns("FulfillmentCommitment")}`,
        `${ns("commitmentStatus")} "declared"`,
        `${ns("commitmentDescription")} "Will do"`,
        `${ns("concernsNeed")} <${DATA}/needs/${needId}>`,
        `${ns("targetCompletionDate")} "2031-02-28"^^<http://www.w3.org/2001/XMLSchema#date>`,
      ].toSorted(),
    );
    expect(await describeResource(`${DATA}/engagement-claims/${claimId}`)).toEqual(
      [
        ...common(claimId, "2026-01-02T03:04:05Z"),
        `${type} ${ns("EngagementAttestation")}`,
        `${ns("attestationStatus")} "active"`,
        `${ns("attestationDescription")} "Done"`,
        `${ns("fulfillsCommitment")} <${DATA}/commitments/${commitmentId}>`,
        `${ns("concernsPeopleGroup")} <${DATA}/his/rop3/100001>`,
        `${ns("peopleGroupRop3")} "100001"`,
        `${ns("peopleGroupName")} "Somali"`,
        `${ns("peopleGroupRog3")} "KE"`,
        `${ns("concernsCountry")} <${DATA}/iso3166/KE>`,
        `${ns("countryCode")} "KE"`,
        `${ns("countryName")} "Kenya"`,
      ].toSorted(),
    );
    await projection.equal();
  });

  test("what records point to is there: concepts and countries", async () => {
    const concept = await describeResource(`${NS}accelerator-PRA-INT`);
    expect(concept).toContain(`<http://www.w3.org/2004/02/skos/core#notation> "PRA-INT"`);
    expect(concept).toContain(`<http://www.w3.org/2004/02/skos/core#broader> <${NS}accelerator-PRA>`);
    expect(await describeResource(`${NS}accelerator-OLD-ONE`)).toContain(
      `<http://www.w3.org/2002/07/owl#deprecated> "true"^^<http://www.w3.org/2001/XMLSchema#boolean>`,
    );
    expect(await describeResource(`${DATA}/iso3166/KE`)).toContain(
      `<http://www.w3.org/2004/02/skos/core#prefLabel> "Kenya"`,
    );
  });

  test("text comes back byte for byte", async () => {
    const texts = [
      "Prayer 🙏🏽 for 👨‍👩‍👧‍👦 families, e\u0301 is not é",
      "الصلاة \u202Eabc\u202C עברית",
      "a\r\nb\nc\td \u0001\u001f\u007f \u2028 \ufeff \ufffe",
      '\\" . <urn:a> <urn:b> <urn:c> . \\u0041 \\\\u0041 \\U00000041 \\',
      `""" } } ; DROP ALL ; INSERT DATA { <urn:a> <urn:b> "c" } # 'quote' ?s $1 \${1} @en ^^<x>`,
    ];
    const ids = await Promise.all(texts.map(() => projection.declareNeed()));
    try {
      // Earlier versions accepted such characters, and what they stored is still there.
      for (const [index, id] of ids.entries()) {
        await owner().query(
          "update app_public.needs set org_name = $2, need_description = $2 where need_id = $1",
          [id, texts[index]],
        );
      }
      await projection.settled();
      for (const [index, id] of ids.entries()) {
        const rows = await projection.running.client.select(
          `select ?text where { <${DATA}/needs/${id}> <${NS}needDescription> ?text ; <${NS}orgName> ?text }`,
        );
        expect(rows).toEqual([{ text: { type: "literal", value: texts[index] } }]);
      }
    } finally {
      await owner().query("delete from app_public.needs where need_id = any($1)", [ids]);
    }
    expect(await describeResource("urn:a")).toEqual([]);
  });

  test("two status changes in quick succession, and 500 writes at once", async () => {
    const id = await projection.declareNeed();
    await Promise.all([
      projection.setNeedStatus(id, "met"),
      ...Array.from({ length: 500 }, (_, index) =>
        projection.declareNeed({ needDescription: `At once ${index}` }),
      ),
    ]);
    await projection.setNeedStatus(id, "withdrawn");
    await projection.setNeedStatus(id, "partially_met");
    await projection.equal();
    expect(await describeResource(`${DATA}/needs/${id}`)).toContain(`<${NS}needStatus> "partially_met"`);
  });

  test("a write becomes visible on its own, within two seconds", async () => {
    await projection.settled();
    const id = await projection.declareNeed();
    const iri = `${DATA}/needs/${id}`;
    await eventually(async () => expect(await describeResource(iri)).not.toEqual([]));
  });

  test("a deleted row takes its resource with it", async () => {
    const id = await projection.declareNeed();
    await projection.settled();
    await owner().query("delete from app_public.needs where need_id = $1", [id]);
    await projection.settled();
    expect(await describeResource(`${DATA}/needs/${id}`)).toEqual([]);
    await projection.equal();
  });

  test("a write that is rolled back leaves no mark, no job and no triple", async () => {
    await projection.settled();
    const traces = async () =>
      (
        await owner().query(
          `select (select count(*) from app_private.graph_records) as records,
             (select count(*) from app_private.graph_wakeups) as wakeups,
             (select count(*) from graphile_worker.jobs where task_identifier = 'project_records') as jobs`,
        )
      ).rows;
    await eventually(async () => expect(await traces()).toEqual([expect.objectContaining({ jobs: "0" })]));
    const before = await traces();
    await expect(projection.declareNeed({ accelerators: ["NO-SUCH"] })).rejects.toMatchObject({
      detail: "unknown_accelerator_code",
    });
    await expect(
      projection.declareNeed({ declaredByEmail: "stranger@elsewhere.example" }),
    ).rejects.toMatchObject({
      detail: "membership_required",
    });
    expect(await traces()).toEqual(before);
  });

  test("what a long transaction wrote arrives when it commits, and holds up nobody else", async () => {
    const pool = createPool(projection.database.url, { max: 1 });
    const client = await pool.connect();
    await client.query("begin");
    const { rows } = await client.query<{ id: string }>(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
       values ($1, 'River Mission', $2, 'Late', '{PRA}') returning need_id as id`,
      [ORG, contributor],
    );
    const other = await projection.declareNeed();
    await eventually(async () => expect(await describeResource(`${DATA}/needs/${other}`)).not.toEqual([]));
    await client.query("commit");
    client.release();
    await pool.end();
    const late = `${DATA}/needs/${rows[0]!.id}`;
    await eventually(async () => expect(await describeResource(late)).not.toEqual([]));
  });

  test("people groups are accepted before there is a registry, checked after, and put right by the next import", async () => {
    const known = await projection.declareNeed({ concernsPeopleGroupRop3: ["100001"] });
    const unknown = await projection.declareNeed({ concernsPeopleGroupRop3: ["100001", "999999"] });
    await projection.settled();
    expect(await projection.graphStatus("need", unknown)).toEqual({ status: "synced", errors: [] });
    const { rows } = await owner().query<{ commitment: string; claim: string }>(
      `with commitment as (
         insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description,
           accelerator_scope, concerns_people_group_rop3)
         values ($1, 'River', $2, 'Wells', '{PRA}', '{999999}') returning commitment_id
       ), claim as (
         insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
           people_group_rop3)
         values ($1, 'River', $2, '{PRA}', '999999') returning claim_id
       )
       select commitment_id as commitment, claim_id as claim from commitment cross join claim`,
      [ORG, contributor],
    );
    const { commitment, claim } = rows[0]!;
    const others = async () => [
      (await projection.graphStatus("commitment", commitment)).status,
      (await projection.graphStatus("engagement_claim", claim)).status,
    ];
    await projection.settled();
    expect(await others()).toEqual(["synced", "synced"]);

    await importPeopleGroups(owner(), [
      { rop3: "100001", name: "Somali" },
      { rop3: "100002", name: "Borana" },
    ]);
    await projection.settled();
    expect((await projection.graphStatus("need", known)).status).toBe("synced");
    expect(await others()).toEqual(["rejected", "rejected"]);
    const refused = await projection.graphStatus("need", unknown);
    expect(refused).toEqual({
      status: "rejected",
      errors: [
        {
          path: "concernsPeopleGroupRop3[1]",
          message: expect.stringContaining("not in the people-group registry"),
        },
      ],
    });
    expect(await describeResource(`${DATA}/needs/${unknown}`)).toEqual([]);
    expect(await describeResource(`${DATA}/his/rop3/100001`)).toContain(
      `<http://www.w3.org/2004/02/skos/core#prefLabel> "Somali"`,
    );

    await projection.setNeedStatus(unknown, "met");
    await projection.settled();
    expect((await projection.graphStatus("need", unknown)).status).toBe("rejected");

    await importPeopleGroups(owner(), [{ rop3: "999999", name: "Newly listed" }]);
    await projection.settled();
    expect(await projection.graphStatus("need", unknown)).toEqual({ status: "synced", errors: [] });
    expect(await others()).toEqual(["synced", "synced"]);
    expect(await describeResource(`${DATA}/needs/${unknown}`)).toContain(`<${NS}needStatus> "met"`);
    await projection.equal();
  });
});
