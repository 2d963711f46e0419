// What is read of a vocabulary in SKOS, and what the graph says of itself: each rule on both sides.
import { describe, expect, test } from "@jest/globals";
import { createNames } from "../graph/namespaces.ts";
import { parseAccelerators, parsePeopleGroups } from "../graph/skos.ts";
import { exceptMark, holdsAnything, readMark, readMarks } from "../graph/turns.ts";
import { createMemoryStore } from "./support/memory-store.ts";

const NS = "https://ontology.example.org/core#";
const names = createNames({ graphDataUrl: "https://data.example.org", namespaceUrl: NS });
const PREFIXES = `@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix ns: <${NS}> . @prefix : <urn:x:> .\n`;
const read = (turtle: string) => {
  const { accelerators, problems } = parseAccelerators(
    `${PREFIXES}:z skos:notation "Z"; skos:prefLabel "Z" .\n${turtle}`,
    names,
  );
  return {
    taken: accelerators.filter(({ code }) => code !== "Z"),
    problems: problems.map(({ concept, message }) => `${concept} ${message}`),
  };
};
const one = (turtle: string) => read(turtle).taken[0];

describe("a concept", () => {
  test("has one notation, of capitals, digits and single hyphens, with space around it that does not count", () => {
    expect(one(':a skos:notation " PRA-1 "; skos:prefLabel "A" .')?.code).toBe("PRA-1");
    for (const notation of ["pra", "PRA-", "-PRA", "PRA--1", "PRA 1", ""]) {
      expect(read(`:a skos:notation "${notation}"; skos:prefLabel "A" .`)).toEqual({
        taken: [],
        problems: [`urn:x:a its notation "${notation}" is not a code`],
      });
    }
    expect(read(':a skos:notation "A", "B"; skos:prefLabel "A" .').problems).toEqual([
      "urn:x:a has 2 notations instead of one",
    ]);
    expect(read(':a a skos:Concept; skos:prefLabel "A" .').problems).toEqual([
      "urn:x:a has 0 notations instead of one",
    ]);
  });

  test("is known by all its notations also where it is left out: no code of an earlier edition has gone for that", () => {
    const turtle =
      ':a skos:notation "A", " B "; skos:prefLabel "A" . :c skos:notation "C"; skos:prefLabel "C" .';
    const { accelerators, notations } = parseAccelerators(PREFIXES + turtle, names);
    expect(accelerators.map(({ code }) => code)).toEqual(["C"]);
    expect([...notations]).toEqual([
      ["urn:x:a", ["A", "B"]],
      ["urn:x:c", ["C"]],
    ]);
  });

  test.each([
    ["English before all others", '"Gebet"@de, "Any", "Prayer"@en, "Pray"@en-GB', "Prayer"],
    ["an English of some country before others", '"Gebet"@de, "Prayer"@en-GB', "Prayer"],
    ["one without a language before others", '"Gebet"@de, "Prayer"', "Prayer"],
    ["whichever there is", '"Gebet"@de', "Gebet"],
  ])("has as its label %s", (_, labels, expected) => {
    expect(one(`:a skos:notation "A"; skos:prefLabel ${labels} .`)?.prefLabel).toBe(expected);
  });

  test("without a label, or with an empty one, is left out; without a definition it has none", () => {
    for (const label of ["", 'skos:prefLabel "  " ;', "skos:prefLabel :b ;"]) {
      expect(read(`:a skos:notation "A"; ${label} .`).problems).toEqual(["urn:x:a has no prefLabel"]);
    }
    expect(one(':a skos:notation "A"; skos:prefLabel "A" .')?.definition).toBeNull();
    expect(one(':a skos:notation "A"; skos:prefLabel "A"; skos:definition " d " .')?.definition).toBe("d");
  });

  test("below another is a function of it, and one on top an accelerator", () => {
    const { taken } = read(
      ':a skos:notation "A"; skos:prefLabel "A" . :b skos:notation "B"; skos:prefLabel "B"; skos:broader :a .',
    );
    expect(taken.map(({ code, kind, broaderCode }) => [code, kind, broaderCode])).toEqual([
      ["A", "accelerator", null],
      ["B", "function", "A"],
    ]);
    expect(read(':b skos:notation "B"; skos:prefLabel "B"; skos:broader :nobody .').problems).toEqual([
      "urn:x:b its broader concept urn:x:nobody is not in the scheme",
    ]);
  });

  test("belongs to a scheme that is in the file by any of three statements", () => {
    const scheme = `<${names.scheme}>`;
    const { taken } = read(`${scheme} a skos:ConceptScheme; skos:hasTopConcept :c .
      :a skos:notation "A"; skos:prefLabel "A"; skos:inScheme ${scheme} .
      :b skos:notation "B"; skos:prefLabel "B"; skos:topConceptOf ${scheme} .
      :c skos:notation "C"; skos:prefLabel "C" .
      :d skos:notation "D"; skos:prefLabel "D"; skos:inScheme :other .`);
    expect(taken.map(({ code }) => code)).toEqual(["A", "B", "C"]);
    for (const types of [
      "skos:ConceptScheme",
      "skos:ConceptScheme, :Vocabulary",
      ":Vocabulary, skos:ConceptScheme",
    ])
      expect(one(`:s a ${types}; skos:notation "S"; skos:prefLabel "S" .`)).toBeUndefined();
  });

  test("of a people group is known by the notation of six digits among its notations", () => {
    const groups = parsePeopleGroups(
      `${PREFIXES}:a skos:notation "SOM", " 100001 "; skos:prefLabel "Somali" .
       :b skos:notation "1000012"; skos:prefLabel "B" . :c skos:notation "100003" . :d skos:prefLabel "none" .`,
      names,
    );
    expect(groups.peopleGroups).toEqual([{ rop3: "100001", name: "Somali" }]);
    expect(groups.problems.map(({ concept, message }) => `${concept} ${message}`)).toEqual([
      "urn:x:b has no ROP3 code of six digits as its notation",
      "urn:x:c has no prefLabel",
    ]);
  });
});

