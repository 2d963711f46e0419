// When an OpenID provider is asked for its keys, by a clock that the test sets, and whose answer is believed.
import { afterEach, beforeAll, beforeEach, expect, jest, test } from "@jest/globals";
import { errors, exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, FlattenedJWSInput, JWK } from "jose";
import { ProviderKeys } from "../server/identity/provider.ts";
import { PersonTokens } from "../server/identity/tokens.ts";

jest.setTimeout(30_000);

const ISSUER = "https://login.example/";
const CONFIGURATION = "https://login.example/.well-known/openid-configuration";
const right = { issuer: ISSUER, jwks_uri: "https://keys.example/jwks" };
const token = { payload: "", signature: "", protected: "" } as FlattenedJWSInput;
const unavailable = (seconds: string) =>
  expect.objectContaining({
    ...{ code: "identity_provider_unavailable", headers: { "retry-after": seconds } },
  });

let jwks: Record<"one" | "two", JWK>;
const secrets: Record<string, CryptoKey> = {};
let now: number;
let asked: { url: string; options: RequestInit }[];
let answers: Record<string, unknown>;
let clock: { work: () => void; ms: number; timer: object }[];
let warned: number;
let told: string[];
let provider: ProviderKeys;
beforeAll(async () => {
  const make = async (kid: string) => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    secrets[kid] = privateKey;
    return { ...(await exportJWK(publicKey)), kid, alg: "ES256" };
  };
  jwks = { one: await make("one"), two: await make("two") };
});
beforeEach(() => {
  [now, asked, clock, warned, told] = [1_000_000, [], [], 0, []];
  answers = {
    [CONFIGURATION]: right,
    "https://keys.example/jwks": { keys: [jwks.one] },
  };
  jest.spyOn(performance, "now").mockImplementation(() => now);
  jest.spyOn(globalThis, "fetch").mockImplementation(((url: string, options: RequestInit) => {
    asked.push({ url, options });
    const answer = answers[url];
    if (answer === undefined) return Promise.reject(new Error("nobody there"));
    return Promise.resolve(
      typeof answer === "number" ? Response.json(right, { status: answer }) : Response.json(answer),
    );
  }) as typeof fetch);
  jest.spyOn(globalThis, "setInterval").mockImplementation(((work: () => void, ms: number) => {
    const timer = { unref: () => undefined };
    clock.push({ work, ms, timer });
    return timer;
  }) as unknown as typeof setInterval);
  const warn = ({ err }: { err: Error }) => {
    warned += 1;
    told.push(err.message);
  };
  provider = new ProviderKeys(ISSUER, { warn } as never);
});
afterEach(() => void jest.restoreAllMocks());

const find = (kid: string) => provider.find({ alg: "ES256", kid }, token);
const nobody = errors.JWKSNoMatchingKey;

test("its keys are had by discovery, in two questions that follow nobody elsewhere, and then known", async () => {
  const patience = jest.spyOn(AbortSignal, "timeout");
  expect(await find("one")).toBeDefined();
  expect(asked.map(({ url }) => url)).toEqual([CONFIGURATION, "https://keys.example/jwks"]);
  for (const { options } of asked) expect(options.redirect).toBe("error");
  // Each has three seconds.
  expect(patience.mock.calls).toEqual([[3_000], [3_000]]);
  expect(await find("one")).toBeDefined();
  expect(asked).toHaveLength(2);
});

test("a key that is not known is looked for once in five seconds; nobody is told that it is not there who has not asked for it", async () => {
  await find("one");
  await expect(find("two")).rejects.toEqual(unavailable("5"));
  now += 4_999;
  await expect(find("two")).rejects.toEqual(unavailable("1"));
  expect(asked).toHaveLength(2);
  now += 1;
  await expect(find("two")).rejects.toThrow(nobody);
  expect(asked).toHaveLength(4);
  // It was not there a moment ago.
  await expect(find("two")).rejects.toThrow(nobody);
  await expect(find("three")).rejects.toEqual(unavailable("5"));
  expect(asked).toHaveLength(4);
  answers["https://keys.example/jwks"] = { keys: [jwks.one, jwks.two] };
  now += 5_000;
  expect(await find("two")).toBeDefined();
});

test("of names that are made up it remembers a thousand, until it has asked again", async () => {
  const made = async (from: number, count: number) => {
    for (let i = from; i < from + count; i++) await expect(find(`made-up-${i}`)).rejects.toThrow();
  };
  await find("one");
  now += 5_000;
  // All of the first thousand share one answer, if they come before it.
  await Promise.all(
    Array.from({ length: 1_000 }, (_, i) => expect(find(`made-up-${i}`)).rejects.toThrow(nobody)),
  );
  await expect(find("another")).rejects.toEqual(unavailable("5"));
  now += 5_000;
  await made(2_000, 1);
  await expect(find("made-up-2000")).rejects.toThrow(nobody);
});

