// Signing in at an OpenID provider: a real one, in this process (test/support/oidc.ts).
import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { errors, generateKeyPair } from "jose";
import { pino } from "pino";
import { newSecret, Sessions } from "../server/identity/sessions.ts";
import { formToken } from "../server/pages/form.ts";
import { ApiError } from "../server/errors.ts";
import { SignInProvider } from "../server/pages/sign-in/provider.ts";
import { Postgres } from "../server/postgres/postgres.ts";
import { AUDIENCE, subjectOf, TestProvider } from "./support/oidc.ts";
import { eventually } from "./support/eventually.ts";
import { claimOf } from "./support/membership.ts";
import { admin as runAdmin } from "./support/process.ts";
import { startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";
import { contributor, ORG } from "./support/world.ts";

const CLIENT = "pages";
const SECRET = "of the pages";

let provider: TestProvider;
let service: TestService;
const log: string[] = [];
beforeAll(async () => {
  provider = await TestProvider.start();
  service = await startTestService({
    logger: pino({ level: "warn" }, { write: (line: string) => void log.push(line) }),
    config: {
      oidc: { issuers: [provider.issuer], audience: AUDIENCE },
      signIn: { issuer: provider.issuer, clientId: CLIENT, clientSecret: SECRET },
    },
  });
  provider.register(CLIENT, `${service.url}/sign-in/callback`, SECRET);
  await provider.isKnownTo(service.url);
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

const db = () => service.database.owner;

/** Begins on the service's page; returns the address at the provider. */
async function begin(visitor: Visitor, returnTo = "/docs"): Promise<string> {
  const page = await visitor.open(`/sign-in?${new URLSearchParams({ returnTo }).toString()}`);
  const [, link] = /<a href="(\/sign-in\/provider[^"]*)"/.exec(page.text) ?? [];
  const { status, location } = await visitor.open(link!.replaceAll("&amp;", "&"));
  expect(status).toBe(303);
  return location!;
}

/** Comes back from the provider. */
const comeBack = (visitor: Visitor, address: string) =>
  visitor.open(address.slice(service.url.length), { headers: { "sec-fetch-site": "cross-site" } });

/** Through the provider as a person, up to the way back. */
async function vouched(visitor: Visitor, email: string, returnTo?: string): Promise<string> {
  provider.person = email;
  return provider.follow(await begin(visitor, returnTo));
}

const sessions = async () => (await db().query("select from app_private.sessions")).rows.length;

test("whoever the provider vouches for is signed in, and is the same caller as with their token", async () => {
  const visitor = new Visitor(service);
  const answer = await comeBack(visitor, await vouched(visitor, contributor, "/admin/claims"));
  expect([answer.status, answer.location]).toEqual([303, "/admin/claims"]);
  expect(answer.cookies.find((cookie) => cookie.startsWith("engagement-session="))).toMatch(
    /HttpOnly; SameSite=Lax$/,
  );
  const need = {
    orgUri: ORG,
    orgName: "River Mission",
    needDescription: "Prayer",
    accelerators: ["PRA-INT"],
  };
  const declared = await visitor.call("/v0/needs", need);
  expect(declared.status).toBe(201);
  const { rows } = await db().query(
    "select changed_by_email, changed_by_identity from app_private.trail where name = $1",
    [declared.body.needId],
  );
  const identity = `${provider.issuer} ${subjectOf(contributor)}`;
  expect(rows).toEqual([{ changed_by_email: contributor, changed_by_identity: identity }]);
  const { rows: callers } = await db().query(
    "select replace(app_private.session_person(s) ->> 'id', '-', '') as id from app_private.sessions as s",
  );
  expect(callers).toContainEqual({ id: createHash("sha256").update(identity).digest("hex").slice(0, 32) });
});

test("the provider is asked with PKCE, state and nonce, which are new each time and stand nowhere", async () => {
  const [one, another] = [new Visitor(service), new Visitor(service)];
  const asked = [await begin(one), await begin(one), await begin(another)].map(
    (at) => new URL(at).searchParams,
  );
  for (const name of ["state", "nonce", "code_challenge"]) {
    expect(new Set(asked.map((parameters) => parameters.get(name))).size).toBe(3);
  }
  expect(asked[0]!.get("code_challenge_method")).toBe("S256");
  // The nonce is in the open, so that nothing may follow from it.
  const nonce = createHash("sha256").update(asked[0]!.get("nonce")!).digest("base64url");
  expect(asked[0]!.get("code_challenge")).not.toBe(nonce);
  const { rows } = await db().query<{ kept: string }>(
    "select to_jsonb(s)::text as kept from app_private.sign_ins as s",
  );
  for (const secret of asked.flatMap((parameters) => [parameters.get("state"), parameters.get("nonce")])) {
    expect(rows.map(({ kept }) => kept).join()).not.toContain(secret);
  }
});

const noTokens = { requireSignature: () => Promise.resolve() };

test("what an attempt is bound to follows from the secret of its browser, and not from what the provider reads", async () => {
  const issuer = { issuer: provider.issuer, clientId: CLIENT, clientSecret: SECRET, domains: {} };
  const signIn = new SignInProvider(issuer, noTokens, { warn: () => undefined });
  const begun = async (browser: string) =>
    new URL(await signIn.begin({ state: "the same", browser }, `${service.url}/sign-in/callback`))
      .searchParams;
  const [one, another] = [await begun("one"), await begun("another")];
  for (const name of ["nonce", "code_challenge"]) expect(one.get(name)).not.toBe(another.get(name));
});

test("a provider that has moved its pages is found again after ten minutes, and served as it was while it does not say", async () => {
  const issuer = { issuer: provider.issuer, clientId: CLIENT, clientSecret: SECRET, domains: {} };
  const warn = jest.fn();
  const signIn = new SignInProvider(issuer, noTokens, { warn });
  const pageAt = async () => {
    const to = await signIn.begin({ state: "any", browser: "one" }, `${service.url}/sign-in/callback`);
    return new URL(to).pathname;
  };
  const fetched = jest.spyOn(globalThis, "fetch");
  const clock = jest.spyOn(performance, "now");
  const begun = performance.now();
  clock.mockReturnValue(begun);
  try {
    const page = await pageAt();
    provider.answer((_request, response) => json(500, {})(response));
    clock.mockReturnValue(begun + 599_999);
    expect(await pageAt()).toBe(page);
    await new Promise(setImmediate);
    expect(fetched).toHaveBeenCalledTimes(1);
    clock.mockReturnValue(begun + 600_000);
    expect(await pageAt()).toBe(page);
    await eventually(() => expect(warn).toHaveBeenCalledTimes(1));
    const moved = { authorization_endpoint: "/moved", token_endpoint: "/moved/token" };
    const metadata = Object.entries(moved).map(([name, path]) => [name, provider.issuer + path]);
    const answer = json(200, { issuer: provider.issuer, ...Object.fromEntries(metadata) });
    provider.answer((_request, response) => answer(response));
    await eventually(async () => expect(await pageAt()).toBe("/moved"), 20_000);
    expect([fetched.mock.calls.length, warn.mock.calls.length]).toEqual([3, 1]);
  } finally {
    clock.mockRestore();
    fetched.mockRestore();
    provider.answer();
  }
});

test("where persons sign in at a provider nobody is mailed a link", async () => {
  const visitor = new Visitor(service);
  await begin(visitor);
  const form = formToken(visitor.cookies.get("engagement-sign-in")!);
  const refused = await visitor.submit({ text: "" }, "/sign-in", { form, email: contributor });
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("Sign in at the provider.")]);
  const { rows } = await db().query("select from app_private.mails where kind = 'sign_in'");
  expect(rows).toEqual([]);
});

