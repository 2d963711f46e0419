// The tool endpoint, POST /v0/mcp: church search for AI clients, in the Model Context Protocol over HTTP. It keeps no
// state between messages and answers in plain JSON, so that any process can answer any message, and curl can read it.
import { setImmediate } from "node:timers/promises";
import express from "express";
import type { Request, RequestHandler, Response } from "express";
import { isJsonContentType } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { withAllowed } from "../door.ts";
import type { Door } from "../door.ts";
import { ApiError, apiErrorFrom, levelOf } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import { BODY_LIMIT } from "../identity/limits.ts";
import { knowStill, reading } from "../identity/still-known.ts";
import { parseJson, requireUtf8Charset } from "../text.ts";
import { ACCEPTED, LONGEST_BATCH, RPC, rpcError } from "./messages.ts";
import { readPage } from "./church-tool.ts";
import type { PagedReply } from "./messages.ts";
import { answerMessage, PROTOCOL_HEADERS } from "./protocol.ts";
import type { Caller, ProtocolHeaders } from "./protocol.ts";
import { CallerGone } from "../postgres/unavailable.ts";
import type { ChurchPages } from "../resources/church-pages.ts";
import { sendPieces } from "../rest/answer.ts";
import type { Piece } from "../rest/answer.ts";
import { currentRequest } from "../request-context.ts";
import { Shares } from "../shares.ts";

const MCP_PATH = "/v0/mcp";
const METHODS = "POST, OPTIONS";

/** What the tool endpoint depends on. */
export type McpDependencies = {
  churchPages: ChurchPages;
  logger: Logger;
  /** Origins of pages that may call, or * for any. */
  corsOrigins: readonly string[];
  /** limit for one answer, which may be to a batch */
  answerMaxBytes: number;
};

/** An answer contains a page twice: as JSON, and as a string in which each character may be escaped. */
const COPIES = 3;

/**
 * Turns of batches: while it is being made, the answer to a batch takes as much memory as an answer may, and
 * a caller can send as many at once as its rate limit allows. As with long pages, there are enough turns that
 * callers do not compete for them.
 */
const TURNS = { slots: 100, perCaller: 2, slowMs: 1_000, patienceMs: 30_000, queuePerCaller: 20, queue: 500 };

type BatchCaller = Caller &
  Pick<Request, "countAs"> & {
    gone: AbortSignal | undefined;
    /** Waits for the turn of a batch, which lasts until its answer has been handed over. */
    takeTurn: () => Promise<void>;
  };

/** The tool endpoint as a door of the application; its key may be given in the query. */
export function mcpDoor({ churchPages, logger, corsOrigins, answerMaxBytes }: McpDependencies): Door {
  const readBytes = reading(express.raw({ limit: BODY_LIMIT, type: () => true }));
  const allowed = (path: string) => (path === MCP_PATH ? METHODS : undefined);
  const turns = new Shares(TURNS);
  return withAllowed(allowed, (app, guards) => {
    app.all(MCP_PATH, ...guards.keyInQuery, onlyPost, onlyFrom(corsOrigins), onlyJson, readBytes);
    app.post(MCP_PATH, async (request, response) => {
      const { identity } = request;
      let left = answerMaxBytes;
      let giveBack: (() => void) | undefined;
      const caller: BatchCaller = {
        headers: protocolHeaders(request),
        search: async (query) => {
          await knowStill(request);
          const pieces = churchPages.page(request.identity, query, Math.floor(left / COPIES));
          const page = await readPage(pieces);
          left = Math.max(0, left - COPIES * page.bytes);
          return page;
        },
        countAs: request.countAs,
        gone: identity.gone,
        takeTurn: async () => void (giveBack = await turns.take(identity.id, identity.gone)),
        failed: (error) => {
          const told = apiErrorFrom(error);
          const retryAfter = told.headers[RESPONSE_HEADERS.retryAfter];
          currentRequest()?.errors.add(told.code);
          if (retryAfter !== undefined) currentRequest()?.retryAfter(Number(retryAfter));
          // A caller who hangs up is not a failure of the service.
          if (!(told.cause instanceof CallerGone))
            logger[levelOf(told)]({ err: error, route: MCP_PATH }, "a tool call failed");
        },
      };
      try {
        await send(response, await answer(request.body, caller));
      } finally {
        giveBack?.();
      }
    });
  });
}

async function answer(bytes: unknown, caller: BatchCaller): Promise<PagedReply> {
  let body: unknown;
  try {
    body = parseJson(bytes instanceof Uint8Array ? bytes : new Uint8Array());
  } catch (error) {
    return rpcError(null, RPC.parseError, apiErrorFrom(error).message, { status: 400 });
  }
  return Array.isArray(body) ? answerBatch(body, caller) : answerMessage(body, caller, false);
}

/**
 * Only revision 2025-03-26 has batches.
 * @throws ServiceBusy, CallerGone
 */
async function answerBatch(messages: unknown[], caller: BatchCaller): Promise<PagedReply> {
  if (messages.length === 0 || messages.length > LONGEST_BATCH) {
    const message = `A batch must have 1 to ${LONGEST_BATCH} messages.`;
    return rpcError(null, RPC.invalidRequest, message, { status: 400 });
  }
  // The request itself has already been counted as one.
  await caller.countAs(messages.length - 1);
  await caller.takeTurn();
  const answers: Piece[] = [];
  for (const message of messages) {
    const { body } = await answerMessage(message, caller, true);
    if (caller.gone?.aborted) throw new CallerGone();
    if (body !== undefined) answers.push(answers.length === 0 ? "[" : ",", ...[body].flat());
    // A long answer has blocked the event loop; other requests are handled now.
    await setImmediate();
  }
  return answers.length === 0 ? ACCEPTED : { status: 200, body: [...answers, "]"] };
}

async function send(response: Response, { status, body }: PagedReply): Promise<void> {
  response.status(status);
  if (body === undefined) response.end();
  else await sendPieces(response.type("application/json"), [body].flat());
}

function protocolHeaders(request: Request): ProtocolHeaders {
  return Object.fromEntries(
    PROTOCOL_HEADERS.map((name) => [name, request.get(name)]).filter(([, value]) => value !== undefined),
  ) as ProtocolHeaders;
}

const onlyPost: RequestHandler = (request, _response, next) => {
  if (request.method === "POST") return next();
  // There is no session to end and no stream to open.
  throw new ApiError("method_not_allowed", {
    message: "Send messages with POST.",
    headers: { allow: METHODS },
  });
};

const onlyJson: RequestHandler = (request, _response, next) => {
  const type = request.get("content-type");
  if (!isJsonContentType(type)) throw new ApiError("unsupported_media_type");
  requireUtf8Charset(type);
  next();
};

/** Refuses pages from other origins: a browser would let them send requests whose answers it hides from them. */
function onlyFrom(origins: readonly string[]): RequestHandler {
  return (request, _response, next) => {
    const origin = request.get("origin");
    if (origin === undefined || origins.includes("*") || origins.includes(origin)) return next();
    throw new ApiError("origin_not_allowed");
  };
}
