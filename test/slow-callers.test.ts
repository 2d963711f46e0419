// Callers who never finish saying what they want, or do not say it in HTTP: they are refused, and that is not hidden.
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { Metrics } from "../process/metrics.ts";
import { Listener } from "../server/listener.ts";
import { eventually } from "./support/eventually.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

const lines: Record<string, unknown>[] = [];
const logger = pino({}, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
const metrics = new Metrics();
let service: TestService;
/** Waits for callers no longer than a test likes to; on a machine that is busy also not for those who have said everything. */
let impatient: TestService;
const metricsOfImpatient = new Metrics();
beforeAll(async () => {
  service = await startTestService({ logger, metrics });
  impatient = await startTestService({
    patience: { headersMs: 500, requestMs: 1_500, checkMs: 50, answerMs: 60_000 },
    ...{ logger, metrics: metricsOfImpatient },
  });
});
afterAll(async () => {
  await service.stop();
  await impatient.stop();
});

/** The lines of a request, which may come a moment after its answer. */
const linesOf = (requestId: string) =>
  eventually(() => {
    const found = lines.filter((line) => line["requestId"] === requestId);
    expect(found.length).toBeGreaterThan(0);
    return Promise.resolve(found);
  }, 3_000);

async function counted(code: string, { registry } = metrics): Promise<number> {
  const { values } = await registry.getSingleMetric("http_errors_total")!.get();
  return values.find(({ labels }) => labels["code"] === code)?.value ?? 0;
}

/** Sends the beginning, goes on a byte at a time until there is an answer, and returns it. */
async function drip(
  beginning: string,
  { url } = service,
): Promise<{ status: number; body: string; requestId: string }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  if (beginning) socket.write(beginning);
  const dripping = setInterval(() => beginning && socket.write("x"), 20);
  socket.on("error", () => undefined).once("data", () => clearInterval(dripping));
  const answer = await text(socket);
  clearInterval(dripping);
  socket.destroy();
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  const [, requestId = ""] = /^x-request-id: (.*)$/im.exec(head) ?? [];
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), body, requestId };
}

test.each([
  ["headers", () => "GET /v0/needs HTTP/1.1\r\nhost: x\r\nx-slow: ", "other"],
  [
    "a body",
    () =>
      `POST /v0/needs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${impatient.keys.write}\r\n` +
      'content-type: application/json\r\ncontent-length: 200000\r\n\r\n{"orgName": "',
    "/v0/needs",
  ],
  ["nothing at all", () => "", "other"],
])("%s", async (_, beginning, route) => {
  // Where it takes too long to find out what is asked for, that is asked once more.
  await eventually(async () => {
    const before = await counted("request_timeout", metricsOfImpatient);
    const { status, body, requestId } = await drip(beginning(), impatient);
    expect(status).toBe(408);
    expect(JSON.parse(body)).toMatchObject({ error: "request_timeout", statusCode: 408, requestId });
    expect(await linesOf(requestId)).toEqual([
      expect.objectContaining({ msg: "request", route, status: 408, errors: ["request_timeout"] }),
    ]);
    expect(await counted("request_timeout", metricsOfImpatient)).toBe(before + 1);
  }, 1_000);
});

test.each([
  ["what is not HTTP", "EHLO mail.example\r\n\r\n", 400, "validation_failed"],
  [
    "what is not for anybody",
    "GET /v0/needs HTTP/1.1\r\nconnection: close\r\n\r\n",
    400,
    "validation_failed",
  ],
  [
    "more headers than there may be",
    `GET / HTTP/1.1\r\nhost: x\r\nx-large: ${"x".repeat(200_000)}`,
    431,
    "headers_too_large",
  ],
])("%s", async (_, sent, status, error) => {
  const before = await counted(error);
  const answer = await drip(sent);
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.body)).toMatchObject({ error, requestId: answer.requestId });
  expect(await linesOf(answer.requestId)).toEqual([
    expect.objectContaining({ msg: "request", route: "other", status, errors: [error] }),
  ]);
  expect(await counted(error)).toBe(before + 1);
});

test("what turns out not to be HTTP is answered once, and is no failure of the service", async () => {
  const { status, requestId } = await drip(
    `GET /v0/accelerators HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.keys.read}\r\n` +
      "transfer-encoding: chunked\r\n\r\nthis is no chunk\r\n",
  );
  expect(status).toBe(400);
  // By then the answer that was being made is there as well.
  for (let n = 0; n < 5; n += 1) await call(`${service.url}/v0/accelerators`, "GET", service.keys.read);
  expect(await linesOf(requestId)).toEqual([
    expect.objectContaining({ msg: "request", status: 400, errors: ["validation_failed"] }),
  ]);
});

test("the second request on a connection, behind one that was answered", async () => {
  const first = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(first);
  await once(socket, "data");
  socket.write("nonsense\r\n\r\n");
  const answer = await text(socket);
  const [, requestId] = /^x-request-id: (.*)\r$/im.exec(answer) ?? [];
  expect(await linesOf(requestId!)).toEqual([
    expect.objectContaining({ route: "other", status: 400, errors: ["validation_failed"] }),
  ]);
});

test.each([
  ["what is no address", "http://[", 404],
  ["an address with the host in it", "http://elsewhere.example/healthz?a=1", 200],
  ["an address that is no path", "urn:a:b", 400],
])("a request for %s is answered and logged as any other", async (_, target, status) => {
  const answer = await drip(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.body)).toHaveProperty(status === 200 ? "status" : "error");
  expect(answer.requestId).not.toBe("");
});

test("who speaks HTTP/1.0, as some probes do, need not say whom it asks", async () => {
  expect((await drip("GET /healthz HTTP/1.0\r\n\r\n")).status).toBe(200);
});

test("an expectation that nobody knows is passed over", async () => {
  const { status } = await drip(
    "GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n\r\n",
  );
  expect(status).toBe(200);
});

describe("an answer", () => {
  const answers: ServerResponse[] = [];
  const sockets: Socket[] = [];
  let listener: Listener;
  let port: number;
  beforeAll(async () => {
    listener = new Listener((_, response) => void answers.push(response), {
      ...{ keepAliveMs: 60_000, onRefused: () => undefined },
      patience: { headersMs: 60_000, requestMs: 60_000, checkMs: 50, answerMs: 2_000 },
    });
    port = await listener.listen(0, "127.0.0.1");
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await listener.drain({ delayMs: 0, timeoutMs: 0 });
  });

  /** Asks for something, and reads nothing. */
  async function ask(): Promise<{ socket: Socket; response: ServerResponse }> {
    const socket = connect(port, "127.0.0.1").pause();
    sockets.push(socket);
    const before = answers.length;
    socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    await eventually(() => expect(answers).toHaveLength(before + 1));
    return { socket, response: answers[before]! };
  }
  // More than the system's own buffers take.
  const LONG = "x".repeat(50_000_000);

  test("that nobody takes is given up; one that is still being made is waited for", async () => {
    const [patient, deaf] = [await ask(), await ask()];
    deaf.response.end(LONG);
    await eventually(() => expect(deaf.response.closed).toBe(true));
    expect([deaf.response.writableFinished, patient.response.closed]).toEqual([false, false]);
    patient.response.end("here it is");
    expect(await text(patient.socket)).toMatch(/here it is$/);
  });
});
