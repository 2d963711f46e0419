// The embedded store's files are damaged: a bit has flipped, or the end is missing.
import { open, readdir, readFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { Random } from "../random.ts";
import { conclude, fill } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";

const FILES = { journal: /^journal-\d+(\.v\d+)?\.log$/, snapshot: /^snapshot-\d+(\.v\d+)?\.nq$/ };

/** What was done to which file, and the file's bytes afterwards. */
type Damage = { what: string; folder: string; bytes: Buffer; mustBeKept: boolean };

async function* run(trial: Trial): AsyncGenerator<Finding> {
  const { service, random, rounds } = trial;
  for (let round = 1; round <= rounds; round += 1) {
    const log = await fill(trial, trial.seconds * 1000);
    let damage: Damage | undefined;
    await service.whileStoreIsDown(async (folder) => {
      damage = round % 4 === 0 ? await cutOff(folder, random) : await flip(folder, random);
    });
    const { what, mustBeKept, folder, bytes } = damage!;
    const complaints =
      mustBeKept && !(await isKept(folder, bytes)) ? ["the damaged file was not set aside"] : [];
    yield await conclude(trial, what, log, { complaints });
  }
}

async function flip(folder: string, random: Random): Promise<Damage> {
  const { name, path, size } = await choose(folder, random, ["journal", "journal", "snapshot"]);
  const at = random.between(0, size - 1);
  const file = await open(path, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte[0]! ^= 1 << random.between(0, 7);
  await file.write(byte, 0, 1, at);
  await file.close();
  // Damage to the last record of a journal may look like what a crash leaves, which need not be kept.
  const mustBeKept = name.startsWith("snapshot") || at < size / 2;
  return {
    what: `a bit of byte ${at} of ${size}, ${kindOf(name)}`,
    folder,
    bytes: await readFile(path),
    mustBeKept,
  };
}

async function cutOff(folder: string, random: Random): Promise<Damage> {
  const { name, path, size } = await choose(folder, random, ["journal", "snapshot"]);
  const left = random.between(0, size - 1);
  await truncate(path, left);
  const mustBeKept = name.startsWith("snapshot");
  return {
    what: `${left} of ${size} bytes left, ${kindOf(name)}`,
    folder,
    bytes: await readFile(path),
    mustBeKept,
  };
}

/** A file that is not empty, of the kind that was drawn if there is one. */
async function choose(folder: string, random: Random, kinds: (keyof typeof FILES)[]) {
  const wanted = FILES[random.pick(kinds)];
  const names = (await readdir(folder)).filter((name) =>
    Object.values(FILES).some((form) => form.test(name)),
  );
  const files = [];
  for (const name of names) {
    const path = join(folder, name);
    const { size } = await stat(path);
    if (size > 0) files.push({ name, path, size });
  }
  const drawn = files.filter(({ name }) => wanted.test(name));
  return random.pick(drawn.length > 0 ? drawn : files);
}

const kindOf = (name: string) => name.split("-")[0]!;

/** Whether the bytes are still there, under a name that the store does not read. */
async function isKept(folder: string, bytes: Buffer): Promise<boolean> {
  const names = (await readdir(folder)).filter(
    (name) => !Object.values(FILES).some((form) => form.test(name)),
  );
  for (const name of names) {
    const path = join(folder, name);
    if ((await stat(path)).isFile() && (await readFile(path)).equals(bytes)) return true;
  }
  return false;
}

export const damagedFiles: Scenario = {
  name: "damaged-files",
  fault: "a byte of the embedded store's journal or snapshot flips, or its end is missing",
  stores: ["embedded"],
  run,
};