describe("what the graph says of itself", () => {
  const TURNS = names.turnsGraph;
  const say = (graph: string, property: string, value: string) =>
    `INSERT DATA { GRAPH <${graph}> { <${graph}> <${names.ns(property)}> ${value} } }`;
  async function stored(...updates: string[]) {
    const store = createMemoryStore();
    for (const update of updates) await store.update(update);
    return store;
  }

  test("is nothing at first", async () => {
    const nothing = { turn: 0n, run: undefined, identity: undefined, hasOverlap: false };
    const store = await stored();
    expect(await readMark(store, names)).toEqual(nothing);
    expect(await readMarks(store, names)).toEqual({ mark: nothing, graphs: new Map() });
    expect(await holdsAnything(store, names)).toBe(false);
  });

  test("is the latest of several numbers, which is told; two names or owners are none", async () => {
    const both = ["5", "7", "6"].map((turn) => say(TURNS, "projectionTurn", turn));
    const store = await stored(
      ...both,
      say(TURNS, "projectionRun", '"r"'),
      say(TURNS, "projectionStore", '"s"'),
    );
    expect(await readMark(store, names)).toEqual({ turn: 7n, run: "r", identity: "s", hasOverlap: true });
    await store.update(say(TURNS, "projectionRun", '"q"'));
    await store.update(say(TURNS, "projectionStore", '"t"'));
    expect(await readMark(store, names)).toMatchObject({ run: undefined, identity: undefined });
  });

  test.each([
    ['"5"', 0n],
    ["0", 0n],
    ["-3", 0n],
    ["5.0", 0n],
    ["5", 5n],
  ])("with %s as a number is %s", async (value, turn) => {
    const store = await stored(
      say(TURNS, "projectionTurn", value),
      say(names.contents.need, "projectionTurn", value),
    );
    expect((await readMark(store, names)).turn).toBe(turn);
    const { mark, graphs } = await readMarks(store, names);
    expect([mark.turn, graphs.get("need")?.turn]).toEqual([turn, turn]);
  });

  test("of each graph is the earliest of several numbers, and of those that say nothing nothing", async () => {
    const store = await stored(
      ...["9", "8", "10"].map((turn) => say(names.contents.need, "projectionTurn", turn)),
      say(names.contents.need, "projectionRun", '"r"'),
      say(names.contents.countries, "projectionRun", '"r"'),
      say(TURNS, "projectionTurn", "11"),
    );
    const { mark, graphs } = await readMarks(store, names);
    expect(graphs).toEqual(new Map([["need", { turn: 8n, run: "r" }]]));
    expect(mark.turn).toBe(11n);
    expect(await holdsAnything(store, names)).toBe(true);
  });

  test("is not among its content, and the same about anything else is", async () => {
    const other = `INSERT DATA { GRAPH <${names.contents.need}> { <urn:x> <${names.ns("projectionTurn")}> 4 } }`;
    const begun = say(names.contents.need, "projectionBegun", '"b"');
    const store = await stored(
      say(names.contents.need, "projectionTurn", "3"),
      other,
      begun,
      say(TURNS, "projectionBegun", '"b"'),
    );
    const content = async (graph: string) => {
      const rows = await store.select(
        `SELECT ?o { GRAPH <${graph}> { ?s ?p ?o ${exceptMark(names, graph)} } } ORDER BY ?o`,
      );
      return rows.map(({ o }) => o!.value).toSorted();
    };
    expect(await content(names.contents.need)).toEqual(["4", "b"]);
    expect(await content(TURNS)).toEqual([]);
  });
});
