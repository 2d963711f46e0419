// The controlled lists: what an import changes in the tables, in the graph, and for records.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createNames } from "../graph/namespaces.ts";
import { parseAccelerators, parsePeopleGroups, readStarterVocabulary } from "../graph/skos.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { admin } from "./support/process.ts";
import { DATA, NS, startProjection, startSharedStore } from "./support/projection.ts";
import type { Projection, SharedStore } from "./support/projection.ts";
import { testStores } from "./support/stores.ts";
import { buildWorld } from "./support/world.ts";

const SKOS = "http://www.w3.org/2004/02/skos/core#";
/** What concepts may be called, and some engine's reader of RDF/XML refuses or is particular about. */
const ODD = {
  ...{
    A: "urn:example:odd",
    B: "urn:x:a",
    C: "tag:x.example,2026:odd",
    D: "info:lc/odd#1",
    E: "ftp://x.example/odd",
  },
  ...{ F: "https://lists@x.example/odd", G: "http://[2001:db8::1]/odd", H: "ldap://h/a", I: "file:///a" },
  ...{ J: "urn:uuid:zz", K: "news:a/b", L: "http://-x/", M: "https://\u05D01.example/", N: "http://xn--/a" },
};
const embedded = testStores.find((store) => store.name === "embedded")!;

describe("the starter list", () => {
  const names = createNames({ graphDataUrl: DATA, namespaceUrl: NS });
  const { accelerators, problems } = parseAccelerators(readStarterVocabulary(), names);

  test("has 12 accelerators and 49 functions, each function under an accelerator", () => {
    expect(problems).toEqual([]);
    const tops = accelerators.filter((each) => each.kind === "accelerator");
    const functions = accelerators.filter((each) => each.kind === "function");
    expect([tops.length, functions.length]).toEqual([12, 49]);
    const topCodes = new Set(tops.map((each) => each.code));
    expect(functions.filter((each) => !topCodes.has(each.broaderCode ?? ""))).toEqual([]);
    expect(functions.filter((each) => !each.code.startsWith(`${each.broaderCode}-`))).toEqual([]);
  });

  test("has the published codes and says that it is a stand-in", () => {
    const codes = accelerators.map((each) => each.code);
    expect(codes).toEqual(expect.arrayContaining(["PRA-INT", "COM-DIS", "SRA", "SRA-AUD", "MUL-PIO"]));
    expect(readStarterVocabulary()).toContain("STAND-IN");
  });

  test("follows NAMESPACE_URL", () => {
    const elsewhere = createNames({ graphDataUrl: DATA, namespaceUrl: "https://elsewhere.example/ns/" });
    const [first] = parseAccelerators(readStarterVocabulary(), elsewhere).accelerators;
    expect(first!.conceptUri).toBe(`https://elsewhere.example/ns/${first!.code}`);
  });
});

