// The rate limit of a caller, a key or a person, shared by all processes of a service. The database counts,
// but is not queried for each request: a process takes a small part of the limit at a time and hands it out
// by itself.
import { hash } from "node:crypto";
import type { RequestHandler, Response } from "express";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import { RateLimiterPostgres } from "rate-limiter-flexible";
import type { RateLimiterAbstract, RateLimiterRes } from "rate-limiter-flexible";
import { closePool } from "../../db/close.ts";
import { createPool } from "../../db/pool.ts";
import { ApiError } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import { within } from "../../process/patience.ts";
import type { Pulse } from "../../process/pulse.ts";
import { whileAlive } from "../postgres/heartbeat.ts";
import { REFUSED_AT_ONCE } from "./hold-back.ts";
import type { HoldBack } from "./hold-back.ts";

declare global {
  namespace Express {
    interface Request {
      /**
       * Counts a request as several, for the rate limit of its caller.
       * @throws ApiError 429 rate_limited; 400 validation_failed for more than the limit itself
       */
      countAs: (requests: number) => Promise<void>;
      /** Counts a request as several once its cost is known; later requests pay for it. */
      countAfterwards: (requests: number) => void;
      /**
       * Counts a later message over the same connection as a request of its own.
       * @param gone aborted when nobody waits for the answer any more
       * @throws ApiError 429 rate_limited
       */
      countAnother: (gone: AbortSignal) => Promise<void>;
    }
  }
}

const WINDOW_SECONDS = 60;
const WINDOW_MS = WINDOW_SECONDS * 1000;
/**
 * A window with more time left began by a clock that was ahead, and would lock its caller out until it ends.
 * Servers' clocks may differ a little.
 */
const LONGEST_MS = 2 * WINDOW_MS;
/**
 * The part of a limit that a process takes at a time. This much may lie unused in another process when one
 * refuses; all of them together never admit more than the limit.
 */
const PORTION = 0.05;
const REMEMBERED_KEYS = 10_000;
/** How long the database may take; a process that has had no answer counts by itself for a while. */
const PATIENCE_MS = 1_000;
const ALONE_MS = 2_000;
/** The library's own limit is not used, because keys may have their own. */
const UNLIMITED = 2 ** 31 - 1;

/** What this process holds of the limit of a caller. */
type Share = {
  limit: number;
  left: number;
  /** used, but not yet taken from the limit */
  owed: number;
  /** taken from the limit by all processes, when the database was last queried */
  taken: number;
  /** requests that this process has refused */
  refused: number;
  /** by `performance.now()`, which nobody sets; 0 until the window is known to have begun */
  endsAt: number;
  asking: Promise<void> | undefined;
  /** the header field, which is the same for every request */
  policy: string;
};

type Consumed = Pick<RateLimiterRes, "consumedPoints" | "msBeforeNext">;

/** Counts the requests of each caller in the database; by itself while there is none. */
export class RateLimit {
  readonly #perMinute: number;
  readonly #patienceMs: number;
  readonly #pool: pg.Pool;
  readonly #pulse: Pulse;
  readonly #shared: RateLimiterAbstract;
  readonly #holdBack: HoldBack;
  readonly #shares = new LRUCache<string, Share>({ max: REMEMBERED_KEYS });
  #aloneUntil = 0;

