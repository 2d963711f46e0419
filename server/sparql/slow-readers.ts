// Callers who read their answers slowly, or not at all. Until the store has sent all of an answer, it takes
// up a slot there.
import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { breakOff } from "../break-off.ts";
import { requestOf } from "../request-context.ts";

const LOOK_MS = 500;
/** A caller who reads less than this between two checks, while others wait, is slow. */
const LEAST_BYTES = 32_768;
/**
 * Slow checks in a row that break an answer off. What the caller reads shows only by the megabyte: the system
 * buffers that much for it, and takes more when a third of that is gone. Others wait for up to five seconds.
 */
const TIMES = 6;

/**
 * Breaks off an answer whose caller is slow to read it, while others wait for its slot in the store.
 * @param body the store's answer, which is not complete yet
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
