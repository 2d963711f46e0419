// Who is calling, part by part: where a credential stands, what a browser says of a request, how keys are looked up, and how
// much may wait to be read.
import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, jest, test } from "@jest/globals";
import type { Request, RequestHandler, Response } from "express";
import { RateLimiterRes } from "rate-limiter-flexible";
import { DeliveryPlugin } from "../server/graphql/delivery.ts";
import { ApiError } from "../server/errors.ts";
import { ifKnown, ifNobody } from "../server/identity/guards.ts";
import { readCookie, SESSION } from "../server/identity/cookies.ts";
import { callerBy, credentialOf, requireIdentityAgain } from "../server/identity/identify.ts";
import type { Credential, Credentials, LastingCredentials } from "../server/identity/identify.ts";
import { callerAs, callerWith, named } from "../server/identity/identity.ts";
import { KeyLookup } from "../server/identity/lookup.ts";
import { refuse } from "../server/identity/network.ts";
import { Sessions } from "../server/identity/sessions.ts";
import { nameRequest } from "../server/request-context.ts";
import { isFromOwnPage, requireOwnPage } from "../server/identity/own-page.ts";
import { limitUndelivered, requireRoom } from "../server/identity/undelivered.ts";
import { limitUnknownKeys } from "../server/identity/unknown-keys.ts";
import { KeyUses } from "../server/identity/uses.ts";
import type { Connections } from "../server/postgres/connections.ts";
import { sendPieces } from "../server/rest/answer.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(30_000);

const turn = () => new Promise(setImmediate);

function requestWith(
  headers: Record<string, string>,
  more: { method?: string; query?: object; secure?: boolean } = {},
): Request {
  return {
    ...{ method: "GET", query: {}, secure: false, protocol: "http", headers, ...more },
    get: (name: string) => headers[name.toLowerCase()],
  } as unknown as Request;
}

describe("a credential", () => {
  const secret = "s".repeat(43);
  const header = { authorization: "Bearer key" };
  const cookie = { cookie: `other=1; ${SESSION}=${secret}` };
  const query = { query: { apiKey: "in-query" } };
  const everywhere: Credential = { inQuery: true, inCookie: true };

  test.each<[string, Request, Credential, [place: string, text: string] | undefined]>([
    [
      "in the header comes first",
      requestWith({ ...header, ...cookie }, query),
      everywhere,
      ["header", "Bearer key"],
    ],
    ["in a cookie comes second", requestWith(cookie, query), everywhere, ["cookie", secret]],
    ["in the query comes last", requestWith({}, query), everywhere, ["query", "in-query"]],
    ["in a cookie counts where one is expected", requestWith(cookie), { inQuery: true }, undefined],
    ["in the query counts where one is expected", requestWith({}, query), { inCookie: true }, undefined],
    ["twice in the query is none", requestWith({}, { query: { apiKey: ["a", "b"] } }), everywhere, undefined],
    [
      "of a page is its session",
      requestWith({ ...header, ...cookie }, query),
      "session of a page",
      ["cookie", secret],
    ],
    ["of a page is nothing else", requestWith(header, query), "session of a page", undefined],
  ])("%s", (_, request, expected, found) => {
    const given = credentialOf(request, expected);
    expect(given && [given.in, given.text]).toEqual(found);
  });

  test("in a cookie is one of ours, under the name that it has over http or https", () => {
    const read = (text: string, secure = false) =>
      readCookie(requestWith({ cookie: text }, { secure }), SESSION);
    expect(read(`${SESSION}=${secret}`)).toBe(secret);
    expect(read(`a=b;${SESSION}=${secret};c=d`)).toBe(secret);
    // What somebody else has planted under the same name does not hide it.
    expect(read(`${SESSION}=planted; ${SESSION}=${secret}`)).toBe(secret);
    expect(read(`x${SESSION}=${secret}`)).toBeUndefined();
    for (const wrong of [secret.slice(1), `${secret}s`, `${secret.slice(1)}!`]) {
      expect(read(`${SESSION}=${wrong}`)).toBeUndefined();
    }
    expect(read(`${SESSION}=${secret}`, true)).toBeUndefined();
    expect(read(`__Host-${SESSION}=${secret}`, true)).toBe(secret);
    expect(read(`__Host-${SESSION}=${secret}`)).toBeUndefined();
    expect(readCookie(requestWith({}), SESSION)).toBeUndefined();
  });

  test("names a caller by what they are: a key by its id, a person by no address", () => {
    const key = callerWith({ keyId: "k", scope: "api_read", ratePerMinute: 7 });
    expect(key).toEqual({ id: "k", role: "api_read", ratePerMinute: 7, keyId: "k" });
    const person = { id: "p", issuer: "i", subject: "s", email: "a@b.example" };
    expect(callerAs(person)).toEqual({ id: "p", role: "api_person", ratePerMinute: null, person });
    expect([named(key), named(callerAs(person))]).toEqual([{ keyId: "k" }, { personId: "p" }]);
  });
});