  /**
   * @param perMinute for callers without a limit of their own, which keys can have
   * @param pulse reports at once when the database is down
   * @param databaseUrl for connections of its own, so that slow requests do not delay the counting
   * @param holdBack delays the refusals of callers who are refused again and again
   * @param patienceMs how long the database may take
   */
  constructor(
    perMinute: number,
    databaseUrl: string,
    pulse: Pulse,
    holdBack: HoldBack,
    patienceMs = PATIENCE_MS,
  ) {
    this.#perMinute = perMinute;
    this.#patienceMs = patienceMs;
    this.#pulse = pulse;
    this.#holdBack = holdBack;
    this.#pool = createPool(databaseUrl, {
      max: 2,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: patienceMs,
    });
    this.#shared = new RateLimiterPostgres({
      // Without the library's names for prepared statements, which not every pooler supports.
      storeClient: {
        query: (statement: pg.QueryConfig) => this.#query(statement),
      },
      storeType: "client",
      schemaName: "app_private",
      tableName: "rate_limits",
      tableCreated: true,
      keyPrefix: "requests",
      points: UNLIMITED,
      duration: WINDOW_SECONDS,
    });
  }

  /** A middleware that counts a request of request.identity, and says in headers what is left. */
  readonly count: RequestHandler = async (request, response, next) => {
    const { id } = request.identity;
    const limitNow = () => request.identity.ratePerMinute ?? this.#perMinute;
    const limit = limitNow();
    const take = async (requests: number, gone: AbortSignal, limit = limitNow()) => {
      const { share, admitted } = await this.#take(id, limit, requests);
      const seconds = tell(response, share);
      if (admitted) return;
      if (++share.refused > REFUSED_AT_ONCE) await this.#holdBack.wait(id, gone);
      throw new ApiError("rate_limited", { headers: { [RESPONSE_HEADERS.retryAfter]: String(seconds) } });
    };
    let counted = 0;
    request.countAs = async (requests) => {
      counted += requests;
      if (counted > limit) throw tooMany(counted, limit);
      await take(requests, hungUp(response));
    };
    request.countAfterwards = (requests) => {
      const share = this.#owe(id, limit, requests);
      if (!response.headersSent) tell(response, share);
    };
    // A connection may last for days: its messages are not limited to those of one minute in all, nor by the
    // limit that applied when it began.
    request.countAnother = (gone) => take(1, gone);
    await request.countAs(1);
    next();
  };

  async stop(): Promise<void> {
    await closePool(this.#pool);
  }

  async #query({ text, values }: pg.QueryConfig): Promise<pg.QueryResult> {
    const client = await this.#pool.connect();
    const late = () => new Error(`no answer within ${this.#patienceMs} ms`);
    try {
      // Not the library's own timer: after a stall of the process, it would end before the answer is read.
      const result = await within(this.#patienceMs, client.query(text, values), late);
      client.release();
      return result;
    } catch (error) {
      // The query may never be answered.
      client.release(true);
      throw error;
    }
  }

  async #take(key: string, limit: number, requests: number): Promise<{ share: Share; admitted: boolean }> {
    const share = this.#shareOf(key, limit);
    for (;;) {
      endIfOver(share);
      if (share.left >= requests) {
        share.left -= requests;
        return { share, admitted: true };
      }
      if (share.taken >= limit && share.endsAt > performance.now()) return { share, admitted: false };
      await this.#askOnce(key, share, requests);
    }
  }

  /** Counts more than this process has: what is missing is taken from the shared limit, as far as it goes. */
  #owe(key: string, limit: number, requests: number): Share {
    // If the caller's limit has been changed meanwhile, the new one is charged.
    const share = this.#shares.get(key) ?? this.#shareOf(key, limit);
    endIfOver(share);
    const here = Math.min(share.left, requests);
    share.left -= here;
    share.owed += requests - here;
    this.#settle(key, share);
    return share;
  }

  #settle(key: string, share: Share): void {
    if (share.owed > 0) void this.#askOnce(key, share, 0);
  }

  #askOnce(key: string, share: Share, requests: number): Promise<void> {
    return (share.asking ??= this.#ask(key, share, requests).finally(() => {
      share.asking = undefined;
      // More may be owed by now.
      this.#settle(key, share);
    }));
  }

  #shareOf(key: string, limit: number): Share {
    const known = this.#shares.get(key);
    if (known?.limit === limit) return known;
    const partition = hash("sha256", key, "base64").slice(0, 16);
    const policy = `"${limit}-in-1min"; q=${limit}; w=${WINDOW_SECONDS}; pk=:${partition}:`;
    const share = { limit, left: 0, owed: 0, taken: 0, refused: 0, endsAt: 0, asking: undefined, policy };
    this.#shares.set(key, share);
    return share;
  }

  async #ask(key: string, share: Share, requests: number): Promise<void> {
    const { owed } = share;
    const portion = owed + Math.max(requests - share.left, Math.ceil(share.limit * PORTION));
    const { consumedPoints, msBeforeNext } = await this.#consume(key, share, portion);
    const before = consumedPoints - portion;
    // What is owed beyond the limit is dropped.
    share.owed -= owed;
    share.left += Math.max(0, Math.min(portion, share.limit - before) - owed);
    share.taken = consumedPoints;
    // A clock that was set back must not make the window longer.
    share.endsAt = performance.now() + Math.min(msBeforeNext, WINDOW_MS);
  }

  async #consume(key: string, share: Share, points: number): Promise<Consumed> {
    if (performance.now() >= this.#aloneUntil && !this.#pulse.isDown) {
      try {
        return await whileAlive(this.#pulse, async () => {
          const counted = await this.#shared.consume(key, points);
          if (counted.msBeforeNext <= LONGEST_MS) return counted;
          await this.#shared.delete(key);
          return this.#shared.consume(key, points);
        });
      } catch {
        // Whatever failed, callers are better served by a less exact limit than by none, or by no answer.
        this.#aloneUntil = performance.now() + ALONE_MS;
      }
    }
    const msLeft = share.endsAt - performance.now();
    return msLeft > 0
      ? { consumedPoints: share.taken + points, msBeforeNext: msLeft }
      : { consumedPoints: points, msBeforeNext: WINDOW_MS };
  }
}

/** What is left of a window is not carried over to the next. */
function endIfOver(share: Share): void {
  if (share.endsAt <= performance.now()) Object.assign(share, { left: 0, taken: 0, refused: 0, endsAt: 0 });
}

/** A 400, because waiting would not help. */
function tooMany(counted: number, limit: number): ApiError {
  return new ApiError("validation_failed", {
    message: `This counts as ${counted} requests, and the caller may send ${limit} in a minute.`,
  });
}

/**
 * Sets the header fields of draft-ietf-httpapi-ratelimit-headers-08.
 * @returns the seconds until the window ends
 */
function tell(response: Response, share: Share): number {
  const endsAt = share.endsAt || performance.now() + WINDOW_MS;
  const seconds = Math.max(1, Math.ceil((endsAt - performance.now()) / 1000));
  // When a request that counts as several is refused, enough may be left for a smaller one.
  const left = Math.max(0, share.left - share.owed + Math.max(0, share.limit - share.taken));
  response.setHeader(RESPONSE_HEADERS.rateLimitPolicy, share.policy);
  response.setHeader(RESPONSE_HEADERS.rateLimit, `"${share.limit}-in-1min"; r=${left}; t=${seconds}`);
  return seconds;
}