test("whom the provider vouches for is signed with its key, and with no other", async () => {
  const stranger = (await generateKeyPair("RS256")).privateKey;
  for (const [key, status] of [
    [undefined, 303],
    [stranger, 403],
  ] as const) {
    const visitor = new Visitor(service);
    provider.person = contributor;
    const asked = await begin(visitor);
    const address = await provider.follow(asked);
    const nonce = new URL(asked).searchParams.get("nonce");
    const token = await provider.sign({ aud: CLIENT, nonce }, key && { key });
    provider.answer((request, response) => {
      const answer = request.url!.startsWith("/jwks")
        ? { keys: [provider.publicJwk] }
        : { access_token: "any", token_type: "Bearer", id_token: token };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    try {
      expect((await comeBack(visitor, address)).status).toBe(status);
    } finally {
      provider.answer();
    }
  }
});

test.each([
  ["has no such key", new errors.JWKSNoMatchingKey(), "identity_provider_unavailable", /does not answer/],
  [
    "was asked a moment ago",
    new ApiError("identity_provider_unavailable"),
    "identity_provider_unavailable",
    /./,
  ],
  [
    "has another one",
    new errors.JWSSignatureVerificationFailed(),
    "sign_in_refused",
    /^The provider has not signed you in/,
  ],
])(
  "whoever comes with what is signed by a key that is not known, where the provider %s, is not told to be late",
  async (_, failure, code, message) => {
    const settings = { issuer: provider.issuer, clientId: CLIENT, clientSecret: SECRET, domains: {} };
    const tokens = { requireSignature: () => Promise.reject(failure) };
    const signIn = new SignInProvider(settings, tokens, { warn: () => undefined });
    const attempt = { state: "some", browser: "one" };
    const address = await provider.follow(await signIn.begin(attempt, `${service.url}/sign-in/callback`));
    const refusal = { code, message: expect.stringMatching(message) };
    await expect(signIn.finish(new URL(address), attempt)).rejects.toMatchObject(refusal);
  },
);

const json = (status: number, body: object) => (response: ServerResponse) =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const page = (status: number) => (response: ServerResponse) =>
  void response.writeHead(status, { "content-type": "text/html" }).end("<p>Sorry</p>");

/** Begins at a server, and comes back to it; the status of the answer. */
async function signInAt(url: string): Promise<number> {
  const visitor = new Visitor(service);
  provider.person = contributor;
  const { location } = await visitor.open(`${url}/sign-in/provider`);
  return (await visitor.open((await provider.follow(location!)).replace(service.url, url))).status;
}

test("a provider that has other keys at once is asked for them, and until then it is away", async () => {
  expect(await signInAt(service.url)).toBe(303);
  await provider.rotate("second");
  expect([303, 503]).toContain(await signInAt(service.url));
  await provider.isKnownTo(service.url);
  expect(await signInAt(service.url)).toBe(303);
});

test("a provider that answers without keys is away to who has none, and to nobody else, until it has some", async () => {
  provider.answer((_request, response) => json(200, { keys: [] })(response), "/jwks");
  const fresh = await startAnotherServer(service, {
    ...{ OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE, PLATFORM_URL: service.url },
    ...{ OIDC_CLIENT_ID: CLIENT, OIDC_CLIENT_SECRET: SECRET },
  });
  try {
    expect([await signInAt(fresh.url), await signInAt(service.url)]).toEqual([503, 303]);
    provider.answer();
    await provider.isKnownTo(fresh.url);
    expect(await signInAt(fresh.url)).toBe(303);
  } finally {
    provider.answer();
    await fresh.stop();
  }
});

test.each([
  ["cuts the connection", (response: ServerResponse) => void response.destroy()],
  ["says that it cannot just now", json(400, { error: "temporarily_unavailable" })],
  ["says that something is wrong with it", json(500, { error: "invalid_grant" })],
  ["has a proxy before it that is sorry", page(502)],
  ["has a proxy before it that is sorry and calls that a success", page(200)],
  [
    "breaks off its answer",
    (response: ServerResponse) => {
      response.writeHead(200, { "content-type": "application/json" }).write('{"access_token":');
      setImmediate(() => response.destroy());
    },
  ],
])("a provider that %s when it is asked who has come is away", async (_how, answer) => {
  const visitor = new Visitor(service);
  const address = await vouched(visitor, contributor);
  provider.answer((_request, response) => answer(response));
  try {
    const { status, text } = await comeBack(visitor, address);
    expect(status).toBe(503);
    // It may be come back from once only.
    expect(text).toMatch(/The identity provider does not answer.*<p><a href="\/sign-in">Sign in<\/a><\/p>/s);
    expect(text).not.toContain("Try again");
  } finally {
    provider.answer();
  }
});

test("a provider that gives no answer when it is asked who has come is away after five seconds", async () => {
  const visitor = new Visitor(service);
  const address = await vouched(visitor, contributor);
  provider.answer(() => undefined);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const limits = jest.spyOn(AbortSignal, "timeout").mockImplementation(() => timeout(100));
  try {
    expect((await comeBack(visitor, address)).status).toBe(503);
    expect(limits.mock.calls).toContainEqual([5_000]);
  } finally {
    limits.mockRestore();
    provider.answer();
  }
});

test.each([
  ["temporarily_unavailable", 503],
  ["server_error", 503],
  ["access_denied", 403],
])("a provider that sends the person back with %s is answered with %i", async (error, status) => {
  const visitor = new Visitor(service);
  const state = new URL(await begin(visitor)).searchParams.get("state")!;
  const said = new URLSearchParams({ error, state, iss: provider.issuer });
  expect((await comeBack(visitor, `${service.url}/sign-in/callback?${said.toString()}`)).status).toBe(status);
});

test("a provider that does not take the code refuses the person", async () => {
  const visitor = new Visitor(service);
  const address = await vouched(visitor, contributor);
  provider.answer((_request, response) => json(400, { error: "invalid_grant" })(response));
  try {
    expect((await comeBack(visitor, address)).status).toBe(403);
  } finally {
    provider.answer();
  }
});

test("an answer is good once, and in the browser that asked alone", async () => {
  const visitor = new Visitor(service);
  const address = await vouched(visitor, contributor);
  const before = await sessions();
  const thief = new Visitor(service);
  await begin(thief);
  for (const other of [new Visitor(service), thief])
    expect((await comeBack(other, address)).status).toBe(403);
  expect(await sessions()).toBe(before);
  const cookies = new Map(visitor.cookies);
  expect((await comeBack(visitor, address)).status).toBe(303);
  for (const [name, value] of cookies) visitor.cookies.set(name, value);
  expect((await comeBack(visitor, address)).status).toBe(403);
  expect(await sessions()).toBe(before + 1);
});

test("the session that a browser had ends with the new one", async () => {
  const visitor = new Visitor(service);
  await comeBack(visitor, await vouched(visitor, contributor));
  const earlier = new Visitor(service);
  earlier.cookies.set("engagement-session", visitor.cookies.get("engagement-session")!);
  expect((await earlier.open("/v0/needs")).status).toBe(200);
  await comeBack(visitor, await vouched(visitor, "somebody@elsewhere.example"));
  expect((await visitor.open("/v0/needs")).status).toBe(200);
  expect((await earlier.open("/v0/needs")).status).toBe(401);
});

test("a code that was given for another sign-in is refused", async () => {
  const [victim, thief] = [new Visitor(service), new Visitor(service)];
  const stolen = new URL(await vouched(victim, contributor)).searchParams.get("code")!;
  const own = new URL(await vouched(thief, "thief@elsewhere.example"));
  own.searchParams.set("code", stolen);
  const before = await sessions();
  expect((await comeBack(thief, own.href)).status).toBe(403);
  expect(await sessions()).toBe(before);
});

test("an address that the provider has not verified signs nobody in, nor does a refusal of the provider", async () => {
  const visitor = new Visitor(service);
  const before = await sessions();
  log.length = 0;
  provider.verify("unproven@river.example", false);
  const answer = await comeBack(visitor, await vouched(visitor, "unproven@river.example"));
  expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("has not verified")]);
  const state = new URL(await begin(visitor)).searchParams.get("state")!;
  const denied = new URLSearchParams({ error: "access_denied", state, iss: provider.issuer }).toString();
  const refused = await comeBack(visitor, `${service.url}/sign-in/callback?${denied}`);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("has not signed you in")]);
  expect(await sessions()).toBe(before);
  expect(log.filter((line) => line.includes("a sign-in at the provider has failed"))).toHaveLength(2);
  expect(log.join("")).not.toContain("unproven@");
});

