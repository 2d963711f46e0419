// The table of docs/operations.md that says what the states of the graph mean.
import { GRAPH_STATES } from "../graph/states.ts";
import type { Generated } from "./generated.ts";
import { code, markdown, withTables } from "./tables.ts";

export const graphStatesFile: Generated = {
  file: "docs/operations.md",
  text: async (_, written) =>
    withTables(written, {
      "graph-states": markdown(
        ["state", "means", "what the service does by itself"],
        Object.entries(GRAPH_STATES).map(([state, { means, does }]) => [code(state), means, does]),
      ),
    }),
};
