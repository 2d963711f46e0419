// Limits how much of a request is read. Node would read the body of a refused request to its end: twenty
// callers without a key who sent bodies in chunks of one byte kept everybody waiting for seconds.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/**
 * As received on the connection. Several times what any door takes, so that the door itself refuses a body
 * that is somewhat too long.
 */
const MOST_BYTES = 1_048_576;
/** Each costs as much as a thousand bytes, and may have a single one. */
const MOST_PIECES = 5_000;

export const TOO_MUCH = `A request may have at most ${MOST_BYTES} bytes, in at most ${MOST_PIECES} chunks.`;

/**
 * Stops reading a request at these limits.
 * @param refuse called once if there are too many chunks, unless the answer has begun
 * @param close ends the connection of an answered request of which more may arrive than is worth reading
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
    // Chunks that were read together with the last one still arrive; the request has already been refused.
    if (isTooMuch) return false;
    if (piece !== null) pieces += 1;
    const isLong = socket.bytesRead - before > MOST_BYTES;
    isTooMuch = isLong || pieces > MOST_PIECES;
    if (!isTooMuch) return push(piece, encoding);
    stopReading(request);
    if (response.headersSent) return false;
    response.shouldKeepAlive = false;
    // The door that reads it has found it too long by now, and waits for its end to refuse it.
    if (isLong) {
      // The connection of an incomplete request would be cut before that.
      request.complete = true;
      push(null);
    } else refuse();
    return false;
  };
  const isRead = () => !isTooMuch && (request.complete || (!isChunked && length <= MOST_BYTES));
  const writeHead = response.writeHead.bind(response) as (...head: unknown[]) => ServerResponse;
  response.writeHead = (...head: unknown[]) => {
    // An answer that does not say so would have the caller send the next request into the end of the connection.
    if (!isRead()) response.shouldKeepAlive = false;
    return writeHead(...head);
  };
  response.once("finish", () => {
    if (isRead()) return;
    stopReading(request);
    close();
  });
}

const unread = new WeakSet<Duplex>();

/** Whether a connection may have received bytes that are not read. */
export function isUnread(socket: Duplex): boolean {
  return unread.has(socket);
}

/** Stops reading: the sender has to wait once the system's buffers are full. */
function stopReading(request: IncomingMessage): void {
  // The original _read would resume the connection.
  Object.assign(request, { _read: () => undefined });
  request.socket.pause();
  unread.add(request.socket);
}
