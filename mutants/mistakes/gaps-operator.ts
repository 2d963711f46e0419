// How npm start ends, what an operator is told, and what the files beside the service say, where no test had looked.
import type { Mistake } from "../mistake.ts";

const ENDS = { file: "start.ts", tests: ["start-ends"] };

export const GAPS_OF_OPERATORS: readonly Mistake[] = [
  {
    ...ENDS,
    rule: "a store that ends by itself ends npm start",
    before: "            onFailure: fail,\n            onWarning",
    after: "            onWarning",
    only: "a store that ends by itself",
  },
  {
    ...ENDS,
    rule: "who starts the embedded store for the service hears of its end",
    file: "process/embedded.ts",
    before: "queryTimeoutMs, onFailure, onWarning });",
    after: "queryTimeoutMs, onWarning });",
    only: "a store that ends by itself",
  },
  {
    ...ENDS,
    rule: "a fault of ours ends npm start in good order",
    before: 'process.once("uncaughtException", fail);\n',
    after: "",
    only: "a fault of ours",
  },
  {
    ...ENDS,
    rule: "who is told to stop at once waits for the graph store",
    before: "      (joined) => joined.leave(),\n      { isStore: true },\n    );\n    engine",
    after: "      (joined) => joined.leave(),\n    );\n    engine",
    only: "waits for the store",
  },
  {
    ...ENDS,
    rule: "npm start ends though a part of it does not",
    before: "  endAnyway(config, () =>\n",
    after: "  void ((_: unknown, told: () => unknown) => told)(config, () =>\n",
    only: "does not stop in time",
  },
  {
    rule: "an order to stop that came while a part was started is not waited for again",
    file: "process/part.ts",
    before: "    if (signal.aborted) done();\n",
    after: "",
    tests: ["process-parts"],
    only: "an order that has come already",
  },
  {
    rule: "a wait for a connection is told from one of half a second, at which the alert is raised",
    file: "process/metrics.ts",
    before: "buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5]",
    after: "buckets: [0.001, 0.005, 0.02, 0.1, 1, 2, 5]",
    tests: ["metrics-parts"],
    only: "waiting for one is timed",
  },
  {
    rule: "an operator's command tells what was damaged in the embedded store",
    file: "admin/context.ts",
    before: "      onWarning: (message) => this.note(message),\n",
    after: "",
    tests: ["cli"],
    only: "what was damaged",
  },
  {
    rule: "the database of Fuseki is in the folder whose indexes start.sh names",
    file: "graph/fuseki/config.ttl",
    before: 'tdb2:location "tdb2"',
    after: 'tdb2:location "database"',
    tests: ["fuseki-scripts"],
    only: "requires its one user",
  },
  {
    rule: "of two time limits that of the whole query says what is left behind of sorting",
    file: "graph/fuseki/start.sh",
    before: "longest=${longest##*,}\n",
    after: "",
    tests: ["fuseki-scripts"],
    only: "looked for by the time limit",
  },
  {
    rule: "without a time limit nothing that queries sort is too old",
    file: "graph/fuseki/start.sh",
    before: "'' | 0* | *[!0-9]*)",
    after: "'' | *[!0-9]*)",
    tests: ["fuseki-scripts"],
    only: "looked for by the time limit",
  },
  {
    rule: "what vanishes while it is looked at ends no cleaning",
    file: "graph/fuseki/start.sh",
    before: "set +e\n",
    after: "",
    tests: ["fuseki-scripts"],
    only: "looked for by the time limit",
  },
];
