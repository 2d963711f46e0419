// The load check: what of a record the shapes refuse, one field at a time, and what they take.
import { expect, test } from "@jest/globals";
import type { Literal, NamedNode, Quad } from "@rdfjs/types";
import { createLoadCheck } from "../graph/load-check.ts";
import { createNames, XSD } from "../graph/namespaces.ts";
import { literal, namedNode, triple } from "../graph/terms.ts";
import { createTripleBuilder } from "../graph/triples.ts";
import type { ProjectedRecord } from "../graph/triples.ts";
import { RECORDS } from "../records/index.ts";
import { columnOf, fieldsOf, idOf } from "../records/record.ts";
import type { RecordKind } from "../records/record.ts";

const names = createNames({
  graphDataUrl: "https://data.example.org",
  namespaceUrl: "https://ontology.example.org/core#",
});
const build = createTripleBuilder(names);
const check = createLoadCheck(names);
const concepts = new Map([["PRA", names.ns("PRA")]]);

const id = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;
const MOMENT = "2026-05-03T10:00:00.000000";
const common = { org_uri: "https://data.example.org/org/a", org_name: "River Mission" };
const moments = { created_at: MOMENT, updated_at: MOMENT };
const concerns = { concerns_people_group_rop3: ["100001"], concerns_country_code: ["KE"] };
const ROWS: Record<RecordKind, ProjectedRecord["row"]> = {
  need: {
    ...{ ...common, ...moments, ...concerns, need_id: id(1) },
    ...{ need_description: "Wells", accelerators: ["PRA"], status: "open" },
  },
  commitment: {
    ...{ ...common, ...moments, ...concerns, commitment_id: id(2) },
    ...{ commitment_description: "We dig", accelerator_scope: ["PRA"], status: "declared" },
    ...{ concerns_need_id: id(1), target_completion_date: "2030-05-03" },
  },
  engagement_claim: {
    ...{ ...common, ...moments, claim_id: id(3), description: "Dug", status: "active" },
    ...{ engagement_accelerators: ["PRA"], people_group_rop3: "100001", country_code: "KE" },
    fulfills_commitment_id: id(2),
  },
};
const TARGETS: { kind: RecordKind; iri: string }[] = [
  { kind: "need", iri: names.record("need", id(1)) },
  { kind: "commitment", iri: names.record("commitment", id(2)) },
];

/** The paths of what is refused of a record. */
async function refused(
  kind: RecordKind,
  row: ProjectedRecord["row"],
  { targets = TARGETS, peopleGroups = ["100001"], more = [] as Quad[] } = {},
): Promise<string[]> {
  const record = build({ kind, row }, concepts);
  const found = await check([{ ...record, quads: [...record.quads, ...more] }], {
    concepts: concepts.values(),
    peopleGroups: new Set(peopleGroups.map(names.peopleGroup)),
    targets,
  });
  return [...new Set((found.get(record.iri) ?? []).map(({ path }) => path.replace(/\[\d+\]$/, "")))];
}

const KINDS = Object.keys(RECORDS) as RecordKind[];
const fields = KINDS.flatMap((kind) =>
  fieldsOf(RECORDS[kind])
    .filter(({ graph }) => typeof graph === "string" || !("withheld" in graph))
    .map((field) => ({ kind, field })),
);
const pathOf = (kind: RecordKind, { name }: { name: string }) => (name === idOf(RECORDS[kind]) ? "id" : name);

test.each(KINDS)("a whole %s passes", async (kind) => {
  expect(await refused(kind, ROWS[kind])).toEqual([]);
  // Until a registry has been imported every people group is known.
  const record = build({ kind, row: ROWS[kind] }, concepts);
  const context = { concepts: concepts.values(), peopleGroups: undefined, targets: TARGETS };
  expect((await check([record], context)).size).toBe(0);
});

// The id names the record itself: without it there is none.
const present = fields.filter(({ kind, field }) => field.name !== idOf(RECORDS[kind]));
test.each(present.map((each) => [`${each.kind}.${each.field.name}`, each] as const))(
  "%s may be missing only where nobody has to give it",
  async (_name, { kind, field }) => {
    const isOptional = field.input === "optional";
    const row = { ...ROWS[kind], [field.column]: null };
    expect(await refused(kind, row)).toEqual(isOptional ? [] : [pathOf(kind, field)]);
  },
);

