// The meaning of each state of the graph, shown in the table of docs/operations.md
// and on the page for operators.
import type { enums } from "../db/catalog.ts";

type State = (typeof enums.graph_state)[number];

/** By state: what it means, and what the service does about it by itself. */
export const GRAPH_STATES: Readonly<Record<State, { means: string; does: string }>> = {
  current: {
    means: "the store shows everything that it was given, and nothing has waited for half a minute",
    does: "checks every ten seconds whose graph the store holds, and its last update and that of each named graph",
  },
  behind: {
    means:
      "the store or one of its named graphs is empty, has been replaced or is in an earlier state; or the store was down; or changes have waited for long",
    does: "writes what is lost again, and nothing else where it can tell; becomes `current` when no record waits",
  },
  rebuilding: {
    means: "an operator has named graphs replaced; readers see the old ones",
    does: "finishes, even if the process that began it was killed",
  },
  lagging: {
    means: "the store answers queries from a copy that is behind",
    does: "waits up to a minute for the copy to show each update before it counts",
  },
  unconfirmed: {
    means: "the store, or a proxy in its place, accepts updates that its queries do not show",
    does: "keeps what is not shown as `pending` and sends it again, every one to five seconds",
  },
  unavailable: {
    means: "the store does not answer, or answers with errors, or a cache answers for it",
    does: "asks again every one to five seconds; after a time limit was met, with smaller batches",
  },
  unwatched: {
    means: "no worker has looked at the store for half a minute, or the one that does is frozen",
    does: "nothing, until a worker runs again, which first finds out what the store holds",
  },
};
