// Where a caller is, as limits count it.
import { isIP, isIPv6, SocketAddress } from "node:net";
import type { Request, RequestHandler } from "express";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

/** What some proxies pass on: an address in brackets, or with the port of the connection, of which everybody has as many as they like. */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3})|\[([^\]]+)\])(?::\d+)?$/;

/** The address of a caller, as TRUST_PROXY has it, in the one way of writing it; undefined of what is none, as a proxy may pass on. */
export function addressOf({ ip = "" }: Pick<Request, "ip">): string | undefined {
  const [, v4, v6] = WITH_PORT.exec(ip) ?? [];
  const address = (v4 ?? v6 ?? ip).replace(/%.*/, "");
  if (!isIP(address)) return undefined;
  return new SocketAddress({ address, family: isIPv6(address) ? "ipv6" : "ipv4" }).address;
}

/**
 * The address of a caller; of an IPv6 address the network, of which one customer usually has all. What is no address is nobody's:
 * all such callers are in one network.
 */
export function networkOf(request: Pick<Request, "ip">): string {
  const ip = addressOf(request) ?? "";
  if (!isIPv6(ip) || ip.startsWith("::ffff:")) return ip;
  const [left = "", right] = ip.split("::");
  const groups = left === "" ? [] : left.split(":");
  const rest = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(zeros).fill("0"), ...rest].slice(0, 4).join(":");
}

/** As many as this of the networks that an IPv6 site has, which are 65,536, count as one. */
const NETWORKS_OF_A_SITE = 16;

/** Counts by network; what comes from all networks of one IPv6 site (/48) is counted as well. */
export class NetworkLimit {
  readonly #networks: RateLimiterMemory;
  readonly #sites: RateLimiterMemory;

  constructor(perMinute: number) {
    this.#networks = new RateLimiterMemory({ points: perMinute, duration: 60 });
    this.#sites = new RateLimiterMemory({ points: NETWORKS_OF_A_SITE * perMinute, duration: 60 });
  }

  /** @throws RateLimiterRes when there were too many */
  async consume(request: Pick<Request, "ip">): Promise<void> {
    const network = networkOf(request);
    const site = siteOf(network);
    if (site !== undefined) await this.#sites.consume(site);
    await this.#networks.consume(network);
  }

  /** Takes back what was counted. */
  async reward(request: Pick<Request, "ip">): Promise<void> {
    const network = networkOf(request);
    const site = siteOf(network);
    if (site !== undefined) await this.#sites.reward(site);
    await this.#networks.reward(network);
  }
}

function siteOf(network: string): string | undefined {
  const groups = network.split(":");
  return groups.length === 4 && isIP(network) === 0 ? groups.slice(0, 3).join(":") : undefined;
}

/** A middleware that takes so many requests a minute from a network, in this process. */
export function limitNetwork(perMinute: number): RequestHandler {
  const requests = new NetworkLimit(perMinute);
  return async (request, _response, next) => {
    await requests.consume(request).catch((over: unknown) => refuse(over, "requests for this"));
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