describe("of the concepts in a file", () => {
  const names = createNames({ graphDataUrl: DATA, namespaceUrl: NS });
  const prefixes = `@prefix ns: <${NS}> . @prefix skos: <${SKOS}> . ns:EngagementAcceleratorScheme a skos:ConceptScheme .`;
  const concept = (local: string, code: string, more = "") => `
    ns:${local} a skos:Concept ; skos:notation "${code}" ; skos:prefLabel "The ${local}"@en ;
      skos:inScheme ns:EngagementAcceleratorScheme ${more} .`;
  const read = (...concepts: string[]) => {
    const { accelerators, problems } = parseAccelerators([prefixes, ...concepts].join("\n"), names);
    return {
      taken: accelerators.map(({ conceptUri }) => conceptUri.slice(NS.length)),
      problems: problems.map((problem) => `${problem.concept.slice(NS.length)} ${problem.message}`),
    };
  };

  test("the second with a notation is left out and named", () => {
    expect(read(concept("one", "PRA"), concept("two", "PRA"))).toEqual({
      taken: ["one"],
      problems: ['two its notation "PRA" is already taken'],
    });
  });

  test("those of another scheme are none of ours", () => {
    const other =
      'ns:two a skos:Concept ; skos:notation "TWO" ; skos:prefLabel "Two"@en ; skos:inScheme ns:X .';
    const top = 'ns:top a skos:Concept ; skos:notation "TOP" ; skos:prefLabel "Top"@en .';
    const named = "ns:EngagementAcceleratorScheme skos:hasTopConcept ns:top .";
    expect(read(concept("one", "ONE"), other, top, named)).toEqual({ taken: ["one", "top"], problems: [] });
  });

  test("one without a name of its own is none: nothing could refer to it", () => {
    const nameless = concept("two", "TWO").replace("ns:two", "[]");
    expect(read(concept("one", "ONE"), nameless)).toEqual({ taken: ["one"], problems: [] });
    const file = `@prefix skos: <${SKOS}> . [] skos:notation "104425" ; skos:prefLabel "Group" .`;
    expect(parsePeopleGroups(file, names)).toEqual({ peopleGroups: [], problems: [] });
  });

  test("those below one that is left out are left out with it, however far below", () => {
    const nameless =
      'ns:a a skos:Concept ; skos:inScheme ns:EngagementAcceleratorScheme ; skos:notation "A" .';
    const below = [concept("b", "A-B", "; skos:broader ns:a"), concept("c", "A-B-C", "; skos:broader ns:b")];
    expect(read(nameless, ...below, concept("one", "ONE"))).toEqual({
      taken: ["one"],
      problems: [
        "a has no prefLabel",
        "b its broader concept A was left out",
        "c its broader concept A-B was left out",
      ],
    });
  });

  test("those whose broader concepts lead back to them are left out, and what is below them", () => {
    const below = (local: string, broader: string) =>
      concept(local, local.toUpperCase(), `; skos:broader ns:${broader}`);
    expect(
      read(
        concept("one", "ONE"),
        below("two", "one"),
        below("own", "own"),
        below("a", "b"),
        below("b", "c"),
        below("c", "a"),
        below("d", "a"),
      ),
    ).toEqual({
      taken: ["one", "two"],
      problems: [
        "own its broader concept OWN leads back to it",
        "a its broader concept B leads back to it",
        "b its broader concept C leads back to it",
        "c its broader concept A leads back to it",
        "d its broader concept A was left out",
      ],
    });
  });

  test("a file of nothing but such is told why none of them can be used", () => {
    expect(() => read(concept("a", "A", "; skos:broader ns:a"))).toThrow(
      `The file contains no usable concept of the accelerator scheme: ${NS}a its broader concept A leads back to it.`,
    );
    expect(() => read()).toThrow("contains no concept of the accelerator scheme with a skos:notation");
  });

  test.each([
    ['"Gebet"@de, "Prayer"@en', "Prayer"],
    ['"Gebet"@de, "Prayer"@en-GB', "Prayer"],
    ['"Gebet"@de, "Prayer"', "Prayer"],
    ['"Praying"@en-GB, "Prayer"@en', "Prayer"],
    ['"Gebet"@de', "Gebet"],
  ])("of the labels %s it is %s", (labels, label) => {
    const file = `${prefixes} ns:a a skos:Concept ; skos:inScheme ns:EngagementAcceleratorScheme ;
      skos:notation "A" ; skos:prefLabel ${labels} .`;
    expect(parseAccelerators(file, names).accelerators.map(({ prefLabel }) => prefLabel)).toEqual([label]);
  });

  test("people groups are those with a code of six digits", () => {
    const group = (code: string) =>
      `<urn:g${code}> skos:notation "${code}" ; skos:prefLabel "Group ${code}" .`;
    const { peopleGroups, problems } = parsePeopleGroups(
      [prefixes, ...["10442", "104425", "1044256"].map(group)].join("\n"),
      names,
    );
    expect(peopleGroups).toEqual([{ rop3: "104425", name: "Group 104425" }]);
    expect(problems.map((problem) => problem.concept)).toEqual(["urn:g10442", "urn:g1044256"]);
  });
});

