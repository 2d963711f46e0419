// Tokens of persons at the doors: which are believed, what is answered to all others, and what happens while the provider is
// away. What a person may do is in authorization.test.ts.
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { exportSPKI, generateKeyPair, importJWK } from "jose";
import type { CryptoKey } from "jose";
import { pino } from "pino";
import { eventually } from "./support/eventually.ts";
import { issueTestKey } from "./support/database.ts";
import { DOORS, membershipDoor } from "./support/membership.ts";
import type { Reply } from "./support/membership.ts";
import { AUDIENCE, OTHER_AUDIENCE, subjectOf, TestProvider } from "./support/oidc.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";
import { admin, contributor, member, ORG, OTHER_ORG, otherAdmin, stranger } from "./support/world.ts";

let provider: TestProvider;
let service: TestService;
const log: string[] = [];
beforeAll(async () => {
  provider = await TestProvider.start();
  service = await startTestService({
    // Many of these are wrong on purpose.
    config: { oidc: { issuers: [provider.issuer], audience: AUDIENCE }, unknownKeysPerMinute: 10_000 },
    logger: pino({ level: "trace" }, { write: (line) => void log.push(line) }),
  });
  await provider.isKnownTo(service.url);
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

const addressOf = (length: number) => `a@${"b".repeat(length - 10)}.example`;
const needs = (token: string | undefined, url = service.url) => call(`${url}/v0/needs`, "GET", token);
const seconds = () => Math.floor(Date.now() / 1_000);
const need = { orgUri: ORG, orgName: "River Mission", needDescription: "Prayer", accelerators: ["PRA-INT"] };
const declare = (token: string, fields: object = {}, headers = {}) =>
  call(`${service.url}/v0/needs`, "POST", token, { ...need, ...fields }, headers);

describe("a token from a provider", () => {
  test.each([
    ["REST", "GET", "/v0/needs", undefined],
    ["GraphQL", "POST", "/graphql", { query: "{ needs { totalCount } }" }],
    ["MCP", "POST", "/v0/mcp", { jsonrpc: "2.0", id: 1, method: "ping" }],
  ])("opens %s", async (_door, method, path, body) => {
    const token = await provider.tokenOf(stranger);
    expect(await call(`${service.url}${path}`, method, token, body)).toMatchObject({ status: 200 });
  });

  test("gets as far as the graph store, which is down here", async () => {
    const token = await provider.tokenOf(stranger);
    const answer = await call(`${service.url}/v0/sparql?query=ASK%20%7B%7D`, "GET", token);
    expect(answer).toMatchObject({ status: 503, body: { error: "graph_unavailable" } });
  });

  test("is what an API key is to limits: each person has their own", async () => {
    const limited = await startAnotherServer(service, {
      ...{ OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE, RATE_LIMIT_PER_MINUTE: "1" },
    });
    try {
      await provider.isKnownTo(limited.url);
      const [person, other] = ["one@limited.example", "other@limited.example"];
      const one = await provider.tokenOf(person);
      expect((await needs(one, limited.url)).status).toBe(200);
      // Another token of the same person is no other caller.
      const again = await needs(await provider.tokenOf(person), limited.url);
      expect([again.status, again.body.error]).toEqual([429, "rate_limited"]);
      expect((await needs(await provider.tokenOf(other), limited.url)).status).toBe(200);
    } finally {
      await limited.stop();
    }
  });

  test("is for one person what an idempotency key is kept for", async () => {
    const headers = { "idempotency-key": "of a person" };
    const token = await provider.tokenOf(contributor);
    const first = await declare(token, {}, headers);
    expect(first.status).toBe(201);
    expect((await declare(await provider.tokenOf(contributor), {}, headers)).body).toEqual(first.body);
    const others = await declare(await provider.tokenOf(admin), {}, headers);
    expect([others.status, others.body.needId]).not.toEqual([201, first.body.needId]);
    expect(others.status).toBe(201);
    // Nor is one's answer in the place of the other's.
    expect((await declare(token, {}, headers)).body).toEqual(first.body);
  });

  test("leaves the provider's name for the person in the trail, and neither name nor address in the log", async () => {
    const begin = log.length;
    const { body } = await declare(await provider.tokenOf(contributor));
    const { rows } = await service.database.owner.query(
      `select changed_by_email, changed_by_key, changed_by_identity from app_private.trail where name = $1`,
      [body.needId],
    );
    expect(rows).toEqual([
      {
        ...{ changed_by_email: contributor, changed_by_key: null },
        changed_by_identity: `${provider.issuer} ${subjectOf(contributor)}`,
      },
    ]);
    const lines = log.slice(begin).join("");
    const id = createHash("sha256")
      .update(`${provider.issuer} ${subjectOf(contributor)}`)
      .digest("hex")
      .slice(0, 8);
    expect(lines).toContain(`"personId":"${id}-`);
    expect(lines).not.toContain("river.example");
  });

  test("is good for the same e-mail address in any case", async () => {
    const token = await provider.sign({ email: contributor.toUpperCase() });
    expect((await declare(token)).status).toBe(201);
    expect((await declare(token, { declaredByEmail: contributor })).status).toBe(201);
    expect((await declare(token, { declaredByEmail: admin })).body.error).toBe("not_your_identity");
  });

  test("of a person whom the service does not know reads, and claims an organization in their own name", async () => {
    const email = "newcomer@harbor.example";
    const token = await provider.tokenOf(email);
    expect((await needs(token)).status).toBe(200);
    expect((await declare(token)).body.error).toBe("membership_required");
    const claim = { firstName: "New", lastName: "Comer", roles: [], orgName: "Harbor", isNewOrg: false };
    const send = (fields: object) =>
      call(`${service.url}/v0/onboarding/claim-org`, "POST", token, { ...claim, ...fields });
    expect((await send({ orgUri: OTHER_ORG, userEmail: stranger })).body.error).toBe("not_your_identity");
    expect((await send({ orgUri: OTHER_ORG })).body).toMatchObject({ resultVariant: "request-sent" });
    const mine = await call(`${service.url}/v0/onboarding/check-user?email=${email}`, "GET", token);
    expect(mine.body).toMatchObject({ exists: true, firstName: "New" });
  });

  test("asks about themselves without an address, at each door; an application has to name somebody", async () => {
    const path = `${service.url}/v0/onboarding/check-user`;
    const query = { query: "{ checkUser { exists firstName orgUri } }" };
    const { rows } = await service.database.owner.query<{ name: string | null }>(
      "select first_name as name from app_public.users where email = $1",
      [contributor],
    );
    const ask = async (key: string) => ({
      get: await call(path, "GET", key),
      post: await call(path, "POST", key, {}),
      graphql: (await call(`${service.url}/graphql`, "POST", key, query)).body,
    });
    const { get, post, graphql } = await ask(await provider.tokenOf(contributor));
    expect(get).toMatchObject({ status: 200, body: { exists: true, orgUri: ORG } });
    expect(post).toMatchObject({ status: 200, body: get.body });
    expect(graphql.data.checkUser).toEqual({ exists: true, firstName: rows[0]!.name, orgUri: ORG });
    const unnamed = await ask(service.keys.write);
    for (const { status, body } of [unnamed.get, unnamed.post]) {
      expect([status, body.error, body.details]).toEqual([
        ...[400, "validation_failed"],
        [{ path: "email", message: "is required" }],
      ]);
    }
    expect(unnamed.graphql.errors[0].extensions).toMatchObject({
      code: "validation_failed",
      statusCode: 400,
    });
  });

  test("asks about other people only with users:read", async () => {
    const check = async (email: string, token: string) =>
      (await call(`${service.url}/v0/onboarding/check-user?email=${email}`, "GET", token)).body.error;
    const token = await provider.tokenOf(otherAdmin);
    expect(await check(otherAdmin, token)).toBeUndefined();
    expect(await check(otherAdmin.toUpperCase(), token)).toBeUndefined();
    expect(await check(member, token)).toBe("permission_required");
    // Nor does the answer tell who is known.
    expect(await check("nobody@nowhere.example", token)).toBe("permission_required");
    await service.database.owner.query(
      `insert into app_public.platform_roles (user_id, role)
       select user_id, 'support' from app_public.users where email = $1`,
      [otherAdmin],
    );
    expect(await check(member, token)).toBeUndefined();
  });

  test("is worth nothing as soon as the membership is", async () => {
    const token = await provider.tokenOf(contributor);
    expect((await declare(token)).status).toBe(201);
    const setStatus = (status: string) =>
      service.database.owner.query(
        `update app_public.memberships set status = $1
         where user_id = (select user_id from app_public.users where email = $2)`,
        [status, contributor],
      );
    await setStatus("revoked");
    expect((await declare(token)).body.error).toBe("membership_required");
    await setStatus("active");
    expect((await declare(token)).status).toBe(201);
  });
});

describe.each(DOORS)("a token of a person through %s", (name) => {
  let token = "";
  const door = membershipDoor(name, () => ({
    ...service,
    keys: { read: token, write: token, review: token },
  }));
  beforeAll(async () => {
    token = await provider.tokenOf(admin);
  });

  const others: [string, () => Promise<Reply>][] = [
    ["claims", () => door.claims(contributor)],
    ["members", () => door.members(ORG, contributor)],
    ["users", () => door.users(contributor)],
    ["review", () => door.review({ claimId: randomUUID(), action: "approve", adminEmail: contributor })],
    [
      "setMemberRole",
      () =>
        door.setMemberRole({ orgUri: ORG, userEmail: member, role: "org_admin", adminEmail: contributor }),
    ],
    [
      "setMemberStatus",
      () =>
        door.setMemberStatus({ orgUri: ORG, userEmail: member, status: "revoked", adminEmail: contributor }),
    ],
    [
      "updateOrganization",
      () => door.updateOrganization({ orgUri: ORG, name: "Mine", adminEmail: contributor }),
    ],
    [
      "setPlatformRole",
      () => door.setPlatformRole({ userEmail: admin, role: "admin", adminEmail: contributor }),
    ],
    [
      "claim",
      () =>
        door.claim({
          ...{ userEmail: contributor, firstName: "A", lastName: "B", roles: [] },
          ...{ orgName: "Harbor", isNewOrg: false, orgUri: OTHER_ORG },
        }),
    ],
  ];
  test.each(others)("is nobody else's: %s", async (_operation, send) => {
    expect(await send()).toEqual({ refusal: "403 not_your_identity" });
  });

  test("is an administrator's without saying so", async () => {
    expect((await door.claims(admin)).value.claims).toBeDefined();
    expect((await door.members(ORG, admin.toUpperCase())).value.total).toBeGreaterThan(1);
    expect(await door.users(admin)).toEqual({ refusal: "403 permission_required" });
    const role = { orgUri: ORG, userEmail: member, role: "org_member" };
    expect((await door.setMemberRole(role)).value).toMatchObject({ userEmail: member });
    const status = { orgUri: ORG, userEmail: member, status: "active" };
    expect((await door.setMemberStatus(status)).value).toMatchObject({ userEmail: member });
    expect((await door.updateOrganization({ orgUri: ORG, type: "mission" })).value).toMatchObject({
      type: "mission",
    });
    expect(await door.setPlatformRole({ userEmail: member, role: "support" })).toEqual({
      refusal: "403 permission_required",
    });
  });

  test("does not show which key others used", async () => {
    const query = "{ needs { nodes { statusHistory { nodes { changedByKey } } } } }";
    const { body } = await call(`${service.url}/graphql`, "POST", token, { query });
    expect(body.errors[0].extensions.code).toBe("insufficient_scope");
  });
});

test("without a token, an API key still has to say who acts, in the name of the field", async () => {
  const refused = async (path: string, body: object | undefined) =>
    (await call(`${service.url}${path}`, body ? "POST" : "GET", service.keys.review, body)).body;
  const cases: [string, object | undefined, string][] = [
    ["/v0/needs", need, "declaredByEmail"],
    ["/v0/needs/status", { needId: randomUUID(), status: "met" }, "actorEmail"],
    ["/v0/admin/users", undefined, "x-admin-email"],
    ["/v0/orgs/metadata", { orgUri: ORG, name: "River" }, "adminEmail"],
  ];
  for (const [path, body, field] of cases) {
    expect(await refused(path, body)).toMatchObject({
      ...{ error: "validation_failed", statusCode: 400 },
      details: [{ path: field }],
    });
  }
});

describe("a token is refused with 401 invalid_token", () => {
  let foreign: CryptoKey;
  let audible: () => Promise<Answer>;
  beforeAll(async () => {
    foreign = (await generateKeyPair("RS256")).privateKey;
    audible = async () => needs(await provider.tokenOf(member));
  });
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const unsigned = (header: object) =>
    `${base64(header)}.${base64({ iss: provider.issuer, aud: AUDIENCE, sub: "x", exp: seconds() + 600, email: admin, email_verified: true })}.`;

  const CASES: Record<string, () => Promise<string> | string> = {
    "for another application": () => provider.tokenOf(admin, { audience: OTHER_AUDIENCE }),
    "from an issuer that is not in the list": () => provider.sign({ iss: "https://accounts.evil.example" }),
    "from an issuer that is nearly in the list": () => provider.sign({ iss: `${provider.issuer}/` }),
    "without an issuer": () => provider.sign({ iss: undefined }),
    "without an audience": () => provider.sign({ aud: undefined }),
    "signed with another key": () => provider.sign({}, { key: foreign }),
    "that has expired": () => provider.sign({ exp: seconds() - 60 }),
    "that never expires": () => provider.sign({ exp: undefined }),
    "that is older than a day, however long it means to last": () =>
      provider.sign({ iat: seconds() - 86_420, exp: seconds() + 1e9 }),
    "that does not say how old it is": () => provider.sign({ iat: undefined }),
    "that is issued in the future": () => provider.sign({ iat: seconds() + 300 }),
    "for several audiences, issued to nobody": () => provider.sign({ aud: [AUDIENCE, OTHER_AUDIENCE] }),
    "for several audiences, issued to clients without a name": () =>
      provider.sign({ aud: [AUDIENCE, OTHER_AUDIENCE], azp: "", client_id: " " }),
    "that is not valid yet": () => provider.sign({ nbf: seconds() + 300 }),
    "whose address the provider has not verified": () => provider.tokenOf(admin, { verified: false }),
    "whose address is another's only in lower case": () => provider.sign({ email: admin.replace("i", "İ") }),
    "whose address is verified by a word": () => provider.sign({ email_verified: "true" }),
    "without an address": () => provider.sign({ email: undefined }),
    "whose address is none": () => provider.sign({ email: "admin\u0000@river.example" }),
    "whose address is longer than one is": () => provider.sign({ email: addressOf(255) }),
    "without a subject": () => provider.sign({ sub: undefined }),
    "whose subject cannot be stored": () => provider.sign({ sub: "half of a pair: \ud83d" }),
    "without a signature (alg none)": () => unsigned({ alg: "none" }),
    "without a signature, and with an algorithm": () => unsigned({ alg: "RS256", kid: "first" }),
    "signed with the provider's public key as a secret (HS256)": async () => {
      const spki = await exportSPKI((await importJWK(provider.publicJwk, "RS256")) as CryptoKey);
      return provider.sign({}, { header: { alg: "HS256" }, key: new TextEncoder().encode(spki) });
    },
    "that brings its own key": async () => {
      const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
      const jwk = await crypto.subtle.exportKey("jwk", publicKey);
      return provider.sign({}, { key: privateKey, header: { jwk } });
    },
    "that is for signing out": () => provider.sign({}, { header: { typ: "logout+jwt" } }),
    "with a critical extension": () =>
      provider.sign({}, { header: { crit: ["b64"], b64: true, x: 1 } }).then((t) => `${t}x`),
    "that is garbage": () => "not.a.token",
    "that is three dots": () => "...",
    "that is encrypted": () => "a.b.c.d.e",
    "that is huge": () => provider.sign({ groups: Array.from({ length: 5_000 }, (_, n) => `group-${n}`) }),
  };

  test.each(Object.keys(CASES))("%s", async (name) => {
    const token = await CASES[name]!();
    const asked = provider.asked.length;
    const { status, body, headers } = await needs(token);
    expect([status, body.error]).toEqual([401, "invalid_token"]);
    expect(headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect(body.message).not.toContain("@");
    // None of them is worth a question to the provider.
    expect(provider.asked.slice(asked)).toEqual([]);
  });

  test.each(["jku", "x5u"])("that names its keys' address (%s), which nobody visits", async (name) => {
    const trap = await TestProvider.start();
    try {
      const token = await provider.sign({}, { key: foreign, header: { [name]: `${trap.issuer}/jwks` } });
      expect((await needs(token)).body.error).toBe("invalid_token");
      expect(trap.asked).toEqual([]);
    } finally {
      await trap.stop();
    }
  });

  test("in the query, where API keys of the tool endpoint may be", async () => {
    const token = await provider.tokenOf(member);
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const send = (query: string) => call(`${service.url}/v0/mcp?${query}`, "POST", undefined, ping);
    expect((await send(`apiKey=${token}`)).body.error).toBe("invalid_token");
    expect((await send(`access_token=${token}`)).body.error).toBe("missing_api_key");
    expect(log.join("")).not.toContain(token);
  });

  test.each<[string, string, object]>([
    ["GraphQL", "/graphql", { query: "{ __typename }" }],
    ["a stream of GraphQL", "/graphql/stream", { query: "subscription { __typename }" }],
    ["SPARQL", "/v0/sparql", { query: "ASK {}" }],
    ["the tool endpoint", "/v0/mcp", { jsonrpc: "2.0", id: 1, method: "ping" }],
    ["a write over REST", "/v0/needs", need],
  ])("by %s too where its subject cannot be stored", async (_, path, message) => {
    const token = await provider.sign({ sub: "\udc00" });
    const { status, body } = await call(`${service.url}${path}`, "POST", token, message);
    expect([status, body.error ?? body.errors[0].extensions.code]).toEqual([401, "invalid_token"]);
  });

  test("by GraphQL in its own form", async () => {
    const { status, body } = await call(`${service.url}/graphql`, "POST", "not.a.token", {
      query: "{ __typename }",
    });
    expect([status, body.errors[0].extensions.code]).toEqual([401, "invalid_token"]);
  });

  test("for an address at a domain that the provider is not believed about", async () => {
    const bounded = await startAnotherServer(service, {
      ...{ OIDC_ISSUER: `${provider.issuer} river.example`, OIDC_AUDIENCE: AUDIENCE },
      UNKNOWN_KEYS_PER_MINUTE: "10000",
    });
    try {
      await provider.isKnownTo(bounded.url);
      for (const [email, status] of [
        ["somebody@river.example", 200],
        ["somebody@RIVER.example", 200],
        ["somebody@harbor.example", 401],
        ["somebody@sub.river.example", 401],
        ["somebody@notriver.example", 401],
        ["river.example@harbor.example", 401],
      ] as const) {
        const answer = await needs(await provider.sign({ email, sub: email }), bounded.url);
        expect([email, answer.status, answer.body.error]).toEqual([
          ...[email, status, status === 401 ? "invalid_token" : undefined],
        ]);
      }
    } finally {
      await bounded.stop();
    }
  });

  test("too often from one address: 429", async () => {
    const limited = await startAnotherServer(service, {
      ...{ OIDC_ISSUER: provider.issuer, OIDC_AUDIENCE: AUDIENCE, UNKNOWN_KEYS_PER_MINUTE: "2" },
    });
    try {
      for (const n of [1, 2]) expect((await needs(`garbage.${n}.x`, limited.url)).status).toBe(401);
      expect((await needs("garbage.3.x", limited.url)).body.error).toBe("rate_limited");
    } finally {
      await limited.stop();
    }
  });

  test("where no provider is configured", async () => {
    const without = await startAnotherServer(service);
    try {
      const answer = await needs(await provider.tokenOf(member), without.url);
      expect([answer.status, answer.body.error]).toEqual([401, "invalid_token"]);
    } finally {
      await without.stop();
    }
  });

  test("and a good one is not", async () => {
    expect((await audible()).status).toBe(200);
    const aud = [AUDIENCE, OTHER_AUDIENCE];
    for (const claims of [
      { iat: seconds() - 86_380 },
      { aud: [AUDIENCE] },
      { email: addressOf(254) },
      { aud, azp: OTHER_AUDIENCE },
      { aud, client_id: OTHER_AUDIENCE },
    ]) {
      expect((await needs(await provider.sign(claims))).status).toBe(200);
    }
  });
});

describe("of the kinds of token that a provider signs", () => {
  const typed = async (header: { typ?: string }) =>
    (await needs(await provider.sign({}, { header }))).body.error ?? "believed";

  test("one that says nothing of its kind is believed", async () => {
    expect(await typed({})).toBe("believed");
  });

  test.each(["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", "Application/at+JWT"])(
    "one for calling a service is believed, in any case: %s",
    async (typ) => {
      expect(await typed({ typ })).toBe("believed");
    },
  );

  test.each(["", "application/jwt", "id+jwt", "dpop+jwt", "at"])("no other one is: %j", async (typ) => {
    expect(await typed({ typ })).toBe("invalid_token");
  });
});

describe("the provider's keys", () => {
  const serving = async (work: (url: string, own: TestProvider) => Promise<void>) => {
    const own = await TestProvider.start();
    const server = await startAnotherServer(service, {
      ...{ OIDC_ISSUER: own.issuer, OIDC_AUDIENCE: AUDIENCE },
      // Many of these are wrong on purpose.
      UNKNOWN_KEYS_PER_MINUTE: "10000",
    });
    try {
      await work(server.url, own);
    } finally {
      await server.stop();
      await own.stop();
    }
  };
  const codeOf = async (token: string, url: string) => {
    const { status, body, headers } = await needs(token, url);
    if (status === 503) expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    return `${status} ${body.error ?? "ok"}`;
  };
  const AWAY = "503 identity_provider_unavailable";

  test("are found when they are exchanged; what was signed with the old ones is no longer believed", async () => {
    await serving(async (url, own) => {
      const before = await own.tokenOf(member);
      await eventually(async () => expect(await codeOf(before, url)).toBe("200 ok"));
      await own.rotate("second");
      const after = await own.tokenOf(member);
      // Asked a moment ago, the provider is not asked again at once; nobody is told that the token is wrong.
      const seen = new Set<string>();
      await eventually(async () => {
        const code = await codeOf(after, url);
        seen.add(code);
        expect(code).toBe("200 ok");
      });
      expect(seen).not.toContain("401 invalid_token");
      expect(await codeOf(before, url)).not.toBe("200 ok");
    });
  });

  test("go on while the provider is away; a key that is not known is nobody's fault: 503", async () => {
    await serving(async (url, own) => {
      const known = await own.tokenOf(member);
      await eventually(async () => expect(await codeOf(known, url)).toBe("200 ok"));
      const unknown = await own.sign({}, { header: { kid: "never seen" } });
      own.answer((request) => void request.socket.destroy());
      for (const _ of [1, 2, 3]) {
        expect(await codeOf(unknown, url)).toBe(AWAY);
        expect(await codeOf(known, url)).toBe("200 ok");
      }
    });
  });

  test("go on while the provider says that it has none, and those that it has next are believed", async () => {
    await serving(async (url, own) => {
      const known = await own.tokenOf(member);
      await eventually(async () => expect(await codeOf(known, url)).toBe("200 ok"));
      own.answer((request, response) =>
        response.end(JSON.stringify(request.url === "/jwks" ? { keys: [] } : discovered(own))),
      );
      const asked = own.asked.length;
      const unknown = await own.sign({}, { header: { kid: "never seen" } });
      await eventually(async () => {
        expect(await codeOf(unknown, url)).toBe(AWAY);
        expect(own.asked.slice(asked)).toContain("/jwks");
      });
      expect(await codeOf(known, url)).toBe("200 ok");
      await own.rotate("second");
      const next = await own.tokenOf(member);
      await eventually(async () => expect(await codeOf(next, url)).toBe("200 ok"));
    });
  });

  /** What a provider answers, by path; each is wrong only in its first answer, so that whoever believes it gets the keys. */
  const WRONG: Record<string, (own: TestProvider) => (path: string) => [number, object | string]> = {
    fails: () => () => [500, ""],
    "says something else": () => () => [200, "<html>"],
    "leads elsewhere": (own) => (path) =>
      path === "/elsewhere" ? [200, discovered(own)] : [302, `${own.issuer}/elsewhere`],
    "calls itself something else": (own) => () => [
      200,
      { ...discovered(own), issuer: "https://accounts.evil.example" },
    ],
    "does not stop talking": (own) => () => [200, { ...discovered(own), more: "a".repeat(300_000) }],
    "has its keys nowhere": (own) => () => [200, { ...discovered(own), jwks_uri: `${own.issuer}/nowhere` }],
  };
  const discovered = ({ issuer }: TestProvider) => ({ issuer, jwks_uri: `${issuer}/jwks` });

  test("may come later: 503 until the provider answers as it should, each of several by itself", async () => {
    const providers = await Promise.all(
      Object.entries(WRONG).map(async ([what, wrong]) => {
        const own = await TestProvider.start();
        own.answer((request, response) => {
          const path = request.url ?? "";
          const keys = { keys: [own.publicJwk] };
          const [status, body] = path === "/jwks" ? [200, keys] : wrong(own)(path);
          const text = typeof body === "string" ? body : JSON.stringify(body);
          response.writeHead(status, status === 302 ? { location: text } : {}).end(text);
        });
        return { what, own, token: await own.sign({ email: member }) };
      }),
    );
    const issuers = [provider, ...providers.map(({ own }) => own)].map(({ issuer }) => issuer);
    const server = await startAnotherServer(service, {
      ...{ OIDC_ISSUER: issuers.join(", "), OIDC_AUDIENCE: AUDIENCE },
    });
    try {
      for (const { what, token } of providers)
        expect([what, await codeOf(token, server.url)]).toEqual([what, AWAY]);
      await provider.isKnownTo(server.url);
      for (const { own } of providers) own.answer();
      for (const { what, token } of providers)
        await eventually(async () =>
          expect([what, await codeOf(token, server.url)]).toEqual([what, "200 ok"]),
        );
    } finally {
      await server.stop();
      for (const { own } of providers) await own.stop();
    }
  });

  test("are not asked for by every caller who invents one", async () => {
    await serving(async (url, own) => {
      const known = await own.tokenOf(member);
      await eventually(async () => expect(await codeOf(known, url)).toBe("200 ok"));
      const asked = own.asked.length;
      const began = performance.now();
      const codes = await Promise.all(
        Array.from({ length: 100 }, async (_, n) =>
          codeOf(await own.sign({}, { header: { kid: `k${n}` } }), url),
        ),
      );
      expect(codes.filter((code) => code !== AWAY && code !== "401 invalid_token")).toEqual([]);
      // Two questions, and two more for each five seconds that this has taken.
      const most = 2 * (1 + Math.ceil((performance.now() - began) / 5_000));
      expect(own.asked.length - asked).toBeLessThanOrEqual(most);
      expect(await codeOf(known, url)).toBe("200 ok");
      // Once it has been asked, the provider's word that there is no such key is final.
      const invented = await own.sign({}, { header: { kid: "invented" } });
      await eventually(async () => expect(await codeOf(invented, url)).toBe("401 invalid_token"));
    });
  });
});

test("a page of another origin may send a token: the preflight asks for no credentials", async () => {
  const answer = await fetch(`${service.url}/graphql`, {
    method: "OPTIONS",
    headers: {
      ...{ origin: "https://page.example", "access-control-request-method": "POST" },
      "access-control-request-headers": "authorization,content-type",
    },
  });
  expect(answer.status).toBe(204);
  expect(answer.headers.get("access-control-allow-headers")).toMatch(/\bauthorization\b/);
});

test("an API key is none of a person's: it goes on as before", async () => {
  const key = await issueTestKey(service.database.owner, "api_write");
  expect((await declare(key, { declaredByEmail: admin })).status).toBe(201);
  expect((await declare(key, { declaredByEmail: contributor })).status).toBe(201);
});
