// One WebSocket in the protocol of graphql-ws.
import type { Request } from "express";
import { CloseCode, MessageType } from "graphql-ws";
import type { Server } from "graphql-ws";
import type { WebSocket } from "ws";
import { ApiError } from "../errors.ts";
import { parseJson } from "../text.ts";
import { OperationIds } from "./operation-ids.ts";

/** What the library keeps with a connection. */
export type Extra = { socket: WebSocket; request: Request };

/** A client that has not answered a ping by the next one is gone. */
const PING_MS = 12_000;
const PROTOCOL_ERROR = 1002;

/**
 * Answers the messages of a WebSocket until it is closed, each operation under a unique id.
 * @param pinged called after each ping
 */
export function serveWebSocket(
  server: Server<Extra>,
  { socket, request }: Extra,
  pinged: () => void = () => undefined,
): void {
  const ids = new OperationIds();
  const failed = (error: unknown) => {
    if (error instanceof ApiError) socket.close(CloseCode.BadRequest, error.code);
    else socket.close(CloseCode.InternalServerError);
  };
  const closed = server.opened(
    {
      protocol: socket.protocol,
      // What can no longer be sent is dropped.
      send: (data) =>
        new Promise<void>((sent) => {
          const said = ids.said(data);
          if (said === undefined || socket.readyState !== socket.OPEN) sent();
          else socket.send(said, () => sent());
        }),
      close: (code, reason) => socket.close(code, reason),
      onMessage: (hear) => {
        socket.on("message", (data) => {
          // An exception in a listener of the socket would end the process.
          try {
            // `ws` delivers Buffers by default.
            const message = ids.heard(parsed(data as Buffer));
            // The library also accepts parsed messages; it would keep a text as long as its operation.
            if (message !== undefined) hear(message as string).catch(failed);
          } catch (error) {
            failed(error);
          }
        });
      },
    },
    { socket, request },
  );
  let isThere = true;
  const pinging = setInterval(() => {
    if (!isThere) socket.terminate();
    isThere = false;
    if (socket.readyState !== socket.OPEN) return;
    socket.ping();
    pinged();
  }, PING_MS);
  socket.on("pong", () => (isThere = true));
  socket.on("error", () => socket.close(PROTOCOL_ERROR));
  socket.once("close", (code, reason) => {
    clearInterval(pinging);
    closed(code, reason.toString()).catch(() => undefined);
  });
}

/** Messages of the protocol that only servers send: to the library, one from a client is an error of its own. */
const FROM_SERVERS: readonly unknown[] = [MessageType.ConnectionAck, MessageType.Next, MessageType.Error];

/** Parses a message. A JSON string is refused, because the library would parse it again. */
function parsed(data: Buffer): unknown {
  const message = parseJson(data, "The message");
  if (typeof message === "string") {
    throw new ApiError("validation_failed", { message: "The message must be an object." });
  }
  if (typeof message === "object" && message !== null && "type" in message) {
    if (FROM_SERVERS.includes(message.type)) {
      throw new ApiError("validation_failed", { message: "Only servers send messages of this type." });
    }
  }
  return message;
}
