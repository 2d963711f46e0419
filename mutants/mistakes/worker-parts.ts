// Small parts of the worker and of the graph, each by itself.
import type { Mistake } from "../mistake.ts";

export const WORKER_PARTS: readonly Mistake[] = [
  {
    tests: ["mail"],
    rule: "a mail that was sent has no error",
    file: "worker/outbox.ts",
    before: "sent_at = now(), delayed_since = null, last_error = null",
    after: "sent_at = now()",
    only: "is down delays mail",
  },
  {
    tests: ["worker-parts"],
    rule: "a store that reads on slowly is not given up",
    file: "worker/replace.ts",
    before: "      timer.refresh();\n",
    after: "",
  },
  {
    tests: ["worker-parts"],
    rule: "a record that was withdrawn while the graph was listed is no stranger",
    file: "worker/strangers.ts",
    before: "const lasting = await stillThere(store, graph, strangers);",
    after: "const lasting = strangers;",
    only: "seen enough",
  },
  {
    tests: ["worker-parts"],
    rule: "who gives up ends the query",
    file: "worker/strangers.ts",
    before: "    body.destroy();\n",
    after: "",
  },
  {
    tests: ["turtle"],
    rule: "an IRI cannot end early by a backslash",
    file: "graph/ntriples.ts",
    before: '[\\u0000-\\u0020<>"{}|^`\\\\]/g;',
    after: '[\\u0000-\\u0020<>"{}|^`]/g;',
  },
  {
    tests: ["graph-parts", "load-check"],
    rule: "one thing to mend is told once",
    file: "graph/load-check.ts",
    before: "if (!found.some((other) => other.path === error.path && other.message === error.message)) {",
    after: "if (found) {",
  },
  {
    tests: ["graph-parts"],
    rule: "the language of a text survives XML",
    file: "graph/rdf-xml.ts",
    before: '` xml:lang="${object.language}"`',
    after: '""',
    only: "RDF/XML",
  },
  {
    tests: ["store-faults"],
    rule: "a graph that is read may be read again",
    file: "graph/store.ts",
    before: 'repeatable: method === "GET"',
    after: "repeatable: true",
    only: "twice",
  },
  {
    tests: ["worker-parts"],
    rule: "an update that has begun and not ended is not shown as a graph",
    file: "graph/turns.ts",
    before: " && !text.includes(BEGUN)",
    after: "",
  },
];
