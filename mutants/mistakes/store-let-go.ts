// What a client of a graph store keeps and lets go: places, connections, and what is being sent.
import type { Mistake } from "../mistake.ts";

const HTTP = { file: "graph/store-http.ts" };
const ANSWERS = { tests: ["store-answers"] };

export const STORE_LET_GO: readonly Mistake[] = [
  {
    ...ANSWERS,
    rule: "an answer that was cut off is told of, whatever it would be as a whole",
    file: "graph/store.ts",
    before: "if (Buffer.byteLength(text) >= most) {",
    after: "if (Buffer.byteLength(text) > most) {",
    only: "without end",
  },
  {
    ...HTTP,
    ...ANSWERS,
    rule: "an engine has a second to see that it has been left",
    before: "    isOver(ENDING_MS);\n    given.abort(error);",
    after: "    isOver(0);\n    given.abort(error);",
    only: "a second after that",
  },
  {
    ...HTTP,
    ...ANSWERS,
    rule: "an engine has a second to see that nobody reads on",
    before: "isOver(incoming.readableEnded ? 0 : ENDING_MS);",
    after: "isOver(0);",
    only: "a second after that",
  },
  {
    ...HTTP,
    ...ANSWERS,
    rule: "a connection that is lost before the answer tells nothing either",
    before: "    if (hasNotConnected(error)) isOver(0);\n    else isLost();",
    after: "    isOver(0);",
    only: "connection is lost",
  },
  {
    ...HTTP,
    ...ANSWERS,
    rule: "a store has a second to end what it has had its time for",
    before: "performance.now() + timeoutMs + ENDING_MS;",
    after: "performance.now() + timeoutMs;",
    only: "connection is lost",
  },
  {
    ...HTTP,
    ...ANSWERS,
    rule: "a place belongs to what was sent last",
    before:
      "current = attempt(url, outgoing, { ...conditions, timeoutMs: conditions.timeoutMs - spent });\n        return await current.answer;",
    after:
      "return await attempt(url, outgoing, { ...conditions, timeoutMs: conditions.timeoutMs - spent }).answer;",
    only: "sent again",
  },
  {
    ...HTTP,
    rule: "what is being sent is let go when nobody takes it",
    before: "return pipeline(source, upload, () => undefined);",
    after: "return source.pipe(upload);",
    tests: ["store-let-go"],
  },
  {
    ...HTTP,
    rule: "who closes a client does not wait for what it has under way",
    before: "close: () => void agent.destroy(),",
    after: "close: () => void agent.close(),",
    tests: ["store-let-go"],
  },
  {
    ...ANSWERS,
    rule: "the embedded store does not read a graph for nobody",
    file: "graph/embedded/http.ts",
    before: 'engine.ask({ kind: "graph", graph, type }, signal);',
    after: 'engine.ask({ kind: "graph", graph, type });',
    only: "lets go of a graph",
  },
  {
    ...ANSWERS,
    rule: "a query may see named graphs alone, and then no others",
    file: "graph/embedded/http.ts",
    before: "if (defaultGraphs.length + namedGraphs.length > 0) return",
    after: "if (defaultGraphs.length > 0) return",
    only: "for the graphs of a query",
  },
  {
    rule: "a value with the end of a line of some systems in it is quoted",
    file: "graph/embedded/solutions.ts",
    before: '/[",\\r\\n]/.test(cell)',
    after: '/[",\\n]/.test(cell)',
    tests: ["embedded-stream"],
    only: "would end a value",
  },
  {
    rule: "an answer that cannot be finished breaks off",
    file: "graph/embedded/readers.ts",
    before: "answer.then(complete, (error: Error) => pieces.destroy(error));",
    after: "answer.then(complete, () => undefined);",
    tests: ["embedded-store-pool"],
    only: "breaks off an answer",
  },
  {
    rule: "a journal that is read again keeps no file open beside the one that it goes on with",
    file: "graph/embedded/journal.ts",
    before: "      await this.#file?.close();\n      this.#file = undefined;\n      await mkdir",
    after: "      this.#file = undefined;\n      await mkdir",
    tests: ["embedded-store-durable"],
    only: "closed in the end",
  },
];
