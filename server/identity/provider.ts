// The public keys of an OpenID provider: found by discovery, and fetched again periodically and when a token
// names an unknown one. No URL in a token is ever fetched, and nobody can make the service fetch more often
// than COOLDOWN_MS allows.
import { createLocalJWKSet, errors } from "jose";
import type { FlattenedJWSInput, JWSHeaderParameters } from "jose";
import type { Logger } from "pino";
import { z } from "zod";
import { isSafeProvider } from "../../config.ts";
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

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
    this.#known = createLocalJWKSet(keySet.parse(await fetchJson(found.jwks_uri)));
    this.#absent.clear();
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