describe("a browser's request", () => {
  const own = { host: "here.example", origin: "http://here.example" };
  test.each<[string, Record<string, string>, { get: boolean; post: boolean }]>([
    ["same-origin", { "sec-fetch-site": "same-origin" }, { get: true, post: true }],
    ["typed by its user", { "sec-fetch-site": "none" }, { get: true, post: false }],
    ["same-site", { "sec-fetch-site": "same-site" }, { get: false, post: false }],
    [
      "cross-site, whatever the origin says",
      { ...own, "sec-fetch-site": "cross-site" },
      { get: false, post: false },
    ],
    ["from this origin", own, { get: true, post: true }],
    ["from this host by https", { ...own, origin: "https://here.example" }, { get: false, post: false }],
    ["from another origin", { ...own, origin: "http://there.example" }, { get: false, post: false }],
    ["from nowhere in particular", { host: "here.example" }, { get: true, post: false }],
  ])("%s: whether it comes from a page of ours, to read and to write", (_, headers, { get, post }) => {
    expect(isFromOwnPage(requestWith(headers))).toBe(get);
    expect(isFromOwnPage(requestWith(headers, { method: "HEAD" }))).toBe(get);
    expect(isFromOwnPage(requestWith(headers, { method: "POST" }))).toBe(post);
  });

  test("that changes something with a session says that it means to", () => {
    const page = { "sec-fetch-site": "same-origin" };
    const meant = { ...page, "x-session-request": "1" };
    const refusal = expect.objectContaining({ code: "session_not_allowed" });
    const post = { method: "POST" };
    expect(() => requireOwnPage(requestWith(page))).not.toThrow();
    expect(() => requireOwnPage(requestWith(page, post))).toThrow(refusal);
    expect(() => requireOwnPage(requestWith(meant, post))).not.toThrow();
    expect(() => requireOwnPage(requestWith({ ...meant, "sec-fetch-site": "cross-site" }, post))).toThrow(
      refusal,
    );
  });
});

