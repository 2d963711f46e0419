import { setTimeout as sleep } from "node:timers/promises";

const SLICE_MS = 100;

/**
 * Waits for work, but not for ever. Time is counted in slices: a stretch in which this process was too busy
 * to read an answer counts as one slice, however long it was.
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