test("an address at a domain that the provider is not believed about signs nobody in", async () => {
  const bounded = await startAnotherServer(service, {
    ...{ OIDC_ISSUER: `${provider.issuer} river.example`, OIDC_AUDIENCE: AUDIENCE },
    ...{ OIDC_CLIENT_ID: CLIENT, OIDC_CLIENT_SECRET: SECRET, PLATFORM_URL: service.url },
  });
  try {
    for (const [email, status] of [
      ["somebody@river.example", 303],
      ["somebody@harbor.example", 403],
    ] as const) {
      const visitor = new Visitor(service);
      provider.person = email;
      const { location } = await visitor.open(`${bounded.url}/sign-in/provider`);
      const address = (await provider.follow(location!)).replace(service.url, bounded.url);
      expect((await visitor.open(address)).status).toBe(status);
    }
  } finally {
    await bounded.stop();
  }
});

test("pages that the provider gave no secret sign in without one", async () => {
  const id = "pages without a secret";
  provider.register(id, `${service.url}/sign-in/callback`);
  const open = await startAnotherServer(service, {
    ...{ OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE },
    ...{ OIDC_CLIENT_ID: id, PLATFORM_URL: service.url },
  });
  try {
    const visitor = new Visitor(service);
    provider.person = contributor;
    const { location } = await visitor.open(`${open.url}/sign-in/provider`);
    const address = (await provider.follow(location!)).replace(service.url, open.url);
    expect((await visitor.open(address)).status).toBe(303);
  } finally {
    await open.stop();
  }
});

