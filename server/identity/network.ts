// Where a caller is, as limits count it.
import { isIPv6 } from "node:net";
import type { Request, RequestHandler } from "express";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

/** The address of a caller; of an IPv6 address the network, of which one customer usually has all. */
export function networkOf({ ip = "" }: Request): string {
  if (!isIPv6(ip) || ip.startsWith("::ffff:")) return ip;
  const [left = "", right] = ip.split("::");
  const groups = left === "" ? [] : left.split(":");
  const rest = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(zeros).fill("0"), ...rest].slice(0, 4).join(":");
}

/** A middleware that takes so many requests a minute from a network, in this process. */
export function limitNetwork(perMinute: number): RequestHandler {
  const requests = new RateLimiterMemory({ points: perMinute, duration: 60 });
  return async (request, _response, next) => {
    await requests.consume(networkOf(request)).catch((over: unknown) => refuse(over, "requests for this"));
    next();
  };
}

/**
 * What a limiter's refusal is to a caller.
 * @param what there were too many of
 * @throws ApiError 429 rate_limited, or what is no refusal
 */
export function refuse(over: unknown, what: string): never {
  if (!(over instanceof RateLimiterRes)) throw over;
  throw new ApiError("rate_limited", {
    message: `Too many ${what} have come from this address; wait as long as Retry-After says.`,
    headers: { [RESPONSE_HEADERS.retryAfter]: String(Math.ceil(over.msBeforeNext / 1000)) },
  });
}
