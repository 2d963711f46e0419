// An answer that cannot be finished: its reader sees that it is not all of it, also where an answer ends with its connection.
import { createServer } from "node:http";
import type { RequestListener, ServerResponse } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { afterEach, expect, test } from "@jest/globals";
import { breakOff } from "../server/break-off.ts";
import { Listener } from "../server/listener.ts";

const BEGINNING = "a,b\r\n1,";
let close: () => void;
afterEach(() => close());

/** Asks for an answer, and once its beginning has come has it end; how it ended for its reader. */
async function read(port: number, version: string, end: () => unknown): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  let text = "";
  let how = "the connection ended";
  socket.on("data", (some: string) => {
    const hadBegun = text.includes(BEGINNING);
    text += some;
    if (!hadBegun && text.includes(BEGINNING)) void end();
  });
  socket.on("error", (error: NodeJS.ErrnoException) => (how = error.code!));
  socket.write(`GET / HTTP/${version}\r\nhost: here\r\n\r\n`);
  await new Promise((closed) => socket.once("close", closed));
  return text.endsWith("0\r\n\r\n") ? "whole" : how;
}

test.each([
  ["1.0", "ECONNRESET"],
  // Without its last chunk it is seen to be cut short.
  ["1.1", "the connection ended"],
])("to HTTP/%s", async (version, how) => {
  const answers: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    answers.push(response);
    response.write(BEGINNING);
  });
  close = () => void server.close();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  expect(await read(port, version, () => breakOff(answers[0]!))).toBe(how);
});

test("by a server that has to end", async () => {
  const app: RequestListener = (_request, response) => void response.write(BEGINNING);
  const listener = new Listener(app, { keepAliveMs: 60_000, onRefused: () => undefined });
  close = () => undefined;
  const port = await listener.listen(0, "127.0.0.1");
  const end = () => listener.drain({ delayMs: 0, timeoutMs: 1 });
  expect(await read(port, "1.0", end)).toBe("ECONNRESET");
});
