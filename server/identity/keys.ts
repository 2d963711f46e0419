// Which key is calling. The database decides what it may do; here it is only looked up, and remembered for a moment.
import { createHash } from "node:crypto";
import type { RequestHandler } from "express";
import { LRUCache } from "lru-cache";
import { ApiError } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import type { Connections } from "../postgres/connections.ts";
import { Announcements } from "./announcements.ts";
import { KeyLookup } from "./lookup.ts";
import type { Key } from "./lookup.ts";

export type { Scope } from "./lookup.ts";

/** The key of a request. */
export type Identity = Key &
  Readonly<{
    /** Aborted when the caller hangs up. */
    gone?: AbortSignal;
  }>;

declare global {
  namespace Express {
    interface Request {
      identity: Identity;
    }
  }
}

const REMEMBERED_KEYS = 10_000;
/**
 * How long a key is remembered, valid or unknown, in case an announcement is lost on a way that nobody sees: a
 * connection that was cut without a word, a pooler.
 */
const REMEMBERED_MS = 5_000;

/** Looks up API keys and remembers them until the database says that one has changed. */
export class KeyRing {
  readonly #connections: Connections;
  readonly #lookup: KeyLookup;
  readonly #announcements: Announcements;
  readonly #known = new LRUCache<string, Key>({ max: REMEMBERED_KEYS, ttl: REMEMBERED_MS });
  readonly #unknown = new LRUCache<string, true>({ max: REMEMBERED_KEYS, ttl: REMEMBERED_MS });
  #isListening = false;
  #changes = 0;

  /**
   * @param parts.statements how many of its statements may run at a time
   * @param parts.listenUrl leads directly to PostgreSQL
   */
  constructor(parts: { connections: Connections; statements: number; listenUrl: string }) {
    this.#connections = parts.connections;
    this.#lookup = new KeyLookup(parts.connections, parts.statements);
    this.#announcements = new Announcements(parts.listenUrl, {
      changed: (keyId) => {
        this.#changes++;
        this.#unknown.clear();
        for (const [hash, key] of this.#known) if (key.keyId === keyId) this.#known.delete(hash);
      },
      listening: (isListening) => {
        this.#isListening = isListening;
        this.#known.clear();
        this.#unknown.clear();
      },
    });
  }

  /**
   * Starts listening for changed keys; whenever it cannot later on, every request asks the database.
   * @throws NotAnnounced when it cannot now
   */
  start(): Promise<void> {
    return this.#announcements.start(this.#connections);
  }

  stop(): Promise<void> {
    return this.#announcements.stop();
  }

  /** @throws ApiError 401 invalid_api_key when the key is unknown, expired or revoked */
  async identify(text: string): Promise<Key> {
    const hash = createHash("sha256").update(text).digest("base64");
    if (this.#unknown.has(hash)) throw new ApiError("invalid_api_key");
    const known = this.#known.get(hash);
    if (known && (known.expiresAt === null || known.expiresAt > Date.now())) return known;
    const [wasListening, changes] = [this.#isListening, this.#changes];
    const key = await this.#lookup.find(hash);
    // What changed while it was being looked up must not be remembered as it was before.
    if (wasListening && this.#isListening && changes === this.#changes) {
      if (key) this.#known.set(hash, key);
      else this.#unknown.set(hash, true);
    }
    if (!key) throw new ApiError("invalid_api_key");
    return key;
  }
}

/**
 * Requires `Authorization: Bearer <key>` and sets request.identity.
 * @param options.inQuery also accept ?apiKey=, for clients that cannot set a header
 */
export function requireKey(keys: KeyRing, options: { inQuery?: boolean } = {}): RequestHandler {
  return async (request, response, next) => {
    const header = request.get("authorization");
    const fromQuery =
      options.inQuery && typeof request.query["apiKey"] === "string" ? request.query["apiKey"] : undefined;
    const key = header === undefined ? fromQuery : /^Bearer +(\S+) *$/i.exec(header)?.[1];
    if (key === undefined) {
      throw header === undefined
        ? new ApiError("missing_api_key")
        : new ApiError("invalid_api_key", { message: "The Authorization header must be: Bearer <key>." });
    }
    const gone = hungUp(response);
    request.identity = { ...(await keys.identify(key)), gone };
    next();
  };
}
