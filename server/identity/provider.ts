// The public keys of an OpenID provider: found by discovery, and fetched again periodically and when a token
// names an unknown one. No URL in a token is ever fetched, and nobody can make the service fetch more often
// than COOLDOWN_MS allows.
import { createPublicKey } from "node:crypto";
import { createLocalJWKSet, errors } from "jose";
import type { FlattenedJWSInput, JWSHeaderParameters } from "jose";
import type { Logger } from "pino";
import { z } from "zod";
import { isSafeProvider } from "../../config.ts";
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

/** Only those with a public key: a service that can check a token must not be able to make one. */
export const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const KEY_TYPES: readonly unknown[] = ["rsa", "ec", "ed25519"];

/** The least time between two fetches, whether they succeed or not. */
const COOLDOWN_MS = 5_000;
/** A key that the provider no longer has is forgotten after that long. */
const REFRESH_MS = 600_000;
/** For each of the two fetches. */
const PATIENCE_MS = 3_000;
const LONGEST_ANSWER = 256 * 1024;
/** How many names of unknown keys are remembered until the next fetch. */
const REMEMBERED_NAMES = 1_000;

const configuration = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** The keys of one provider. */
export class ProviderKeys {
  readonly #issuer: string;
  readonly #logger: Pick<Logger, "warn">;
  readonly #absent = new Set<string>();
  #known: KeySet | undefined;
  #fetching: Promise<void> | undefined;
  #fetchedAt = -Infinity;
  #clock: NodeJS.Timeout | undefined;

  constructor(issuer: string, logger: Pick<Logger, "warn">) {
    this.#issuer = issuer;
    this.#logger = logger;
  }

  /** Fetches the keys, now and periodically. A provider that is down does not prevent the start. */
  start(): void {
    const refresh = () => void this.#fetch().catch(() => undefined);
    this.#clock = setInterval(refresh, REFRESH_MS);
    this.#clock.unref();
    refresh();
  }

  stop(): void {
    clearInterval(this.#clock);
  }

  /**
   * The key that a token says it is signed with.
   * @throws JWKSNoMatchingKey when the provider has no such key; ApiError 503 when it cannot be asked now
   */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput) => {
    try {
      if (this.#known) return await this.#known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    await this.renew(header);
    try {
      return await this.#known!(header, token);
    } catch (error) {
      if (this.#absent.size < REMEMBERED_NAMES) this.#absent.add(nameOf(header));
      throw error;
    }
  };

  /**
   * Fetches the keys again because one is missing.
   * @throws JWKSNoMatchingKey when the last answer, a moment ago, did not have it either; ApiError 503
   */
  async renew(header: JWSHeaderParameters): Promise<void> {
    const wait = this.#fetchedAt + COOLDOWN_MS - performance.now();
    if (!this.#fetching && wait > 0) {
      if (this.#absent.has(nameOf(header))) throw new errors.JWKSNoMatchingKey();
      throw unavailable(Math.ceil(wait / 1_000));
    }
    await this.#fetch().catch((error: unknown) => {
      throw unavailable(Math.ceil(COOLDOWN_MS / 1_000), error);
    });
  }

  /** Fetches the keys; concurrent callers share the answer. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#load()
      .catch((error: unknown) => {
        this.#logger.warn({ err: error, issuer: this.#issuer }, "the keys of a provider cannot be fetched");
        throw error;
      })
      .finally(() => {
        this.#fetchedAt = performance.now();
        this.#fetching = undefined;
      });
    return this.#fetching;
  }

  async #load(): Promise<void> {
    const found = configuration.parse(
      await fetchJson(`${this.#issuer.replace(/\/$/, "")}/.well-known/openid-configuration`),
    );
    if (found.issuer !== this.#issuer) {
      throw new Error(`the provider calls itself ${found.issuer}, and OIDC_ISSUER calls it ${this.#issuer}`);
    }
    const given = keySet.parse(await fetchJson(found.jwks_uri));
    // A provider that signs has a key. Believed, this answer would make every genuine token a wrong one.
    if (!given.keys.some(canVerify)) {
      throw new Error(`${found.jwks_uri} has no key with which a token could be verified`);
    }
    this.#known = createLocalJWKSet(given);
    this.#absent.clear();
  }
}

/** Whether it is a public key for signatures that are accepted. */
function canVerify(key: z.infer<typeof keySet>["keys"][number]): boolean {
  const { alg, use, key_ops: operations } = key;
  if (alg !== undefined && !ALGORITHMS.some((accepted) => accepted === alg)) return false;
  if (use !== undefined && use !== "sig") return false;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return false;
  // Node would take the public half of a private key; a published one is anybody's.
  if ("d" in key) return false;
  try {
    return KEY_TYPES.includes(createPublicKey({ key, format: "jwk" }).asymmetricKeyType);
  } catch {
    return false;
  }
}

function nameOf({ alg, kid }: JWSHeaderParameters): string {
  return `${alg} ${kid}`;
}

function unavailable(seconds: number, cause?: unknown): ApiError {
  const headers = { [RESPONSE_HEADERS.retryAfter]: String(seconds) };
  return new ApiError("identity_provider_unavailable", { headers, cause });
}

/** Follows no redirects, and reads no more than LONGEST_ANSWER. */
async function fetchJson(url: string): Promise<unknown> {
  if (!isSafeProvider(url)) throw new Error(`${url} is neither https nor on this machine`);
  const response = await fetch(url, {
    headers: { accept: "application/json" },
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (!response.ok || !response.body) throw new Error(`${url} answers ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > LONGEST_ANSWER) throw new Error(`${url} answers more than ${LONGEST_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}
