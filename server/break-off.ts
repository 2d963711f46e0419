// The end of an answer that cannot be finished.
import { Socket } from "node:net";
import type { ServerResponse } from "node:http";

/**
 * Closes the connection of an answer that has begun, so that its reader sees that it is not all of it. An answer to HTTP/1.0, which
 * proxies speak by default, ends with its connection in any case: there only a reset tells.
 */
export function breakOff(response: ServerResponse): void {
  const { req, socket } = response;
  if (socket instanceof Socket && req.httpVersion === "1.0") socket.resetAndDestroy();
  else response.destroy();
}
