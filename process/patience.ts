import { setTimeout as sleep } from "node:timers/promises";

const SLICE_MS = 100;

/**
 * Waits for work, but not for ever. It counts in slices, so that time in which this process itself was too busy to read
 * an answer counts as one of them.
 * @param late makes the error that is thrown when the time is over
 */
export async function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  let isOver = false;
  const over = Promise.withResolvers<never>();
  const count = async () => {
    for (let passed = 0; passed < ms; passed += SLICE_MS) {
      await sleep(SLICE_MS);
      if (isOver) return;
    }
    over.reject(late());
  };
  void count();
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    isOver = true;
  }
}
