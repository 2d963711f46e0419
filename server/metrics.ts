// What the server tells of itself: what callers ask and how they are answered, and what it reads with the rights of any key.
import type { RequestHandler } from "express";
import { Counter, Histogram } from "prom-client";
import type { GraphHealth, Metrics } from "../process/metrics.ts";
import { routeOf } from "./access-log.ts";
import { ERRORS } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";
import type { Connections } from "./postgres/connections.ts";
import type { Postgres } from "./postgres/postgres.ts";
import { currentRequest } from "./request-context.ts";

/** What the server tells its metrics. */
type ServerMetrics = {
  /** Counts and times requests; comes after nameRequest. */
  measure: RequestHandler;
  /** Counts what was refused before it was a request. */
  refused: (code: ErrorCode) => void;
};

/**
 * Adds the server's metrics to those of its process.
 * @param postgres its connections; the state of the graph is read with no more rights than any key has
 */
export function addServerMetrics(metrics: Metrics, { pool, requests, probes }: Postgres): ServerMetrics {
  const registers = [metrics.registry];
  const seconds = new Histogram({
    name: "http_request_duration_seconds",
    help: "Time to the end of the answer, by method, route and status.",
    labelNames: ["method", "route", "status"],
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30],
    registers,
  });
  const errors = new Counter({
    name: "http_errors_total",
    help: "Refusals and failures that callers were told, by code and its status; one request may have several in GraphQL.",
    labelNames: ["code", "status"],
    registers,
  });
  metrics.watchPool("server", pool, requests);
  metrics.watchGraph(() => readHealth(probes));
  const refused = (code: ErrorCode) => errors.inc({ code, status: ERRORS[code][0] });
  const measure: RequestHandler = (request, response, next) => {
    const stop = seconds.startTimer();
    const context = currentRequest();
    response.once("close", () => {
      const method = METHODS.has(request.method) ? request.method : "other";
      stop({ method, route: routeOf(request), status: response.statusCode });
      context?.errors.forEach(refused);
    });
    next();
  };
  return { measure, refused };
}

// A caller may send any word for a method that Node knows, and each would be a series.
const METHODS = new Set(["GET", "HEAD", "POST", "OPTIONS"]);

async function readHealth(connections: Connections): Promise<GraphHealth> {
  const { rows } = await connections.borrow({ caller: "" }, (connection) =>
    connection.run<{ answer: string }>({
      text: "select app_private.run_as('api_read', 'select row_to_json(health)::text from rest.health') as answer",
    }),
  );
  return JSON.parse(rows[0]!.answer) as GraphHealth;
}