describe("a session that was begun at a provider", () => {
  const elsewhere = "http://127.0.0.1:1";
  const another = { OIDC_ISSUER: elsewhere, OIDC_AUDIENCE: AUDIENCE };
  const trusting = (issuers: string) => ({ OIDC_ISSUER: issuers, OIDC_AUDIENCE: AUDIENCE });
  const email = "Vouched-For@Mission.River.example";
  let visitor: Visitor;
  beforeEach(async () => {
    visitor = new Visitor(service);
    await comeBack(visitor, await vouched(visitor, email));
  });

  test.each<[string, () => NodeJS.ProcessEnv, boolean]>([
    ["nobody is trusted any more", () => ({}), false],
    ["another provider is trusted instead", () => another, false],
    ["it is trusted for other domains", () => trusting(`${provider.issuer} harbor.example`), false],
    ["it is trusted for a domain above", () => trusting(`${provider.issuer} river.example`), false],
    [
      "another one is trusted for the domain",
      () => trusting(`${provider.issuer} harbor.example,${elsewhere} mission.river.example`),
      false,
    ],
    ["it is trusted for all domains", () => trusting(`${elsewhere} harbor.example,${provider.issuer}`), true],
    [
      "it is trusted for this domain too",
      () => trusting(`${provider.issuer} harbor.example mission.river.example`),
      true,
    ],
  ])("opens at a server what a token of it does, where %s", async (_, environment, isAccepted) => {
    // The first server takes requests of its own limit from a counter that all share.
    const limit = { RATE_LIMIT_PER_MINUTE: "1000000" };
    const server = await startAnotherServer(service, { ...environment(), ...limit });
    try {
      const at = (path: string) => `${server.url}${path}`;
      const token = await provider.sign({ email, sub: subjectOf(email) });
      const withToken = await fetch(at("/v0/needs"), { headers: { authorization: `Bearer ${token}` } });
      expect(withToken.status).toBe(isAccepted ? 200 : 401);
      const read = await visitor.call(at("/v0/needs"));
      expect([read.status, read.body.error]).toEqual(
        isAccepted ? [200, undefined] : [401, "invalid_session"],
      );
      expect((await visitor.call(at("/sign-in/session"))).body).toEqual({ email: isAccepted ? email : null });
      // Who is sent away from the page of what waits for them signs in again.
      const claims = await visitor.open(at("/confirm-address"));
      expect([claims.status, claims.location]).toEqual(
        isAccepted ? [200, null] : [303, "/sign-in?returnTo=%2Fconfirm-address"],
      );
    } finally {
      await server.stop();
    }
  });

  test.each([
    ["goes on", true],
    ["is over", false],
  ])("%s for a connection that lasts as for a request", async (_, isTrusted) => {
    const { issuer } = provider;
    const postgres = new Postgres({
      ...{
        url: service.database.serverUrl,
        poolSize: 1,
        statementTimeoutMs: 10_000,
        onError: () => undefined,
      },
    });
    try {
      await postgres.start();
      const found = new Sessions(postgres.requests, {
        ...{ issuers: [issuer], domains: isTrusted ? {} : { [issuer]: ["harbor.example"] } },
      }).findAgain(visitor.cookies.get("engagement-session")!);
      expect((await found)?.email).toBe(isTrusted ? email : undefined);
    } finally {
      await postgres.end();
    }
  });

  test("confirms no claim and ends no other session once its provider is not trusted", async () => {
    const other = new Visitor(service);
    await comeBack(other, await vouched(other, email));
    const claimed = await fetch(`${service.url}/v0/onboarding/claim-org`, {
      ...{
        method: "POST",
        body: JSON.stringify(claimOf({ uri: ORG, name: "River Mission", domain: "river.example" }, email)),
      },
      headers: { authorization: `Bearer ${service.keys.write}`, "content-type": "application/json" },
    });
    const { claimId } = (await claimed.json()) as { claimId: string };
    const page = await visitor.open("/confirm-address");
    expect(page.text).toContain(claimId);
    const signOut = await visitor.open("/sign-out");
    const server = await startAnotherServer(service);
    try {
      expect((await visitor.submit(page, `${server.url}/confirm-address`, {})).status).toBe(403);
      const everywhere = { everywhere: "yes" };
      expect((await visitor.submit(signOut, `${server.url}/sign-out`, everywhere)).status).toBe(401);
    } finally {
      await server.stop();
    }
    const { rows: claims } = await db().query(
      "select email_verified from app_public.organization_claims where claim_id = $1",
      [claimId],
    );
    expect(claims).toEqual([{ email_verified: false }]);
    expect((await other.call("/v0/needs")).status).toBe(200);
  });

  test("is ended with all others of its provider by the operator", async () => {
    const [mine, byMail] = [new Visitor(service), new Visitor(service)];
    await comeBack(mine, await vouched(mine, contributor));
    const secret = newSecret();
    byMail.cookies.set("engagement-session", secret);
    await db().query("select app_private.begin_session(sha256(convert_to($1, 'utf8')), '', $2)", [
      secret,
      contributor,
    ]);
    const env = { DATABASE_URL: service.database.url };
    const end = (issuer: string) => runAdmin(["sessions", "end", "--json", "--issuer", issuer], env);
    expect(await end(elsewhere)).toMatchObject({
      code: 0,
      stdout: `${JSON.stringify({ issuer: elsewhere, ended: 0 })}\n`,
      stderr: expect.stringContaining(`There is no session that was begun at ${elsewhere};`),
    });
    expect((await mine.call("/v0/needs")).status).toBe(200);
    const ended = JSON.parse((await end(provider.issuer)).stdout) as { ended: number };
    expect(ended.ended).toBeGreaterThan(0);
    expect((await mine.call("/v0/needs")).status).toBe(401);
    expect((await byMail.call("/v0/needs")).status).toBe(200);
  });
});