describe("keys are looked up", () => {
  type Values = [hashes: string[], addresses: string[]];
  function lookup(statements: number) {
    const asked: (PromiseWithResolvers<{ rows: object[] }> & { values: Values })[] = [];
    const connections = {
      borrow: (_: unknown, work: (connection: unknown) => unknown) =>
        work({
          run: ({ values }: { values: Values }) => {
            const answer = { ...Promise.withResolvers<{ rows: object[] }>(), values };
            asked.push(answer);
            return answer.promise;
          },
        }),
    } as unknown as Connections;
    return { asked, keys: new KeyLookup(connections, statements) };
  }
  const row = (question: number, more: object = {}) => ({
    ...{ question, key_id: `key ${question}`, scope: "api_read", rate_per_minute: 7, expires_at: null },
    ...{ is_for_networks: false, is_for_address: true, ...more },
  });

  test("together by those who wait for a statement, each by the answer to their own question", async () => {
    const { asked, keys } = lookup(1);
    const first = keys.find("a", "1");
    const rest = [keys.find("b", "1"), keys.find("c", "1"), keys.find("b", "2"), keys.find("b", "1")];
    expect(asked.map(({ values }) => values)).toEqual([[["a"], ["1"]]]);
    asked[0]!.resolve({ rows: [row(0, { expires_at: "2030-01-01T00:00:00Z" })] });
    expect(await first).toEqual({
      ...{ keyId: "key 0", scope: "api_read", ratePerMinute: 7, isForNetworks: false, isForAddress: true },
      expiresAt: Date.parse("2030-01-01T00:00:00Z"),
    });
    await turn();
    expect(asked.slice(1).map(({ values }) => values)).toEqual([
      [
        ["b", "c", "b"],
        ["1", "1", "2"],
      ],
    ]);
    asked[1]!.resolve({ rows: [row(2, { is_for_networks: true, is_for_address: false }), row(0)] });
    const found = await Promise.all(rest);
    expect(found.map((key) => key?.keyId)).toEqual(["key 0", undefined, "key 2", "key 0"]);
    expect(found[2]).toMatchObject({ isForNetworks: true, isForAddress: false, expiresAt: null });
  });

  test("by so many statements at a time, of five hundred at most", async () => {
    const { asked, keys } = lookup(2);
    for (let i = 0; i < 503; i++) void keys.find(`k${i}`, "1");
    expect(asked.map(({ values: [hashes] }) => hashes.length)).toEqual([1, 1]);
    asked[1]!.resolve({ rows: [] });
    await turn();
    expect(asked.map(({ values: [hashes] }) => hashes.length)).toEqual([1, 1, 500]);
    asked[0]!.resolve({ rows: [] });
    await turn();
    expect(asked.map(({ values: [hashes] }) => hashes.length)).toEqual([1, 1, 500, 1]);
  });

  test("again after a failure, which is that of all who shared the statement", async () => {
    const { asked, keys } = lookup(1);
    void keys.find("a", "1");
    const failing = [keys.find("b", "1"), keys.find("c", "1")].map((each) =>
      each.catch((error: Error) => error.message),
    );
    asked[0]!.resolve({ rows: [] });
    await turn();
    asked[1]!.reject(new Error("down"));
    expect(await Promise.all(failing)).toEqual(["down", "down"]);
    const again = keys.find("b", "1");
    await turn();
    asked[2]!.resolve({ rows: [row(0)] });
    expect((await again)?.keyId).toBe("key 0");
    await turn();
    void keys.find("d", "1");
    expect(asked).toHaveLength(4);
  });

  test("and their use is told once a minute, and again at once where it could not be told", async () => {
    const told: string[][] = [];
    let isDown = true;
    const connections = {
      borrow: (_: unknown, work: (connection: unknown) => unknown) => {
        if (isDown) throw new Error("down");
        return work({
          run: ({ values }: { values: [string[]] }) => Promise.resolve(void told.push(values[0])),
        });
      },
    } as unknown as Connections;
    const uses = new KeyUses(connections);
    uses.note("a");
    uses.note("b");
    await uses.stop();
    isDown = false;
    for (const name of ["a", "a", "c"]) uses.note(name);
    await uses.stop();
    let now = 1_000_000;
    const clock = jest.spyOn(performance, "now").mockImplementation(() => now);
    const later = async (ms: number) => {
      now += ms;
      // The cache reads its clock once in a millisecond.
      await pause(5);
    };
    try {
      await later(0);
      uses.note("d");
      await later(60_000);
      uses.note("d");
      await uses.stop();
      await later(1);
      uses.note("d");
      await uses.stop();
    } finally {
      clock.mockRestore();
    }
    expect(told).toEqual([["a", "c"], ["d"], ["d"]]);
  });
});

describe("what one request with a credential is refused for is not what comes of the credential", () => {
  const secret = "s".repeat(43);
  const cookie = { cookie: `${SESSION}=${secret}` };
  const own = { ...cookie, "sec-fetch-site": "same-origin" };

  test.each<[string, Credential, bad: Request, good: Request, refusal: string]>([
    [
      "a page of somebody else that leads to ours while one of ours asks",
      { inCookie: true },
      requestWith({ ...cookie, "sec-fetch-site": "cross-site" }),
      requestWith(own),
      "session_not_allowed",
    ],
    [
      "a header in a form of its own while the same key comes in an address",
      { inQuery: true },
      requestWith({ authorization: "ek_a" }),
      requestWith({}, { query: { apiKey: "ek_a" } }),
      "invalid_api_key",
    ],
    [
      "a session in place of a key while it is used as what it is",
      { inCookie: true },
      requestWith({ authorization: `Bearer ${secret}` }),
      requestWith(own),
      "invalid_api_key",
    ],
    [
      "a token in an address, which is a good one in the header",
      { inQuery: true },
      requestWith({}, { query: { apiKey: "a.b.c" } }),
      requestWith({ authorization: "Bearer a.b.c" }),
      "invalid_token",
    ],
  ])("%s", async (_, expected, bad, good, code) => {
    const person = { id: "p", issuer: "i", subject: "s", email: "a@b.example" };
    const credentials = {
      keys: {
        identify: (text: string) =>
          text.startsWith("ek_")
            ? Promise.resolve({ keyId: "k", scope: "api_read", ratePerMinute: null })
            : Promise.reject(new ApiError("invalid_api_key")),
      },
      tokens: { identify: () => Promise.resolve(person) },
      sessions: { find: () => Promise.resolve(person) },
    } as unknown as Credentials;
    const ask = async (identified: RequestHandler, request: Request) => {
      const response = { once: () => undefined } as unknown as Response;
      const alone = { ...request } as Request;
      try {
        await identified(alone, response, () => undefined);
        return alone.identity.id;
      } catch (error) {
        return (error as ApiError).code;
      }
    };
    // However far the one has got when the other comes.
    for (let steps = 0; steps < 20; steps++) {
      const identified = limitUnknownKeys(60, credentials)(expected);
      const refused = ask(identified, bad);
      for (let step = 0; step < steps; step++) await Promise.resolve();
      expect(await ask(identified, good)).toMatch(/^[kp]$/);
      expect(await refused).toBe(code);
    }
  });
});