const iri = (text: string) => namedNode(text);
const at = (text: string, type: string) => literal(text, namedNode(`${XSD}${type}`));
const SHARED: [path: string, predicate: string, second: Literal | NamedNode][] = [
  ["id", "dct:identifier", literal(id(9))],
  ["orgUri", "prov:wasAttributedTo", iri("https://data.example.org/org/b")],
  ["orgName", "ns:orgName", literal("Another")],
  ["createdAt", "prov:generatedAtTime", at("2027-05-03T10:00:00Z", "dateTime")],
  ["updatedAt", "dct:modified", at("2027-05-03T10:00:00Z", "dateTime")],
];
const OWN: Record<RecordKind, typeof SHARED> = {
  need: [
    ["needDescription", "ns:needDescription", literal("Another")],
    ["status", "ns:needStatus", literal("met")],
  ],
  commitment: [
    ["commitmentDescription", "ns:commitmentDescription", literal("Another")],
    ["status", "ns:commitmentStatus", literal("fulfilled")],
    ["concernsNeedId", "ns:concernsNeed", iri(names.record("need", id(8)))],
    ["targetCompletionDate", "ns:targetCompletionDate", at("2031-05-03", "date")],
  ],
  engagement_claim: [
    ["description", "ns:attestationDescription", literal("Another")],
    ["status", "ns:attestationStatus", literal("paused")],
    ["fulfillsCommitmentId", "ns:fulfillsCommitment", iri(names.record("commitment", id(8)))],
    ["peopleGroupRop3", "ns:concernsPeopleGroup", iri(names.peopleGroup("100002"))],
    ["peopleGroupRop3", "ns:peopleGroupRop3", literal("100002")],
    ["countryCode", "ns:countryCode", literal("UG")],
  ],
};
const TWICE = KINDS.flatMap((kind) =>
  [...SHARED, ...OWN[kind]].map(([path, predicate, second]) => [kind, path, predicate, second] as const),
);
test.each(TWICE)("%s.%s is there once (%s)", async (kind, path, predicate, second) => {
  const { iri: subject } = build({ kind, row: ROWS[kind] }, concepts);
  const more = [triple(namedNode(subject), namedNode(names.iri(predicate)), second)];
  const targets = [
    ...TARGETS,
    ...TARGETS.map(({ kind: target }) => ({ kind: target, iri: names.record(target, id(8)) })),
  ];
  expect(await refused(kind, ROWS[kind], { targets, more, peopleGroups: ["100001", "100002"] })).toEqual([
    path,
  ]);
});

test.each([
  ["need", "concernsPeopleGroupRop3", (code: string) => [code]],
  ["commitment", "concernsPeopleGroupRop3", (code: string) => [code]],
  ["engagement_claim", "peopleGroupRop3", (code: string) => code],
] as const)("%s.%s has six digits, also where no registry knows better", async (kind, name, valueOf) => {
  for (const [code, isOne] of [
    ["10000", false],
    ["1000011", false],
    ["100009", true],
  ] as const) {
    const record = build({ kind, row: { ...ROWS[kind], [columnOf(name)]: valueOf(code) } }, concepts);
    const context = { concepts: concepts.values(), peopleGroups: undefined, targets: TARGETS };
    const found = await check([record], context);
    expect([code, found.size === 0]).toEqual([code, isOne]);
  }
});

test.each<[RecordKind, string, unknown[]]>([
  ["need", "accelerators", [["NONE"], ["PRA", "NONE"]]],
  ["need", "concernsPeopleGroupRop3", [["10000"], ["1000011"], ["100001", "100002"]]],
  ["need", "concernsCountryCode", [["KEN"], ["K"], ["ke"]]],
  ["need", "orgUri", ["river", "ftp://a.example/", "https://a.example/ b", "at https://a.example/"]],
  ["need", "orgName", [""]],
  ["need", "needDescription", [""]],
  ["need", "status", ["declared", "OPEN"]],
  ["commitment", "acceleratorScope", [["NONE"]]],
  ["commitment", "concernsNeedId", [id(7)]],
  ["commitment", "commitmentDescription", [""]],
  ["commitment", "status", ["open"]],
  ["engagement_claim", "engagementAccelerators", [["NONE"]]],
  ["engagement_claim", "fulfillsCommitmentId", [id(7), id(1)]],
  ["engagement_claim", "peopleGroupRop3", ["10000", "1000011", "100002"]],
  ["engagement_claim", "countryCode", ["KEN", "K", "ke"]],
  ["engagement_claim", "status", ["open"]],
])("%s.%s is refused where it is none", async (kind, name, values) => {
  for (const value of values) {
    const row = { ...ROWS[kind], [columnOf(name)]: value } as ProjectedRecord["row"];
    expect([value, await refused(kind, row)]).toEqual([value, [name]]);
  }
});

