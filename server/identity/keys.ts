// Which key is calling. The database decides what it may do; here it is only looked up, once.
import { createHash } from "node:crypto";
import type { RequestHandler } from "express";
import pg from "pg";
import { LRUCache } from "lru-cache";
import type { choices } from "../../db/catalog.ts";
import { createPool } from "../../db/pool.ts";
import { ApiError } from "../errors.ts";

/** The PostgreSQL role that a key acts in. */
export type Scope = (typeof choices)["api_keys.scope"][number];

/** The key of a request. */
export type Identity = Readonly<{
  keyId: string;
  scope: Scope;
  ratePerMinute: number | null;
  expiresAt: number | null;
}>;

declare global {
  namespace Express {
    interface Request {
      identity: Identity;
    }
  }
}

const REMEMBERED_KEYS = 10_000;

/** Looks up API keys and remembers valid ones until the database says that one has changed. */
export class KeyRing {
  readonly #pool: pg.Pool;
  readonly #known = new LRUCache<string, Identity>({ max: REMEMBERED_KEYS });
  #listener: pg.Client | undefined;
  #listening = false;
  #changes = 0;
  #stopped = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Starts listening for changed keys; until then, and whenever it cannot, every request asks the database. */
  async start(): Promise<void> {
    const listener = new pg.Client(this.#pool.options);
    const lost = () => {
      if (this.#listener !== listener) return;
      this.#listening = false;
      this.#listener = undefined;
      this.#known.clear();
      if (!this.#stopped) this.#retry = setTimeout(() => void this.start(), 1000);
    };
    this.#listener = listener;
    listener.on("error", lost);
    listener.on("end", lost);
    listener.on("notification", ({ payload }) => {
      this.#changes++;
      for (const [hash, identity] of this.#known) if (identity.keyId === payload) this.#known.delete(hash);
    });
    try {
      await listener.connect();
      await listener.query("listen api_keys");
      this.#listening = true;
    } catch {
      lost();
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await this.#listener?.end();
  }

  /** @throws ApiError 401 invalid_api_key when the key is unknown, expired or revoked */
  async identify(key: string): Promise<Identity> {
    const hash = createHash("sha256").update(key).digest();
    const name = hash.toString("base64");
    const known = this.#known.get(name);
    if (known && (known.expiresAt === null || known.expiresAt > Date.now())) return known;
    const [listening, changes] = [this.#listening, this.#changes];
    const { rows } = await this.#pool.query<{
      key_id: string;
      scope: Scope;
      rate_per_minute: number | null;
      expires_at: string | null;
    }>({ name: "authenticate", text: "select * from app_private.authenticate($1)", values: [hash] });
    const row = rows[0];
    this.#known.delete(name);
    if (!row) throw new ApiError("invalid_api_key");
    const identity = Object.freeze({
      keyId: row.key_id,
      scope: row.scope,
      ratePerMinute: row.rate_per_minute,
      expiresAt: row.expires_at === null ? null : Date.parse(row.expires_at),
    });
    // A key that changed while it was being looked up must not be remembered as it was before.
    if (listening && this.#listening && changes === this.#changes) this.#known.set(name, identity);
    return identity;
  }
}

/**
 * Requires `Authorization: Bearer <key>` and sets request.identity.
 * @param options.inQuery also accept ?apiKey=, for clients that cannot set a header
 */
export function requireKey(keys: KeyRing, options: { inQuery?: boolean } = {}): RequestHandler {
  return async (request, _response, next) => {
    const header = request.get("authorization");
    const fromQuery =
      options.inQuery && typeof request.query["apiKey"] === "string" ? request.query["apiKey"] : undefined;
    const key = header === undefined ? fromQuery : /^Bearer +(\S+) *$/i.exec(header)?.[1];
    if (key === undefined) {
      throw header === undefined
        ? new ApiError("missing_api_key")
        : new ApiError("invalid_api_key", { message: "The Authorization header must be: Bearer <key>." });
    }
    request.identity = await keys.identify(key);
    next();
  };
}

/** A pool for the server's own login, which can do nothing but assume the role of a key's scope. */
export function createServerPool(connectionString: string, onError: (error: Error) => void): pg.Pool {
  return createPool(connectionString, { max: 20, application_name: "engagement-server", onError });
}
