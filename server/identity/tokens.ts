// Persons' tokens: JSON Web Tokens signed by an OpenID provider. This checks that a token is genuine, for
// this service, and valid now; the database decides who its actor is, and what they may do.
import { hash } from "node:crypto";
import { compactVerify, decodeJwt, decodeProtectedHeader, errors, jwtVerify } from "jose";
import type { JWTPayload } from "jose";
import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import { ApiError } from "../errors.ts";
import type { Person } from "./identity.ts";
import { ALGORITHMS, ProviderKeys } from "./provider.ts";

/** A provider signs other things too, such as logout tokens, which say nothing about who is calling. */
const TYPES: readonly unknown[] = [undefined, "jwt", "at+jwt", "application/at+jwt"];
const CLOCK_TOLERANCE_SECONDS = 10;
/** Whatever the token says itself: a lost one is not valid for years. */
const MAX_AGE = "24h";
const LONGEST_TOKEN = 16_384;
const LONGEST_NAME = 255;

/** By issuer, the domains of the e-mail addresses that it is trusted for; all of them if it is not listed. */
export type Domains = NonNullable<Config["oidc"]>["domains"];

/** Identifies the person of a token. */
export class PersonTokens {
  readonly #audience: string;
  readonly #domains: Domains;
  readonly #providers: ReadonlyMap<string, ProviderKeys>;

  constructor({ issuers, audience, domains }: NonNullable<Config["oidc"]>, logger: Pick<Logger, "warn">) {
    this.#audience = audience;
    this.#domains = domains;
    this.#providers = new Map(issuers.map((issuer) => [issuer, new ProviderKeys(issuer, logger)]));
  }

  start(): void {
    for (const provider of this.#providers.values()) provider.start();
  }

  stop(): void {
    for (const provider of this.#providers.values()) provider.stop();
  }

  /**
   * @throws ApiError 401 invalid_token; 503 identity_provider_unavailable when the provider cannot be asked
   */
  async identify(token: string): Promise<Person> {
    const issuer = this.#claimedIssuer(token);
    const provider = this.#providers.get(issuer);
    if (!provider) throw invalid("This token comes from a provider that this service does not trust.");
    try {
      const { payload } = await verified(token, provider, (find) =>
        jwtVerify(token, find, {
          issuer,
          audience: this.#audience,
          algorithms: ALGORITHMS,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          maxTokenAge: MAX_AGE,
          requiredClaims: ["exp", "sub"],
        }),
      );
      requireOneClient(payload);
      return personOf(issuer, payload, this.#domains);
    } catch (error) {
      throw error instanceof ApiError ? error : invalid(reasonOf(error), error);
    }
  }

  /**
   * Makes sure that one of these providers has signed a token, whatever it says.
   * @throws JOSEError if it has not; JWKSNoMatchingKey if it does not have the key; ApiError 503
   * identity_provider_unavailable when it cannot be asked
   */
  async requireSignature(issuer: string, token: string): Promise<void> {
    await verified(token, this.#providers.get(issuer)!, (find) =>
      compactVerify(token, find, { algorithms: ALGORITHMS }),
    );
  }

  /**
   * The issuer that the token claims, before its signature is verified: good only for choosing the provider.
   */
  #claimedIssuer(token: string): string {
    if (token.length > LONGEST_TOKEN)
      throw invalid(`This token is longer than ${LONGEST_TOKEN.toLocaleString("en")} characters.`);
    try {
      const { typ, kid } = decodeProtectedHeader(token);
      if (!TYPES.includes(typ?.toLowerCase())) throw invalid("This is another kind of token.");
      if (kid !== undefined && (typeof kid !== "string" || kid.length > LONGEST_NAME)) throw invalid();
      return decodeJwt(token).iss ?? "";
    } catch (error) {
      throw error instanceof ApiError ? error : invalid(undefined, error);
    }
  }
}

async function verified<T>(
  token: string,
  provider: ProviderKeys,
  verify: (find: ProviderKeys["find"]) => Promise<T>,
): Promise<T> {
  try {
    return await verify(provider.find);
  } catch (error) {
    const header = decodeProtectedHeader(token);
    // A provider with a single key need not name it, so a new key looks like a wrong signature.
    if (!(error instanceof errors.JWSSignatureVerificationFailed) || header.kid !== undefined) throw error;
    await provider.renew(header);
    return verify(provider.find);
  }
}

/**
 * The person that the claims of a genuine token are about.
 * @throws ApiError 401 invalid_token unless it names a person whose address the provider has verified
 */
export function personOf(
  issuer: string,
  { sub: subject, email, email_verified }: JWTPayload,
  domains: Domains,
): Person {
  // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
  const isText = typeof subject === "string" && /^[^\u0000-\u001f\u007f]{1,255}$/.test(subject);
  // JSON can express half of a surrogate pair, and the database cannot.
  if (!isText || !subject.isWellFormed()) {
    throw invalid("This token does not say whose it is.");
  }
  // Beyond ASCII two addresses can be the same in lower case: admİn@… is not admin@….
  if (typeof email !== "string" || !/^[!-?A-~]+@[!-?A-~]+$/.test(email) || email.length > 254) {
    throw invalid("This token has no e-mail address (email); ask the provider for the scope email.");
  }
  if (email_verified !== true) {
    throw invalid("The provider has not verified the e-mail address of this token (email_verified).");
  }
  const believed = domains && Object.hasOwn(domains, issuer) ? domains[issuer] : undefined;
  if (believed && !believed.includes(email.slice(email.indexOf("@") + 1).toLowerCase())) {
    throw invalid("This provider is not trusted for addresses of this domain.");
  }
  const digest = hash("sha256", `${issuer} ${subject}`, "hex");
  const id = digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
  return { id, issuer, subject, email };
}

/**
 * A token for several audiences must say which of the provider's clients it was issued to, in the words of
 * OpenID Connect or of RFC 9068: otherwise any of the audiences could pass it on as its own.
 */
function requireOneClient({ aud, azp, client_id: clientId }: JWTPayload): void {
  const isForSeveral = Array.isArray(aud) && aud.length > 1;
  if (isForSeveral && !isName(azp) && !isName(clientId)) {
    throw invalid("This token is for several audiences and does not say whom it was issued to (azp).");
  }
}

function isName(claim: unknown): boolean {
  return typeof claim === "string" && claim.trim() !== "";
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof errors.JWTExpired) return "This token has expired; get a new one.";
  if (!(error instanceof errors.JWTClaimValidationFailed)) return undefined;
  const { claim, reason } = error;
  if (claim === "aud") return "This token is for another audience.";
  const isEarly = reason === "check_failed" && (claim === "nbf" || claim === "iat");
  return isEarly ? "This token is not valid yet." : `This token is not complete: ${claim}.`;
}

function invalid(message?: string, cause?: unknown): ApiError {
  return new ApiError("invalid_token", { ...(message !== undefined && { message }), cause });
}
