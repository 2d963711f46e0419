// How often an address may come with a key that nobody knows: looking one up costs a query, and guessing should be slow.
import { createHash } from "node:crypto";
import { isIPv6 } from "node:net";
import type { Request, RequestHandler } from "express";
import { LRUCache } from "lru-cache";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

const WINDOW_SECONDS = 60;
const REMEMBERED_KEYS = 10_000;

/**
 * Wraps a middleware that identifies the key of a request. An address that has come with too many unknown keys gets
 * 429 for every key that has not been valid here before; others behind the same address go on.
 * @param perMinute unknown keys of an address, in this process: it is not worth asking the database
 */
export function limitUnknownKeys(perMinute: number): (identify: RequestHandler) => RequestHandler {
  const unknown = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS });
  // Only that they were valid when last used: whether they still are is for the one who identifies to say.
  const proven = new LRUCache<string, true>({ max: REMEMBERED_KEYS });

  // A key that comes many times at once, as when a process has just started, counts as one.
  const checking = new Map<string, Promise<void>>();

  async function check(name: string, address: string, identify: () => unknown): Promise<void> {
    // Counted before it is known to be wrong, or a thousand at the same time would all be looked up.
    await unknown.consume(address).catch(refuse);
    try {
      await identify();
      proven.set(name, true);
      await unknown.reward(address);
    } catch (error) {
      if (!isUnknown(error)) await unknown.reward(address);
      throw error;
    }
  }

  return (identify) => async (request, response, next) => {
    const key = request.get("authorization") ?? request.query["apiKey"];
    if (typeof key !== "string") {
      await identify(request, response, next);
      return;
    }
    const name = createHash("sha256").update(key).digest("base64");
    const identified = async () => identify(request, response, () => undefined);
    // What comes of it is for all of them, a failure too: one after the other they would wait for as many time limits.
    await checking.get(name)?.catch(async (error: unknown) => {
      if (isUnknown(error)) await unknown.consume(networkOf(request)).catch(refuse);
      throw error;
    });
    if (proven.has(name)) {
      await identified().catch((error: unknown) => {
        if (isUnknown(error)) proven.delete(name);
        throw error;
      });
    } else {
      const checked = check(name, networkOf(request), identified).finally(() => checking.delete(name));
      checking.set(name, checked);
      await checked;
    }
    next();
  };
}

function isUnknown(error: unknown): boolean {
  return error instanceof ApiError && error.statusCode === 401;
}

function refuse(over: unknown): never {
  if (!(over instanceof RateLimiterRes)) throw over;
  throw new ApiError("rate_limited", {
    message: "Too many unknown API keys have come from this address; wait as long as Retry-After says.",
    headers: { [RESPONSE_HEADERS.retryAfter]: String(Math.ceil(over.msBeforeNext / 1000)) },
  });
}

/** The address of a caller; of an IPv6 address the network, of which one customer usually has all. */
function networkOf({ ip = "" }: Request): string {
  if (!isIPv6(ip) || ip.startsWith("::ffff:")) return ip;
  const [left = "", right] = ip.split("::");
  const groups = left === "" ? [] : left.split(":");
  const rest = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(zeros).fill("0"), ...rest].slice(0, 4).join(":");
}
