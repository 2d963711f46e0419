// That what the embedded store has acknowledged is on disk and shown, whatever befalls the thread that writes or its files.
import { copyFile, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { Engine } from "../graph/embedded/engine.ts";
import type { Entry } from "../graph/embedded/format.ts";
import { Journal } from "../graph/embedded/journal.ts";
import { Pace } from "../graph/embedded/pace.ts";
import { ReaderPool } from "../graph/embedded/readers.ts";
import { TaskTooLarge, ThreadGone } from "../graph/embedded/tasks.ts";
import type { Image } from "../graph/embedded/tasks.ts";
import { StoreThread } from "../graph/embedded/thread.ts";
import { readAll } from "../graph/store-http.ts";
import { eventually } from "./support/eventually.ts";
import { question } from "./support/store-question.ts";

const counting = (sequence: number): Entry => ({
  sequence,
  change: { kind: "update", sparql: `INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> ${sequence} } }` },
});
const imageAt = (sequence: number): Image => ({
  sequence,
  quads: new TextEncoder().encode(`<urn:s> <urn:p> "${sequence}" <urn:g> .\n`),
});

let dir: string;
const snapshotAt = (sequence: number) => join(dir, `snapshot-${String(sequence).padStart(16, "0")}.v2.nq`);
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "embedded-readers-"));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(dir, { recursive: true });
});

test("a change is held once it is written, and behind one that was not nothing is written", async () => {
  const journal = new Journal(dir, () => undefined);
  await journal.recover();
  await expect(journal.holds(1)).rejects.toThrow("not on disk");
  const appended = journal.append(counting(1));
  await journal.holds(1);
  await appended;
  await journal.close();
  await expect(journal.append(counting(2))).rejects.toThrow("closed");
  await expect(journal.holds(2)).rejects.toThrow("not on disk");
  await expect(journal.rotate()).rejects.toThrow("closed");
  await expect(journal.append(counting(3))).rejects.toThrow("closed");
  await journal.holds(1);
});

test("after a change that could not be written none is acknowledged until the journal was read again", async () => {
  const journal = new Journal(dir, () => undefined);
  await journal.recover();
  const anyFile = await open(join(dir, "any"), "w");
  await anyFile.close();
  const files = Object.getPrototypeOf(anyFile) as typeof anyFile;
  jest.spyOn(files, "datasync").mockRejectedValueOnce(new Error("The disk is full."));
  await expect(journal.append(counting(1))).rejects.toThrow("full");
  await expect(journal.append(counting(2))).rejects.toThrow("closed");
  await journal.recover();
  await journal.append(counting(2));
  await journal.close();
});

test("a snapshot takes the place of the one before it and of the changes that it has, and of no others", async () => {
  const journal = new Journal(dir, () => undefined);
  await journal.recover();
  for (const [before, after] of [
    [1, 2],
    [3, 4],
  ] as const) {
    await journal.append(counting(before));
    const rotatedAt = await journal.rotate();
    expect(rotatedAt).toBe(before);
    await journal.append(counting(after));
    await journal.keep(imageAt(before), rotatedAt);
    const later = new Journal(dir, () => undefined);
    const { snapshot, entries } = await later.recover();
    await later.close();
    expect([snapshot?.file.after, entries.map(({ sequence }) => sequence)]).toEqual([before, [after]]);
    expect(await readdir(dir)).toHaveLength(2);
  }
  await journal.close();
});

test("a snapshot that comes after the journal was read again, and found damaged, replaces nothing that goes on", async () => {
  const journal = new Journal(dir, () => undefined);
  await journal.recover();
  for (const sequence of [1, 2, 3, 4]) await journal.append(counting(sequence));
  const rotatedAt = await journal.rotate();
  const first = join(dir, (await readdir(dir)).toSorted()[0]!);
  const bytes = await readFile(first);
  bytes[bytes.length - 1]! ^= 1;
  await writeFile(first, bytes);
  await journal.recover();
  for (const sequence of [4, 5]) await journal.append(counting(sequence));
  await journal.keep(imageAt(4), rotatedAt);
  await journal.append(counting(6));
  await journal.close();
  const later = new Journal(dir, () => undefined);
  const { snapshot, entries } = await later.recover();
  await later.close();
  expect([snapshot?.file.after, entries.map(({ sequence }) => sequence)]).toEqual([4, [5, 6]]);
});

