// What the settings, the operator's tool, the files beside the service and the embedded store keep to at their borders.
import type { Mistake } from "../mistake.ts";

const NO_STORE = "if (!queryUrl && !updateUrl && !graphStoreUrl) return undefined;";
const PART_OF_ONE = "if (!queryUrl || !updateUrl || !graphStoreUrl) {";
const OLD_SPACE = '  if (length === HEADER_BYTES[1]) return "damaged";\n';

export const SAMPLED_GRAPH: readonly Mistake[] = [
  {
    rule: "an endpoint for updates alone is no graph store, and does not begin the embedded one",
    file: "config.ts",
    before: NO_STORE,
    after: "if (!queryUrl) return undefined;",
    tests: ["config"],
    only: "of a graph store only",
  },
  {
    rule: "an endpoint for graphs alone is no graph store, and does not begin the embedded one",
    file: "config.ts",
    before: NO_STORE,
    after: "if (!queryUrl && !updateUrl) return undefined;",
    tests: ["config"],
    only: "of a graph store only",
  },
  {
    rule: "a graph store without an endpoint for graphs is refused",
    file: "config.ts",
    before: PART_OF_ONE,
    after: "if (!queryUrl || !updateUrl) {",
    tests: ["config"],
    only: "of a graph store only",
  },
  {
    rule: "a graph store without an endpoint for updates is refused",
    file: "config.ts",
    before: PART_OF_ONE,
    after: "if (!queryUrl || !graphStoreUrl) {",
    tests: ["config"],
    only: "of a graph store only",
  },
  {
    rule: "the containers can read their secrets",
    file: "docker/secrets.sh",
    before: "chmod 644 secrets/*\n",
    after: "",
    tests: ["deployment"],
    only: "makes every secret",
  },
  {
    rule: "nobody but their owner writes the secrets",
    file: "docker/secrets.sh",
    before: "chmod 644",
    after: "chmod 666",
    tests: ["deployment"],
    only: "makes every secret",
  },
  {
    rule: "a password has no line end within it",
    file: "docker/secrets.sh",
    before: "tr -d ' \\n'",
    after: "tr -d ' '",
    tests: ["deployment"],
    only: "makes every secret",
  },
  {
    rule: "a lock that is not to be had leaves no file open",
    file: "process/lock.ts",
    before: "    if (performance.now() >= deadline) {\n      file.close();\n",
    after: "    if (performance.now() >= deadline) {\n",
    tests: ["process-parts"],
    only: "leaves no file open",
  },
  {
    rule: "what goes back and then forth goes forth and then back once it is repeated",
    file: "graph/sparql-paths.ts",
    before: "walks.length > 1 || walks[0]!.first !== walks[0]!.last",
    after: "walks.length > 1",
    tests: ["sparql"],
    only: "could follow in a single step",
  },
  {
    rule: "what may be walked both ways goes forth and then back once it is repeated",
    file: "graph/sparql-paths.ts",
    before: "walks.length > 1 || walks[0]!.first !== walks[0]!.last",
    after: "walks[0]!.first !== walks[0]!.last",
    tests: ["sparql"],
    only: "could follow in a single step",
  },
  {
    rule: "a journal of 0.1.0 may end with space that was never written",
    file: "graph/embedded/format.ts",
    before: OLD_SPACE,
    after: "",
    tests: ["graph-parts"],
    only: "of 0.1.0 after which there is only space",
  },
  {
    rule: "space in a journal of 0.1.0 with anything behind it is damage",
    file: "graph/embedded/format.ts",
    before: OLD_SPACE,
    after: OLD_SPACE.replace("damaged", "cut off"),
    tests: ["graph-parts"],
    only: "of 0.1.0 after which there is only space",
  },
  {
    rule: "of a journal with a gap in it what comes before the gap is kept",
    file: "graph/embedded/recovery.ts",
    before: '(offset > 0 ? cutOff(dir, file.name, offset) : setAside(dir, file.name, "orphaned"))',
    after: 'setAside(dir, file.name, "orphaned")',
    tests: ["embedded-store-damage"],
    only: "missing within a journal",
  },
  {
    rule: "the folder of the embedded store is its user's alone",
    file: "graph/embedded/files.ts",
    before: "PRIVATE_DIRECTORY = 0o700",
    after: "PRIVATE_DIRECTORY = 0o750",
    tests: ["embedded-store"],
    only: "of an older version too",
  },
  {
    rule: "a reader that has ended is given to nobody who waits",
    file: "graph/embedded/readers.ts",
    before: "if (reader.gone || this.#retireUsed(reader)) return;",
    after: "if (this.#retireUsed(reader)) return;",
    tests: ["embedded-store-pool"],
    only: "a reader that has ended",
  },
  {
    rule: "a record that is compared counts once on the way",
    file: "admin/graph.ts",
    before: "            progress.advance(records - shown);\n            shown = records;\n",
    after: "            progress.advance(records - shown);\n",
    tests: ["graph-verification"],
    only: "told in words what was compared",
  },
  {
    rule: "a comparison is told how many records there are",
    file: "admin/graph.ts",
    before: "counts.reduce((sum, each) => sum + each, 0)",
    after: "counts.length",
    tests: ["graph-verification"],
    only: "told in words what was compared",
  },
  {
    rule: "who wants no change by a strict import has none",
    file: "admin/vocabulary.ts",
    before:
      "      reportProblems(context, problems, options.strict ?? false);\n" +
      "      const result = await importVocabulary(pool, turtle, names);\n",
    after:
      "      const result = await importVocabulary(pool, turtle, names);\n" +
      "      reportProblems(context, problems, options.strict ?? false);\n",
    tests: ["vocabulary"],
    only: "a concept with a problem is named",
  },
];