test("whose a session is, is asked in the share of their network, and whose a key is, for their very address", async () => {
  const asked: unknown[] = [];
  const person = { id: "p", issuer: "i", subject: "s", email: "a@b.example" };
  const note = (answer: object) => (_: string, place: string) => (asked.push(place), Promise.resolve(answer));
  const credentials = {
    keys: { identify: note({ keyId: "k", scope: "api_read", ratePerMinute: null }) },
    sessions: { find: note(person) },
  } as unknown as Credentials;
  const from = (ip: string) => ({ ip }) as Request;
  for (const kind of ["session", "key"] as const)
    for (const ip of ["2001:db8:1:2:3::4", "10.0.0.9"])
      await callerBy({ kind, text: "x" }, credentials, from(ip));
  expect(asked).toEqual(["2001:db8:1:2", "10.0.0.9", "2001:db8:1:2:3::4", "10.0.0.9"]);
});

test("a token that many came with is verified once for all who are asked about at the same time", async () => {
  const person = { id: "p", issuer: "i", subject: "s", email: "a@b.example" };
  let verified = 0;
  const credentials = {
    tokens: {
      identify: async () => {
        verified += 1;
        await turn();
        return person;
      },
    },
  } as unknown as LastingCredentials;
  const again = requireIdentityAgain(credentials);
  const ask = async () => {
    const request = requestWith({ authorization: "Bearer a.b.c" });
    await again(request, { once: () => undefined } as unknown as Response, () => undefined);
    return request.identity.id;
  };
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(["p", "p", "p"]);
  expect(verified).toBe(1);
  expect([await ask(), verified]).toEqual(["p", 2]);
});

test("sessions over which somebody is told are looked up together, each by the answer to its own question", async () => {
  const personOf = (name: string) => ({ id: name, issuer: "i", subject: name, email: `${name}@b.example` });
  const hash = (secret: string) => createHash("sha256").update(secret).digest();
  const asked: (PromiseWithResolvers<{ rows: object[] }> & { hashes: Buffer[] })[] = [];
  const connections = {
    borrow: (_: unknown, work: (connection: unknown) => unknown) =>
      work({
        run: ({ values: [hashes] }: { values: [Buffer[]] }) => {
          const answer = { ...Promise.withResolvers<{ rows: object[] }>(), hashes };
          asked.push(answer);
          return answer.promise;
        },
      }),
  } as unknown as Connections;
  const sessions = new Sessions(connections);
  const first = sessions.findAgain("first");
  const others = ["ana's", "over", "ben's", "ana's"].map((secret) => sessions.findAgain(secret));
  expect(asked.map(({ hashes }) => hashes)).toEqual([[hash("first")]]);
  asked[0]!.resolve({ rows: [{ number: 1, person: personOf("eva") }] });
  expect(await first).toEqual(personOf("eva"));
  await turn();
  expect(asked.slice(1).map(({ hashes }) => hashes)).toEqual([["ana's", "over", "ben's"].map(hash)]);
  asked[1]!.resolve({
    rows: [
      { number: 3, person: personOf("ben") },
      { number: 2, person: null },
      { number: 1, person: personOf("ana") },
    ],
  });
  expect(await Promise.all(others)).toEqual([personOf("ana"), undefined, personOf("ben"), personOf("ana")]);
});

