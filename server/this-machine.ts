// While the demo key is live, only this machine may use the service. Everybody knows the key, and any page
// that is open in a browser here could send it to localhost: from its own origin, or under a domain of its
// own that is made to resolve to this machine.
import { isIPv6 } from "node:net";
import type { RequestHandler } from "express";
import { isLoopback } from "../config.ts";
import { ApiError } from "./errors.ts";

/** Whether a page of this origin comes from this machine. */
export function isLocalOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return /^https?:$/.test(protocol) && isLoopback(hostname.replaceAll(/[[\]]/g, ""));
}

/** The name or address in a Host header, without its port; empty if the header is malformed. */
function nameIn(host: string): string {
  const [, address, name = ""] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d*)?$/i.exec(host) ?? [];
  // Only an IPv6 address stands in brackets.
  return address === undefined ? name.toLowerCase() : isIPv6(address) ? address : "";
}

/**
 * Answers only requests that are addressed to this machine, and come from a page of this machine or from no
 * page.
 * @param listed the origins that the operator allows by name
 */
export function onlyThisMachine(listed: readonly string[]): RequestHandler {
  return (request, _response, next) => {
    const origin = request.get("origin");
    // Not request.hostname, which trusts X-Forwarded-Host, and a page can set that.
    if (!isLoopback(nameIn(request.get("host") ?? ""))) throw new ApiError("host_not_allowed");
    if (origin !== undefined && !isLocalOrigin(origin) && !listed.includes(origin)) {
      throw new ApiError("origin_not_allowed", {
        message:
          "While the demo key is live, only pages of this machine, and of the origins that CORS_ORIGINS names, may call.",
      });
    }
    next();
  };
}
