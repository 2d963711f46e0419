// Bodies that do not end, are longer than anybody takes, or come in more pieces than anybody sends: they are not read, and the answer can be.
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

const LONGEST = 1_048_576;
const MOST_PIECES = 5_000;

let service: TestService;
beforeAll(async () => {
  // Whatever ends a connection here is no time limit.
  service = await startTestService({
    patience: { headersMs: 600_000, requestMs: 600_000, checkMs: 600_000, answerMs: 600_000 },
  });
});
const callers: Caller[] = [];
afterAll(async () => {
  for (const { socket } of callers) socket.destroy();
  await service.stop();
});

/** One connection, and what comes over it. */
class Caller {
  readonly socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  readonly closed = new Promise((closed) => this.socket.once("close", closed));
  /** What came first: the end in good order, or an error. */
  end: string | undefined;
  #heard = "";
  #isSending = false;

  constructor() {
    callers.push(this);
    this.socket.on("data", (data) => (this.#heard += data.toString("latin1")));
    this.socket.on("end", () => (this.end ??= "in order"));
    this.socket.on("error", ({ message }) => (this.end ??= message));
  }

  /** Sends the head of a request. */
  begin(path: string, headers: string, key: string | undefined = service.keys.write): void {
    const who = key === "" ? "" : `authorization: Bearer ${key}\r\n`;
    const type = "content-type: application/json\r\n";
    this.socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\n${who}${type}${headers}\r\n\r\n`);
  }

  /** What is heard until an answer of this status has come whole. */
  async until(status: number): Promise<string> {
    const whole = new RegExp(`HTTP/1.1 ${status} [^]*?\r\n\r\n${status === 100 ? "" : "[^]*}"}`);
    while (!whole.test(this.#heard)) {
      if (this.socket.closed) throw new Error(`The connection is closed; it said: ${this.#heard}`);
      await Promise.race([once(this.socket, "data"), this.closed]).catch(() => this.closed);
    }
    const heard = this.#heard;
    this.#heard = "";
    return heard;
  }

  /** Sends the same again and again until something is answered. */
  sendOn(text: string): void {
    this.#isSending = true;
    const send = () => {
      while (this.#isSending && !this.socket.destroyed && this.socket.write(text));
    };
    this.socket.once("data", () => (this.#isSending = false)).on("drain", send);
    send();
  }

  /** Whether another request over the same connection is answered. */
  async canGoOn(): Promise<boolean> {
    this.socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    return this.until(200).then(
      () => true,
      () => false,
    );
  }
}

const CHUNKED = "transfer-encoding: chunked";
const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n`;
const LARGE = chunk(65_536);
const TINY = chunk(1).repeat(10_000);

describe("a body without an end", () => {
  test.each([
    ["/v0/needs", "large", LARGE],
    ["/v0/needs", "tiny", TINY],
    ["/graphql", "large", LARGE],
    ["/v0/mcp", "tiny", TINY],
  ])(
    "at %s in %s pieces is refused, and the connection ended so that this can be read",
    async (path, _, text) => {
      const caller = new Caller();
      caller.begin(path, CHUNKED);
      caller.sendOn(text);
      const answer = await caller.until(413);
      expect(answer).toMatch(/^connection: close/im);
      expect(answer).toContain("payload_too_large");
      await caller.closed;
      expect(caller.end).toBe("in order");
    },
  );

  test.each([
    ["large", LARGE],
    ["tiny", TINY],
  ])("of somebody who is refused for something else is not read either, in %s pieces", async (_, text) => {
    const caller = new Caller();
    caller.begin("/v0/needs", CHUNKED, "");
    expect(await caller.until(401)).toMatch(/^connection: close/im);
    caller.sendOn(text);
    await caller.closed;
    expect(caller.end).toBe("in order");
  });
});

describe("a body", () => {
  test.each([
    [MOST_PIECES, 400],
    [MOST_PIECES + 1, 413],
  ])("in %d pieces is answered with %d", async (pieces, status) => {
    const caller = new Caller();
    caller.begin("/v0/needs", CHUNKED);
    caller.socket.write(`2\r\n{}\r\n${chunk(1).repeat(pieces - 1)}0\r\n\r\n`);
    expect(await caller.until(status)).toContain(status === 400 ? "validation_failed" : "payload_too_large");
    expect(await caller.canGoOn()).toBe(status === 400);
  });

  test.each([
    [LONGEST, true],
    [LONGEST + 1, false],
  ])("of %d bytes is too long; that the connection can be used again: %s", async (bytes, canGoOn) => {
    const caller = new Caller();
    caller.begin("/v0/needs", `content-length: ${bytes}\r\nexpect: 100-continue`);
    await caller.until(100);
    caller.socket.write(" ".repeat(bytes));
    await caller.until(413);
    expect(await caller.canGoOn()).toBe(canGoOn);
  });

  test.each([
    [LONGEST, true],
    [LONGEST + 1, false],
  ])("of %d bytes from nobody is refused at once; that it is waited for: %s", async (bytes, canGoOn) => {
    const caller = new Caller();
    caller.begin("/v0/needs", `content-length: ${bytes}`, "");
    await caller.until(401);
    caller.socket.write(" ".repeat(bytes));
    expect(await caller.canGoOn()).toBe(canGoOn);
  });
});
