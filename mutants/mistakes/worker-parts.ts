// Steps of the worker that wait for a store.
import type { Mistake } from "../mistake.ts";

export const WORKER_PARTS: readonly Mistake[] = [
  {
    tests: ["worker-parts"],
    rule: "a store that reads on slowly is not given up",
    file: "worker/replace.ts",
    before: "      timer.refresh();\n",
    after: "",
  },
  {
    tests: ["worker-parts"],
    rule: "who gives up ends the query",
    file: "worker/strangers.ts",
    before: "    body.destroy();\n",
    after: "",
  },
];
