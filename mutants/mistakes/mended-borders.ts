// What was once said wrongly to operators and to those who bring files and settings, and would be again.
import type { Mistake } from "../mistake.ts";

const STORE = { file: "db/rules/graph-store.sql", tests: ["drainer"], only: "answers and takes nothing" };
const SKOS = { file: "graph/skos.ts", tests: ["vocabulary"], only: "lead back|nothing but such" };
const CODES = {
  file: "db/rules/vocabulary.sql",
  tests: ["vocabulary"],
  only: "the database refuses a code that is broader",
};
const GROUPS = { file: "admin/people-groups.ts", tests: ["vocabulary"], only: "misplaced quotes" };

export const MENDED_BORDERS: readonly Mistake[] = [
  {
    ...STORE,
    rule: "that a store is tried again does not end its failure",
    before: "from app_private.graph_store as s where s.state not in ('unavailable', 'unconfirmed');",
    after: "from app_private.graph_store as s;",
  },
  {
    ...STORE,
    rule: "nor that of one that does not show what it took",
    before: "from app_private.graph_store as s where s.state not in ('unavailable', 'unconfirmed');",
    after: "from app_private.graph_store as s where s.state <> 'unavailable';",
    tests: ["drain-steps"],
    only: "the copy behind queries",
  },
  {
    ...STORE,
    rule: "a store that takes numbers and no graph takes nothing",
    before: " and cardinality(names) > 0",
    after: "",
  },
  {
    ...STORE,
    rule: "a store that has shown a change is behind, no longer away",
    before: "where s.state in ('unavailable', 'unconfirmed') and cardinality(names) > 0",
    after: "where false",
    only: "is back is said",
  },
  {
    ...STORE,
    rule: "what is said of one list does not end with what the store takes besides",
    before: "    and not exists (select from app_private.graph_references as r where r.trouble is not null);",
    after: "    and true;",
    only: "takes everything but a list",
  },
  {
    ...STORE,
    rule: "a drainer does not call a store that answers one that takes changes",
    file: "worker/drainer.ts",
    before: "      await beat();\n    }\n    // Under",
    after:
      '      await beat();\n      if (failing && seen === "whole") await note("behind", "");\n    }\n    // Under',
  },
  {
    ...STORE,
    rule: "a whole graph that is only about to be sent does not end a failure",
    file: "worker/rebuild.ts",
    before: "select app_private.note_graph_work((",
    after: "select app_private.note_graph_state((",
  },
  {
    ...STORE,
    rule: "nor does what was found lost",
    file: "worker/watch.ts",
    before: "select app_private.note_graph_work('behind'",
    after: "select app_private.note_graph_state('behind'",
  },
  {
    ...STORE,
    rule: "nor that queries are answered from a copy",
    file: "worker/hold.ts",
    before: "select app_private.note_graph_work('lagging'",
    after: "select app_private.note_graph_state('lagging'",
    tests: ["drain-steps"],
    only: "the copy behind queries",
  },
  {
    ...STORE,
    rule: "why a store that was away is behind is said once it takes something",
    file: "worker/watch.ts",
    before: "  await noteLoss(client, loss);\n  return",
    after: "  return",
    only: "comes back empty is behind",
  },
  {
    rule: "one state of the graph after another goes on being trouble",
    file: "deploy/prometheus/alerts.yml",
    before: 'expr: max(graph_state{state!~"current|rebuilding"}) == 1',
    after: 'expr: max by (state) (graph_state{state!~"current|rebuilding"}) == 1',
    tests: ["deployment"],
    only: "alerts: each is raised",
  },
  {
    ...SKOS,
    rule: "concepts that are broader than one another are left out",
    before: "withBroader(withoutCircles(accelerators, problems), problems)",
    after: "withBroader(accelerators, problems)",
  },
  {
    ...SKOS,
    rule: "a circle has as many concepts as it has",
    before: "      at = above.get(at);\n",
    after: "      break;\n",
  },
  {
    ...SKOS,
    rule: "what is below a circle is not named as a part of it",
    before: "return at === code;",
    after: "return Boolean(at);",
  },
  {
    ...SKOS,
    rule: "a file of which nothing can be used is no edition",
    before: "if (usable.length === 0) {",
    after: "if (accelerators.length === 0) {",
  },
  {
    ...CODES,
    rule: "a code is below the codes above its own",
    before: "      select a.broader_code from above join app_public.accelerators as a using (code)\n",
    after: "      select null from above\n",
  },
  {
    ...CODES,
    rule: "a code that is moved is looked at as well as a new one",
    before: "create trigger refuse_circle after insert or update of broader_code",
    after: "create trigger refuse_circle after insert",
  },
  {
    ...CODES,
    rule: "an edition is looked at as well",
    before: "create trigger refuse_circle after insert or update of broader_code",
    after: "create trigger refuse_circle after update of broader_code",
  },
  {
    ...GROUPS,
    rule: "a mistake in a CSV of people groups is told by its line, and a wrong header as one",
    before: "columns.rop3 === -1 || columns.name === -1",
    after: "columns.rop3 === -1 && columns.name === -1",
    only: "people groups come",
  },
  {
    ...GROUPS,
    rule: "a row that cannot be read is reported as any other",
    before: "row.cells ? problemOf(rop3, name) : row.problem",
    after: "problemOf(rop3, name)",
  },
  {
    ...GROUPS,
    rule: "which of two columns of a name is meant is not guessed",
    before: "if (names.indexOf(name) !== names.lastIndexOf(name))",
    after: 'if (name === "rop3" && names.indexOf(name) !== names.lastIndexOf(name))',
    only: "two columns",
  },
  {
    ...GROUPS,
    rule: "columns that nobody reads may be there twice",
    before: 'for (const name of ["rop3", "name"])',
    after: "for (const name of names)",
    only: "two columns",
  },
  {
    ...GROUPS,
    rule: "what surrounds the quotes of a cell is no part of it",
    file: "db/churches/csv.ts",
    before: "      trim,\n",
    after: "",
  },
];
