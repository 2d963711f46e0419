// Limits the memory of a store thread. Must be imported before the engine, which has no
// limit but its address space.
import { workerData } from "node:worker_threads";
import type { ThreadOptions } from "./tasks.ts";

const PAGE_BYTES = 64 * 1024;
/** The whole address space, 4 GiB. */
const MOST_PAGES = 64 * 1024;
const MEMORY_SECTION = 5;
/** The bytes before the first section: a magic number and a version. */
const PREAMBLE = 8;

interface Instance {
  exports: { memory: { buffer: ArrayBuffer } };
}

const { maxBytes } = workerData as ThreadOptions;
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: {
    Module: new (bytes: Uint8Array) => object;
    Instance: new (module: object, imports: object) => Instance;
  };
};
let instance: Instance | undefined;
const { Module, Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(module: object, imports: object) {
    super(module, imports);
    // oxlint-disable-next-line typescript/no-this-alias, unicorn/no-this-assignment -- the engine keeps it to itself
    instance = this;
  }
};
if (maxBytes !== undefined) {
  const pages = Math.min(Math.ceil(maxBytes / PAGE_BYTES), MOST_PAGES);
  WebAssembly.Module = class extends Module {
    constructor(bytes: Uint8Array) {
      super(withMaximum(bytes, pages));
    }
  };
}

/** How many bytes the engine has taken. It never returns memory, so some of them may be free. */
export function memoryBytes(): number {
  return instance?.exports.memory.buffer.byteLength ?? 0;
}

/**
 * A WebAssembly module with a maximum for its one memory. An engine that cannot grow its memory ends in a
 * trap, which takes down its thread and nothing else.
 * @throws Error for a module that does not define one memory in the known form
 */
function withMaximum(module: Uint8Array, pages: number): Uint8Array {
  let at = PREAMBLE;
  while (at < module.length) {
    const [length, start] = readNumber(module, at + 1);
    if (module[at] === MEMORY_SECTION) {
      const [flags, initialAt] = [module[start + 1], start + 2];
      if (module[start] !== 1 || (flags !== 0 && flags !== 1)) break;
      const [initial] = readNumber(module, initialAt);
      const section = [1, 1, ...numberBytes(initial), ...numberBytes(Math.max(initial, pages))];
      return Buffer.concat([
        module.subarray(0, at),
        Uint8Array.from([MEMORY_SECTION, ...numberBytes(section.length), ...section]),
        module.subarray(start + length),
      ]);
    }
    at = start + length;
  }
  throw new Error("The engine's module defines no memory that could be limited.");
}

/** Reads an unsigned LEB128 number. @returns the number, and the position after it */
function readNumber(bytes: Uint8Array, from: number): [value: number, end: number] {
  let value = 0;
  for (let at = from, shift = 0; ; at++, shift += 7) {
    const byte = bytes[at]!;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, at + 1];
  }
}

function numberBytes(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...numberBytes(Math.floor(value / 0x80))];
}
