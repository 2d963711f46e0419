// The bytes of the store's files. Whatever a crash or a failing disk has made of them, reading never throws: it gives
// what can be trusted, and says where that ends.
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
  /** whether what follows them is something that no crash while appending leaves behind */
  damaged: boolean;
}

// Version 2: payload length (4 bytes), number (8), checksum of these (4), checksum of the payload (4), payload. That
// the header has a checksum of its own tells a record that was cut off from one whose length has changed.
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
    // Space that a file system gave to an append whose bytes it then lost.
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
  // Space: the checksum of nothing is 0 as well, and no change is nothing.
  if (length === HEADER_BYTES[1]) return "damaged";
  // Whether it was cut off or its length has changed cannot be told. The second is the one to be told of.
  const payload = bytes.subarray(offset + HEADER_BYTES[1], offset + length);
  if (offset + length > bytes.length || crc32(payload) !== bytes.readUInt32LE(offset + 4)) return "damaged";
  const sequence = Number(bytes.readBigUInt64LE(offset + 8));
  return { sequence, change: deserialize(payload) as Change, length };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

const SNAPSHOT_HEADER = /^# crc32 ([0-9a-f]{8}), (\d+) bytes\n/;

/** The first line of a snapshot of version 2; to N-Quads it is a comment. */
export function snapshotHeader(quads: Uint8Array): string {
  return `# crc32 ${crc32(quads).toString(16).padStart(8, "0")}, ${quads.length} bytes\n`;
}

/** @returns the quads, or undefined for a file that is not what was written */
export function readSnapshot(bytes: Buffer, version: Version): Buffer | undefined {
  // Whether it is what was written is for the engine to find out, as far as that shows.
  if (version === 1) return bytes;
  const [header, checksum, length] = SNAPSHOT_HEADER.exec(bytes.toString("latin1", 0, 64)) ?? [];
  if (header === undefined) return undefined;
  const quads = bytes.subarray(header.length);
  return quads.length === Number(length) && crc32(quads) === Number.parseInt(checksum!, 16)
    ? quads
    : undefined;
}
