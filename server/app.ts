// The doors in order, what guards them, and what every request passes through: identity → limits → door → errors.
import cors from "cors";
import express from "express";
import type { Express, RequestHandler } from "express";
import helmet from "helmet";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { isTracing, traceRequests } from "../process/tracing.ts";
import { accessLog, spanOf } from "./access-log.ts";
import { boundHeaders } from "./bounded-headers.ts";
import type { Door } from "./door.ts";
import { answerInJson, ApiError, errorHandler } from "./errors.ts";
import { REQUEST_HEADERS, RESPONSE_HEADERS } from "./headers.ts";
import { ifKnown, ifNobody, unlessAway } from "./identity/guards.ts";
import { requireIdentityAgain } from "./identity/identify.ts";
import type { LastingCredentials } from "./identity/identify.ts";
import type { HoldBack } from "./identity/hold-back.ts";
import type { RateLimit } from "./identity/rate-limit.ts";
import { limitNetwork } from "./identity/network.ts";
import { limitUndelivered } from "./identity/undelivered.ts";
import { limitUnknownKeys, orNobody } from "./identity/unknown-keys.ts";
import { showError } from "./pages/refusal.ts";
import { nameRequest } from "./request-context.ts";
import { plainMediaTypes, requireUtf8 } from "./text.ts";
import { isLocalOrigin, onlyThisMachine } from "./this-machine.ts";

/** What the application is assembled from. */
export type AppParts = {
  config: Pick<Config, "answerMaxBytes" | "corsOrigins" | "trustProxy" | "unknownKeysPerMinute">;
  credentials: LastingCredentials;
  rateLimit: RateLimit;
  holdBack: HoldBack;
  logger: Logger;
  /** In the order in which a request reaches them. */
  doors: readonly Door[];
  /** Counts and times requests. */
  measure?: RequestHandler;
  /** Whether only requests from this machine are answered. */
  local?: boolean;
};

// How many answers of the greatest length one caller may leave unread.
const UNDELIVERED_ANSWERS = 2;

// Per network, for visitors who are not signed in: making and packing a page costs as much as many answers.
const PAGES_PER_MINUTE = 600;

/** Assembles the application, which is not yet listening. */
export async function createApp({
  config,
  credentials,
  rateLimit,
  holdBack,
  logger,
  doors,
  measure,
  local = false,
}: AppParts): Promise<Express> {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", config.trustProxy);
  app.use(nameRequest, accessLog(logger));
  if (isTracing()) app.use(traceRequests(spanOf));
  if (measure) app.use(measure);
  app.use(boundHeaders, plainMediaTypes, helmet());
  app.use(sayAllowed(doors), crossOrigin(config.corsOrigins, local));
  if (local) app.use(onlyThisMachine(config.corsOrigins));

  const identified = limitUnknownKeys(config.unknownKeysPerMinute, credentials);
  const shares = [rateLimit.count, limitUndelivered(UNDELIVERED_ANSWERS * config.answerMaxBytes)];
  const nobodyToo = holdBack.slowly(orNobody(identified("session of a page")));
  const visitors = [
    holdBack.slowly(ifNobody(limitNetwork(PAGES_PER_MINUTE))),
    ...shares.map(ifKnown),
    requireUtf8,
  ];
  const guards = {
    key: [holdBack.slowly(identified({ inCookie: true })), ...shares, requireUtf8],
    again: requireIdentityAgain(credentials),
    keyInQuery: [holdBack.slowly(identified({ inQuery: true })), ...shares, requireUtf8],
    page: [nobodyToo, ...visitors],
    openPage: [unlessAway(nobodyToo), ...visitors],
  };
  for (const door of doors) await door(app, guards);

  app.use((request) => {
    throw new ApiError("not_found", { message: `There is nothing at ${request.method} ${request.path}.` });
  });
  app.use(errorHandler(logger, showError), answerInJson);
  return app;
}

/** Adds the methods that a path supports to answers to OPTIONS. */
function sayAllowed(doors: readonly Door[]): RequestHandler {
  return (request, response, next) => {
    if (request.method === "OPTIONS") {
      const [allowed] = doors.flatMap((door) => door.allowed?.(request.path) ?? []);
      if (allowed !== undefined) response.set("allow", allowed);
    }
    next();
  };
}

/** Cross-origin requests as configured; answers every preflight with 204, without a key or token. */
function crossOrigin(origins: readonly string[], local: boolean): RequestHandler {
  const options = {
    methods: ["GET", "HEAD", "POST"],
    allowedHeaders: ["authorization", "content-type", "accept", ...Object.values(REQUEST_HEADERS)],
    exposedHeaders: Object.values(RESPONSE_HEADERS),
    maxAge: 86_400,
    optionsSuccessStatus: 204,
  };
  if (!local) return cors({ ...options, origin: origins.includes("*") ? "*" : [...origins] });
  return cors((request, answer) => {
    const { origin } = request.headers;
    const allowed = origin !== undefined && (isLocalOrigin(origin) || origins.includes(origin));
    answer(null, { ...options, origin: allowed ? origin : [] });
  });
}
