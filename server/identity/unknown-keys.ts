// Limits how often an address may come with an unknown key, token or session: looking one up costs a query,
// and guessing should be slow.
import { hash } from "node:crypto";
import type { Request, RequestHandler } from "express";
import { LRUCache } from "lru-cache";
import { ApiError } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { pass } from "./guards.ts";
import { callerBy, claimedBy } from "./identify.ts";
import type { Credential, Credentials } from "./identify.ts";
import type { Caller } from "./identity.ts";
import { addressOf, NetworkLimit, refuse } from "./network.ts";
import { keepKnowing } from "./still-known.ts";

const REMEMBERED_KEYS = 10_000;

/**
 * Makes middlewares that identify the caller of a request. An address that has come with too many unknown
 * keys gets 429 for every key that has not been valid here before; known ones still work there.
 * @param perMinute unknown keys of an address, in this process: it is not worth querying the database
 */
export function limitUnknownKeys(
  perMinute: number,
  credentials: Credentials,
): (expected: Credential) => RequestHandler {
  const unknown = new NetworkLimit(perMinute);
  // Credentials that were valid when last used; identifying them decides whether they still are.
  const proven = new LRUCache<string, true>({ max: REMEMBERED_KEYS });

  // A key that comes many times at once, as when a process has just started, counts as one; from another
  // address the answer may differ.
  const checking = new Map<string, Promise<unknown>>();

  async function check(name: string, request: Request, identify: () => Promise<Caller>): Promise<Caller> {
    // Counted before it is known to be wrong, or a thousand at the same time would all be looked up.
    await unknown.consume(request).catch(tooMany);
    try {
      const caller = await identify();
      proven.set(name, true);
      await unknown.reward(request);
      return caller;
    } catch (error) {
      if (!isUnknown(error)) await unknown.reward(request);
      throw error;
    }
  }

  async function find(name: string, request: Request, identify: () => Promise<Caller>): Promise<Caller> {
    const here = `${name} ${addressOf(request)}`;
    // All of them share the result, also a failure: one after the other they would wait for as many timeouts.
    await checking.get(here)?.catch(async (error: unknown) => {
      if (isUnknown(error)) await unknown.consume(request).catch(tooMany);
      throw error;
    });
    if (proven.has(name)) {
      return identify().catch((error: unknown) => {
        if (isUnknown(error)) proven.delete(name);
        throw error;
      });
    }
    const checked = check(name, request, identify).finally(() => checking.delete(here));
    checking.set(here, checked);
    return checked;
  }

  return (expected) => async (request, response, next) => {
    // A refusal for where the credential is, or which page sent it, is about the request, and no guess to
    // count.
    const claimed = claimedBy(request, expected);
    const gone = hungUp(response);
    const name = `${claimed.kind} ${hash("sha256", claimed.text, "base64")}`;
    const identify = () => callerBy(claimed, credentials, request);
    request.identity = { ...(await find(name, request, identify)), gone };
    keepKnowing(request, async () => ({ ...(await identify()), gone }));
    next();
  };
}

function isUnknown(error: unknown): boolean {
  return error instanceof ApiError && error.statusCode === 401;
}

/** Lets a request whose credential is missing or invalid pass without an identity. */
export function orNobody(identify: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    try {
      await pass(identify, request, response);
    } catch (error) {
      if (!isUnknown(error)) throw error;
    }
    next();
  };
}

function tooMany(over: unknown): never {
  refuse(over, "unknown API keys, tokens or sessions");
}
