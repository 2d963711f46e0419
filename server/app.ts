// The doors in order, what guards them, and what every request passes through: identity → limits → door → errors.
import cors from "cors";
import express from "express";
import type { Express, RequestHandler } from "express";
import helmet from "helmet";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { isTracing, traceRequests } from "../process/tracing.ts";
import { accessLog, spanOf } from "./access-log.ts";
import type { Door } from "./door.ts";
import { ApiError, errorHandler } from "./errors.ts";
import { REQUEST_HEADERS, RESPONSE_HEADERS } from "./headers.ts";
import { requireKey } from "./identity/keys.ts";
import type { KeyRing } from "./identity/keys.ts";
import type { RateLimit } from "./identity/rate-limit.ts";
import { limitUndelivered } from "./identity/undelivered.ts";
import { limitUnknownKeys } from "./identity/unknown-keys.ts";
import { nameRequest } from "./request-context.ts";
import { requireUtf8 } from "./text.ts";
import { isLocalOrigin, onlyThisMachine } from "./this-machine.ts";

/** What the application is assembled from. */
export type AppParts = {
  config: Pick<Config, "answerMaxBytes" | "corsOrigins" | "trustProxy" | "unknownKeysPerMinute">;
  keys: KeyRing;
  rateLimit: RateLimit;
  logger: Logger;
  /** In the order in which a request reaches them. */
  doors: readonly Door[];
  /** Counts and times requests. */
  measure?: RequestHandler;
  /** Answers this machine alone. */
  local?: boolean;
};

// Of the longest answers, how many one key may leave unread.
const UNDELIVERED_ANSWERS = 2;

/** Assembles the application, which is not yet listening. */
export async function createApp({
  config,
  keys,
  rateLimit,
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
  app.use(helmet());
  app.use(crossOrigin(config.corsOrigins, local));
  if (local) app.use(onlyThisMachine(config.corsOrigins));

  const limited = limitUnknownKeys(config.unknownKeysPerMinute);
  const shares = [rateLimit.count, limitUndelivered(UNDELIVERED_ANSWERS * config.answerMaxBytes)];
  const guards = {
    key: [limited(requireKey(keys)), ...shares, requireUtf8],
    keyInQuery: [limited(requireKey(keys, { inQuery: true })), ...shares, requireUtf8],
  };
  for (const door of doors) await door(app, guards);

  app.use((request) => {
    throw new ApiError("not_found", { message: `There is nothing at ${request.method} ${request.path}.` });
  });
  app.use(errorHandler(logger));
  return app;
}

/** Cross-origin requests as configured; answers every preflight with 204, without a key. */
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
