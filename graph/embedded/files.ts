// The names of the store's files. Each is named after the number of the last change before it, so which
// changes it holds never depends on when it was written.
import { constants, copyFile, link, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Version } from "./format.ts";

/** For the user who runs the service only: part of what the graph holds is not public. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_DIRECTORY = 0o700;

export interface StoreFile {
  name: string;
  kind: "journal" | "snapshot";
  /** the last change before it */
  after: number;
  version: Version;
}

const NAME = /^(journal|snapshot)-(\d{16})(\.v2)?\.(?:log|nq)$/;

/** The suffix of a file that is being written, which is useless once its writer is gone. */
export const UNFINISHED = ".part";

export function nameOf(kind: StoreFile["kind"], after: number): string {
  return `${kind}-${String(after).padStart(16, "0")}.v2.${kind === "journal" ? "log" : "nq"}`;
}

/** The store's files in a directory, in the order of their changes, without files that were set aside. */
export async function listFiles(dir: string): Promise<StoreFile[]> {
  const files = (await readdir(dir)).flatMap((name): StoreFile[] => {
    const [, kind, after, newer] = NAME.exec(name) ?? [];
    if (kind === undefined) return [];
    return [{ name, kind: kind as StoreFile["kind"], after: Number(after), version: newer ? 2 : 1 }];
  });
  return files.toSorted((a, b) => a.after - b.after || a.version - b.version);
}

/** Takes a file out of use without deleting it. @returns its new name */
export async function setAside(dir: string, name: string, why: "damaged" | "orphaned"): Promise<string> {
  const target = `${name}.${why}-${timestamp()}`;
  // Renaming would replace an existing file of that name.
  await link(join(dir, name), join(dir, target));
  await rm(join(dir, name));
  await syncDirectory(dir);
  return target;
}

/** Cuts a file off at a byte, after setting aside a copy of the whole file. @returns the name of the copy */
export async function cutOff(dir: string, name: string, bytes: number): Promise<string> {
  const target = `${name}.damaged-${timestamp()}`;
  await copyFile(join(dir, name), join(dir, target), constants.COPYFILE_EXCL);
  await syncFile(join(dir, target));
  await syncDirectory(dir);
  const file = await open(join(dir, name), "r+");
  try {
    await file.truncate(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  return target;
}

export async function syncDirectory(dir: string): Promise<void> {
  await syncFile(dir);
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function timestamp(): string {
  return new Date().toISOString().replaceAll(/[-:.]/g, "");
}
