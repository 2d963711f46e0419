// Callers who never finish saying what they want, or do not say it in HTTP.
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ patience: { headersMs: 200, requestMs: 400, checkMs: 50 } });
});
afterAll(() => service.stop());

/** Sends the beginning, goes on a byte at a time, and returns what is answered. */
async function drip(beginning: string): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  if (beginning) socket.write(beginning);
  const dripping = setInterval(() => beginning && socket.write("x"), 20);
  socket.on("error", () => undefined);
  const answer = await text(socket);
  clearInterval(dripping);
  socket.destroy();
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), body };
}

test.each([
  ["headers", () => "GET /v0/needs HTTP/1.1\r\nhost: x\r\nx-slow: "],
  [
    "a body",
    () =>
      `POST /v0/needs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.keys.write}\r\n` +
      'content-type: application/json\r\ncontent-length: 200000\r\n\r\n{"orgName": "',
  ],
  ["nothing at all", () => ""],
])("%s", async (_, beginning) => {
  const { status, body } = await drip(beginning());
  expect(status).toBe(408);
  expect(JSON.parse(body)).toMatchObject({ error: "request_timeout", statusCode: 408 });
});

test("what is not HTTP, and more headers than there may be", async () => {
  const noHttp = await drip("EHLO mail.example\r\n\r\n");
  expect(noHttp.status).toBe(400);
  expect(JSON.parse(noHttp.body)).toMatchObject({ error: "validation_failed" });
  const tooLarge = await drip(`GET / HTTP/1.1\r\nhost: x\r\nx-large: ${"x".repeat(200_000)}`);
  expect(tooLarge.status).toBe(431);
  expect(JSON.parse(tooLarge.body)).toMatchObject({ error: "headers_too_large" });
});
