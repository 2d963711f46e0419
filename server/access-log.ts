// One log line for each request, with what the service itself knows of it: no path, query, header or body,
// since callers write names and addresses into all of them.
import type { Request, RequestHandler } from "express";
import type { Logger } from "pino";
import type { Attributes } from "@opentelemetry/api";
import type { ApiError } from "./errors.ts";
import { named } from "./identity/identity.ts";
import type { Identity } from "./identity/identity.ts";
import { PROBES } from "./probes.ts";
import { currentRequest } from "./request-context.ts";

const UUID = /(?<=\/)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=$|\/)/gi;

/**
 * The pattern that a request's path matched, or `other`: with ids in labels, each would be its own series.
 */
export function routeOf(request: Request): string {
  const { path } = (request.route ?? {}) as { path?: unknown };
  return typeof path === "string" ? path : "other";
}

/** Logs each request when its answer has ended, or its caller has gone. */
export function accessLog(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const start = performance.now();
    const { socket } = request;
    const writtenBefore = socket.bytesWritten;
    const context = currentRequest();
    response.once("close", () => {
      const line = {
        method: request.method,
        route: routeOf(request),
        ...recordsOf(request),
        status: response.statusCode,
        ...(context && context.errors.size > 0 && { errors: [...context.errors] }),
        durationMs: Math.round((performance.now() - start) * 10) / 10,
        bytes: socket.bytesWritten - writtenBefore,
        ...(request.identity && named(request.identity)),
        requestId: context?.id,
        // The answer was not sent completely.
        ...(!response.writableFinished && { aborted: true }),
      };
      if (PROBES.includes(line.route)) logger.debug(line, "request");
      else logger.info(line, "request");
    });
    next();
  };
}

/** Logs what was refused before it became a request, so that its method and path are not known. */
export function logRefused(logger: Logger, { statusCode, code }: ApiError, requestId: string): void {
  logger.info({ route: "other", status: statusCode, errors: [code], requestId }, "request");
}

/** The attributes of a request's span, the same as in its log line. */
export function spanOf(request: Request): Attributes {
  const { keyId, person } = (request.identity as Identity | undefined) ?? {};
  return {
    "http.request.method": request.method,
    "http.route": routeOf(request),
    "app.request_id": currentRequest()?.id,
    "app.key_id": keyId,
    "app.person_id": person?.id,
    "app.errors": [...(currentRequest()?.errors ?? [])],
  };
}

/** The ids in a path, which identify records only to those who may look into the database. */
function recordsOf({ originalUrl }: Request): { ids?: string[] } {
  const ids = originalUrl.split("?", 1)[0]?.match(UUID);
  return ids ? { ids } : {};
}
