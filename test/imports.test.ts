// What an import takes of an edition, and what it says of the rest.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { loadConfig } from "../config.ts";
import { createNames } from "../graph/namespaces.ts";
import { publishDocuments } from "../worker/documents.ts";
import { importPeopleGroups, importVocabulary, problemsOf, readVocabulary } from "../worker/imports.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

const config = loadConfig({});
const names = createNames(config);
const NS = config.namespaceUrl;
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const concept = (code: string, label: string, more = "") => `
  ns:${code} a skos:Concept ; skos:notation "${code}" ; skos:inScheme ns:EngagementAcceleratorScheme ;
    skos:prefLabel "${label}"@en ${more} .`;
const edition = (...concepts: string[]) =>
  [
    `@prefix ns: <${NS}> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .`,
    ...["ns:EngagementAcceleratorScheme a skos:ConceptScheme .", ...concepts],
  ].join("\n");
const FULL = edition(
  concept("LONG", "x".repeat(201)),
  concept("JUST", "x".repeat(200), `; skos:definition "${"y".repeat(10_000)}"@en`),
  concept("WORDY", "Wordy", `; skos:definition "${"y".repeat(10_001)}"@en`),
  concept("BELOW", "Below", "; skos:broader ns:LONG"),
  concept("FINE", "Fine", "; skos:broader ns:JUST"),
);

test("concepts whose label or definition is too long are named and left out, and those below them with them", async () => {
  const { accelerators, problems } = await readVocabulary(database.owner, FULL, names);
  expect(accelerators.map(({ code }) => code).toSorted()).toEqual(["FINE", "JUST"]);
  const told = problems.map(({ concept: uri, message }) => `${uri.slice(NS.length)} ${message}`).toSorted();
  expect(told).toEqual([
    expect.stringMatching(/^BELOW its broader concept LONG/),
    expect.stringMatching(/^LONG its prefLabel .*200/),
    expect.stringMatching(/^WORDY its definition .*10,?000/),
  ]);
});

test("what was taken is counted, what was left out is told", async () => {
  const imported = await importVocabulary(database.owner, FULL, names);
  expect(imported).toMatchObject({ added: 2, changed: 0, rechecked: 0 });
  expect(imported.problems).toHaveLength(3);
});

test("a code that an edition lacks is deprecated once, and current again with the next edition that has it as it was", async () => {
  const { owner } = database;
  const [stays, goes] = [concept("STAYS", "Stays"), concept("GOES", "Goes")];
  const since = async () => {
    const { rows } = await owner.query<{ since: string | null }>(
      "select deprecated_at as since from app_public.accelerators where code = 'GOES'",
    );
    return rows[0]!.since;
  };
  await importVocabulary(owner, edition(stays, goes), names);
  expect(await importVocabulary(owner, edition(stays), names)).toMatchObject({ changed: 0, deprecated: 1 });
  const then = await since();
  expect(then).not.toBeNull();
  expect(await importVocabulary(owner, edition(stays), names)).toMatchObject({ changed: 0, deprecated: 0 });
  expect(await since()).toEqual(then);
  const back = edition(stays, goes);
  expect(await importVocabulary(owner, back, names)).toMatchObject({ added: 0, changed: 1, deprecated: 0 });
  expect(await since()).toBeNull();
  expect(await importVocabulary(owner, back, names)).toMatchObject({ added: 0, changed: 0, deprecated: 0 });
});

test("an edition is imported under the names that the service was migrated with alone", async () => {
  const renamed = await createTestDatabase();
  try {
    await renamed.owner.query(
      `insert into app_private.settings (name, value, description) values ('namespace_url', '"https://elsewhere.example/ns#"', '')
       on conflict (name) do update set value = excluded.value`,
    );
    const refused = importVocabulary(renamed.owner, edition(concept("OTHER", "Other")), names);
    await expect(refused).rejects.toThrow(
      `NAMESPACE_URL is ${NS} here, and was https://elsewhere.example/ns#`,
    );
    const { rows } = await renamed.owner.query("select from app_public.accelerators where code = 'OTHER'");
    expect(rows).toEqual([]);
  } finally {
    await renamed.drop();
  }
});

test("texts are named by their places", async () => {
  const problems = await problemsOf(database.owner, "name", [
    "a",
    "x".repeat(201),
    null,
    "b",
    "y".repeat(201),
  ]);
  expect([...problems.keys()]).toEqual([1, 4]);
  // What is white space alone is none, which may be missing.
  expect(await problemsOf(database.owner, "text", [" \n"])).toEqual(new Map());
});

test("people groups are added once, and renamed", async () => {
  const one = { rop3: "100001", name: "One" };
  expect(await importPeopleGroups(database.owner, [one])).toMatchObject({ added: 1, changed: 0 });
  const again = [
    { ...one, name: "First" },
    { rop3: "100002", name: "Two" },
  ];
  expect(await importPeopleGroups(database.owner, again)).toMatchObject({ added: 1, changed: 1 });
});

test("the graph is given each document under its own name, and again only when it has changed", async () => {
  const published = async () => {
    await publishDocuments(database.owner);
    const { rows } = await database.owner.query<{ name: string; revision: string; state: string }>(
      "select name, revision, synced_revision as state from app_private.graph_references order by name",
    );
    return rows;
  };
  const first = await published();
  expect(await published()).toEqual(first);
  const { rows } = await database.owner.query<{ name: string; document: string }>(
    "select name, document from app_private.graph_references where document is not null order by name",
  );
  const said = ["owl:Ontology", "sh:NodeShape"];
  expect(
    rows.map(({ name, document }) => [name, said.filter((each) => document.includes(` a ${each}`))]),
  ).toEqual([
    ["ontology", ["owl:Ontology"]],
    ["shapes", ["sh:NodeShape"]],
  ]);
});
