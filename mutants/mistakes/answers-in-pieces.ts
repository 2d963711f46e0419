// Long answers, which are read and written piece by piece, and batches of the tool endpoint.
import type { Mistake } from "../mistake.ts";

const ANSWER = { file: "server/rest/answer.ts", tests: ["answer-pieces"] };
const UNREAD = { tests: ["identity-parts"], only: "still to be written" };
const READ = { file: "server/mcp/church-tool.ts", tests: ["mcp-answers"] };
const DOOR = { file: "server/mcp/door.ts", tests: ["mcp-answers"] };

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
  {
    ...READ,
    rule: "others have a turn while a page is read",
    before: "    await setImmediate();\n",
    after: "",
    only: "that is read",
  },
  {
    ...DOOR,
    rule: "others have a turn between the messages of a batch",
    before: "    await setImmediate();\n",
    after: "",
    only: "each message of a batch",
  },
  {
    ...DOOR,
    rule: "two batches of a key are made at a time",
    before: "perCaller: 2,",
    after: "perCaller: 3,",
    only: "two batches of a key",
  },
  {
    ...DOOR,
    rule: "the turn of a batch lasts until its answer has been handed over",
    before: "await send(response, await answer(request.body, caller));",
    after:
      "const made = await answer(request.body, caller); giveBack?.(); giveBack = undefined; await send(response, made);",
    only: "two batches of a key",
  },
  {
    ...DOOR,
    rule: "a message by itself waits for no batch",
    before: "  return Array.isArray(body) ?",
    after: "  if (!Array.isArray(body)) await caller.takeTurn();\n  return Array.isArray(body) ?",
    only: "two batches of a key",
  },
  {
    ...DOOR,
    rule: "a batch gives its turn back, however it ends",
    before: "      } finally {\n        giveBack?.();\n      }",
    after: "        giveBack?.();\n      } catch (error) {\n        throw error;\n      }",
    only: "leaves out",
  },
  {
    ...DOOR,
    rule: "a batch whose caller hangs up while it waits is not made",
    before: "turns.take(identity.id, identity.gone)",
    after: "turns.take(identity.id)",
    only: "leaves out",
  },
  {
    ...DOOR,
    rule: "twenty batches of a key wait",
    before: "queuePerCaller: 20,",
    after: "queuePerCaller: 19,",
    only: "twenty batches",
  },
  {
    ...DOOR,
    rule: "that a caller has hung up is no failure in the log",
    before: "if (!(told.cause instanceof CallerGone))",
    after: "",
    only: "nothing in the log",
  },
  {
    ...DOOR,
    rule: "of a batch whose caller has hung up no more is done",
    before: "    if (caller.gone?.aborted) throw new CallerGone();\n",
    after: "",
    only: "nothing in the log",
  },
];
