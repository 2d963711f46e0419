import { setTimeout as pause } from "node:timers/promises";

/**
 * Repeats assertions until they hold.
 * @param withinMs how long they may take; afterwards the last failure is thrown
 */
export async function eventually<T>(assertions: () => Promise<T> | T, withinMs = 120_000): Promise<T> {
  // Not by a clock that a test may have taken into its own hands.
  const deadline = process.hrtime.bigint() + BigInt(withinMs) * 1_000_000n;
  for (;;) {
    try {
      return await assertions();
    } catch (error) {
      if (process.hrtime.bigint() > deadline) throw error;
      await pause(20);
    }
  }
}