test("by the clock a key is forgotten within ten minutes that the provider no longer has", async () => {
  provider.start();
  expect(clock.map(({ ms }) => ms)).toEqual([600_000]);
  // Before anybody comes with a token.
  expect(asked).toHaveLength(1);
  expect(await find("one")).toBeDefined();
  expect(asked).toHaveLength(2);
  answers["https://keys.example/jwks"] = { keys: [jwks.two] };
  clock[0]!.work();
  now += 5_000;
  expect(await find("two")).toBeDefined();
  expect(asked).toHaveLength(4);
  now += 5_000;
  await expect(find("one")).rejects.toThrow(nobody);
  const ended = jest.spyOn(globalThis, "clearInterval").mockReturnValue();
  provider.stop();
  expect(ended).toHaveBeenCalledWith(clock[0]!.timer as never);
});

test("a provider that is away, at the start or by the clock, is told of in the log and ends no process", async () => {
  delete answers[CONFIGURATION];
  const passed = () => new Promise(setImmediate);
  provider.start();
  await passed();
  expect(warned).toBe(1);
  clock[0]!.work();
  await passed();
  expect(warned).toBe(2);
  answers[CONFIGURATION] = right;
  clock[0]!.work();
  await passed();
  expect(await find("one")).toBeDefined();
  expect(warned).toBe(2);
});

test("those who ask at once share the answer, and a provider that is away is told of and tried again", async () => {
  answers[CONFIGURATION] = 500;
  const both = await Promise.allSettled([find("one"), find("one")]);
  for (const each of both) expect(each).toEqual({ status: "rejected", reason: unavailable("5") });
  expect([asked.length, warned]).toEqual([1, 1]);
  await expect(find("one")).rejects.toEqual(unavailable("5"));
  expect(asked).toHaveLength(1);
  answers[CONFIGURATION] = right;
  now += 5_000;
  expect(await find("one")).toBeDefined();
});

test.each<[string, () => Record<string, unknown>]>([
  [
    "calls itself something else",
    () => ({ [CONFIGURATION]: { issuer: "https://login.example", jwks_uri: "https://keys.example/jwks" } }),
  ],
  [
    "has its keys where anybody can change them",
    () => ({
      [CONFIGURATION]: { issuer: ISSUER, jwks_uri: "http://keys.example/jwks" },
      "http://keys.example/jwks": { keys: [jwks.one] },
    }),
  ],
  ["has no list of keys", () => ({ "https://keys.example/jwks": { keys: "none" } })],
  [
    "says more than a provider has to say",
    () => ({ "https://keys.example/jwks": { keys: [jwks.one], more: "x".repeat(262_144) } }),
  ],
])("a provider that %s is not believed", async (_, wrong) => {
  Object.assign(answers, wrong());
  await expect(find("one")).rejects.toEqual(unavailable("5"));
  expect(asked.map(({ url }) => url)).not.toContain("http://keys.example/jwks");
});

const USELESS: Record<string, (key: JWK) => object[]> = {
  "has no keys": () => [],
  "has keys for encryption only": (key) => [{ ...key, use: "enc" }],
  "has keys with which nothing is verified": (key) => [{ ...key, key_ops: ["sign"] }],
  "says what a key is for in one word": (key) => [{ ...key, key_ops: "verify" }],
  "has keys for other algorithms": (key) => [{ ...key, alg: "ES256K" }],
  "has keys that are shared secrets": () => [{ kty: "oct", k: "AAAA", kid: "one" }],
  "has keys of another kind": () => [{ kty: "OKP", crv: "X25519", x: "A".repeat(43), kid: "one" }],
  "publishes private keys": (key) => [{ ...key, d: key.x }],
  "has only a part of a key": (key) => [{ ...key, y: undefined }],
};

test.each(Object.keys(USELESS))(
  "of a provider that %s, what is known is kept; it is told of, and asked again",
  async (what) => {
    const made = USELESS[what]!;
    expect(await find("one")).toBeDefined();
    answers["https://keys.example/jwks"] = { keys: made(jwks.two) };
    now += 5_000;
    await expect(find("two")).rejects.toEqual(unavailable("5"));
    expect(told).toEqual(["https://keys.example/jwks has no key with which a token could be verified"]);
    expect(await find("one")).toBeDefined();
    // One key that is usable is enough.
    answers["https://keys.example/jwks"] = { keys: [...made(jwks.one), jwks.two] };
    now += 5_000;
    expect(await find("two")).toBeDefined();
    expect(warned).toBe(1);
  },
);

test("a key that says nothing of what it is for, or that it is for signatures, is usable", async () => {
  const { alg: _, ...bare } = jwks.one;
  for (const key of [bare, { ...bare, use: "sig" }, { ...bare, key_ops: ["verify"] }]) {
    answers["https://keys.example/jwks"] = { keys: [key] };
    provider = new ProviderKeys(ISSUER, { warn: () => undefined } as never);
    expect(await find("one")).toBeDefined();
  }
});

