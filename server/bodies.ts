// How much of a request is read. Whoever refuses one has no use for its body, and Node would read that to its end: twenty callers without a
// key who send bodies of one byte a piece kept everybody waiting for seconds.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** As it comes over the connection: several times what any door takes, so that whoever sends somewhat too much is told in its words. */
const MOST_BYTES = 1_048_576;
/** Each costs as much as a thousand bytes, and may be one. */
const MOST_PIECES = 5_000;

export const TOO_MUCH = `A request may have at most ${MOST_BYTES} bytes, in at most ${MOST_PIECES} pieces.`;

/**
 * Reads no more of a request than there may be.
 * @param refuse is called once when there are more pieces, unless the answer has begun
 * @param close ends the connection of one that has been answered, and of which more may come than is worth reading
 */
export function boundBody(
  request: IncomingMessage,
  response: ServerResponse,
  { refuse, close }: { refuse: () => void; close: () => void },
): void {
  const { headers, socket } = request;
  const isChunked = headers["transfer-encoding"] !== undefined;
  const length = Number(headers["content-length"] ?? 0);
  if (!isChunked && length === 0) return;
  const before = socket.bytesRead;
  const push = request.push.bind(request);
  let pieces = 0;
  let isTooMuch = false;
  request.push = (piece: unknown, encoding) => {
    // What was read at once with it still comes, in pieces, and is refused already.
    if (isTooMuch) return false;
    if (piece !== null) pieces += 1;
    const isLong = socket.bytesRead - before > MOST_BYTES;
    isTooMuch = isLong || pieces > MOST_PIECES;
    if (!isTooMuch) return push(piece, encoding);
    stopReading(request);
    if (response.headersSent) return false;
    response.shouldKeepAlive = false;
    // Whichever door reads it has found it too long by now, and waits for its end to say so in its own form.
    if (isLong) {
      // Of one that is not, the connection is cut before that.
      request.complete = true;
      push(null);
    } else refuse();
    return false;
  };
  response.once("finish", () => {
    const isShort = !isChunked && length <= MOST_BYTES && !isTooMuch;
    if ((request.complete && !isTooMuch) || isShort) return;
    stopReading(request);
    close();
  });
}

const unread = new WeakSet<Duplex>();

/** Whether something may have come over a connection that is not read. */
export function isUnread(socket: Duplex): boolean {
  return unread.has(socket);
}

/** Whoever sends on waits, as far as the system's own buffers do not take it. */
function stopReading(request: IncomingMessage): void {
  // It would have the connection read on.
  Object.assign(request, { _read: () => undefined });
  request.socket.pause();
  unread.add(request.socket);
}
