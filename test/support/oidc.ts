// An OpenID provider in this process: a real one, which signs people in and issues their tokens. Its accounts are e-mail
// addresses, and nobody is asked for a password.
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "@jest/globals";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK, JWTHeaderParameters, JWTPayload } from "jose";
import { Provider } from "oidc-provider";
import type { ClientMetadata } from "oidc-provider";
import { eventually } from "./eventually.ts";

/** Whom tokens are for; the second is another application of the same provider. */
export const AUDIENCE = "engagement-graph";
export const OTHER_AUDIENCE = "another-application";

/** What it calls a person: their address is what may change. */
export const subjectOf = (email: string): string => `account of ${email}`;

const CALLBACK = "https://application.example/callback";
const LASTING_SECONDS = 36_000;

/** A key pair of a provider. */
type Keys = { kid: string; privateKey: CryptoKey; privateJwk: JWK; publicJwk: JWK };

/** A provider that is listening. */
export class TestProvider {
  readonly issuer: string;
  /** The paths that have been asked for. */
  readonly asked: string[] = [];
  readonly #server: Server;
  /** Who sits before it, unless an application says whom it wants. */
  person = "somebody@river.example";
  #clients: ClientMetadata[] = [client(AUDIENCE), client(OTHER_AUDIENCE)];
  /** Addresses that it has not verified. */
  readonly #unverified = new Set<string>();
  #keys: Keys;
  #answer: RequestListener;

