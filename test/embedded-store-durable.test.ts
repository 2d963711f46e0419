// That a machine which loses its power at any moment finds its graph again: nothing of the embedded store is deleted or
// cut off before what takes its place is on the disk, by its content and by its name.
import { mkdtemp, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { cutOff, nameOf, setAside } from "../graph/embedded/files.ts";
import { snapshotHeader } from "../graph/embedded/format.ts";
import { Journal } from "../graph/embedded/journal.ts";

const [BEFORE, AFTER] = [nameOf("journal", 0), nameOf("journal", 1)];
const SNAPSHOT = nameOf("snapshot", 1);

let dir: string;
/** What was in the folder, with the sizes, each time that the disk was told to keep something. */
let kept: Record<string, number>[];
/** What was told to, each time. */
let told: FileHandle[];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "embedded-durable-"));
  const anyFile = await open(join(dir, "any"), "w");
  await anyFile.close();
  await rm(join(dir, "any"));
  kept = [];
  told = [];
  const files = Object.getPrototypeOf(anyFile) as typeof anyFile;
  jest.spyOn(files, "sync").mockImplementation(async function (this: FileHandle) {
    told.push(this);
    kept.push(await sizes());
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(dir, { recursive: true });
});

async function sizes(): Promise<Record<string, number>> {
  const names = await readdir(dir);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, (await stat(join(dir, name))).size] as const)),
  );
}
const namesOf = (listing: Record<string, number> | undefined) => Object.keys(listing ?? {}).toSorted();

async function openJournal(): Promise<Journal> {
  const journal = new Journal(dir, () => undefined);
  await journal.recover();
  return journal;
}
const append = (journal: Journal, sequence: number) =>
  journal.append({
    sequence,
    change: { kind: "update", sparql: `INSERT DATA { <urn:s> <urn:p> ${sequence} }` },
  });

test("a journal has its name before changes are written to it", async () => {
  const journal = await openJournal();
  expect(kept.map(namesOf)).toEqual([[BEFORE]]);
  await append(journal, 1);
  kept.length = 0;
  await journal.rotate();
  expect(kept.map(namesOf)).toEqual([[BEFORE, AFTER]]);
  await journal.close();
});

test("changes that wait at the same time are told to the disk once", async () => {
  const journal = await openJournal();
  const anyFile = await open(join(dir, BEFORE));
  const flushed = jest.spyOn(Object.getPrototypeOf(anyFile) as typeof anyFile, "datasync");
  await anyFile.close();
  await Promise.all([1, 2, 3].map((sequence) => append(journal, sequence)));
  // Whatever else was to be told is told before it closes.
  await journal.close();
  expect(flushed).toHaveBeenCalledTimes(1);
});

test("a change that comes while another is told to the disk is not taken for one that is there", async () => {
  const journal = await openJournal();
  const anyFile = await open(join(dir, BEFORE));
  const files = Object.getPrototypeOf(anyFile) as typeof anyFile;
  await anyFile.close();
  let second: Promise<void> | undefined;
  jest.spyOn(files, "datasync").mockImplementationOnce(async () => {
    second = append(journal, 2);
  });
  await append(journal, 1);
  await second;
  await journal.close();
  const { entries } = await new Journal(dir, () => undefined).recover();
  expect(entries.map(({ sequence }) => sequence)).toEqual([1, 2]);
});

test("a snapshot is whole, and then has its name, before the changes go that it holds", async () => {
  const journal = await openJournal();
  await append(journal, 1);
  const rotatedAt = await journal.rotate();
  kept.length = 0;
  const quads = new TextEncoder().encode("<urn:s> <urn:p> 1 <urn:g> .\n");
  await journal.keep({ sequence: 1, quads }, rotatedAt);
  expect(kept.map(namesOf)).toEqual([
    [BEFORE, AFTER, `${SNAPSHOT}.part`],
    [BEFORE, AFTER, SNAPSHOT],
  ]);
  expect(kept[0]![`${SNAPSHOT}.part`]).toBe(snapshotHeader(quads).length + quads.length);
  expect(namesOf(await sizes())).toEqual([AFTER, SNAPSHOT]);
  await journal.close();
});

test("a snapshot is for the user who runs the store alone, as is what it takes the place of", async () => {
  const journal = await openJournal();
  await append(journal, 1);
  const rotatedAt = await journal.rotate();
  await journal.keep(
    { sequence: 1, quads: new TextEncoder().encode("<urn:s> <urn:p> 1 <urn:g> .\n") },
    rotatedAt,
  );
  await journal.close();
  const modes = await Promise.all(
    [AFTER, SNAPSHOT].map(async (name) => ((await stat(join(dir, name))).mode & 0o777).toString(8)),
  );
  expect(modes).toEqual(["600", "600"]);
});

test("what is damaged is kept whole before it is cut off, under a name that is kept as well", async () => {
  await writeFile(join(dir, BEFORE), "0123456789");
  const copy = await cutOff(dir, BEFORE, 4);
  const whole = { [BEFORE]: 10, [copy]: 10 };
  expect(kept).toEqual([whole, whole, { ...whole, [BEFORE]: 4 }]);
});

test("what is set aside has its new name, and no other", async () => {
  await writeFile(join(dir, BEFORE), "0123456789");
  const copy = await setAside(dir, BEFORE, "orphaned");
  expect(copy).toMatch(/^journal-0{16}\.v2\.log\.orphaned-\d+T\d+Z$/);
  expect(kept).toEqual([{ [copy]: 10 }]);
});

test.each([
  ["cut off", (name: string) => cutOff(dir, name, 4)],
  ["set aside", (name: string) => setAside(dir, name, "damaged")],
])("what is %s at the same moment as another takes the place of nothing", async (_, takeAway) => {
  jest.useFakeTimers({ now: 0, doNotFake: ["nextTick", "setImmediate", "queueMicrotask"] });
  try {
    await writeFile(join(dir, BEFORE), "0123456789");
    const copy = await takeAway(BEFORE);
    await writeFile(join(dir, BEFORE), "another");
    await expect(takeAway(BEFORE)).rejects.toThrow("EEXIST");
    expect(await sizes()).toEqual({ [BEFORE]: 7, [copy]: 10 });
  } finally {
    jest.useRealTimers();
  }
});

test("whatever the disk was told to keep is closed in the end, so that a store which writes for years runs out of nothing", async () => {
  const folder = await open(dir);
  // Of the changes themselves the disk is told another way.
  jest.spyOn(Object.getPrototypeOf(folder) as FileHandle, "datasync").mockImplementation(async function (
    this: FileHandle,
  ) {
    told.push(this);
    return Promise.resolve();
  });
  await folder.close();
  const journal = await openJournal();
  await append(journal, 1);
  // As each time that the thread which writes is replaced.
  await journal.recover();
  const quads = new TextEncoder().encode("<urn:s> <urn:p> 1 <urn:g> .\n");
  await journal.keep({ sequence: 1, quads }, await journal.rotate());
  await journal.close();
  await cutOff(dir, AFTER, 0);
  await setAside(dir, AFTER, "orphaned");
  expect(told.length).toBeGreaterThan(8);
  expect(told.filter(({ fd }) => fd !== -1)).toEqual([]);
});
