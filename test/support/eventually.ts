import { setTimeout as pause } from "node:timers/promises";

const PAUSE_MS = 20;

/**
 * Repeats assertions until they hold.
 * @param withinMs how long they may take; afterwards the last failure is thrown
 */
export async function eventually<T>(assertions: () => Promise<T> | T, withinMs = 120_000): Promise<T> {
  // Not by a clock that a test may have taken into its own hands.
  const deadline = process.hrtime.bigint() + BigInt(withinMs) * 1_000_000n;
  // On a machine that stood still the time may be over before anything was tried.
  const leastTries = withinMs / PAUSE_MS / 5;
  for (let tries = 1; ; tries += 1) {
    try {
      return await assertions();
    } catch (error) {
      if (process.hrtime.bigint() > deadline && tries >= leastTries) throw error;
      await pause(PAUSE_MS);
    }
  }
}