let dir: string;
let database: TestDatabase;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "engagement-vocabulary-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function importFile(command: string, name: string, content: string | Buffer, ...options: string[]) {
  const path = join(dir, name);
  await writeFile(path, content);
  return admin([command, "import", path, ...options], { DATABASE_URL: database.url });
}

const edition = (...concepts: string[]) => `
  @prefix ns: <${NS}> .
  @prefix skos: <${SKOS}> .
  ns:EngagementAcceleratorScheme a skos:ConceptScheme .
  ${concepts.join("\n")}`;
const concept = (code: string, broader?: string, local = code) => `
  ns:${local} a skos:Concept ; skos:inScheme ns:EngagementAcceleratorScheme ;
    skos:notation "${code}" ; skos:prefLabel "The ${code}"@en, "Das ${code}"@de
    ${broader ? `; skos:broader ns:${broader}` : ""} .`;

async function codes(): Promise<Record<string, boolean>> {
  const { rows } = await database.owner.query<{ code: string; live: boolean }>(
    "select code, deprecated_at is null as live from app_public.accelerators order by code",
  );
  return Object.fromEntries(rows.map((row) => [row.code, row.live]));
}

describe("admin vocabulary import, where nobody looks at the graph", () => {
  beforeEach(async () => {
    database = await createTestDatabase();
    await buildWorld(database.owner);
  });
  afterEach(() => database.drop());

  test("people groups have the right header also where no row was good before a short one", async () => {
    const csv = "rop3,name\n12,Somali\n100001\n100002,Borana\n";
    const result = await importFile("people-groups", "short.csv", csv, "--json");
    expect([result.code, JSON.parse(result.stdout)]).toEqual([
      1,
      expect.objectContaining({ added: 1, read: 1 }),
    ]);
    const told = [...result.stderr.matchAll(/short\.csv:(\d+): (.*); left out/g)];
    expect(told.map(([, line, problem]) => `${line} ${problem}`)).toEqual([
      '2 "12" is not a ROP3 code of six digits',
      "3 100001 has no name",
    ]);
  });

  test("a header of people groups with misplaced quotes is called that", async () => {
    const result = await importFile("people-groups", "quoted.csv", 'rop3,"name\n100001,Somali\n');
    expect([result.code, result.stderr]).toEqual([
      2,
      expect.stringMatching(/^error: [^:\n]*quoted\.csv:1: has misplaced quotes$/m),
    ]);
  });

  test("a row of people groups with misplaced quotes is named by its line, and the rest is imported", async () => {
    const csv =
      'rop3,name\n100001,Somali\n100002,"Borana\n100003,"Gabra,\nOromo"\n100004, "Rendille, the" \n12,Short\n';
    const result = await importFile("people-groups", "quotes.csv", csv);
    const told = [...result.stderr.matchAll(/quotes\.csv:(\d+): (.*); left out/g)];
    expect([result.code, told.map(([, line, problem]) => `${line} ${problem}`)]).toEqual([
      1,
      [
        "3 has misplaced quotes",
        '7 "12" is not a ROP3 code of six digits',
        "4 the name must be one line without tabs",
      ],
    ]);
    const { rows } = await database.owner.query("select rop3, name from app_public.people_groups order by 1");
    expect(rows).toEqual([
      { rop3: "100001", name: "Somali" },
      { rop3: "100004", name: "Rendille, the" },
    ]);
    const strict = await importFile("people-groups", "quotes.csv", csv, "--strict");
    expect([strict.code, strict.stderr]).toEqual([2, expect.stringContaining("quotes.csv:3: has misplaced")]);
  });

  test.each(["rop3", "name"])(
    "people groups of a file with two columns %s are not guessed at",
    async (column) => {
      const header = `rop3,name, ${column.toUpperCase()}`;
      const result = await importFile("people-groups", "twice.csv", `${header}\n100001,Somali,100002\n`);
      expect([result.code, result.stderr]).toEqual([
        2,
        // Nothing stands before it: that a file cannot be read is said of one that is not there.
        expect.stringMatching(
          new RegExp(`^error: [^:\\n]*twice\\.csv has the column ${column} twice\\.$`, "m"),
        ),
      ]);
      const other = await importFile("people-groups", "other.csv", "x,rop3,name,x\n1,100001,Somali,2\n");
      expect(other.code).toBe(0);
    },
  );

  test("a group of a SKOS file that has a problem is named and left out, or stops the import with --strict", async () => {
    const group = (code: string) =>
      `<urn:g${code}> a <${SKOS}Concept> ; <${SKOS}notation> "${code}" ; <${SKOS}prefLabel> "Group ${code}"@en .`;
    const groups = [group("100001"), group("12")].join("\n");
    const known = async () =>
      (await database.owner.query("select rop3 from app_public.people_groups")).rows.map(({ rop3 }) => rop3);
    const strict = await importFile("people-groups", "groups.ttl", groups, "--strict");
    expect([strict.code, await known()]).toEqual([2, []]);
    expect(strict.stderr).toMatch(/urn:g12: .*\n.*1 concepts have a problem; nothing was changed/s);
    const partly = await importFile("people-groups", "groups.ttl", groups);
    expect([partly.code, await known()]).toEqual([1, ["100001"]]);
    expect(partly.stderr).toMatch(/urn:g12: .*; left out/);
  });

  test("a code that is in a later edition again may be used again", async () => {
    const list = [concept("PRA"), concept("PRA-NEW", "PRA")];
    await importFile("vocabulary", "new.ttl", edition(...list));
    await importFile("vocabulary", "again.ttl", edition(...list, concept("PRA-INT", "PRA")));
    expect(await codes()).toMatchObject({ "PRA-INT": true });
    await importFile("vocabulary", "new.ttl", edition(...list));
    expect(await codes()).toMatchObject({ "PRA-INT": false });
  });

  test("a concept with a problem is named and left out, or stops the import with --strict", async () => {
    const sound = [concept("PRA"), concept("PRA-NEW", "PRA")];
    await importFile("vocabulary", "sound.ttl", edition(...sound));
    const broken = edition(...sound, concept("not a code"), concept("PRA-X", "nowhere"));
    const before = await codes();
    const strict = await importFile(
      "vocabulary",
      "broken.ttl",
      broken.replaceAll("ns:not a code", "ns:odd"),
      "--strict",
    );
    expect(strict.code).toBe(2);
    expect(strict.stderr).toContain("not a code");
    expect(await codes()).toEqual(before);
    const one = edition(concept("PRA"), concept("PRA-X", "nowhere"));
    expect((await importFile("vocabulary", "broken.ttl", one, "--strict")).code).toBe(2);
    expect(await codes()).toEqual(before);
    const partly = await importFile("vocabulary", "broken.ttl", broken.replaceAll("ns:not a code", "ns:odd"));
    expect(partly.code).toBe(1);
    expect(partly.stderr).toContain("nowhere");
    expect(await codes()).toEqual(before);
  });

  test("concepts that are broader than one another are named and left out, and nothing is deprecated for a file of such", async () => {
    const sound = [concept("PRA"), concept("PRA-INT", "PRA")];
    await importFile("vocabulary", "sound.ttl", edition(...sound));
    const before = await codes();
    const circle = [concept("CIR", "LE"), concept("LE", "CIR")];
    const result = await importFile("vocabulary", "circle.ttl", edition(...sound, ...circle));
    expect(result.code).toBe(1);
    expect(result.stderr).toContain(`${NS}CIR: its broader concept LE leads back to it; left out`);
    expect(result.stderr).toContain(`${NS}LE: its broader concept CIR leads back to it; left out`);
    expect((await importFile("vocabulary", "circle.ttl", edition(...circle))).code).toBe(2);
    expect(await codes()).toEqual(before);
  });

  test("the database refuses a code that is broader than itself, at once or by way of others", async () => {
    await importFile("vocabulary", "sound.ttl", edition(concept("PRA"), concept("PRA-INT", "PRA")));
    const { owner } = database;
    const place = (code: string, broader: string) =>
      owner.query("update app_public.accelerators set broader_code = $2 where code = $1", [code, broader]);
    await expect(place("PRA", "PRA-INT")).rejects.toThrow("broaderCode PRA-INT of PRA leads back to it.");
    await expect(place("PRA", "PRA")).rejects.toThrow("broaderCode PRA of PRA leads back to it.");
    const entry = (code: string, broaderCode: string) => ({
      ...{
        code,
        broaderCode,
        conceptUri: `urn:${code}`,
        kind: "function",
        prefLabel: code,
        definition: null,
      },
    });
    const list = JSON.stringify([entry("CIR", "LE"), entry("LE", "CIR")]);
    await expect(owner.query("select app_private.import_accelerators($1)", [list])).rejects.toThrow(
      "leads back",
    );
    // In any order.
    const chain = JSON.stringify([entry("LOWEST", "LOW"), entry("LOW", "PRA")]);
    await owner.query("select app_private.import_accelerators($1, array['PRA'])", [chain]);
    expect(await codes()).toMatchObject({ LOWEST: true, LOW: true });
  });

  test("a concept that is in a file, but malformed in it, stays as it was, and so does what is below it", async () => {
    const list = [concept("PRA"), concept("PRA-INT", "PRA"), concept("SRA"), concept("MUL")];
    await importFile("vocabulary", "sound.ttl", edition(...list));
    const before = await codes();
    expect(before).toMatchObject({ PRA: true, "PRA-INT": true, SRA: true, MUL: true });
    const malformed = edition(
      concept("PRA").replace("The PRA", "The PRA\uFFFD"),
      concept("PRA-INT", "PRA"),
      // Found again by its URI, or by its code.
      concept("not a code", undefined, "SRA"),
      concept("MUL").replace("ns:MUL a", "<relative/x> a"),
      concept("PRA-NEW"),
    );
    const result = await importFile("vocabulary", "malformed.ttl", malformed, "--json");
    expect([result.code, JSON.parse(result.stdout)]).toMatchObject([
      1,
      { added: 1, changed: 0, deprecated: 0 },
    ]);
    expect(await codes()).toEqual({ ...before, "PRA-NEW": true });
  });

  /** Concepts under odd URIs, with a code for each. */
  const under = (uris: readonly string[]) =>
    uris.map((uri, n) => concept(`ODD-${n}`).replace(`ns:ODD-${n} a`, `<${uri}> a`));

  test("a concept is not taken under a URI that no store, or not every one, could hold unchanged", async () => {
    const uris = [
      "http://x.example/a%zz",
      "relative/x",
      "http://x.example/a/../b",
      "http:a",
      "http:///a",
      "http://@/a",
      "http://[x]/a",
      "http://1.2.3/a",
      "http://a@256.1.1.1/a",
      "http://01.2.3.4/a",
      "http://x.example/a\uE000",
      "file:a",
      "file://a/b",
      "ftp://1.2.3.400:21/a",
      "ftp://a/../b",
      "ldap://a%zz/",
      "ldap://a@5/b",
      "urn:",
      "urn:/a",
      "urn:x:%zz",
      "urn:x/../y",
    ];
    const result = await importFile("vocabulary", "odd.ttl", edition(concept("PRA"), ...under(uris)));
    expect(result.code).toBe(1);
    const told = result.stderr.split("\n");
    for (const uri of uris) {
      const reason = `${uri}: its URI must be an absolute URI, as with http, https or urn; left out`;
      expect(told.filter((line) => line.includes(reason))).toHaveLength(1);
    }
    expect(Object.keys(await codes()).filter((code) => code.startsWith("ODD"))).toEqual([]);
  });

  test("a concept is taken under any other URI", async () => {
    const uris = [
      ...Object.values(ODD),
      "https://x.example/odd",
      "http://10.20.30.250:80/odd",
      "http://0.0.0.0",
      "doi:10.1000//182",
      "urn:x:http://1/",
      "ftp://lists@10.20.30.250/odd",
    ];
    const result = await importFile("vocabulary", "odd.ttl", edition(concept("PRA"), ...under(uris)));
    expect([result.code, result.stderr]).toEqual([0, ""]);
    expect(await codes()).toMatchObject(Object.fromEntries(uris.map((_, n) => [`ODD-${n}`, true])));
  });

  test("a file in another encoding than UTF-8 is refused as a whole", async () => {
    const before = await codes();
    const latin1 = Buffer.from(edition(concept("PRÉ"), concept("NEW")), "latin1");
    const result = await importFile("vocabulary", "latin-1.ttl", latin1);
    expect([result.code, result.stderr]).toEqual([
      2,
      expect.stringContaining("cannot be read: it is not UTF-8"),
    ]);
    expect(await codes()).toEqual(before);
  });

  test.each([
    ["no Turtle", "<<<"],
    ["no concept", "<urn:a> <urn:b> <urn:c> ."],
  ])("a file with %s changes nothing and says so in one line", async (_, content) => {
    const before = await codes();
    const result = await importFile("vocabulary", "bad.ttl", content);
    expect(result.code).toBe(2);
    expect(result.stderr.trim().split("\n")).toHaveLength(1);
    expect(await codes()).toEqual(before);
  });
});

