// How large an answer may become, and how many of them may wait to be read.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { startServer } from "../server/main.ts";
import type { RunningServer } from "../server/main.ts";
import { insertChurches } from "./support/churches.ts";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { toolCall } from "./support/mcp.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

const MAX_BYTES = 2_000_000;
const CHURCHES = 1_000;
/** Together they are about ten times what one answer may have. */
const SUMMARY_LENGTH = 20_000;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ config: { answerMaxBytes: MAX_BYTES } });
  const { owner } = service.database;
  await insertChurches(
    owner,
    Array.from({ length: CHURCHES }, (_, i) => ({
      church_id: `c${String(i).padStart(4, "0")}`,
      latitude: 30 + i / 1000,
      longitude: 40,
    })),
  );
  // Quotes and letters beyond ASCII: characters are not bytes, neither in UTF-8 nor in JSON.
  await owner.query("update app_public.churches set church_summary = repeat('„\"', $1)", [
    SUMMARY_LENGTH / 4,
  ]);
});
afterAll(() => service.stop());

type Page = { items: { church_id: string }[]; has_more: boolean; next_cursor: string | null };

async function sizeOf(
  url: string,
  init: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ bytes: number; text: string }> {
  const response = await fetch(url, {
    ...init,
    headers: { authorization: `Bearer ${service.keys.read}`, ...init.headers },
  });
  expect(response.status).toBe(200);
  const text = await response.text();
  return { bytes: Buffer.byteLength(text), text };
}

describe("a page of the church search", () => {
  const within = { center_lat: "30.5", center_lng: "40", radius_km: "200" };
  test.each([
    ["in order of the ids", {}],
    ["by distance", within],
    ["by rank", { q: "church" }],
    ["as GeoJSON", { format: "geojson" }],
  ])("ends early, with its cursor, and loses nothing: %s", async (_, filters: Record<string, string>) => {
    const ids: string[] = [];
    let cursor: string | null = "";
    let pages = 0;
    while (cursor !== null) {
      const query: string = new URLSearchParams({ ...filters, limit: "10000", cursor }).toString();
      const { bytes, text } = await sizeOf(`${service.url}/v0/orgs/search?${query}`);
      expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
      const page = JSON.parse(text) as Page & { features?: { id: string }[] };
      ids.push(...(page.features?.map(({ id }) => id) ?? page.items.map(({ church_id }) => church_id)));
      expect(page.has_more).toBe(page.next_cursor !== null);
      // As many as fit: one more would not.
      if (page.has_more) expect(bytes).toBeGreaterThan(MAX_BYTES - 2 * SUMMARY_LENGTH);
      cursor = page.next_cursor;
      pages += 1;
    }
    expect(pages).toBeGreaterThan(5);
    expect(ids).toHaveLength(CHURCHES);
    expect(new Set(ids).size).toBe(CHURCHES);
  });

  test("is whole where it fits", async () => {
    const { text } = await sizeOf(`${service.url}/v0/orgs/search?limit=10000&fields=church_id`);
    expect(JSON.parse(text)).toMatchObject({ has_more: false, next_cursor: null });
    expect((JSON.parse(text) as Page).items).toHaveLength(CHURCHES);
  });

  test("comes from the database in pieces of some sixty thousand bytes, each once, and the last says where it ends", async () => {
    const { rows } = await service.database.owner.query<{ piece: string; bytes: number }>(
      `select piece, octet_length(piece) as bytes from app_private.church_page_in_pieces('{"limit": 40}', 100000000) as pages (piece)`,
    );
    const page = JSON.parse(rows.map(({ piece }) => piece).join("")) as Page;
    expect(page.items.map(({ church_id }) => Number(church_id.slice(1)))).toEqual([...Array(40).keys()]);
    for (const { bytes } of rows.slice(0, -1)) {
      expect(bytes).toBeGreaterThanOrEqual(60_000);
      expect(bytes).toBeLessThan(60_000 + 3 * SUMMARY_LENGTH);
    }
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.at(-1)!.piece).toMatch(/\],"limit":40,"has_more":true,"next_cursor":"[^"]+"}$/);
  });

  test.each([
    ["as it is", "identity", undefined],
    ["by brotli", "br", brotliDecompressSync],
    ["by gzip", "gzip", gunzipSync],
  ])("that is long is the same text, packed %s, with the tag of that text", async (_, accepted, unpacked) => {
    const { rows } = await service.database.owner.query<{ page: string }>(
      `select app_private.church_page('{"limit": 40}') as page`,
    );
    const ask = async (headers: Record<string, string>, method = "GET") => {
      const sent = request(`${service.url}/v0/orgs/search?limit=40`, {
        method,
        headers: { authorization: `Bearer ${service.keys.read}`, "accept-encoding": accepted, ...headers },
      }).end();
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      return { answer, bytes: await buffer(answer) };
    };
    const { answer, bytes } = await ask({});
    expect(answer.headers["content-encoding"]).toBe(accepted === "identity" ? undefined : accepted);
    expect((unpacked ? unpacked(bytes) : bytes).toString()).toBe(rows[0]!.page);
    expect(Number(answer.headers["content-length"])).toBe(bytes.length);
    const etag = `W/"${createHash("sha1").update(rows[0]!.page).digest("base64url")}"`;
    expect(answer.headers.etag).toBe(etag);
    expect((await ask({ "if-none-match": etag })).answer.statusCode).toBe(304);
    const head = await ask({}, "HEAD");
    expect([head.answer.statusCode, head.answer.headers.etag, head.bytes.length]).toEqual([200, etag, 0]);
    expect(Number(head.answer.headers["content-length"])).toBe(bytes.length);
  });

  test("has a church, however long", async () => {
    const { rows } = await service.database.owner.query<{ page: string }>(
      `select app_private.church_page('{"limit": 10000}', 1) as page`,
    );
    const page = JSON.parse(rows[0]!.page) as Page;
    expect([page.items.map(({ church_id }) => church_id), page.has_more]).toEqual([["c0000"], true]);
  });
});