  private constructor(server: Server, keys: Keys) {
    this.#server = server;
    this.#keys = keys;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#answer = this.#provide();
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.asked.push(request.url ?? "");
      this.#answer(request, response);
    });
  }

  static async start(): Promise<TestProvider> {
    // Its callers are in this process, which may be busy for longer than they and Node would keep a connection open.
    const server = createServer({ keepAliveTimeout: 60_000 });
    server.listen(0, "127.0.0.1");
    const [keys] = await Promise.all([makeKeys("first"), once(server, "listening")]);
    return new TestProvider(server, keys);
  }

  /** Waits until a service has its keys: where a machine stands still it asks again, but not for five seconds. */
  async isKnownTo(service: string): Promise<void> {
    // By a person of its own, whose limit is nobody else's.
    const token = await this.sign({ sub: `of ${service}`, email: this.person });
    const headers = { authorization: `Bearer ${token}` };
    await eventually(async () => expect((await fetch(`${service}/v0/needs`, { headers })).status).toBe(200));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => void this.#server.close(closed));
  }

  get publicJwk(): JWK {
    return this.#keys.publicJwk;
  }

  /** From now on it signs with other keys, and knows the old ones no more. */
  async rotate(kid: string): Promise<void> {
    this.#keys = await makeKeys(kid);
    this.#answer = this.#provide();
  }

  /** From now on every request is answered so, or every one below a path; by itself again without. */
  answer(listener?: RequestListener, path = "/"): void {
    const own = this.#provide();
    this.#answer = (request, response) =>
      (listener && request.url?.startsWith(path) ? listener : own)(request, response);
  }

  /** Knows another application, or a known one at another address; with a secret, if it has one. */
  register(id: string, callback: string, secret?: string): void {
    const others = this.#clients.filter((known) => known.client_id !== id);
    this.#clients = [
      ...others,
      {
        ...{ ...client(id), redirect_uris: [callback] },
        ...(secret !== undefined && {
          client_secret: secret,
          token_endpoint_auth_method: "client_secret_basic",
        }),
      },
    ];
    this.#answer = this.#provide();
  }

  /** Whether it has verified an address. */
  verify(email: string, verified: boolean): void {
    if (verified) this.#unverified.delete(email);
    else this.#unverified.add(email);
  }

  /** Signs a person in, as a browser would, and returns their ID token. */
  async tokenOf(email: string, options: { audience?: string; verified?: boolean } = {}): Promise<string> {
    const { audience = AUDIENCE, verified = true } = options;
    this.verify(email, verified);
    const code = await this.#signIn(email, audience);
    const response = await fetch(`${this.issuer}/token`, {
      method: "POST",
      body: new URLSearchParams({
        ...{ grant_type: "authorization_code", code, client_id: audience, redirect_uri: CALLBACK },
      }),
    });
    const { id_token: token } = (await response.json()) as { id_token?: string };
    if (!token) throw new Error(`the provider answered ${response.status} instead of a token`);
    return token;
  }

  /** Signs what the provider itself would not: with its key, unless another is given. */
  async sign(
    claims: JWTPayload,
    options: { header?: Partial<JWTHeaderParameters>; key?: CryptoKey | Uint8Array } = {},
  ): Promise<string> {
    const { header, key = this.#keys.privateKey } = options;
    const seconds = Math.floor(Date.now() / 1_000);
    return new SignJWT({
      ...{ iss: this.issuer, aud: AUDIENCE, sub: "by-hand", iat: seconds, exp: seconds + 600 },
      ...{ email: "by-hand@river.example", email_verified: true },
      ...claims,
    })
      .setProtectedHeader({ alg: "RS256", kid: this.#keys.kid, ...header })
      .sign(key);
  }

  async #signIn(email: string, audience: string): Promise<string> {
    const first = new URL("/auth", this.issuer);
    first.search = new URLSearchParams({
      ...{ client_id: audience, response_type: "code", scope: "openid email", redirect_uri: CALLBACK },
      ...{ login_hint: email, prompt: "login" },
    }).toString();
    const code = new URL(await this.follow(first.href)).searchParams.get("code");
    if (code === null) throw new Error("the provider has not sent a code to the application");
    return code;
  }

  /** Follows the redirects from an application's request to its callback, keeping the cookies, as a browser would. */
  async follow(request: string): Promise<string> {
    const cookies = new Map<string, string>();
    let at = request;
    // To the sign-in, back, and to the application.
    for (let steps = 0; steps < 3; steps++) {
      const response = await fetch(at, {
        redirect: "manual",
        headers: { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") },
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        cookies.set(name, value);
      }
      const next = response.headers.get("location");
      if (next === null) throw new Error(`the provider answered ${response.status} at ${at}`);
      at = new URL(next, at).href;
    }
    return at;
  }

  #provide(): RequestListener {
    const provider = quietly(
      () =>
        new Provider(this.issuer, {
          jwks: { keys: [this.#keys.privateJwk] },
          clients: this.#clients,
          // Pages on other origins are among its applications.
          clientBasedCORS: () => true,
          cookies: { keys: ["of a test"] },
          claims: { openid: ["sub"], email: ["email", "email_verified"] },
          // So that the claims of the scope email are in the ID token.
          conformIdTokenClaims: false,
          pkce: { required: () => false },
          features: { devInteractions: { enabled: false } },
          interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
          findAccount: (_context, accountId) => {
            const email = accountId.slice(subjectOf("").length);
            return {
              accountId,
              claims: () => ({ sub: accountId, email, email_verified: !this.#unverified.has(email) }),
            };
          },
          loadExistingGrant: async ({ oidc }) => {
            const grant = new oidc.provider.Grant({
              clientId: oidc.client?.clientId,
              accountId: oidc.session?.accountId,
            });
            grant.addOIDCScope("openid email");
            await grant.save();
            return grant;
          },
          // Of thousands of cases the last are tried with the tokens of the first, however busy the machine is.
          ttl: {
            AccessToken: LASTING_SECONDS,
            AuthorizationCode: LASTING_SECONDS,
            Grant: LASTING_SECONDS,
            IdToken: LASTING_SECONDS,
            Interaction: LASTING_SECONDS,
            Session: LASTING_SECONDS,
          },
        }),
    );
    const answer = provider.callback();
    const interact = async (request: IncomingMessage, response: ServerResponse) => {
      const { params } = await provider.interactionDetails(request, response);
      const hint = params["login_hint"];
      const login = { accountId: subjectOf(typeof hint === "string" ? hint : this.person) };
      await provider.interactionFinished(request, response, { login });
    };
    return (request, response) => {
      if (request.url?.startsWith("/interaction/")) void interact(request, response);
      else void answer(request, response);
    };
  }
}

function client(id: string): ClientMetadata {
  return { client_id: id, token_endpoint_auth_method: "none", redirect_uris: [CALLBACK] };
}

/** It tells everybody who starts it that it keeps its accounts in memory, which is what a test wants. */
function quietly<T>(make: () => T): T {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return make();
  } finally {
    console.warn = warn;
  }
}

async function makeKeys(kid: string): Promise<Keys> {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const [privateJwk, publicJwk] = await Promise.all([exportJWK(privateKey), exportJWK(publicKey)]);
  const about = { kid, alg: "RS256", use: "sig" };
  return {
    ...{ kid, privateKey },
    privateJwk: { ...privateJwk, ...about },
    publicJwk: { ...publicJwk, ...about },
  };
}
