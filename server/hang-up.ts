// Callers who hang up. One may do so while its request waits for something else, such as the look-up of its key: whoever
// begins to listen afterwards would hear of it no more.
import type { ServerResponse } from "node:http";

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Aborted when the caller hangs up before the end of the answer, also if that has happened already. */
export function hungUp(response: ServerResponse): AbortSignal {
  const known = signals.get(response);
  if (known) return known;
  const gone = new AbortController();
  signals.set(response, gone.signal);
  whenClosed(response, () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** Calls something when an answer has come to its end, whichever; at once if it has already. */
export function whenClosed(response: ServerResponse, act: () => void): void {
  if (response.closed) act();
  else response.once("close", act);
}