test("a journal knows how large it is and what it holds last, of changes that are written together too", async () => {
  const journal = new Journal(dir, () => undefined);
  await journal.recover();
  expect(journal.sizes).toEqual({ journal: 0, snapshot: 0 });
  await Promise.all([1, 2, 3].map((sequence) => journal.append(counting(sequence))));
  expect(journal.sequence).toBe(3);
  const size = async (name: string) => (await stat(join(dir, name))).size;
  const journalBytes = await size((await readdir(dir))[0]!);
  expect(journal.sizes).toEqual({ journal: journalBytes, snapshot: 0 });
  const rotatedAt = await journal.rotate();
  expect(rotatedAt).toBe(3);
  await journal.append(counting(4));
  await journal.keep(imageAt(3), rotatedAt);
  const left = { journal: await size("journal-0000000000000003.v2.log"), snapshot: imageAt(3).quads.length };
  expect(journal.sizes).toEqual(left);
  await journal.close();
  const later = new Journal(dir, () => undefined);
  await later.recover();
  expect([later.sizes, later.sequence]).toEqual([left, 4]);
  await later.close();
});

test("of two snapshots the newer one counts", async () => {
  const journal = new Journal(dir, () => undefined);
  await journal.recover();
  for (const sequence of [1, 2]) {
    await journal.append(counting(sequence));
    await journal.keep(imageAt(sequence), await journal.rotate());
    // As a crash leaves it before the older one is deleted.
    if (sequence === 1) await copyFile(snapshotAt(1), join(dir, "kept"));
  }
  await copyFile(join(dir, "kept"), snapshotAt(1));
  await journal.close();
  const later = new Journal(dir, () => undefined);
  const { snapshot, entries } = await later.recover();
  await later.close();
  expect([snapshot?.file.after, entries]).toEqual([2, []]);
});

test("a journal that no other can follow is written on", async () => {
  const journal = new Journal(dir, () => undefined);
  await journal.recover();
  await journal.append(counting(1));
  const inTheWay = join(dir, "journal-0000000000000001.v2.log");
  await mkdir(inTheWay);
  await expect(journal.rotate()).rejects.toThrow("EISDIR");
  await journal.append(counting(2));
  await journal.close();
  await rm(inTheWay, { recursive: true });
  const later = new Journal(dir, () => undefined);
  const { entries } = await later.recover();
  await later.close();
  expect(entries.map(({ sequence }) => sequence)).toEqual([1, 2]);
});

