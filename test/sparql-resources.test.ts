// What the graph holds besides records, so that whatever a partner meets in it can be described: organizations, the
// ontology, the shapes.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Parser } from "n3";
import { documentTriples, readDocuments } from "../graph/documents.ts";
import { createNames, DEFAULT_NAMESPACE } from "../graph/namespaces.ts";
import { importPeopleGroups } from "../worker/imports.ts";
import { publishDocuments } from "../worker/documents.ts";
import { run } from "./support/process.ts";
import { DATA, NS, startProjection, startSharedStore } from "./support/projection.ts";
import type { Projection, SharedStore } from "./support/projection.ts";
import { testStores } from "./support/stores.ts";
import { contributor, ORG } from "./support/world.ts";

const TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const SKOS = "http://www.w3.org/2004/02/skos/core#";
const ORGANIZATIONS = `${DATA}/organizations/`;
const org = (name: string) => `https://data.example.org/org/${name}`;

describe.each(testStores.filter((store) => store.available))("in $name", (kind) => {
  let store: SharedStore;
  let projection: Projection;
  const ids = { need: "", commitment: "", claim: "" };

  beforeAll(async () => {
    store = await startSharedStore(kind);
    projection = await startProjection(store);
    await owner().query(`update app_public.users set first_name = 'Wilhelmina', last_name = 'Featherstone'`);
    await owner().query(`update app_public.organizations
      set type = 'Mission agency', website = 'https://river.example/?q=Über%20uns#top' where org_uri = '${ORG}'`);
    await importPeopleGroups(owner(), [{ rop3: "100001", name: "Somali" }]);
    const { rows } = await owner().query<typeof ids>(
      `with n as (
         insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators,
           concerns_people_group_rop3, concerns_country_code)
         values ($1, 'River Mission', $2, 'A need', '{PRA-INT}', '{100001}', '{KE}') returning need_id
       ), c as (
         insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description,
           accelerator_scope, concerns_need_id)
         select $1, 'River Mission', $2, 'Will do', '{PRA}', need_id from n returning commitment_id
       )
       insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
         people_group_rop3, country_code, fulfills_commitment_id)
       select $1, 'River Mission', $2, '{PRA}', '100001', 'KE', commitment_id from c
       returning claim_id as claim, fulfills_commitment_id as commitment, (select need_id from n) as need`,
      [ORG, contributor],
    );
    Object.assign(ids, rows[0]);
    await projection.startWorker();
    await projection.equal();
  });
  afterAll(async () => {
    await projection.stop();
    await store.remove();
  });

  const owner = () => projection.database.owner;
  const select = async (query: string) => {
    const rows = await store.client.select(`prefix ns: <${NS}> prefix skos: <${SKOS}> ${query}`);
    return rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, term]) => [name, term?.value])),
    );
  };
  const describeResource = async (iri: string) =>
    new Parser()
      .parse(await store.client.construct(`DESCRIBE <${iri}>`))
      .filter(({ subject }) => subject.value === iri);

  describe("DESCRIBE answers", () => {
    test.each<[string, () => string, string]>([
      ["a need", () => `${DATA}/needs/${ids.need}`, `${NS}Need`],
      ["a commitment", () => `${DATA}/commitments/${ids.commitment}`, `${NS}FulfillmentCommitment`],
      ["an attestation", () => `${DATA}/engagement-claims/${ids.claim}`, `${NS}EngagementAttestation`],
      ["an organization", () => ORG, "http://www.w3.org/ns/org#Organization"],
      ["an accelerator", () => `${NS}accelerator-PRA-INT`, `${NS}EngagementAccelerator`],
      ["the accelerators' scheme", () => `${NS}EngagementAcceleratorScheme`, `${SKOS}ConceptScheme`],
      ["a people group", () => `${DATA}/his/rop3/100001`, `${NS}PeopleGroup`],
      ["a country", () => `${DATA}/iso3166/KE`, "http://purl.org/dc/terms/Location"],
      ["a class", () => `${NS}Organization`, "http://www.w3.org/2002/07/owl#Class"],
      ["a link", () => `${NS}concernsNeed`, "http://www.w3.org/2002/07/owl#ObjectProperty"],
      ["a property", () => `${NS}needStatus`, "http://www.w3.org/2002/07/owl#DatatypeProperty"],
      ["a status", () => `${NS}needStatus-open`, `${SKOS}Concept`],
      ["a scheme of statuses", () => `${NS}NeedStatusScheme`, `${SKOS}ConceptScheme`],
      ["the ontology", () => NS, "http://www.w3.org/2002/07/owl#Ontology"],
      ["a shape", () => `${NS}shape/Need`, "http://www.w3.org/ns/shacl#NodeShape"],
    ])("%s, as what it is", async (_name, iri, type) => {
      const types = (await describeResource(iri())).filter(({ predicate }) => predicate.value === TYPE);
      expect(types.map(({ object }) => object.value)).toContain(type);
    });

    test.each([
      ["a property of another vocabulary", "http://www.w3.org/ns/prov#wasAttributedTo"],
      ["a rule that several shapes share", `${NS}shape/orgUri`],
      ["a rule that has no name", `${DATA}/.well-known/genid/shapes/1`],
    ])("%s", async (_name, iri) => {
      expect(await describeResource(iri)).not.toEqual([]);
    });
  });

  test("whatever a record links to is there, and so is whatever the shapes are made of", async () => {
    const records = `values ?g { <${DATA}/needs/> <${DATA}/commitments/> <${DATA}/engagement-claims/> }`;
    const links = await select(
      `select distinct ?link { ${records} graph ?g { ?s ?p ?link filter(isIRI(?link)) } }`,
    );
    expect(links.map(({ link }) => link)).toEqual(expect.arrayContaining([ORG, `${DATA}/iso3166/KE`]));
    const leadNowhere = "filter not exists { ?link ?property ?value }";
    expect(
      await select(
        `select ?s ?link { ${records} graph ?g { ?s ?p ?link filter(isIRI(?link)) } ${leadNowhere} }`,
      ),
    ).toEqual([]);
    expect(
      await select(`select ?s ?link { graph <${DATA}/shapes/> { ?s ?p ?link }
        filter(contains(str(?link), "/genid/")) ${leadNowhere} }`),
    ).toEqual([]);
    expect(await select("select ?s { graph ?g { ?s ?p ?o } filter(isBlank(?s) || isBlank(?o)) }")).toEqual(
      [],
    );
  });

  test("every term of ours that the graph uses is explained in it", async () => {
    const unexplained = await select(`select distinct ?term {
      graph ?g { { ?s ?term ?o } union { ?s a ?term } }
      filter(strstarts(str(?term), "${NS}"))
      filter not exists { graph <${DATA}/ontology/> { ?term ?p ?x } } }`);
    expect(unexplained).toEqual([]);
  });

  test("the ontology's example is no record", async () => {
    expect(await select("select ?c { ?c a ns:FulfillmentCommitment }")).toEqual([
      { c: `${DATA}/commitments/${ids.commitment}` },
    ]);
  });

  describe("organizations", () => {
    const names = async () =>
      (
        await select(`select ?name { graph <${ORGANIZATIONS}> { ?o skos:prefLabel ?name } } order by ?name`)
      ).map(({ name }) => name);

    test("are described by type, name and website, and by nothing else", async () => {
      const text = await store.client.construct(`construct { <${ORG}> ?p ?o } where { <${ORG}> ?p ?o }`);
      expect(text.trim().split("\n").toSorted()).toEqual(
        [
          `<${ORG}> <${TYPE}> <http://www.w3.org/ns/org#Organization> .`,
          `<${ORG}> <${TYPE}> <${NS}Organization> .`,
          `<${ORG}> <${SKOS}prefLabel> "River Mission" .`,
          `<${ORG}> <${NS}orgType> "Mission agency" .`,
          `<${ORG}> <http://xmlns.com/foaf/0.1/homepage> <https://river.example/?q=Über%20uns#top> .`,
        ].toSorted(),
      );
    });

    test("come without the people who act for them", async () => {
      expect(
        await select(`select ?s ?o { graph ?g { ?s ?p ?o }
          filter(regex(concat(str(?s), " ", str(?o)), "@|Wilhelmina|Featherstone", "i")) }`),
      ).toEqual([]);
    });

    test("appear when they are approved, follow their changes, and go when they no longer count", async () => {
      const set = (status: string) =>
        owner().query(
          "update app_public.organizations set status = $2::app_public.organization_status where org_uri = $1",
          [org("new"), status],
        );
      await owner().query(
        `insert into app_public.organizations (org_uri, name, status) values
           ($1, 'New Hope', 'proposed'), ($2, 'Never Mind', 'rejected')`,
        [org("new"), org("rejected")],
      );
      await projection.equal();
      expect(await names()).toEqual(["Harbor Trust", "River Mission"]);
      await set("active");
      await projection.equal();
      expect(await names()).toEqual(["Harbor Trust", "New Hope", "River Mission"]);
      await owner().query("update app_public.organizations set name = 'Newer Hope' where org_uri = $1", [
        org("new"),
      ]);
      await projection.equal();
      expect(await names()).toEqual(["Harbor Trust", "Newer Hope", "River Mission"]);
      await set("rejected");
      await projection.equal();
      expect(await names()).toEqual(["Harbor Trust", "River Mission"]);
      await set("active");
      await projection.equal();
      await owner().query("delete from app_public.organizations where org_uri = any ($1)", [
        [org("new"), org("rejected")],
      ]);
      await projection.equal();
      expect(await names()).toEqual(["Harbor Trust", "River Mission"]);
    });

    test("one that an older version took, under a URI that is none, keeps no other out", async () => {
      await owner().query("alter table app_public.organizations disable trigger validate");
      await owner().query(
        `insert into app_public.organizations (org_uri, name, website) values
           ('http://x.example/%zz', 'Odd address', null),
           ('${org("odd")}', 'Odd website', 'http://x.example:port/')`,
      );
      await owner().query("alter table app_public.organizations enable trigger validate");
      await projection.equal();
      expect(await names()).toEqual(["Harbor Trust", "Odd website", "River Mission"]);
      await owner().query("delete from app_public.organizations where name like 'Odd%'");
      await projection.equal();
    });

    test("whatever URI the rules let in, the store takes", async () => {
      const uris = [
        ...[
          "http://x:80/",
          "http://x:/",
          "http://é.example/ü?ä=ö#ß",
          "https://x.example/%C3%A9'()*,;:@!$&+=~",
        ],
        ...["http://x/.a/..b/c./...", "http://x?a/../b", "http://x/#/../b"],
        ...["http://x/\u{1F64F}", "http://x?a/b?c", "http://x#a/?b", "http://x/\u{20000}"],
      ];
      const refused = [
        ...[
          "http://x/%",
          "http://x/%zz",
          "http://x/%f",
          "http://x:abc/",
          "http://x:1:2/",
          "http://x/#a#b",
          "http://:80/",
        ],
        ...["http://x/..", "http://x/./", "http://x/a/../b", "http://x/a/.?b", "http://x/a/..#b"],
        ...[
          "http://x/\u200f",
          "http://x/\ue000",
          "http://x/\ufdd0",
          "http://x/\ufffe",
          "http://x/\u{1ffff}",
          "http://x/\u{e0001}",
        ],
        ...["http://x/\u{10fffd}", "http://x/?\u{f0000}"],
      ];
      const { rows } = await owner().query<{ uri: string }>(
        "select uri from unnest($1::text[]) as u (uri) where app_private.is_http_uri(uri)",
        [[...uris, ...refused]],
      );
      expect(rows.map(({ uri }) => uri)).toEqual(uris);
      await owner().query(
        "insert into app_public.organizations (org_uri, name, website) select uri, 'Any', uri from unnest($1::text[]) as u (uri)",
        [uris],
      );
      await projection.equal();
      const taken = await select(
        `select ?site { ?o skos:prefLabel "Any" ; <http://xmlns.com/foaf/0.1/homepage> ?site }`,
      );
      expect(taken).toHaveLength(uris.length);
      expect(taken.map(({ site }) => site)).toEqual(expect.arrayContaining(uris));
      await owner().query("delete from app_public.organizations where name = 'Any'");
      await projection.equal();
    });
  });

  describe("a document", () => {
    test("replaces what the graph holds of another version, and is written once", async () => {
      await owner().query("select app_private.publish_document('ontology', $1)", [
        `@prefix ns: <${DEFAULT_NAMESPACE}> . ns:Old ns:was "here" , [ ns:was "there" ] .`,
      ]);
      await projection.equal();
      expect(
        await select(
          `select ?o { graph <${DATA}/ontology/> { ?s ns:was ?o } filter(isLiteral(?o)) } order by ?o`,
        ),
      ).toEqual([{ o: "here" }, { o: "there" }]);
      await publishDocuments(owner());
      await projection.equal();
      expect(await describeResource(`${NS}Old`)).toEqual([]);
      expect(await describeResource(`${NS}Need`)).not.toEqual([]);
      const revisions = async () =>
        (await owner().query("select name, revision from app_private.graph_references order by name")).rows;
      const before = await revisions();
      await publishDocuments(owner());
      expect(await revisions()).toEqual(before);
    });

    test("comes with npm run migrate", async () => {
      await owner().query(
        "update app_private.graph_references set document = null where name in ('ontology', 'shapes')",
      );
      await owner().query("select app_private.mark_references()");
      await projection.equal();
      expect(await describeResource(`${NS}shape/Need`)).toEqual([]);
      expect(await run(process.execPath, ["admin/migrate.ts"], projection.settings)).toMatchObject({
        code: 0,
      });
      await projection.equal();
      expect(await describeResource(`${NS}shape/Need`)).not.toEqual([]);
      expect(await describeResource(`${NS}Need`)).not.toEqual([]);
    });
  });
});

