// The doors, in the order of CONTRACT's errors: identity → rate limit → graphql | rest | mcp | pages → errors.
import cors from "cors";
import express from "express";
import type { Express, RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import helmet from "helmet";
import type { Logger } from "pino";
import { pinoHttp } from "pino-http";
import type { Config } from "../config.ts";
import { ApiError, errorHandler } from "./errors.ts";
import { requireKey } from "./identity/keys.ts";
import type { KeyRing } from "./identity/keys.ts";
import { mountRoutes } from "./rest/route.ts";
import type { RestRoute } from "./rest/route.ts";
import type { Database } from "./rest/statement.ts";

/**
 * A door that is not made of REST routes: how it puts itself on the application.
 * @param guard what a request with a key passes first; nothing for pages
 * @param guardWithQuery the same, with the key in the header or as ?apiKey=
 */
export type Door = (
  app: Express,
  guard: RequestHandler[],
  guardWithQuery: RequestHandler[],
) => void | Promise<void>;

/** What the application is put together from. */
export type AppParts = {
  config: Pick<Config, "corsOrigins" | "rateLimitPerMinute">;
  database: Database;
  keys: KeyRing;
  logger: Logger;
  routes: readonly RestRoute[];
  /** Doors with a middleware of their own. They are given what a request with a key passes first. */
  doors?: readonly Door[];
  /** Doors that need no key: pages and probes. */
  pages?: readonly Door[];
  /** Counts and times requests. */
  measure?: RequestHandler;
  /** Whether the parts the service stands on answer; for /readyz. */
  ready: () => Promise<boolean>;
};

/** Puts the application together; it does not listen yet. */
export async function createApp(parts: AppParts): Promise<Express> {
  const { config, logger } = parts;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  // The path alone: a key may stand in the query.
  app.use(
    pinoHttp({
      logger,
      serializers: {
        req: (request: { id: unknown; method: string; url: string }) => ({
          id: request.id,
          method: request.method,
          path: request.url.split("?", 1)[0],
        }),
        res: (response: { statusCode: number }) => ({ statusCode: response.statusCode }),
      },
      customLogLevel: (_request, response) => (response.statusCode >= 500 ? "error" : "debug"),
    }),
  );
  if (parts.measure) app.use(parts.measure);
  app.use(helmet());
  app.use(crossOrigin(config.corsOrigins));

  app.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
  app.get("/readyz", async (_request, response) => {
    const ready = await parts.ready();
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not_ready" });
  });
  for (const page of parts.pages ?? []) await page(app, [], []);

  const limit = perKeyLimit(config.rateLimitPerMinute);
  for (const door of parts.doors ?? []) {
    await door(app, [requireKey(parts.keys), limit], [requireKey(parts.keys, { inQuery: true }), limit]);
  }

  app.use("/v0", requireKey(parts.keys), limit);
  mountRoutes(app, parts.routes, parts.database);

  app.use((request) => {
    throw new ApiError(404, "not_found", `There is nothing at ${request.method} ${request.path}.`);
  });
  app.use(errorHandler(logger));
  return app;
}

/** Cross-origin requests as configured; answers every preflight with 204, without a key. */
function crossOrigin(origins: readonly string[]): RequestHandler {
  return cors({
    origin: origins.includes("*") ? "*" : [...origins],
    methods: ["GET", "HEAD", "POST"],
    allowedHeaders: [
      "authorization",
      "content-type",
      "accept",
      "idempotency-key",
      "x-admin-email",
      "mcp-protocol-version",
      "mcp-session-id",
      "mcp-method",
      "mcp-name",
    ],
    exposedHeaders: ["retry-after", "ratelimit", "ratelimit-policy", "x-data-source", "www-authenticate"],
    maxAge: 86_400,
    optionsSuccessStatus: 204,
  });
}

/** So many requests a minute for each key; a key may carry its own number. */
export function perKeyLimit(perMinute: number): RequestHandler {
  return rateLimit({
    windowMs: 60_000,
    limit: (request) => request.identity.ratePerMinute ?? perMinute,
    keyGenerator: (request) => request.identity.keyId,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    handler: () => {
      throw new ApiError(
        429,
        "rate_limited",
        "This API key has sent too many requests; wait as Retry-After says.",
      );
    },
  });
}
