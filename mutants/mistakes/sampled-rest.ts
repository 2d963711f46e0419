// What was drawn at random from the rules, the worker, the graph, the operator's tool and what they run on, and went unnoticed.
import type { Mistake } from "../mistake.ts";

export const SAMPLED_REST: readonly Mistake[] = [
  {
    rule: "a pool is closed when those of its connections have ended that were lent as well",
    file: "db/close.ts",
    before: "let open = pool.totalCount;",
    after: "let open = pool.idleCount;",
    tests: ["postgres-parts"],
    only: "also those that are lent",
  },
  {
    rule: "why PostgreSQL does not start is told with what it adds to that",
    file: "db/embedded.ts",
    before: "return [lines[at]!, ...more]",
    after: "return [lines[at]!]",
    tests: ["embedded-postgres-log"],
    only: "what is left of it|that fails is named",
  },
  {
    rule: "why PostgreSQL does not start is what it said last",
    file: "db/embedded.ts",
    before: "lines.findLastIndex(",
    after: "lines.findIndex(",
    tests: ["embedded-postgres-log"],
    only: "what is left of it",
  },
  {
    rule: "of what a program of PostgreSQL has printed what it says of its failure comes first",
    file: "db/embedded.ts",
    before: "reasonIn(stderr || stdout)",
    after: "reasonIn(stdout || stderr)",
    tests: ["embedded-postgres-log"],
    only: "that fails is named",
  },
  {
    rule: "the operator is told which program of PostgreSQL could not be run",
    file: "db/embedded.ts",
    before: 'child.once("error", failed).once("close", end)',
    after: 'child.on("error", () => undefined).once("close", end)',
    tests: ["embedded-postgres-log"],
    only: "that is not there is named",
  },
  {
    rule: "Ctrl-C at the terminal does not end what PostgreSQL's programs are at",
    file: "db/embedded.ts",
    before: "    detached: true,\n",
    after: "",
    tests: ["embedded-postgres-log"],
    only: "is not meant by Ctrl-C",
  },
  {
    rule: "what a store that could not be loaded has taken is given back",
    file: "graph/embedded/engine.ts",
    before: "      thread.end();\n      if (failure.reason instanceof TaskRefused)",
    after: "      if (failure.reason instanceof TaskRefused)",
    tests: ["embedded-store-engine"],
    only: "files that could not be loaded",
  },
  {
    rule: "what a copy has begun to apply is not behind twice",
    file: "graph/embedded/copy.ts",
    before: "  catchUp(): void {\n    this.#pendingBytes = 0;",
    after: "  catchUp(): void {",
    tests: ["embedded-store-pool"],
    only: "is behind by what it has not applied yet|is used up when changes took",
  },
];