describe("the list of organizations is written again", () => {
  let projection: Projection;
  let store: SharedStore;
  beforeAll(async () => {
    store = await startSharedStore(testStores[0]!);
    projection = await startProjection(store);
    await projection.database.owner.query(
      `insert into app_public.organizations (org_uri, name, website, status) values
         ('${org("proposed")}', 'Proposed', null, 'proposed'), ('${org("rejected")}', 'Rejected', null, 'rejected'),
         ('${org("active")}', 'Active', 'https://active.example/', 'active')`,
    );
  });
  afterAll(async () => {
    await projection.stop();
    await store.remove();
  });

  /** By how much a statement, which is undone afterwards, advances the list. */
  async function marks(statement: string): Promise<number> {
    const client = await projection.database.owner.connect();
    const revision = async () => {
      const { rows } = await client.query<{ revision: string }>(
        "select revision from app_private.graph_references where name = 'organizations'",
      );
      return Number(rows[0]!.revision);
    };
    try {
      await client.query("begin");
      const before = await revision();
      const { rowCount } = await client.query(statement);
      expect(rowCount).toBeGreaterThan(0);
      return (await revision()) - before;
    } finally {
      await client.query("rollback");
      client.release();
    }
  }

  const update = (name: "Active" | "Proposed", what: string) =>
    `update app_public.organizations set ${what} where org_uri = '${org(name.toLowerCase())}'`;
  const remove = (name: string) =>
    `delete from app_public.organizations where org_uri = '${org(name.toLowerCase())}'`;
  test.each([
    ["a name", update("Active", "name = 'River'"), 1],
    ["a type", update("Active", "type = 'Church'"), 1],
    ["a website", update("Active", "website = 'https://active.example/new'"), 1],
    ["a website that goes", update("Active", "website = null"), 1],
    ["the same again", update("Active", "name = name, type = type, website = website"), 0],
    ["a domain", update("Active", "domain = 'other.example'"), 0],
    [
      "a proposal",
      `insert into app_public.organizations (org_uri, name, status) values ('${org("p")}', 'P', 'proposed')`,
      0,
    ],
    ["a proposal's name", update("Proposed", "name = 'Q'"), 0],
    ["a proposal that is rejected", update("Proposed", "status = 'rejected'"), 0],
    ["a rejected one that goes", remove("Rejected"), 0],
    ["an approval", update("Proposed", "status = 'active'"), 1],
    [
      "a hundred at once",
      `insert into app_public.organizations (org_uri, name) select '${org("n")}' || n, 'N' from generate_series(1, 100) as n`,
      1,
    ],
    ["one that counted and goes", remove("Active"), 1],
  ])("for %s", async (_name, statement, times) => {
    expect(await marks(statement)).toBe(times);
  });
});

