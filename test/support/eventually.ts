import { setTimeout as pause } from "node:timers/promises";

/**
 * Repeats assertions until they hold.
 * @param withinMs how long they may take; afterwards the last failure is thrown
 */
export async function eventually<T>(assertions: () => Promise<T> | T, withinMs = 60_000): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await assertions();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pause(20);
    }
  }
}
