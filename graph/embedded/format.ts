// The format of the store's files. Reading never throws, whatever a crash or a failing disk did to them: it
// returns what can be trusted, and where that ends.
import { deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";
import type { Change } from "./tasks.ts";

/** A change and its number. */
export interface Entry {
  sequence: number;
  change: Change;
}

/** Version 1, until 0.1.0, has no checksum for snapshots nor for the numbers and lengths in a journal. */
export type Version = 1 | 2;

/** A complete record, at its place in a journal. */
export interface Placed extends Entry {
  offset: number;
}

export interface Contents {
  records: Placed[];
  /** how many bytes the complete records take up */
  end: number;
  /** whether they are followed by something that a crash while appending does not leave behind */
  damaged: boolean;
}

// Version 2: payload length (4 bytes), number (8), checksum of these (4), checksum of the payload (4),
// payload. The header's own checksum tells a record that was cut off from one whose length was damaged.
// Version 1: payload length (4), checksum of the payload (4), number (8), payload.
const HEADER_BYTES = { 1: 16, 2: 20 } as const;
const COUNTED_BYTES = 12;

export function encodeRecord({ sequence, change }: Entry): Buffer {
  const payload = serialize(change);
  const header = Buffer.alloc(HEADER_BYTES[2]);
  header.writeUInt32LE(payload.length, 0);
  header.writeBigUInt64LE(BigInt(sequence), 4);
  header.writeUInt32LE(crc32(header.subarray(0, COUNTED_BYTES)), COUNTED_BYTES);
  header.writeUInt32LE(crc32(payload), COUNTED_BYTES + 4);
  return Buffer.concat([header, payload]);
}

export function readRecords(bytes: Buffer, version: Version): Contents {
  const records: Placed[] = [];
  let end = 0;
  while (end + HEADER_BYTES[version] <= bytes.length) {
    const record = version === 1 ? readOld(bytes, end) : readRecord(bytes, end);
    if (record === "cut off") return { records, end, damaged: false };
    // Zeros are space that the file system reserved for an append whose bytes it then lost.
    if (record === "damaged") return { records, end, damaged: !isBlank(bytes.subarray(end)) };
    records.push({ sequence: record.sequence, change: record.change, offset: end });
    end += record.length;
  }
  return { records, end, damaged: false };
}

type Read = (Entry & { length: number }) | "cut off" | "damaged";

function readRecord(bytes: Buffer, offset: number): Read {
  const header = bytes.subarray(offset, offset + HEADER_BYTES[2]);
  if (crc32(header.subarray(0, COUNTED_BYTES)) !== header.readUInt32LE(COUNTED_BYTES)) return "damaged";
  const length = HEADER_BYTES[2] + header.readUInt32LE(0);
  if (offset + length > bytes.length) return "cut off";
  const payload = bytes.subarray(offset + HEADER_BYTES[2], offset + length);
  if (crc32(payload) !== header.readUInt32LE(COUNTED_BYTES + 4)) return "damaged";
  return { sequence: Number(header.readBigUInt64LE(4)), change: deserialize(payload) as Change, length };
}

function readOld(bytes: Buffer, offset: number): Read {
  const length = HEADER_BYTES[1] + bytes.readUInt32LE(offset);
  // Zeros: the checksum of an empty payload is 0 as well, but no change has an empty payload.
  if (length === HEADER_BYTES[1]) return "damaged";
  // A record that was cut off cannot be told from one with a damaged length, so
  // damage is reported in both cases.
  const payload = bytes.subarray(offset + HEADER_BYTES[1], offset + length);
  if (offset + length > bytes.length || crc32(payload) !== bytes.readUInt32LE(offset + 4)) return "damaged";
  const sequence = Number(bytes.readBigUInt64LE(offset + 8));
  return { sequence, change: deserialize(payload) as Change, length };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

const SNAPSHOT_HEADER = /^# crc32 ([0-9a-f]{8}), (\d+) bytes\n/;

/** The first line of a version 2 snapshot, which is a comment in N-Quads. */
export function snapshotHeader(quads: Uint8Array): string {
  return `# crc32 ${crc32(quads).toString(16).padStart(8, "0")}, ${quads.length} bytes\n`;
}

/** @returns the quads, or undefined for a file that is not what was written */
export function readSnapshot(bytes: Buffer, version: Version): Buffer | undefined {
  // There is no checksum: the engine will find damage, as far as it shows.
  if (version === 1) return bytes;
  const [header, checksum, length] = SNAPSHOT_HEADER.exec(bytes.toString("latin1", 0, 64)) ?? [];
  if (header === undefined) return undefined;
  const quads = bytes.subarray(header.length);
  return quads.length === Number(length) && crc32(quads) === Number.parseInt(checksum!, 16)
    ? quads
    : undefined;
}