describe("the tool endpoint", () => {
  const ask = (body: unknown) =>
    sizeOf(`${service.url}/v0/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  test("answers no more than that, with the page in both of its forms", async () => {
    const { bytes, text } = await ask(toolCall({ limit: 10_000 }));
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
    const { result } = JSON.parse(text) as {
      result: { structuredContent: Page; content: { text: string }[] };
    };
    expect(result.structuredContent.has_more).toBe(true);
    expect(result.structuredContent.items.length).toBeGreaterThan(10);
    expect(JSON.parse(result.content[0]!.text)).toEqual(result.structuredContent);
  });

  test("answers a batch with no more than that, but for a church for each call", async () => {
    const batch = Array.from({ length: 10 }, (_, id) => ({ ...toolCall({ limit: 10_000 }), id }));
    const { bytes, text } = await ask(batch);
    const answers = JSON.parse(text) as { result: { structuredContent: Page } }[];
    expect(answers.map(({ result }) => result.structuredContent.has_more)).toEqual(Array(10).fill(true));
    expect(answers.slice(1).map(({ result }) => result.structuredContent.items.length)).toEqual(
      Array(9).fill(1),
    );
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES + 9 * 3 * 2 * SUMMARY_LENGTH);
  });
});

describe("answers that nobody reads", () => {
  const sockets: Socket[] = [];
  /** As many as one key may have connections for, so that none of them waits for one. */
  const AT_ONCE = 10;
  /** So long that the system's own buffers for a connection cannot take all of it. */
  const ANSWER_BYTES = 10 * MAX_BYTES;
  /** More than those take of an answer, which this process does not hold any more then. */
  const SYSTEM_BYTES = 10_000_000;
  let generous: RunningServer;
  beforeAll(async () => {
    generous = await startServer({
      config: {
        ...loadConfig({ PORT: "0", RATE_LIMIT_PER_MINUTE: "1000000" }),
        answerMaxBytes: ANSWER_BYTES,
        databasePoolSize: 4 * AT_ONCE,
        statementTimeoutMs: 600_000,
      },
      databaseUrl: service.database.serverUrl,
      store: service.store,
      logger: pino({ level: "silent" }),
    });
  });
  afterAll(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await generous.stop();
  });

  const SEARCH = "GET /v0/orgs/search?limit=10000";
  const askAndNotRead = (key: string, door = SEARCH, body = "") =>
    sendAndNotRead(`authorization: Bearer ${key}`, door, body);
  function sendAndNotRead(credential: string, door: string, body = ""): Socket {
    const { port } = new URL(generous.url);
    const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined);
    socket.pause();
    socket.write(
      `${door} HTTP/1.1\r\nhost: x\r\n${credential}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    sockets.push(socket);
    return socket;
  }

  /** What an answer begins with; the rest of it is never read. */
  async function beginningOf(socket: Socket): Promise<string> {
    for (;;) {
      const read = socket.read() as Buffer | null;
      if (read) return read.toString("latin1");
      if (socket.readableEnded || socket.destroyed) throw new Error("It was closed without an answer.");
      await once(socket, "readable");
    }
  }

  const churches = "churches(limit: 200) { church { churchSummary } }";
  // Long pages of a key are made one after the other, and those of a thousand churches together.
  const batch = [toolCall({ limit: 1_000 }), toolCall({ limit: 1 })];
  test.each([
    ["the church search", "GET /v0/orgs/search?limit=10000", undefined],
    ["the church search, several at a time", "GET /v0/orgs/search?limit=1000", undefined],
    ["GraphQL", "POST /graphql", { query: `{ a: ${churches} b: ${churches} c: ${churches} }` }],
    ["the tool endpoint", "POST /v0/mcp", toolCall({ limit: 10_000 })],
    ["the tool endpoint, several at a time", "POST /v0/mcp", toolCall({ limit: 1_000 })],
    ["batches of the tool endpoint", "POST /v0/mcp", batch],
  ])(
    "are few, even if they were all asked for before the first was there: %s",
    async (_, door, body) => {
      const key = await issueTestKey(service.database.owner, "api_read");
      const asked = Array.from({ length: AT_ONCE }, () =>
        askAndNotRead(key, door, body && JSON.stringify(body)),
      );
      const answers = await Promise.all(asked.map(beginningOf));
      const refused = answers.filter((answer) => answer.startsWith("HTTP/1.1 503"));
      const given = answers.filter((answer) => answer.startsWith("HTTP/1.1 200"));
      expect(given.length).toBeGreaterThan(0);
      expect(refused.length).toBeGreaterThan(0);
      expect(given.length + refused.length).toBe(AT_ONCE);
      expect(refused.join("")).toMatch(/waiting to be read/);
      const bytes = given.map((answer) => Number(/^content-length: (\d+)\r$/im.exec(answer)![1]));
      const total = bytes.reduce((sum, each) => sum + each);
      // Twice the longest answer may be unread before the next one is refused.
      expect(total).toBeGreaterThan(2 * ANSWER_BYTES - given.length * 1_000);
      expect(total).toBeLessThanOrEqual(3 * ANSWER_BYTES + given.length * SYSTEM_BYTES);
      for (const answer of refused) {
        expect(answer).toMatch(/^retry-after: 1\r$/im);
        expect(answer).toMatch(/service_busy/);
        // Long pages are made one after the other, and not all of them are waited for.
        expect(answer).toMatch(/waiting to be read|The service is busy/);
        expect(answer).not.toMatch(/^x-next-cursor/im);
      }
      expect((await call(`${generous.url}/v0/accelerators`, "GET", service.keys.read)).status).toBe(200);
      for (const socket of sockets.splice(0)) socket.destroy();
    },
    120_000,
  );

  test("keep their key from asking for more, and no other", async () => {
    const key = await issueTestKey(service.database.owner, "api_read");
    const at = `${generous.url}/v0/accelerators`;
    await eventually(async () => {
      if (sockets.length < 30) askAndNotRead(key);
      const { status, headers, body } = await call(at, "GET", key);
      expect([status, body.error]).toEqual([503, "service_busy"]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    });
    // Once the server knows who of the tests before has left.
    await eventually(async () => expect((await call(at, "GET", service.keys.read)).status).toBe(200));
    // Once they are read, or given up, the key may go on.
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually(async () => expect((await call(at, "GET", key)).status).toBe(200));
  });

  test("keep a person from pages too", async () => {
    const visitor = new Visitor({ url: generous.url, database: service.database });
    await visitor.signIn("ana@river.example");
    const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
    const open = async () => (await visitor.open("/organizations")).status;
    expect(await open()).toBe(200);
    await eventually(async () => {
      if (sockets.length < 30) sendAndNotRead(`cookie: ${cookie}`, SEARCH);
      expect(await open()).toBe(503);
    });
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually(async () => expect(await open()).toBe(200));
  });
});
