// Long answers, which are written piece by piece.
import type { Mistake } from "../mistake.ts";

const ANSWER = { file: "server/rest/answer.ts", tests: ["answer-pieces"] };
const UNREAD = { tests: ["identity-parts"], only: "still to be written" };

export const ANSWERS_IN_PIECES: readonly Mistake[] = [
  {
    ...ANSWER,
    rule: "an answer in pieces says how long it is",
    before: '  response.set("content-length", String(bytes));\n',
    after: "",
    only: "how many bytes",
  },
  {
    ...ANSWER,
    rule: "an answer in pieces counts its bytes, not its characters",
    before: "(sum, piece) => sum + Buffer.byteLength(piece)",
    after: "(sum, piece) => sum + piece.length",
    only: "how many bytes",
  },
  {
    ...ANSWER,
    rule: "others have a turn while a long answer is written",
    before: "    response.write(piece);\n    await setImmediate();\n",
    after: "    response.write(piece);\n",
    only: "that is written",
  },
  {
    ...ANSWER,
    rule: "a page that breaks off gives back what its maker holds",
    before: "      await all.return?.();\n",
    after: "",
    only: "breaks off",
  },
  {
    ...UNREAD,
    rule: "what is still to be written of an answer counts as unread",
    file: "server/rest/answer.ts",
    before: "    noteUnwritten(response, bytes);\n",
    after: "",
  },
  {
    ...UNREAD,
    rule: "what has been written of an answer is not counted twice",
    file: "server/rest/answer.ts",
    before: "    bytes -= Buffer.byteLength(piece);\n",
    after: "",
  },
  {
    ...UNREAD,
    rule: "a limit on unread answers sees what is still to be written",
    file: "server/identity/undelivered.ts",
    before: " + (unwritten.get(answer) ?? 0)",
    after: "",
  },
];
