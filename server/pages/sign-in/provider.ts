// Signing in at an OpenID provider: the code flow, with PKCE, state and nonce. Verifier and nonce are derived
// from the secret in the browser's cookie: they are not stored, and no other browser can use the answer.
import { createHmac } from "node:crypto";
import { errors } from "jose";
import * as oidc from "openid-client";
import type { Logger } from "pino";
import type { Config } from "../../../config.ts";
import { ApiError } from "../../errors.ts";
import type { Person } from "../../identity/identity.ts";
import { personOf } from "../../identity/tokens.ts";
import type { Domains, PersonTokens } from "../../identity/tokens.ts";

const PATIENCE_SECONDS = 5;
/** A provider that has moved its pages is found again after that long. */
const KNOWN_MS = 600_000;

/** The secrets to which one sign-in is bound. */
export type Attempt = Readonly<{ state: string; browser: string }>;

type Settings = NonNullable<Config["signIn"]> & { domains: Domains };

/** A provider at which persons sign in. */
export class SignInProvider {
  readonly #settings: Settings;
  readonly #tokens: Pick<PersonTokens, "requireSignature">;
  readonly #logger: Pick<Logger, "warn">;
  #known: oidc.Configuration | undefined;
  #asking: Promise<oidc.Configuration> | undefined;
  #dueAt = 0;

  /** @param tokens know the keys of the provider */
  constructor(
    settings: Settings,
    tokens: Pick<PersonTokens, "requireSignature">,
    logger: Pick<Logger, "warn">,
  ) {
    this.#settings = settings;
    this.#tokens = tokens;
    this.#logger = logger;
  }

  /**
   * Where to send a browser.
   * @throws ApiError 503 identity_provider_unavailable
   */
  async begin(attempt: Attempt, callback: string): Promise<string> {
    const found = await this.#discover();
    return oidc.buildAuthorizationUrl(found, {
      ...{
        redirect_uri: callback,
        scope: "openid email",
        state: attempt.state,
        nonce: derived("nonce", attempt),
      },
      code_challenge: await oidc.calculatePKCECodeChallenge(derived("verifier", attempt)),
      code_challenge_method: "S256",
    }).href;
  }

  /**
   * The person who has come back from the provider.
   * @param address to which the provider has sent the browser, with the code
   * @throws ApiError 403 sign_in_refused; 503 identity_provider_unavailable
   */
  async finish(address: URL, attempt: Attempt): Promise<Person> {
    const found = await this.#discover();
    const { issuer, domains } = this.#settings;
    try {
      const answer = await oidc.authorizationCodeGrant(found, address, {
        ...{ expectedState: attempt.state, expectedNonce: derived("nonce", attempt), idTokenExpected: true },
        pkceCodeVerifier: derived("verifier", attempt),
      });
      await this.#tokens.requireSignature(issuer, answer.id_token!);
      return personOf(issuer, answer.claims() ?? {}, domains);
    } catch (cause) {
      this.#logger.warn({ err: cause }, "a sign-in at the provider has failed");
      if (cause instanceof ApiError && cause.code === "invalid_token")
        throw new ApiError("sign_in_refused", { cause, message: cause.message });
      if (cause instanceof ApiError) throw cause;
      if (isAway(cause)) throw new ApiError("identity_provider_unavailable", { cause });
      if (cause instanceof oidc.AuthorizationResponseError || cause instanceof errors.JOSEError) {
        const message = "The provider has not signed you in. Begin again.";
        throw new ApiError("sign_in_refused", { cause, message });
      }
      throw new ApiError("sign_in_refused", { cause });
    }
  }

  /** The provider's metadata. What is known is used while it is asked for anew, and where the provider does not answer. */
  async #discover(): Promise<oidc.Configuration> {
    if (performance.now() >= this.#dueAt) this.#asking ??= this.#renew();
    if (this.#known) {
      this.#asking?.catch(() => undefined);
      return this.#known;
    }
    return await this.#asking!;
  }

  async #renew(): Promise<oidc.Configuration> {
    try {
      this.#known = await this.#ask();
      this.#dueAt = performance.now() + KNOWN_MS;
      return this.#known;
    } catch (cause) {
      this.#logger.warn({ err: cause }, "the provider that persons sign in at cannot be asked");
      throw new ApiError("identity_provider_unavailable", { cause });
    } finally {
      this.#asking = undefined;
    }
  }

  async #ask(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const found = await oidc.discovery(
      new URL(issuer),
      clientId,
      undefined,
      clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret),
      {
        timeout: PATIENCE_SECONDS,
        [oidc.customFetch]: reach,
        // The configuration allows http only for this machine.
        ...(issuer.startsWith("http:") && { execute: [oidc.allowInsecureRequests] }),
      },
    );
    const { authorization_endpoint: page, token_endpoint: door } = found.serverMetadata();
    // Otherwise it would be cached, and nobody could sign in any more.
    if (!URL.canParse(String(page)) || !URL.canParse(String(door)))
      throw new Unreachable("The provider does not say where persons sign in.");
    return found;
  }
}

function derived(purpose: "nonce" | "verifier", { state, browser }: Attempt): string {
  return createHmac("sha256", browser).update(`${purpose} ${state}`).digest("base64url");
}

class Unreachable extends Error {}

/** Like fetch, but with failures that can be told from other errors. */
const reach: oidc.CustomFetch = (url, options) =>
  fetch(url, options).catch((cause: unknown) => {
    throw new Unreachable("The provider cannot be reached.", { cause });
  });

/** Codes for answers that are not the provider's own, such as a proxy's page, or that are incomplete. */
const NO_ANSWER = new Set([
  "OAUTH_RESPONSE_IS_NOT_CONFORM",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_PARSE_ERROR",
]);

/** Codes with which a provider reports a fault of its own, not of the person (RFC 6749, 4.1.2.1). */
const ITS_OWN_FAULT = new Set(["server_error", "temporarily_unavailable"]);

/** Whether the provider cannot be reached, has not answered itself, reports a fault of its own, or lacks the key of its answer. */
function isAway(error: unknown): boolean {
  if (error instanceof errors.JWKSNoMatchingKey) return true;
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError)
    return ITS_OWN_FAULT.has(error.error);
  if (!(error instanceof oidc.ClientError)) return false;
  return error.cause instanceof Unreachable || NO_ANSWER.has(error.code ?? "");
}
