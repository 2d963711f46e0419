// How often an address may come with a key, a token or a session that nobody knows: looking one up costs a query, and guessing should be slow.
import { createHash } from "node:crypto";
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
 * Makes middlewares that identify the caller of a request. An address that has come with too many unknown keys gets
 * 429 for every key that has not been valid here before; others behind the same address go on.
 * @param perMinute unknown keys of an address, in this process: it is not worth asking the database
 */
export function limitUnknownKeys(
  perMinute: number,
  credentials: Credentials,
): (expected: Credential) => RequestHandler {
  const unknown = new NetworkLimit(perMinute);
  // Only that they were valid when last used: whether they still are is for the one who identifies to say.
  const proven = new LRUCache<string, true>({ max: REMEMBERED_KEYS });

  // A key that comes many times at once, as when a process has just started, counts as one; from another address it may be
  // answered differently.
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
    // What comes of it is for all of them, a failure too: one after the other they would wait for as many time limits.
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
    // Where it stands, and what page sends it, is the request's alone: for that it is refused by itself, and is no guess.
    const claimed = claimedBy(request, expected);
    const gone = hungUp(response);
    const name = `${claimed.kind} ${createHash("sha256").update(claimed.text).digest("base64")}`;
    const identify = () => callerBy(claimed, credentials, request);
    request.identity = { ...(await find(name, request, identify)), gone };
    keepKnowing(request, async () => ({ ...(await identify()), gone }));
    next();
  };
}

function isUnknown(error: unknown): boolean {
  return error instanceof ApiError && error.statusCode === 401;
}

/** Lets a request pass whose credential is missing or no good, as nobody's. */
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