describe("and an engine", () => {
  let engine: Engine;
  let warnings: string[];
  beforeEach(async () => {
    warnings = [];
    engine = await Engine.open({ dir, queryTimeoutMs: 60_000, warn: (message) => warnings.push(message) });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await engine.stop();
  });

  const insert = (value: number) =>
    engine.change({
      kind: "update",
      sparql: `INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> ${value} } }`,
    });
  const numbers = Array.from({ length: 100 }, (_, i) => i).join(" ");
  /** 10,000 lines: more than may be on their way at once. */
  const LONG = question(
    `SELECT * { <urn:s> <urn:p> ?o VALUES ?a { ${numbers} } VALUES ?b { ${numbers} }
      VALUES ?d { "${"x".repeat(200)}" } }`,
  );
  const linesOf = async (answer: Readable) => (await readAll(answer)).trim().split("\r\n").length;

  test.each([
    [
      "breaks",
      () =>
        engine.change({
          kind: "update",
          sparql: `DELETE {} WHERE { ${"{".repeat(5_000)}${"}".repeat(5_000)} }`,
        }),
    ],
    [
      "has what could not be written",
      () => {
        jest.spyOn(Journal.prototype, "append").mockRejectedValueOnce(new Error("The disk is full."));
        return insert(2);
      },
    ],
  ])(
    "an answer that has begun goes on when the thread that writes %s, for nothing was lost",
    async (_, harm) => {
      await insert(1);
      const answer = (await engine.ask(LONG)) as Readable;
      expect(answer).toBeInstanceOf(Readable);
      const recovered = jest.spyOn(Journal.prototype, "recover");
      await expect(harm()).rejects.toThrow();
      await insert(3);
      expect(recovered).toHaveBeenCalledTimes(1);
      expect(await linesOf(answer)).toBe(1 + 10_000);
      expect(await linesOf((await engine.ask(LONG)) as Readable)).toBe(1 + 20_000);
    },
  );

  const reopen = async () => {
    await engine.stop();
    engine = await Engine.open({ dir, queryTimeoutMs: 60_000, warn: () => undefined });
  };

  test("an answer that has begun goes on also where nothing was written since the start", async () => {
    await insert(1);
    await reopen();
    const answer = (await engine.ask(LONG)) as Readable;
    jest.spyOn(Journal.prototype, "append").mockRejectedValueOnce(new Error("The disk is full."));
    await expect(insert(2)).rejects.toThrow("could not be written");
    await insert(3);
    expect(await linesOf(answer)).toBe(1 + 10_000);
  });

  test("who stops lets a change be written that is under way", async () => {
    const changing = insert(1);
    await reopen();
    await changing;
    expect(await linesOf((await engine.ask(LONG)) as Readable)).toBe(1 + 10_000);
  });

  test("a large change is a bulk, and a snapshot waits for its end", async () => {
    const sizes = jest.spyOn(Journal.prototype, "sizes", "get");
    const rotated = jest.spyOn(Journal.prototype, "rotate");
    sizes.mockReturnValue({ journal: 33 * 1024 * 1024, snapshot: 0 });
    await engine.change({ kind: "update", sparql: `INSERT DATA { } #${"x".repeat(200_000)}` });
    sizes.mockReturnValue({ journal: 0, snapshot: 0 });
    expect(rotated).not.toHaveBeenCalled();
  });

  test("one reader is ready at first, three once somebody has asked, and four at most", async () => {
    await insert(1);
    const asked = jest.spyOn(StoreThread.prototype, "ask");
    const images = () => asked.mock.calls.filter(([{ kind }]) => kind === "dump").length;
    await reopen();
    // The service's own questions are none of theirs.
    await engine.ask(question("ASK {}", true));
    expect(images()).toBe(1);
    const held = [(await engine.ask(LONG)) as Readable];
    await eventually(() => expect(images()).toBe(3));
    for (let i = 0; i < 3; i += 1) held.push((await engine.ask(LONG)) as Readable);
    const waiting = engine.ask(LONG);
    await turn();
    expect(images()).toBe(4);
    held[0]!.destroy();
    held.push((await waiting) as Readable);
    for (const answer of held) answer.destroy();
  });

  test("files that could not be loaded for want of memory are left as they are, and what there was of a store is given back", async () => {
    await insert(1);
    await engine.stop();
    const before = await readdir(dir);
    const ask = jest.spyOn(StoreThread.prototype, "ask");
    ask.mockRejectedValueOnce(new TaskTooLarge("No memory is left."));
    const opening = Engine.open({ dir, queryTimeoutMs: 60_000, warn: () => undefined });
    const outcome = await opening.then(
      (opened) => opened.stop(),
      (error: Error) => error.message,
    );
    const threads = new Set(ask.mock.contexts as StoreThread[]);
    const left = [...threads].filter(({ gone }) => !gone);
    for (const thread of left) thread.end();
    expect(outcome).toBe("No memory is left.");
    expect([threads.size, left]).toEqual([1, []]);
    expect(await readdir(dir)).toEqual(before);
  });

  test("what was acknowledged and is lost from disk is shown no more once the journal was read again", async () => {
    await insert(1);
    await insert(2);
    const [name] = (await readdir(dir)).filter((each) => each.startsWith("journal-"));
    const bytes = await readFile(join(dir, name!));
    bytes[bytes.length - 1]! ^= 1;
    await writeFile(join(dir, name!), bytes);
    jest.spyOn(Journal.prototype, "append").mockRejectedValueOnce(new Error("The disk is full."));
    await expect(insert(3)).rejects.toThrow("could not be written");
    await insert(4);
    const answer = await engine.ask(question("SELECT ?o { <urn:s> <urn:p> ?o } ORDER BY ?o"));
    expect(new TextDecoder().decode(answer as Uint8Array)).toBe("o\r\n1\r\n4\r\n");
    expect(warnings).toEqual([expect.stringContaining("damaged from byte")]);
  });

  test("a change is told that the store is gone, and not that it is at fault, while the files cannot be read", async () => {
    await insert(1);
    jest.spyOn(Journal.prototype, "append").mockRejectedValueOnce(new Error("The disk is full."));
    const recovering = jest
      .spyOn(Journal.prototype, "recover")
      .mockRejectedValueOnce(new TaskTooLarge("No memory is left."));
    await expect(insert(2)).rejects.toThrow("could not be written");
    await expect(insert(3)).rejects.toThrow(ThreadGone);
    await expect(insert(3)).rejects.toThrow("No memory is left.");
    await eventually(() => expect(recovering).toHaveBeenCalledTimes(2));
    await insert(4);
  });

  test("a change is not written when the thread that took it has ended: its successor has not taken it", async () => {
    await insert(1);
    // oxlint-disable-next-line typescript/unbound-method -- it is called as what it was
    const { ask } = StoreThread.prototype;
    const asked = jest.spyOn(StoreThread.prototype, "ask").mockImplementation(async function (
      this: StoreThread,
      ...[task, ...rest]
    ) {
      const answer = await ask.call(this, task, ...rest);
      if (task.kind === "change" && !task.checked) this.end();
      return answer;
    });
    await expect(insert(2)).rejects.toThrow(ThreadGone);
    asked.mockRestore();
    await insert(3);
    const answer = await engine.ask(question("SELECT ?o { <urn:s> <urn:p> ?o } ORDER BY ?o"));
    expect(new TextDecoder().decode(answer as Uint8Array)).toBe("o\r\n1\r\n3\r\n");
  });

  test("who stops waits for the snapshot that is being written", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const sizes = jest.spyOn(Journal.prototype, "sizes", "get");
    sizes.mockReturnValue({ journal: 33 * 1024 * 1024, snapshot: 0 });
    const keep = jest.spyOn(Journal.prototype, "keep").mockImplementationOnce(() => gate);
    await insert(1);
    await eventually(() => expect(keep).toHaveBeenCalledTimes(1));
    sizes.mockReturnValue({ journal: 0, snapshot: 0 });
    const closed = jest.spyOn(Journal.prototype, "close");
    const stopping = engine.stop();
    try {
      // Time for whoever does not wait.
      for (let i = 0; i < 200; i += 1) await stat(dir);
      expect(closed).not.toHaveBeenCalled();
    } finally {
      open();
    }
    await stopping;
    expect(closed).toHaveBeenCalledTimes(1);
  });

  test("who stops starts no other thread in the place of the one that writes", async () => {
    // One that was begun would keep the process.
    const recovered = jest.spyOn(Journal.prototype, "recover").mockRejectedValue(new Error("stopped"));
    await engine.stop();
    expect(recovered).not.toHaveBeenCalled();
  });

  test("a snapshot waits while changes come in bulk, until there is time or there are three times as many", async () => {
    const calm = jest.spyOn(Pace.prototype, "isCalm", "get").mockReturnValue(false);
    const sizes = jest.spyOn(Journal.prototype, "sizes", "get");
    const megabytes = (journal: number) =>
      sizes.mockReturnValue({ journal: journal * 1024 * 1024, snapshot: 0 });
    const keep = jest.spyOn(Journal.prototype, "keep").mockResolvedValue();
    const rotated = jest.spyOn(Journal.prototype, "rotate");
    megabytes(95);
    await insert(1);
    expect(rotated).not.toHaveBeenCalled();
    megabytes(96);
    await insert(2);
    expect(rotated).toHaveBeenCalledTimes(1);
    await eventually(() => expect(keep).toHaveBeenCalledTimes(1));
    await turn();
    megabytes(95);
    await insert(3);
    expect(rotated).toHaveBeenCalledTimes(1);
    calm.mockReturnValue(true);
    // Without another change.
    await eventually(() => expect(keep).toHaveBeenCalledTimes(2));
    megabytes(0);
  });

  test("there is one snapshot at a time, and of a large store none before as much has changed", async () => {
    const sizes = jest.spyOn(Journal.prototype, "sizes", "get");
    const megabytes = (journal: number, snapshot: number) =>
      sizes.mockReturnValue({ journal: journal * 1024 * 1024, snapshot: snapshot * 1024 * 1024 });
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const keep = jest.spyOn(Journal.prototype, "keep").mockReturnValue(gate);
    const rotated = jest.spyOn(Journal.prototype, "rotate");
    try {
      megabytes(99, 100);
      await insert(1);
      expect(rotated).not.toHaveBeenCalled();
      megabytes(100, 100);
      await insert(2);
      await eventually(() => expect(keep).toHaveBeenCalledTimes(1));
      await insert(3);
      expect(rotated).toHaveBeenCalledTimes(1);
    } finally {
      open();
      megabytes(0, 0);
    }
  });

  test("a snapshot is written by whoever stops once there are changes of a megabyte, for the next start", async () => {
    const sizes = jest.spyOn(Journal.prototype, "sizes", "get");
    const keep = jest.spyOn(Journal.prototype, "keep");
    await insert(1);
    sizes.mockReturnValue({ journal: 1024 * 1024, snapshot: 0 });
    await engine.stop();
    expect(keep).not.toHaveBeenCalled();
    engine = await Engine.open({ dir, queryTimeoutMs: 60_000, warn: () => undefined });
    sizes.mockReturnValue({ journal: 1024 * 1024 + 1, snapshot: 0 });
    await engine.stop();
    expect(keep).toHaveBeenCalledTimes(1);
    expect((await readdir(dir)).filter((name) => name.startsWith("snapshot-"))).toHaveLength(1);
  });

  test("who stops has stopped although no snapshot could be written, and leaves no thread", async () => {
    jest.spyOn(Journal.prototype, "sizes", "get").mockReturnValue({ journal: 1024 * 1024 + 1, snapshot: 0 });
    const keep = jest.spyOn(Journal.prototype, "keep").mockRejectedValue(new Error("The disk is full."));
    const closed = jest.spyOn(Journal.prototype, "close");
    const [asked, ended] = [
      jest.spyOn(StoreThread.prototype, "ask"),
      jest.spyOn(StoreThread.prototype, "end"),
    ];
    await insert(1);
    await engine.stop();
    expect([keep.mock.calls.length, closed.mock.calls.length]).toEqual([1, 1]);
    // Last of all the one that writes is asked whether it is done.
    expect(ended.mock.contexts).toContain(asked.mock.contexts.at(-1));
  });

  test("a snapshot that could not be written is told of, and not tried again at every change", async () => {
    const megabytes = (journal: number) =>
      sizes.mockReturnValue({ journal: journal * 1024 * 1024, snapshot: 0 });
    const sizes = jest.spyOn(Journal.prototype, "sizes", "get");
    const rotated = jest.spyOn(Journal.prototype, "rotate");
    const keep = jest.spyOn(Journal.prototype, "keep").mockRejectedValue(new Error("The disk is full."));
    megabytes(31);
    await insert(1);
    expect(rotated).not.toHaveBeenCalled();
    megabytes(33);
    await insert(2);
    await eventually(() => expect(warnings).toHaveLength(1));
    expect(warnings[0]).toMatch("no snapshot could be written, and the journal grows: The disk is full.");
    megabytes(64);
    await insert(3);
    expect(rotated).toHaveBeenCalledTimes(1);
    megabytes(66);
    keep.mockResolvedValue();
    await insert(4);
    await eventually(() => expect(keep).toHaveBeenCalledTimes(2));
    await turn();
    // From here on as ever.
    megabytes(33);
    await insert(5);
    expect(rotated).toHaveBeenCalledTimes(3);
    megabytes(0);
  });
});

