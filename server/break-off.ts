// The end of an answer that cannot be finished.
import { Socket } from "node:net";
import type { ServerResponse } from "node:http";

/**
 * Closes the connection of an answer that has begun, so that the client can tell that it is incomplete. With HTTP/1.0, which proxies
 * speak by default, the end of the connection is the regular end of an answer: there it takes a reset.
 */
export function breakOff(response: ServerResponse): void {
  const { req, socket } = response;
  if (socket instanceof Socket && req.httpVersion === "1.0") socket.resetAndDestroy();
  else response.destroy();
}
