// How the tool endpoint makes its answers: batches in turns, pages piece by piece, and nothing for who has gone.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import express from "express";
import type { ErrorRequestHandler, RequestHandler } from "express";
import type { Logger } from "pino";
import { errorHandler } from "../server/errors.ts";
import { hungUp } from "../server/hang-up.ts";
import { callerWith } from "../server/identity/identity.ts";
import type { Identity } from "../server/identity/identity.ts";
import { readPage } from "../server/mcp/church-tool.ts";
import { mcpDoor } from "../server/mcp/door.ts";
import { CallerGone } from "../server/postgres/unavailable.ts";
import type { ChurchPages } from "../server/resources/church-pages.ts";
import { eventually } from "./support/eventually.ts";
import { toolCall } from "./support/mcp.ts";
import { countTurns } from "./support/turns.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
const SOON_MS = 20_000;
jest.setTimeout(60_000);

const PAGE = ['{"items":[', '],"has_more":false}'];
const loop = countTurns();
afterAll(() => loop.stop());

describe("the door", () => {
  /** Searches that have begun, and how each is answered. */
  const asked: { by: string; answer: (pieces: string[]) => void }[] = [];
  /** In their order: searches that have begun, and answers that have been handed over, each by its key. */
  const events: string[] = [];
  const failures: unknown[] = [];
  const logged: unknown[] = [];
  const turnsOfBatches: number[] = [];
  const callers: AbortController[] = [];
  let batches = 0;
  let server: ReturnType<ReturnType<typeof express>["listen"]>;
  let url: string;

  beforeAll(async () => {
    const churchPages = {
      page: async function* ({ id, gone }: Identity) {
        yield* await new Promise<string[]>((answer, refuse) => {
          gone!.addEventListener("abort", () => refuse(new CallerGone()));
          asked.push({ by: id, answer });
          events.push(`${id} asks`);
        });
      },
    } as unknown as ChurchPages;
    const identified: RequestHandler = (request, response, next) => {
      const keyId = request.get("x-key")!;
      const gone = hungUp(response);
      request.identity = { ...callerWith({ keyId, scope: "api_read", ratePerMinute: null }), gone };
      let began = NaN;
      request.countAs = () => {
        began = loop.turns();
        batches += 1;
        return Promise.resolve();
      };
      const end = response.end.bind(response);
      response.end = ((...given: Parameters<typeof end>) => {
        events.push(`${keyId} is answered`);
        turnsOfBatches.push(loop.turns() - began);
        return end(...given);
      }) as typeof end;
      next();
    };
    const failed: ErrorRequestHandler = (error, _request, _response, next) => {
      failures.push(error);
      next(error);
    };
    const log = (what: unknown) => void logged.push(what);
    const logger = { warn: log, error: log } as unknown as Logger;
    const app = express();
    const guards = { key: [], again: identified, keyInQuery: [identified], page: [], openPage: [] };
    await mcpDoor({ churchPages, logger, corsOrigins: [], answerMaxBytes: 1_000_000 })(app, guards);
    app.use(failed, errorHandler(logger));
    server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v0/mcp`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  afterEach(async () => {
    for (const caller of callers.splice(0)) caller.abort();
    const getConnections = () =>
      new Promise<number>((done) => server.getConnections((_, count) => done(count)));
    await eventually(async () => {
      server.closeIdleConnections();
      expect(await getConnections()).toBe(0);
    });
    for (const list of [asked, events, failures, logged, turnsOfBatches]) list.length = 0;
    batches = 0;
  });

  type Told = { status: number; headers: Headers; body: unknown };

  /** Sends something with a key, and says how to hang up. */
  function send(key: string, body: unknown): { answer: Promise<Told>; hangUp: () => void } {
    const caller = new AbortController();
    callers.push(caller);
    const answer = (async () => {
      const headers = { "content-type": "application/json", "x-key": key };
      const got = await fetch(url, {
        ...{ method: "POST", headers, body: JSON.stringify(body), signal: caller.signal },
      });
      const text = await got.text();
      return { status: got.status, headers: got.headers, body: text && (JSON.parse(text) as unknown) };
    })();
    answer.catch(() => undefined);
    return { answer, hangUp: () => caller.abort() };
  }

  const search = toolCall({ limit: 1 });
  const begun = (...keys: string[]) =>
    eventually(() => expect(asked.map(({ by }) => by).toSorted()).toEqual(keys.toSorted()), SOON_MS);
  /** By when whatever could go on has done so. */
  const settled = async () => {
    for (let n = 0; n < 100; n += 1) await turn();
  };

  test("makes two batches of a key at a time, each until its answer has been handed over, and those of others", async () => {
    const first = send("a", [search]);
    await begun("a");
    const second = send("a", [search]);
    await begun("a", "a");
    const third = send("a", [search]);
    const other = send("b", [search]);
    const alone = send("a", search);
    await begun("a", "a", "a", "b");
    await settled();
    // The message by itself is the third of them.
    asked.at(asked[2]!.by === "a" ? 2 : 3)!.answer(PAGE);
    expect((await alone.answer).status).toBe(200);
    await settled();
    expect(asked).toHaveLength(4);
    events.length = 0;
    // So many that it takes a while to hand them over.
    asked[0]!.answer([PAGE[0]!, ...Array<string>(500).fill(" "), PAGE[1]!]);
    await begun("a", "a", "a", "a", "b");
    expect(events).toEqual(["a is answered", "a asks"]);
    for (const { answer } of asked) answer(PAGE);
    for (const { answer } of [first, second, third, other])
      expect(await answer).toMatchObject({
        status: 200,
        body: [{ id: 1, result: { structuredContent: { items: [] } } }],
      });
  });

  test("leaves out a batch whose caller has hung up, whether it waits or is being made", async () => {
    send("a", [search]);
    const second = send("a", [search]);
    await begun("a", "a");
    const gone = send("a", [search, search]);
    await eventually(() => expect(batches).toBe(3), SOON_MS);
    await settled();
    gone.hangUp();
    await eventually(() => expect(failures).toEqual([expect.any(CallerGone)]), SOON_MS);
    const fourth = send("a", [search]);
    await settled();
    expect(asked).toHaveLength(2);
    second.hangUp();
    await begun("a", "a", "a");
    asked[2]!.answer(PAGE);
    expect((await fourth.answer).status).toBe(200);
    expect(asked).toHaveLength(3);
    expect(logged).toEqual([]);
  });

  test("has twenty batches of a key wait, and refuses more as REST does", async () => {
    const sent = Array.from({ length: 23 }, () => send("a", [search]));
    const told = await Promise.race(sent.map(({ answer }) => answer));
    expect(told).toMatchObject({ status: 503, body: { error: "service_busy", statusCode: 503 } });
    expect(told.headers.get("retry-after")).toBe("1");
    await settled();
    expect(failures).toHaveLength(1);
    expect(asked).toHaveLength(2);
  });

  test.each([
    ["a batch, of which no more is done", [search, search, search]],
    ["a message", search],
  ])("says nothing in the log of who hangs up: %s", async (_, body) => {
    const sent = send("a", body);
    await begun("a");
    sent.hangUp();
    await eventually(() => expect(events).toEqual(["a asks", "a is answered"]), SOON_MS);
    await settled();
    expect(asked).toHaveLength(1);
    expect(logged).toEqual([]);
  });

  test("lets others have a turn after each message of a batch", async () => {
    const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
    const { answer } = send(
      "a",
      Array.from({ length: 10 }, () => notification),
    );
    expect((await answer).status).toBe(202);
    expect(turnsOfBatches).toHaveLength(1);
    expect(turnsOfBatches[0]).toBeGreaterThanOrEqual(9);
  });
});

test("others have a turn after each piece of a page that is read", async () => {
  const at: number[] = [];
  const pieces = async function* () {
    for (let n = 0; n < 5; n += 1) {
      at.push(loop.turns());
      yield "é";
    }
  };
  expect((await readPage(pieces())).bytes).toBe(10);
  expect(new Set(at).size).toBe(5);
});
