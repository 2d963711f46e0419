// Standard output of the operator's tool: all of what a command says, or a failure.
import { writeSync } from "node:fs";

const STANDARD_OUTPUT = 1;
const PAUSE_MS = 10;

/**
 * Writes to standard output. Node's own stream takes what a full disk has room for and says nothing of the rest.
 * @throws if not all of it can be written
 */
export function writeOut(text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(STANDARD_OUTPUT, bytes, written);
    } catch (error) {
      // A pipe whose reader takes its time.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") {
        throw new Error(`standard output: ${(error as Error).message}`, { cause: error });
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
