// Reads what can be trusted of a directory, which is always a state that the store once had: changes are
// updates in sequence, so a change after a gap would be applied to a state that it was not made for. The
// process that fills the store can tell how old a former state is and write the newer changes again, but it
// could not tell a mixture of states from the truth.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cutOff, listFiles, setAside, type StoreFile } from "./files.ts";
import { readRecords, readSnapshot, type Entry, type Placed } from "./format.ts";

export interface Trusted {
  /** the newest snapshot that is whole; the store began empty if there is none */
  snapshot: { file: StoreFile; quads: Buffer } | undefined;
  /** the changes since, without a gap */
  entries: (Entry & { at: Place })[];
  /** the file to append to, and how much of it is complete; none if the last is of an older version */
  last: { file: StoreFile; end: number } | undefined;
  /** size of all changes */
  bytes: number;
}

/** The position of a change. */
export interface Place {
  file: StoreFile;
  offset: number;
}

interface Fault extends Place {
  /** "gap": the bytes are good, but changes before them are missing */
  kind: "damage" | "gap";
}

/**
 * Reads a directory, setting aside what cannot be trusted.
 * @param warn called with everything that is set aside
 */
export async function readTrusted(dir: string, warn: (message: string) => void): Promise<Trusted> {
  for (;;) {
    const found = await read(dir);
    if (!("kind" in found)) return found;
    await distrust(dir, found, warn);
  }
}

/** Sets aside a file from a position on. Files after it are then found to have a gap before them. */
export async function distrust(
  dir: string,
  { kind, file, offset }: Fault,
  warn: (message: string) => void,
): Promise<void> {
  const path = join(dir, file.name);
  if (kind === "gap") {
    const name = await (offset > 0 ? cutOff(dir, file.name, offset) : setAside(dir, file.name, "orphaned"));
    warn(`${path}: changes are missing before byte ${offset}; what follows is set aside as ${name}`);
  } else if (file.kind === "snapshot" || offset === 0) {
    const name = await setAside(dir, file.name, "damaged");
    warn(`${path}: damaged, byte ${offset} or later; set aside as ${name}`);
  } else {
    const name = await cutOff(dir, file.name, offset);
    warn(`${path}: damaged from byte ${offset}; set aside as ${name}, and kept up to there`);
  }
}

/** @returns the first fault instead, if there is one */
async function read(dir: string): Promise<Trusted | Fault> {
  const files = await listFiles(dir);
  const newest = files.findLast((file) => file.kind === "snapshot");
  let snapshot: Trusted["snapshot"];
  if (newest) {
    const quads = readSnapshot(await readFile(join(dir, newest.name)), newest.version);
    if (!quads) return { kind: "damage", file: newest, offset: 0 };
    snapshot = { file: newest, quads };
  }
  const trusted: Trusted = { snapshot, entries: [], last: undefined, bytes: 0 };
  let sequence = newest?.after ?? 0;
  for (const file of files.filter(({ kind }) => kind === "journal")) {
    const bytes = await readFile(join(dir, file.name));
    if (file.after > sequence) {
      if (bytes.length === 0) continue;
      return { kind: "gap", file, offset: 0 };
    }
    const { records, end, damaged } = readRecords(bytes, file.version);
    const gap = append(trusted, file, records, sequence);
    if (gap) return gap;
    if (damaged) return { kind: "damage", file, offset: end };
    sequence = trusted.entries.at(-1)?.sequence ?? sequence;
    trusted.bytes += end;
    trusted.last = file.version === 2 ? { file, end } : undefined;
  }
  return trusted;
}

function append(
  trusted: Trusted,
  file: StoreFile,
  records: readonly Placed[],
  after: number,
): Fault | undefined {
  let sequence = after;
  for (const { offset, ...entry } of records) {
    // The snapshot or an earlier file has this change already.
    if (entry.sequence <= sequence) continue;
    if (entry.sequence > sequence + 1) return { kind: "gap", file, offset };
    sequence = entry.sequence;
    trusted.entries.push({ ...entry, at: { file, offset } });
  }
  return undefined;
}