test.each<[string, object, string]>([
  ["has expired", { exp: 1 }, "This token has expired; get a new one."],
  ["is for others", { aud: "them" }, "This token is for another audience."],
  ["is issued in the future", { iat: 9_999_999_999 }, "This token is not valid yet."],
  ["is for later", { nbf: 9_999_999_999 }, "This token is not valid yet."],
  ["is older than a day", { iat: 1 }, "This token has expired; get a new one."],
  ["lacks an end", { exp: undefined }, "This token is not complete: exp."],
  ["lacks a subject", { sub: undefined }, "This token is not complete: sub."],
])("a token that %s is refused in words that help", async (_, wrong, message) => {
  const tokens = new PersonTokens({ issuers: [ISSUER], audience: "us" }, { warn: () => undefined });
  const seconds = Math.floor(Date.now() / 1_000);
  const claims = { iss: ISSUER, aud: "us", sub: "somebody", iat: seconds, exp: seconds + 600, ...wrong };
  const text = new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one" });
  await expect(tokens.identify(await text.sign(secrets["one"]!))).rejects.toMatchObject({
    ...{ code: "invalid_token", message },
  });
});

test("what a token says of itself before its signature is looked at has its bounds", async () => {
  const tokens = new PersonTokens({ issuers: [ISSUER], audience: "us" }, { warn: () => undefined });
  const make = (more: object, header: object) => {
    const claims = { sub: "somebody", email: "ana@river.example", email_verified: true, ...more };
    const text = new SignJWT({ ...claims, iss: ISSUER, aud: "us" }).setIssuedAt().setExpirationTime("1h");
    return text.setProtectedHeader({ alg: "ES256", kid: "one", ...header }).sign(secrets["one"]!);
  };
  /** As long as asked for. Base64 has not every length, so that the header makes up for it. */
  const long = async (length: number) => {
    for (let pad = 0; ; pad += 1) {
      const header = { pad: "x".repeat(pad) };
      const short = (await make({ pad: "" }, header)).length;
      for (let more = -4; more <= 4; more += 1) {
        const text = await make({ pad: "x".repeat(Math.floor(((length - short) * 3) / 4) + more) }, header);
        if (text.length === length) return text;
      }
    }
  };
  expect(await tokens.identify(await long(16_384))).toMatchObject({ subject: "somebody" });
  await expect(tokens.identify(await long(16_385))).rejects.toThrow("longer than 16,384 characters");
  // Nobody is asked for a key of a name that none has.
  const named = async (length: number) => {
    now += 5_000;
    asked.length = 0;
    await expect(tokens.identify(await make({}, { kid: "k".repeat(length) }))).rejects.toMatchObject({
      code: "invalid_token",
    });
    return asked.length;
  };
  expect([await named(255), await named(256)]).toEqual([2, 0]);
});

test("a provider with a single key need not name it: a new one is looked for before its tokens are refused", async () => {
  const tokens = new PersonTokens({ issuers: [ISSUER], audience: "us" }, { warn: () => undefined });
  const has = (key: JWK) => {
    const { kid: _, ...nameless } = key;
    answers["https://keys.example/jwks"] = { keys: [nameless] };
  };
  const identify = async (key: "one" | "two", header: { kid?: string } = {}) => {
    const claims = { sub: "somebody", email: "ana@river.example", email_verified: true };
    const text = new SignJWT({ ...claims, iss: ISSUER, aud: "us" }).setIssuedAt().setExpirationTime("1h");
    return tokens.identify(await text.setProtectedHeader({ alg: "ES256", ...header }).sign(secrets[key]!));
  };
  const ana = expect.objectContaining({ issuer: ISSUER, subject: "somebody", email: "ana@river.example" });
  const refused = expect.objectContaining({ code: "invalid_token" });
  has(jwks.one);
  expect(await identify("one")).toEqual(ana);
  has(jwks.two);
  // It was asked a moment ago: nobody is told that the token is wrong.
  await expect(identify("two")).rejects.toEqual(unavailable("5"));
  expect(asked).toHaveLength(2);
  now += 5_000;
  expect(await identify("two")).toEqual(ana);
  expect(asked).toHaveLength(4);
  now += 5_000;
  await expect(identify("one")).rejects.toEqual(refused);
  expect(asked).toHaveLength(6);
  // Where a token names its key, a wrong signature is no new key.
  answers["https://keys.example/jwks"] = { keys: [jwks.one] };
  now += 5_000;
  expect(await identify("one", { kid: "one" })).toEqual(ana);
  const questions = asked.length;
  now += 5_000;
  await expect(identify("two", { kid: "one" })).rejects.toEqual(refused);
  expect(asked).toHaveLength(questions);
});
