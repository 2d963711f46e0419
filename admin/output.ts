// The standard output of the operator's tool: written completely, or an error.
import { writeSync } from "node:fs";

const STANDARD_OUTPUT = 1;
const PAUSE_MS = 10;

/**
 * Writes to standard output. Node's own stream writes what fits on a full disk and drops the rest silently.
 * @throws if not all of it can be written
 */
export function writeOut(text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(STANDARD_OUTPUT, bytes, written);
    } catch (error) {
      // EAGAIN: a pipe with a slow reader.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") {
        throw new Error(`standard output: ${(error as Error).message}`, { cause: error });
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
