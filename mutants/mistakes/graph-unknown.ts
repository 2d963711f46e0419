// What somebody else brings into the graph or its shapes, in a form that the service does not know.
import type { Mistake } from "../mistake.ts";

const ANY_TERM = { tests: ["graph-verification"], only: "with Fuseki.*of any kind" };
const ANY_NAME = { tests: ["graph-verification"], only: "with Fuseki.*whatever its name" };
const KEPT = { tests: ["graph-verification"], only: "with embedded.*though it was told" };
const FAILS = { tests: ["verifier"], only: "is interrupted by" };

export const UNKNOWN_IN_GRAPH: readonly Mistake[] = [
  {
    ...ANY_TERM,
    rule: "a triple that cannot be read does not end a verification",
    file: "worker/compare.ts",
    before: "  } catch {\n    const subject = ",
    after: "  } catch (error) {\n    if (line) throw error;\n    const subject = ",
  },
  {
    tests: ["worker-parts"],
    only: "cannot be read",
    rule: "a triple that cannot be read is a difference",
    file: "worker/compare.ts",
    before: "new Set([line])]]",
    after: "new Set<string>()]]",
  },
  {
    ...ANY_TERM,
    rule: "an IRI that a store writes with escapes is the one that they stand for",
    file: "worker/strangers.ts",
    before: "subjects.push(readIri(line) ?? line);",
    after: "subjects.push(/^<(.*)>$/.exec(line)?.[1] ?? line);",
  },
  {
    ...ANY_TERM,
    rule: "an IRI that no update can name is removed all the same",
    file: "worker/strangers.ts",
    before: "...(odd.length > 0 ?",
    after: "...(odd.length < 0 ?",
  },
  {
    ...ANY_TERM,
    rule: "an IRI that a store would take for another is not named",
    file: "worker/strangers.ts",
    before: " &&\n    !/\\/\\.{1,2}(?:[/?#]|$)/.test(subject)",
    after: "",
  },
  {
    ...ANY_TERM,
    rule: "what ends a line to some programs ends none of an answer",
    file: "worker/strangers.ts",
    before: ".split(/\\r?\\n/)",
    after: ".split(/\\r?\\n|\\u2028/)",
  },
  {
    ...ANY_NAME,
    rule: "a graph with a name that no update can name is dropped all the same",
    file: "worker/strangers.ts",
    before: "isPlain(graph) ?",
    after: "isIri(graph) ?",
  },
  {
    ...KEPT,
    rule: "what the store still shows after it was removed is not repaired",
    file: "worker/verify.ts",
    before: "return Math.max(0, removed - left);",
    after: "return Math.max(removed, removed - left);",
  },
  {
    rule: "a store that takes long does not cost the right to write",
    file: "worker/hold.ts",
    before: "; set idle_session_timeout = 0",
    after: "",
    tests: ["drain-steps"],
    only: "a store takes long",
  },
  {
    rule: "shapes with a pattern that is none are refused at the start",
    file: "graph/load-check.ts",
    before: "  requirePatterns(shapeQuads);\n",
    after: "",
    tests: ["load-check"],
    only: "refused before there are records",
  },
  {
    rule: "the flags of a pattern belong to it",
    file: "graph/load-check.ts",
    before: 'RegExp(object.value, of("flags"));',
    after: "RegExp(object.value);",
    tests: ["load-check"],
    only: "refused before there are records",
  },
  {
    ...FAILS,
    rule: "a verification that fails is said to",
    file: "worker/verifier.ts",
    before: "if (!isAway(error)) await noteTrouble",
    after: "if (error instanceof GraphTimeout) await noteTrouble",
  },
  {
    ...FAILS,
    rule: "a store that fails on what the verification asks is not away",
    file: "worker/verifier.ts",
    before: "error instanceof GraphTimeout || error instanceof GraphFailed",
    after: "error instanceof GraphTimeout",
  },
  {
    rule: "a verification that is switched off does not fail",
    file: "worker/verifier.ts",
    before: "run() : noteTrouble(null);",
    after: "run() : Promise.resolve();",
    tests: ["verifier"],
    only: "nothing is said to fail",
  },
  {
    ...FAILS,
    rule: "a verification that can go on no longer fails",
    file: "db/rules/graph-store.sql",
    before: "    trouble = null,\n",
    after: "",
  },
  {
    rule: "a verification that an operator has done does not fail",
    file: "db/rules/graph-store.sql",
    before: "drift = end_verification.drift, trouble = null",
    after: "drift = end_verification.drift",
    tests: ["verifier"],
    only: "an operator has had",
  },
  {
    rule: "a graph that cannot be verified is degraded",
    file: "server/resources/health.ts",
    before: " && !verificationFails",
    after: "",
    tests: ["health"],
    only: "cannot be verified",
  },
  {
    rule: "a text that runs from right to left is another one",
    file: "graph/ntriples.ts",
    before: 'term.direction ? `--${term.direction}` : ""',
    after: '""',
    tests: ["turtle"],
    only: "base direction",
  },
];