describe("admin vocabulary import and people-groups import", () => {
  let store: SharedStore;
  let projection: Projection;
  beforeAll(async () => {
    store = await startSharedStore(embedded);
  });
  afterAll(() => store.remove());
  beforeEach(async () => {
    projection = await startProjection(store);
    database = projection.database;
    await projection.startWorker();
  });
  afterEach(() => projection.stop());

  test("a code that is missing from the new edition is deprecated: records keep it, new ones may not use it", async () => {
    const kept = await projection.declareNeed({ accelerators: ["PRA-INT"] });
    await projection.settled();
    const result = await importFile(
      "vocabulary",
      "new.ttl",
      edition(concept("PRA"), concept("PRA-NEW", "PRA")),
      "--json",
    );
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject({ added: 1, changed: 1, deprecated: 1, problems: [] });
    expect(await codes()).toEqual({ PRA: true, "PRA-NEW": true, "PRA-INT": false, "OLD-ONE": false });
    const { rows: listed } = await projection.database.owner.query<{ code: string; deprecated: boolean }>(
      "select code, deprecated from rest.accelerators",
    );
    expect(Object.fromEntries(listed.map(({ code, deprecated }) => [code, deprecated]))).toEqual({
      ...{ PRA: false, "PRA-NEW": false, "PRA-INT": true, "OLD-ONE": true },
    });
    await expect(projection.declareNeed({ accelerators: ["PRA-INT"] })).rejects.toMatchObject({
      code: "PT422",
      detail: "unknown_accelerator_code",
    });
    await projection.declareNeed({ accelerators: ["PRA-NEW"] });
    await projection.setNeedStatus(kept, "met");
    await projection.equal();
    expect((await projection.graphStatus("need", kept)).status).toBe("synced");
    const inGraph = await projection.running.client.select(`
    select ?code ?label ?deprecated where { graph <${DATA}/accelerators/> {
      ?concept <${SKOS}notation> ?code ; <${SKOS}prefLabel> ?label .
      optional { ?concept <http://www.w3.org/2002/07/owl#deprecated> ?deprecated } } } order by ?code`);
    expect(inGraph.map((row) => [row["code"]?.value, row["label"]?.value, row["deprecated"]?.value])).toEqual(
      [
        ["OLD-ONE", "Old", "true"],
        ["PRA", "The PRA", undefined],
        ["PRA-INT", "Intercession", "true"],
        ["PRA-NEW", "The PRA-NEW", undefined],
      ],
    );
  });

  test("a concept under a URI of another scheme than http is in the graph under it, and so is what refers to it", async () => {
    const odd = Object.entries(ODD).map(([code, uri]) => concept(code).replace(`ns:${code} a`, `<${uri}> a`));
    await importFile("vocabulary", "odd.ttl", edition(concept("PRA"), ...odd));
    const id = await projection.declareNeed({ accelerators: ["PRA", ...Object.keys(ODD)] });
    await projection.equal();
    expect(await projection.graphStatus("need", id)).toMatchObject({ status: "synced" });
    const inGraph = await projection.running.client.select(
      `select ?concept where { graph <${DATA}/accelerators/> { ?concept <${SKOS}notation> ?code } filter(strlen(?code) = 1) } order by ?code`,
    );
    expect(inGraph.map(({ concept: at }) => at?.value)).toEqual(Object.values(ODD));
  });

  test("a URI that was taken earlier and is none keeps no list from the graph, and the code is mended by the next edition", async () => {
    const { owner } = projection.database;
    await owner.query("alter table app_public.accelerators disable trigger validate");
    await owner.query(
      "update app_public.accelerators set concept_uri = 'http://x.example/a%zz' where code = 'PRA-INT'",
    );
    await owner.query("update app_public.accelerators set concept_uri = 'relative/x' where code = 'OLD-ONE'");
    await owner.query("alter table app_public.accelerators enable trigger validate");
    const id = await projection.declareNeed({ accelerators: ["PRA-INT"] });
    await projection.current();
    expect(await projection.graphStatus("need", id)).toMatchObject({
      ...{ status: "rejected", errors: [{ path: "accelerators[0]" }] },
    });
    const inGraph = () =>
      projection.running.client.select(`
      select ?code where { graph <${DATA}/accelerators/> { ?concept <${SKOS}notation> ?code } } order by ?code`);
    expect((await inGraph()).map(({ code }) => code?.value)).toEqual(["PRA"]);
    await importFile("vocabulary", "good.ttl", edition(concept("PRA"), concept("PRA-INT", "PRA")));
    await projection.equal();
    expect(await projection.graphStatus("need", id)).toMatchObject({ status: "synced" });
    expect((await inGraph()).map(({ code }) => code?.value)).toEqual(["PRA", "PRA-INT"]);
  });

  test("a concept that gets a different code is none that is deprecated, and has both", async () => {
    await importFile("vocabulary", "before.ttl", edition(concept("PRA"), concept("PRA-INT", "PRA")));
    const id = await projection.declareNeed({ accelerators: ["PRA-INT"] });
    const renamed = concept("PRA-NEW", "PRA", "PRA-INT");
    await importFile("vocabulary", "renamed.ttl", edition(concept("PRA"), renamed));
    expect(await codes()).toMatchObject({ "PRA-INT": false, "PRA-NEW": true });
    await projection.equal();
    expect(await projection.graphStatus("need", id)).toMatchObject({ status: "synced" });
    const said = await projection.running.client.select(
      `select ?p ?o where { graph <${DATA}/accelerators/> { <${NS}PRA-INT> ?p ?o filter(isliteral(?o)) } } order by ?o`,
    );
    expect(said.map(({ p, o }) => [p!.value.replace(/.*[#/]/, ""), o!.value])).toEqual([
      ["notation", "PRA-INT"],
      ["notation", "PRA-NEW"],
      ["prefLabel", "The PRA-NEW"],
    ]);
  });

  test("records follow when a code gets a different concept", async () => {
    await importFile("vocabulary", "new.ttl", edition(concept("PRA"), concept("PRA-NEW", "PRA")));
    const id = await projection.declareNeed({ accelerators: ["PRA-NEW"] });
    await projection.settled();
    await importFile(
      "vocabulary",
      "moved.ttl",
      edition(concept("PRA"), concept("PRA-NEW", "PRA", "elsewhere")),
    );
    await projection.equal();
    expect(
      await projection.running.client.ask(
        `ask { <${DATA}/needs/${id}> <${NS}accelerator> <${NS}elsewhere> }`,
      ),
    ).toBe(true);
  });

  test("people groups come from CSV and SKOS; a bad row is named by its line, and the rest is imported", async () => {
    const refused = await projection.declareNeed({
      accelerators: ["PRA"],
      concernsPeopleGroupRop3: ["300003"],
    });
    const csv = `\uFEFF"rop3", Name ,country\n100001 , Somali,KE\n12,Short,KE\n\n100002,"Borana, the",ET,\n1000012,Long,KE\n100003,${"n".repeat(201)},KE\n100004,,KE\n`;
    // One that the tool refuses itself, and one that it has to ask the database about.
    for (const bad of ["12,Short", `100003,${"n".repeat(201)}`]) {
      const one = `rop3,name\n100001,Somali\n${bad}\n`;
      const strict = await importFile("people-groups", "groups.csv", one, "--strict");
      expect([bad, strict.code]).toEqual([bad, 2]);
      expect(strict.stderr).toMatch(/groups\.csv:3: .*\n.*Rows with a problem: 1; nothing was changed/s);
    }
    const { rows: none } = await projection.database.owner.query(
      "select from app_public.people_groups where rop3 = '100001'",
    );
    expect(none).toEqual([]);
    for (const header of ["rop3,label", "code,name", "code,label"]) {
      const wrong = await importFile("people-groups", "wrong.csv", `${header}\n100001,Somali\n`);
      expect([header, wrong.code]).toEqual([header, 2]);
      expect(wrong.stderr).toContain("has no columns rop3 and name");
    }
    const empty = await importFile("people-groups", "none.csv", "rop3,name\n");
    expect([empty.code, empty.stderr]).toEqual([
      2,
      expect.stringContaining("none.csv contains no people groups"),
    ]);
    const missing = await admin(["people-groups", "import", join(dir, "missing.csv")], projection.settings);
    expect([missing.code, missing.stdout]).toEqual([2, ""]);
    expect(missing.stderr).toMatch(/\nerror: .*missing\.csv cannot be read: ENOENT.*\n$/);
    const result = await importFile("people-groups", "groups.csv", csv, "--json");
    expect(result.code).toBe(1);
    const told = [...result.stderr.matchAll(/groups\.csv:(\d+): (.*?)(?: a| characters)?; left out/g)];
    expect(told.map(([, line, problem]) => `${line} ${problem}`)).toEqual([
      '3 "12" is not a ROP3 code of six digits',
      '6 "1000012" is not a ROP3 code of six digits',
      "8 100004 has no name",
      "7 the name must have at most 200",
    ]);
    expect(JSON.parse(result.stdout)).toMatchObject({ added: 2, changed: 0, read: 2 });
    await projection.settled();
    expect((await projection.graphStatus("need", refused)).status).toBe("rejected");

    const twice = await importFile(
      "people-groups",
      "twice.csv",
      "rop3,name\n100001,Somali people\n100001,Somalis\n",
      "--json",
    );
    expect(JSON.parse(twice.stdout)).toMatchObject({ added: 0, changed: 1 });
    const { rows } = await projection.database.owner.query(
      "select name from app_public.people_groups where rop3 = '100001'",
    );
    expect(rows).toEqual([{ name: "Somalis" }]);

    const skos = `@prefix skos: <${SKOS}> . <urn:g> a skos:Concept ; skos:notation "300003" ; skos:prefLabel "Gabra"@en .`;
    const second = await importFile("people-groups", "groups.TTL", skos);
    expect(second.code).toBe(0);
    await projection.equal();
    expect((await projection.graphStatus("need", refused)).status).toBe("synced");
    expect(
      await projection.running.client.ask(`ask { <${DATA}/his/rop3/300003> <${SKOS}prefLabel> "Gabra" }`),
    ).toBe(true);
  });
});
