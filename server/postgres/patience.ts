import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseUnavailable } from "./unavailable.ts";

const SLICE_MS = 100;

/**
 * Waits for work, but not for ever. It counts in slices, so that time in which this process itself was too busy to read
 * an answer counts as one of them.
 * @throws DatabaseUnavailable when the time is over
 */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => undefined);
  const count = async () => {
    for (let passed = 0; passed < ms; passed += SLICE_MS) {
      await sleep(SLICE_MS);
      if (isOver) return;
    }
    over.reject(new DatabaseUnavailable());
  };
  void count();
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    isOver = true;
    work.catch(() => undefined);
  }
}