describe("what begins a session", () => {
  const network = "10.0.0.9";
  const browser = { secret: "of the browser", session: "that it has", network };
  const person = { email: "ana@river.example", issuer: "https://login.example", subject: "ana" };
  const hash = (secret: string) => createHash("sha256").update(secret).digest();

  test.each<[string, (sessions: Sessions) => Promise<unknown>, unknown[]]>([
    ["to find it", (sessions) => sessions.find("mine", network), [hash("mine")]],
    [
      "to mail a link",
      (sessions) =>
        sessions.sendLink(person.email, { secret: "sent", link: "https://us/sent", returnTo: "/a", browser }),
      [person.email, hash("sent"), hash(browser.secret), "/a", "https://us/sent", network],
    ],
    [
      "to follow it",
      (sessions) => sessions.followLink("sent", browser),
      [hash("sent"), hash(browser.secret), expect.any(Buffer), hash(browser.session)],
    ],
    [
      "to ask the provider",
      (sessions) => sessions.askProvider("state", browser, "/a"),
      [hash("state"), hash(browser.secret), "/a", network],
    ],
    [
      "to come back from it",
      (sessions) => sessions.backFromProvider("state", browser),
      [hash("state"), hash(browser.secret)],
    ],
    [
      "to begin",
      (sessions) => sessions.begin(person, browser),
      [expect.any(Buffer), hash(browser.session), person.email, person.issuer, person.subject],
    ],
    ["to see claims", (sessions) => sessions.claimsToConfirm("mine", network), [hash("mine")]],
    ["to confirm them", (sessions) => sessions.confirmClaims("mine", network, ["c"]), [hash("mine"), ["c"]]],
    ["to end it", (sessions) => sessions.end("mine", network, true), [hash("mine"), true]],
  ])(
    "%s takes connections from the share of its network, and tells the database hashes of secrets, who is trusted, and the request",
    async (_, act, values) => {
      const asked: unknown[][] = [];
      const connections = {
        borrow: ({ caller }: { caller: string }, work: (connection: unknown) => unknown) =>
          work({
            run: (query: { text: string; values: unknown[] }) => {
              asked.push([caller, query.values]);
              // The name of the request is the last of them.
              expect(query.text).toContain(`set_config('app.request_id', $${query.values.length}, true)`);
              return Promise.resolve({ rows: [{ answer: null }] });
            },
          }),
      } as unknown as Connections;
      const request = { get: () => "request-1" } as unknown as Request;
      const response = { set: () => undefined } as unknown as Response;
      const oidc = { issuers: [person.issuer] };
      let acting: Promise<unknown> | undefined;
      nameRequest(request, response, () => void (acting = act(new Sessions(connections, oidc))));
      await acting;
      expect(asked).toEqual([
        [`sign-in ${network}`, [...values, JSON.stringify({ [person.issuer]: null }), "request-1"]],
      ]);
    },
  );
});

describe("a guard that asks another", () => {
  test.each([
    ["those who are known", ifKnown, true],
    ["the others", ifNobody, false],
  ])("has it look at %s alone, and lets the rest pass", (_, only, forKnown) => {
    const seen: string[] = [];
    const guard = only((_request, _response, next) => (seen.push("looked at"), next()));
    for (const isKnown of [true, false]) {
      seen.length = 0;
      const request = (isKnown ? { identity: {} } : {}) as Request;
      void guard(request, {} as Response, () => seen.push("passed"));
      expect(seen).toEqual(isKnown === forKnown ? ["looked at", "passed"] : ["passed"]);
    }
  });

  test("tells in whole seconds when to come back, rounded up; what is no refusal is none", () => {
    const over = (ms: number) => new RateLimiterRes(0, ms, 61, false);
    for (const [ms, seconds] of [
      [1, "1"],
      [1_000, "1"],
      [1_001, "2"],
    ] as const) {
      expect(() => refuse(over(ms), "requests")).toThrow(
        expect.objectContaining({ code: "rate_limited", headers: { "retry-after": seconds } }),
      );
    }
    const broken = new Error("broken");
    expect(() => refuse(broken, "requests")).toThrow(broken);
  });
});

