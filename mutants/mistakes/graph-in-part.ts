// What a store has done in part, and names that one engine reads so and another otherwise.
import type { Mistake } from "../mistake.ts";

const TURNS = { file: "graph/turns.ts", tests: ["graph-sessions"], only: "applied but a part" };

export const GRAPH_IN_PART: readonly Mistake[] = [
  {
    ...TURNS,
    rule: "a store that was made ours in part is not ours yet",
    before:
      "    `INSERT DATA { ${turnIn(names, names.turnsGraph, String(turn))} ${storeIs(names, identity)} }`,",
    after:
      '    `INSERT DATA { ${turnIn(names, names.turnsGraph, String(turn))} ${storeIs(names, identity)} ${runIn(names, names.turnsGraph, `"${run}"`)} }`,',
  },
  {
    ...TURNS,
    rule: "an update that was applied in part is not that of a copy that is behind",
    before: "text.includes(run) && !text.includes(BEGUN)",
    after: "text.includes(run)",
  },
  {
    ...TURNS,
    rule: "a store that was made ours in part is not a copy that is behind",
    before: 'text.includes(`"${turn}"`) && text.includes(run)',
    after: 'text.includes(`"${turn}"`)',
  },
  {
    ...TURNS,
    rule: "what a store said of itself before it was made ours is gone",
    before: "    `DROP SILENT GRAPH <${names.turnsGraph}>`,\n",
    after: "",
    only: "leaves nothing",
  },
  {
    ...TURNS,
    rule: "an update looks after what is later in a graph that it knows nothing of, too",
    before: "if (last === undefined) return later;",
    after: 'if (last === undefined) return "";',
    only: "knows nothing of",
  },
  {
    ...TURNS,
    rule: "a store that holds nothing but the mark of the whole holds something",
    before: 'names.namedGraphs.map((graph) => `<${graph}>`).join(" ");\n  const exists',
    after: 'Object.values(names.contents).map((graph) => `<${graph}>`).join(" ");\n  const exists',
    only: "holds something",
  },
  {
    rule: "a concept that is left out is known by each of its notations",
    file: "graph/skos.ts",
    before: "    notations.set(iri, own);\n",
    after: "    if (own.length === 1) notations.set(iri, own);\n",
    tests: ["concepts"],
    only: "by all its notations",
  },
  {
    rule: "a function may be called by no name that is another one to some engine",
    file: "graph/sparql-extensions.ts",
    before: "readings.every((iri) => FUNCTIONS.has(iri)",
    after: "readings.some((iri) => FUNCTIONS.has(iri)",
    tests: ["sparql"],
    only: "without a store .* a function",
  },
  {
    rule: "an IRI is read whatever plane of Unicode its characters are in",
    file: "graph/ntriples.ts",
    before: "(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})/g",
    after: "(000[0-9A-Fa-f]{5})/g",
    tests: ["turtle"],
    only: "read as it was written",
  },
  {
    rule: "an escape of eight digits is not one of four and some letters",
    file: "graph/ntriples.ts",
    before: "[0-9A-Fa-f]{4})/g",
    after: "[0-9A-Fa-f]{4})/gi",
    tests: ["turtle"],
    only: "read as it was written",
  },
  {
    rule: "a triple in the place of a subject is no IRI",
    file: "graph/ntriples.ts",
    before: "/^<(?!<)(.*)>$/s",
    after: "/^<(.*)>$/s",
    tests: ["turtle"],
    only: "read as it was written",
  },
];