test("no other site begins it, and it leads nowhere else", async () => {
  const visitor = new Visitor(service);
  for (const site of ["cross-site", "same-site"]) {
    const { status, location } = await visitor.open("/sign-in/provider", {
      headers: { "sec-fetch-site": site },
    });
    expect([status, location]).toEqual([403, null]);
  }
  const { location } = await comeBack(visitor, await vouched(visitor, contributor, "//evil.example"));
  expect(location).toBe("/");
});

test("from one network somebody begins so often, and is then told when to come back", async () => {
  const limit = (value: number) =>
    db().query(
      "update app_private.settings set value = to_jsonb($1::integer) where name = 'sign_ins_per_network'",
      [value],
    );
  await db().query("delete from app_private.rate_limits where key like 'sign-in%'");
  await limit(1);
  try {
    await begin(new Visitor(service));
    const refused = await new Visitor(service).open("/sign-in/provider");
    expect([refused.status, refused.location]).toEqual([429, null]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  } finally {
    await limit(100);
  }
});

test("while the provider is away, nobody is signed in, and it works again without a restart", async () => {
  const fresh = await startAnotherServer(service, {
    ...{
      OIDC_ISSUER: provider.issuer,
      OIDC_AUDIENCE: AUDIENCE,
      OIDC_CLIENT_ID: CLIENT,
      OIDC_CLIENT_SECRET: SECRET,
    },
  });
  try {
    const visitor = new Visitor(service);
    const started = await vouched(visitor, contributor);
    provider.answer((_request, response) => response.writeHead(500).end());
    expect((await visitor.open(`${fresh.url}/sign-in/provider`)).status).toBe(503);
    expect((await comeBack(visitor, started)).status).toBe(503);
    // What says only who it is, is not the provider as it was set up.
    for (const door of ["authorization_endpoint", "token_endpoint"]) {
      const said = { issuer: provider.issuer, [door]: `${provider.issuer}/there` };
      provider.answer((_request, response) => {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said));
      });
      expect((await visitor.open(`${fresh.url}/sign-in/provider`)).status).toBe(503);
    }
    provider.answer();
    expect((await visitor.open(`${fresh.url}/sign-in/provider`)).status).toBe(303);
  } finally {
    provider.answer();
    await fresh.stop();
  }
});