describe("answers that nobody reads", () => {
  function answerOf(id: string, guard: ReturnType<typeof limitUndelivered>) {
    const headers = new Map<string, unknown>([["x-before", 1]]);
    const sent: unknown[] = [];
    const answer = Object.assign(new EventEmitter(), {
      ...{ writableLength: 0, headersSent: false, closed: false, sent, headers },
      getHeaderNames: () => [...headers.keys()],
      removeHeader: (name: string) => headers.delete(name),
      end: (chunk: unknown) => void sent.push(chunk),
    });
    void guard({ identity: { id } } as unknown as Request, answer as unknown as Response, () => undefined);
    return answer;
  }
  const full = expect.objectContaining({ code: "service_busy", headers: { "retry-after": "1" } });
  const LONG = "x".repeat(65_537);

  test("keep the same caller from asking while there is more than allowed of them, and nobody else", () => {
    const guard = limitUndelivered(1_000);
    const first = answerOf("a", guard);
    first.writableLength = 600;
    const second = answerOf("a", guard);
    second.writableLength = 400;
    // Just as much as allowed.
    const third = answerOf("a", guard);
    third.writableLength = 1;
    expect(() => answerOf("a", guard)).toThrow(full);
    answerOf("b", guard);
    // Whoever has read, or hung up, may ask again.
    second.emit("close");
    answerOf("a", guard);
    // Those that are still there count as before.
    third.writableLength = 401;
    expect(() => answerOf("a", guard)).toThrow(full);
  });

  test("are counted with what of them is still to be written", async () => {
    const guard = limitUndelivered(1_000);
    const [first, second] = [answerOf("a", guard), answerOf("a", guard)];
    const refused: boolean[] = [];
    const write = () => {
      try {
        requireRoom(second as unknown as Response, 65_537);
        refused.push(false);
      } catch (error) {
        expect(error).toEqual(full);
        refused.push(true);
      }
    };
    const answer = Object.assign(first, { set: () => undefined, write }) as unknown as Response;
    await sendPieces(answer, ["1", "2", "x".repeat(1_000), Buffer.from("é")]);
    // With 1,003, 1,002, 2 and none to be written.
    expect(refused).toEqual([true, true, false, false]);
  });

  test("are not joined by a long one, which says nothing of what it would have been; a short one comes through", () => {
    const guard = limitUndelivered(1_000);
    const [first, long, short, begun] = ["a", "a", "a", "a"].map((id) => answerOf(id, guard));
    first!.writableLength = 1_001;
    long!.headers.set("x-next-cursor", "y");
    expect(() => long!.end(LONG)).toThrow(full);
    expect([long!.sent, [...long!.headers.keys()]]).toEqual([[], ["x-before"]]);
    short!.end(LONG.slice(1));
    expect(short!.sent).toHaveLength(1);
    expect(() => long!.end(Buffer.from(LONG))).toThrow(full);
    begun!.headersSent = true;
    begun!.end(LONG);
    expect(begun!.sent).toHaveLength(1);
    expect(() => requireRoom(long as unknown as Response, 65_537)).toThrow(full);
    expect(() => requireRoom(long as unknown as Response, 65_536)).not.toThrow();
  });

  test("are not joined by a long one of GraphQL, which is asked before its headers are written", async () => {
    const guard = limitUndelivered(1_000);
    const [first, second] = [answerOf("a", guard), answerOf("a", guard)];
    const middleware = DeliveryPlugin.grafserv!.middleware!.processRequest as unknown as (
      next: () => Promise<unknown>,
      event: object,
    ) => Promise<unknown>;
    const deliver = (bytes: number, type = "buffer") => {
      const result = { type, statusCode: 200, headers: {}, buffer: Buffer.alloc(bytes) };
      const event = { requestDigest: { requestContext: { expressv4: { res: second } } } };
      return middleware(() => Promise.resolve(result), event);
    };
    expect(await deliver(65_537)).toMatchObject({ type: "buffer", statusCode: 200 });
    first.writableLength = 1_001;
    expect(await deliver(65_537)).toEqual({ type: "error", statusCode: 503, headers: {}, error: full });
    expect(await deliver(65_536)).toMatchObject({ type: "buffer", statusCode: 200 });
    expect(await deliver(65_537, "noContent")).toMatchObject({ type: "noContent" });
  });
});
