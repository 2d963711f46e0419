// A database that takes connections and never says a word.
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { expect, jest } from "@jest/globals";
import { eventually } from "./eventually.ts";

/**
 * Has somebody ask it, and says that they give up after so many seconds, and not before.
 * @returns with what message
 */
export async function givenUpAfter(seconds: number, ask: (url: string) => Promise<unknown>): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket.on("error", () => undefined).resume()));
  const { port } = server.address() as AddressInfo;
  const waited = "is waited for";
  let outcome = waited;
  jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask", "performance"] });
  try {
    const url = `postgres://owner:s3cret@127.0.0.1:${port}/engagement`;
    ask(url).catch(({ message }: Error) => (outcome = message));
    await once(server, "connection");
    await jest.advanceTimersByTimeAsync(seconds * 1_000 - 1);
    expect(outcome).toBe(waited);
    await jest.advanceTimersByTimeAsync(1);
    jest.useRealTimers();
    await eventually(() => expect(outcome).not.toBe(waited), 5_000);
    return outcome;
  } finally {
    jest.useRealTimers();
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}