test.each<[RecordKind, string, string, Literal | NamedNode]>([
  ["need", "id", "dct:identifier", literal("1")],
  ["need", "id", "dct:identifier", literal("ABCDEF00-0000-4000-8000-000000000001")],
  ["need", "id", "dct:identifier", literal(`${id(1)}0`)],
  ["need", "id", "dct:identifier", literal(`0${id(1)}`)],
  ["need", "createdAt", "prov:generatedAtTime", literal(`${MOMENT}Z`)],
  ["need", "updatedAt", "dct:modified", at("2026-05-03", "date")],
  ["need", "orgUri", "prov:wasAttributedTo", literal("https://data.example.org/org/a")],
  ["need", "orgName", "ns:orgName", at("7", "integer")],
  ["need", "needDescription", "ns:needDescription", at("7", "integer")],
  ["need", "concernsCountryCode", "ns:concernsCountry", literal("KE")],
  ["commitment", "commitmentDescription", "ns:commitmentDescription", at("7", "integer")],
  ["commitment", "targetCompletionDate", "ns:targetCompletionDate", at("2030-05-03T10:00:00Z", "dateTime")],
  ["engagement_claim", "description", "ns:attestationDescription", at("7", "integer")],
])("%s.%s is refused in another form (%s)", async (kind, path, property, value) => {
  const record = build({ kind, row: ROWS[kind] }, concepts);
  const predicate = names.iri(property);
  const quads = record.quads.map((quad) =>
    quad.predicate.value === predicate ? triple(namedNode(record.iri), namedNode(predicate), value) : quad,
  );
  const context = { concepts: concepts.values(), peopleGroups: undefined, targets: TARGETS };
  const found = await check([{ ...record, quads }], context);
  const paths = found.get(record.iri)?.map((error) => error.path.replace(/\[\d+\]$/, ""));
  expect([...new Set(paths)]).toEqual([path]);
});

test("a code that the vocabulary lacks is refused by its name, whatever is in it", async () => {
  const code = "a b/<c>#d";
  const { iri: subject, quads } = build(
    { kind: "need", row: { ...ROWS.need, accelerators: [code] } },
    concepts,
  );
  const links = quads.filter(({ predicate }) => predicate.value === names.ns("accelerator"));
  expect(links.map(({ object }) => object.value)).toEqual([names.ns("a%20b%2F%3Cc%3E%23d")]);
  const found = await check([{ kind: "need", id: id(1), iri: subject, quads }], {
    ...{ concepts: concepts.values(), peopleGroups: undefined, targets: [] },
  });
  expect(found.get(subject)!.map(({ path }) => path)).toEqual(["accelerators[0]"]);
});

test.each([
  ["a pattern", 'sh:pattern "^[0-9"'],
  ["flags", 'sh:pattern "^[0-9]" ; sh:flags "z"'],
])(
  "shapes with %s that is none are refused before there are records, by the name of the shape",
  (_, pattern) => {
    const shapes = `@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ns: <${names.namespaceUrl}> .
    ns:S a sh:NodeShape ; sh:property [ sh:path ns:code ; sh:name "rop3" ; ${pattern} ] .`;
    expect(() => createLoadCheck(names, shapes)).toThrow(/^The pattern of the shape rop3 cannot be used: /);
  },
);

test("a rule about what many records have in common is applied to each of them", async () => {
  const own = createLoadCheck(
    names,
    `@prefix ns: <${names.namespaceUrl}> . @prefix sh: <http://www.w3.org/ns/shacl#> .
     @prefix prov: <http://www.w3.org/ns/prov#> .
     [] a sh:NodeShape ; sh:targetClass ns:Need ; sh:property [
       sh:path prov:wasAttributedTo ; sh:message "Nobody knows it." ;
       sh:node [ a sh:NodeShape ; sh:property [ sh:path ns:isKnown ; sh:minCount 1 ] ] ] .`,
  );
  const records = Array.from({ length: 120 }, (_, n) => {
    const need_id = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    return build({ kind: "need", row: { ...ROWS.need, need_id } }, concepts);
  });
  const found = await own(records, { concepts: [], peopleGroups: undefined, targets: [] });
  expect([...found.keys()]).toEqual(records.map(({ iri: subject }) => subject));
  // A rule that names no field is told by its property.
  const said = { path: "wasAttributedTo", message: `Nobody knows it. Found: ${common.org_uri}` };
  expect([...found.values()]).toEqual(records.map(() => [said]));
});
