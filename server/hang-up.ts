// Callers who hang up. They may do so while the request waits for something else, such as the lookup of a
// key: a listener that is added afterwards would not be called any more.
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

/** Calls `act` when a response is closed, whether complete or not; at once if it already is. */
export function whenClosed(response: ServerResponse, act: () => void): void {
  if (response.closed) act();
  else response.once("close", act);
}