test("nobody is shown what is not on disk, by the thread that writes neither", async () => {
  const engine = await Engine.open({ dir, queryTimeoutMs: 60_000, warn: () => undefined });
  try {
    const insert = (value: number) =>
      engine.change({
        kind: "update",
        sparql: `INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> ${value} } }`,
      });
    const values = async () => {
      const answer = await engine.ask(question("SELECT ?o { <urn:s> <urn:p> ?o } ORDER BY ?o", true));
      return new TextDecoder()
        .decode(answer as Uint8Array)
        .trim()
        .split("\r\n")
        .slice(1);
    };
    const pooled = jest.spyOn(ReaderPool.prototype, "ask");
    const idle = jest.spyOn(ReaderPool.prototype, "idle", "get").mockReturnValue(true);
    expect(await values()).toEqual([]);
    expect(pooled).toHaveBeenCalledTimes(1);
    idle.mockReturnValue(false);
    const asked = jest.spyOn(StoreThread.prototype, "ask");
    await insert(1);
    const [writer] = asked.mock.contexts;
    asked.mockClear();
    expect(await values()).toEqual(["1"]);
    // The thread that writes has nothing to catch up with, as a copy may have just now.
    const ofWriter = asked.mock.calls.filter((_, i) => asked.mock.contexts[i] === writer);
    expect(ofWriter.map(([task, timeoutMs]) => [task.kind, timeoutMs])).toEqual([["query", 60_000]]);
    const { promise, reject } = Promise.withResolvers<void>();
    const append = jest.spyOn(Journal.prototype, "append").mockReturnValue(promise);
    const inserting = insert(2);
    await eventually(() => expect(append).toHaveBeenCalledTimes(1));
    expect(await values()).toEqual(["1"]);
    reject(new Error("The disk is full."));
    await expect(inserting).rejects.toThrow("could not be written");
    append.mockRestore();
    await insert(3);
    expect(await values()).toEqual(["1", "3"]);
  } finally {
    await engine.stop();
  }
});