describe("the triples of a document", () => {
  const documents = Object.entries(readDocuments()) as ["ontology" | "shapes", string][];
  const names = (graphDataUrl: string, namespaceUrl: string) => createNames({ graphDataUrl, namespaceUrl });
  const texts = (document: "ontology" | "shapes", turtle: string, in_ = names(DATA, NS)) =>
    documentTriples(turtle, document, in_).map((quad) =>
      [quad.subject, quad.predicate, quad.object].map(({ value }) => value).join(" "),
    );

  test.each(documents)("of the %s are all there, and the same each time", (document, turtle) => {
    expect(texts(document, turtle)).toHaveLength(new Set(new Parser().parse(turtle)).size);
    expect(texts(document, turtle)).toEqual(texts(document, turtle));
  });

  test.each(documents)("of the %s follow NAMESPACE_URL", (document, turtle) => {
    const moved = texts(document, turtle, names(DATA, "https://elsewhere.example/ns/"));
    expect(moved.filter((text) => text.includes(DEFAULT_NAMESPACE))).toEqual([]);
    expect(moved.filter((text) => text.includes("https://elsewhere.example/ns/"))).not.toEqual([]);
  });

  test.each([
    ["https://data.example.org", "https://data.example.org/.well-known/genid/shapes/1"],
    ["https://example.org/graph/a", "https://example.org/.well-known/genid/graph/a/shapes/1"],
  ])("with GRAPH_DATA_URL %s have %s in place of the first blank node", (graphDataUrl, iri) => {
    const shapes = texts("shapes", readDocuments().shapes!, names(graphDataUrl, NS));
    expect(shapes.filter((text) => text.startsWith(`${iri} `))).not.toEqual([]);
  });
});
