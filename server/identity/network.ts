// The network of a caller, as limits count it.
import { isIP, isIPv6, SocketAddress } from "node:net";
import type { Request, RequestHandler } from "express";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

/**
 * Some proxies put an address in brackets, or add the port, of which a client can use as many as it likes.
 */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3})|\[([^\]]+)\])(?::\d+)?$/;

/**
 * The address of a caller according to TRUST_PROXY, in its one canonical form; undefined if a proxy has
 * passed on something that is no address.
 */
export function addressOf({ ip = "" }: Pick<Request, "ip">): string | undefined {
  const [, v4, v6] = WITH_PORT.exec(ip) ?? [];
  const address = (v4 ?? v6 ?? ip).replace(/%.*/, "");
  if (!isIP(address)) return undefined;
  return new SocketAddress({ address, family: isIPv6(address) ? "ipv6" : "ipv4" }).address;
}

/**
 * The IPv4 address of a caller, or the IPv6 network, all of which one customer usually has. All callers
 * without a valid address count as one network.
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

/** The limit of an IPv6 site, which has 65,536 networks, as a multiple of that of one network. */
const NETWORKS_OF_A_SITE = 16;

/** Counts by network, and also by IPv6 site (/48), with all its networks. */
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

/** A middleware that accepts so many requests a minute from a network, in this process. */
export function limitNetwork(perMinute: number): RequestHandler {
  const requests = new NetworkLimit(perMinute);
  return async (request, _response, next) => {
    await requests.consume(request).catch((over: unknown) => refuse(over, "requests for this"));
    next();
  };
}

/**
 * Turns the refusal of a limiter into that of a request.
 * @param what names what there were too many of
 * @throws ApiError 429 rate_limited; any other error as it is
 */
export function refuse(over: unknown, what: string): never {
  if (!(over instanceof RateLimiterRes)) throw over;
  throw new ApiError("rate_limited", {
    message: `Too many ${what} have come from this address; wait as long as Retry-After says.`,
    headers: { [RESPONSE_HEADERS.retryAfter]: String(Math.ceil(over.msBeforeNext / 1000)) },
  });
}
