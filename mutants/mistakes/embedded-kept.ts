// What the embedded store tells who asks too early or without a password, and how it writes and sets aside.
import type { Mistake } from "../mistake.ts";

const FRONT = { file: "graph/embedded/front.ts", tests: ["embedded-store"] };
const ENGINE = { file: "graph/embedded/engine.ts", tests: ["embedded-store-engine"] };
const COPY = { file: "graph/embedded/copy.ts", tests: ["embedded-store-pool"] };
const DURABLE = { tests: ["embedded-store-durable"] };

export const EMBEDDED_KEPT: readonly Mistake[] = [
  {
    ...FRONT,
    rule: "who brings no password is told how to bring one",
    before: '{ "www-authenticate": \'Basic realm="graph"\' }',
    after: "{}",
    only: "the user who runs it alone",
  },
  {
    ...FRONT,
    rule: "a store that is starting can be asked again",
    before: 'response.writeHead(503).end("The store is starting.\\n")',
    after: 'response.writeHead(500).end("The store is starting.\\n")',
    only: "is still reading",
  },
  {
    ...DURABLE,
    rule: "changes that wait at the same time share one flush",
    file: "graph/embedded/journal.ts",
    before: "if (this.#waiting.length === 1) void",
    after: "void",
    only: "wait at the same time",
  },
  {
    ...DURABLE,
    rule: "what was cut off is not replaced by what is cut off later",
    file: "graph/embedded/files.ts",
    before: "constants.COPYFILE_EXCL",
    after: "0",
    only: "at the same moment",
  },
  {
    ...DURABLE,
    rule: "what was set aside is not replaced by what is set aside later",
    file: "graph/embedded/files.ts",
    before: "  await link(join(dir, name), join(dir, target));\n",
    after: "  await copyFile(join(dir, name), join(dir, target));\n",
    only: "at the same moment",
  },
  {
    ...ENGINE,
    rule: "an answer goes on when the thread that writes is replaced after a start",
    before: "    engine.#shown = engine.#journal.sequence;\n",
    after: "",
    only: "nothing was written since the start",
  },
  {
    ...ENGINE,
    rule: "a change that is under way is written before the store stops",
    before: "    await writer?.ask(BARRIER, CHANGE_TIMEOUT_MS).catch(() => undefined);\n",
    after: "",
    only: "be written that is under way",
  },
  {
    ...ENGINE,
    rule: "large changes keep snapshots waiting",
    before: "    this.#pace.push(sizeOf(change));\n",
    after: "",
    only: "a large change is a bulk",
  },
  {
    ...ENGINE,
    rule: "three readers are ready while somebody asks",
    before: "const READERS_READY = 3;",
    after: "const READERS_READY = 2;",
    only: "one reader is ready",
  },
  {
    ...ENGINE,
    rule: "one reader is ready while nobody asks",
    before: "const READERS_AT_REST = 1;",
    after: "const READERS_AT_REST = 3;",
    only: "one reader is ready",
  },
  {
    ...ENGINE,
    rule: "there are four readers at most",
    before: "const READERS_AT_MOST = 4;",
    after: "const READERS_AT_MOST = 5;",
    only: "one reader is ready",
  },
  {
    ...ENGINE,
    rule: "only what the engine refuses is taken for damage",
    before: "if (failure.reason instanceof TaskRefused) return tasks[failed]!.at;",
    after: "return tasks[failed]!.at;",
    only: "for want of memory",
  },
  {
    ...ENGINE,
    rule: "a question of the service is answered by a reader that is idle",
    before: "if (!isQuick(question) || this.#readers.idle)",
    after: "if (!isQuick(question))",
    only: "nobody is shown",
  },
  {
    ...ENGINE,
    rule: "a question of the service has its time limit",
    before: "after: 0 }, this.#options.queryTimeoutMs)",
    after: "after: 0 }, CHANGE_TIMEOUT_MS)",
    only: "nobody is shown",
  },
  {
    ...COPY,
    rule: "a large copy has room for half as much again",
    before: "const ROOM_SHARE = 0.5;",
    after: "const ROOM_SHARE = 0.05;",
    only: "has room for",
  },
  {
    ...COPY,
    rule: "what a copy has not taken of its memory is room for changes",
    before: "this.#room = Math.max(room, (left + freeBytes) / MEMORY_PER_BYTE);",
    after: "this.#room = room;",
    only: "has room for",
  },
  {
    ...COPY,
    rule: "what a copy has free of its memory is room for changes",
    before: "(left + freeBytes)",
    after: "left",
    only: "has room for",
  },
  {
    ...COPY,
    rule: "a copy takes two gigabytes at most",
    before: "Math.min(wanted, MOST_MEMORY_BYTES)",
    after: "wanted",
    only: "has room for",
  },
  {
    ...COPY,
    rule: "changes may take what a copy has left, but sixteen megabytes at least",
    before: "Math.max(left, ROOM_BYTES)",
    after: "left",
    only: "is used up when",
  },
  {
    ...COPY,
    rule: "changes may take all that a copy has left",
    before: "Math.max(left, ROOM_BYTES)",
    after: "ROOM_BYTES",
    only: "is used up when",
  },
];
