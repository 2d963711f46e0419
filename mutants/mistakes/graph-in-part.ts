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
    rule: "a function may be called by no name that is another one to some engine",
    file: "graph/sparql-extensions.ts",
    before: "readings.every((iri) => FUNCTIONS.has(iri)",
    after: "readings.some((iri) => FUNCTIONS.has(iri)",
    tests: ["sparql"],
    only: "without a store .* a function",
  },
];
