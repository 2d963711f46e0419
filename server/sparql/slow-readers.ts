// Callers who take what they have asked for slowly, or not at all. What the store has ready for them keeps a place there.
import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { breakOff } from "../break-off.ts";
import { requestOf } from "../request-context.ts";

const LOOK_MS = 500;
/** Whoever takes less between two looks, while others wait, is slow. */
const LEAST_BYTES = 32_768;
/**
 * So often in a row. What is taken shows by the megabyte: the system keeps as much for a caller, and takes more when a third of
 * that is gone. Those who wait do so for five seconds.
 */
const TIMES = 6;

/**
 * Breaks an answer off whose caller is slow to take it, while others wait for the place in the store.
 * @param body what the store has not ended to answer
 */
export function breakOffIfSlow(response: ServerResponse, body: Readable, isWaitedFor: () => boolean): void {
  let taken = 0;
  let slow = 0;
  const looking = setInterval(() => {
    const { bytesWritten = 0 } = response.socket ?? {};
    const isSlow = response.writableNeedDrain && bytesWritten - taken < LEAST_BYTES;
    taken = bytesWritten;
    slow = isSlow && isWaitedFor() ? slow + 1 : 0;
    if (slow < TIMES) return;
    requestOf(response)?.errors.add("service_busy");
    // The caller has the beginning of an answer; the broken connection shows that it is incomplete.
    breakOff(response);
    body.destroy();
  }, LOOK_MS);
  body.once("close", () => clearInterval(looking));
}
