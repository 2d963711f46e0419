// How much of a request is read.
import type { Mistake } from "../mistake.ts";

const BODIES = { file: "server/bodies.ts", tests: ["long-bodies"] };

export const BODIES_READ: readonly Mistake[] = [
  {
    ...BODIES,
    rule: "a body may come in 5,000 pieces",
    before: "pieces > MOST_PIECES",
    after: "pieces >= MOST_PIECES",
    only: "pieces is answered",
  },
  {
    ...BODIES,
    rule: "and in no more",
    before: "const MOST_PIECES = 5_000;",
    after: "const MOST_PIECES = 5_001;",
    only: "pieces is answered",
  },
  {
    ...BODIES,
    rule: "the end of a body is no piece of it",
    before: "if (piece !== null) pieces += 1;",
    after: "pieces += 1;",
    only: "pieces is answered",
  },
  {
    ...BODIES,
    rule: "one MiB is read",
    before: "before > MOST_BYTES",
    after: "before >= MOST_BYTES",
    only: "is too long; that the connection",
  },
  {
    ...BODIES,
    rule: "and no more than that",
    before: "const MOST_BYTES = 1_048_576;",
    after: "const MOST_BYTES = 1_048_577;",
    only: "is too long; that the connection",
  },
  {
    ...BODIES,
    rule: "each request over a connection is measured for itself",
    before: "socket.bytesRead - before >",
    after: "socket.bytesRead >",
    only: "is too long; that the connection",
  },
  {
    ...BODIES,
    rule: "of who was refused for something else, as much is read",
    before: "length <= MOST_BYTES &&",
    after: "length < MOST_BYTES &&",
    only: "from nobody",
  },
  {
    ...BODIES,
    rule: "what does not say how long it is is not read after the answer",
    before: "const isShort = !isChunked && length",
    after: "const isShort = length",
    only: "refused for something else",
  },
  {
    ...BODIES,
    rule: "whoever sends too many pieces is told so",
    before: "} else refuse();",
    after: "}",
    only: "pieces is answered",
  },
  {
    ...BODIES,
    rule: "each door says in its own form that a body is too long",
    before: "    if (isLong) {",
    after: "    if (!request) {",
    tests: ["graphql-errors"],
    only: "10 MB answers",
  },
  {
    ...BODIES,
    rule: "an answer after which nothing is read is the last on its connection",
    before: "    response.shouldKeepAlive = false;\n",
    after: "",
    only: "at /graphql in large",
  },
  {
    ...BODIES,
    rule: "nothing is read of what is not wanted",
    before: "request.socket.pause();\n",
    after: "",
    only: "in pieces is answered",
    survives: "it is what makes it cheap: the answers are the same",
  },
  {
    rule: "the last answer on a connection can be read, whatever has come after it",
    file: "server/listener.ts",
    before: "if (isWhole && !isUnread(socket)) destroySoon();",
    after: "if (isWhole) destroySoon();",
    tests: ["long-bodies"],
    only: "ended so that this can be read",
  },
  {
    rule: "who sends on after the answer is left",
    file: "server/listener.ts",
    before: "close: () => endSoon(socket),",
    after: "close: () => undefined,",
    tests: ["long-bodies"],
    only: "refused for something else",
  },
];
