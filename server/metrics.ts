// Prometheus metrics, on a port of their own: what the process does, what callers ask, and how far the graph is
// behind the tables.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { RequestHandler } from "express";
import { enums } from "../db/catalog.ts";
import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { apiErrorFrom } from "./errors.ts";
import type { Connections } from "./postgres/connections.ts";

/** What is measured, and how requests are counted. */
export type Metrics = { registry: Registry; middleware: RequestHandler };

/** @param connections of the server's login; the state of the graph is read with no more rights than any key has */
export function createMetrics(connections: Connections): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const seconds = new Histogram({
    name: "http_request_duration_seconds",
    help: "Time to the end of the answer, by method, route and status.",
    labelNames: ["method", "route", "status"],
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30],
    registers: [registry],
  });
  const pending = new Gauge({
    name: "graph_records_pending",
    help: "Records whose current revision has not reached the graph.",
    registers: [registry],
    async collect() {
      const health = await readHealth(connections);
      pending.set(health.pending);
      oldest.set(health.oldestPendingSeconds);
      rejected.set(health.rejected);
      drift.set(health.drift ?? 0);
      verified.set(health.verifiedAt === null ? 0 : Date.parse(health.verifiedAt) / 1_000);
      for (const each of enums.graph_state) state.set({ state: each }, each === health.graphState ? 1 : 0);
    },
  });
  const state = new Gauge({
    name: "graph_state",
    help: "1 for the state that the graph is in, 0 for the others.",
    labelNames: ["state"],
    registers: [registry],
  });
  const drift = new Gauge({
    name: "graph_drift",
    help: "Differences between graph and tables that the last whole verification found and left.",
    registers: [registry],
  });
  const verified = new Gauge({
    name: "graph_verified_timestamp_seconds",
    help: "When the last whole verification ended, in seconds since 1970; 0 before the first.",
    registers: [registry],
  });
  const oldest = new Gauge({
    name: "graph_oldest_pending_seconds",
    help: "How long the oldest record that has not reached the graph has been waiting.",
    registers: [registry],
  });
  const rejected = new Gauge({
    name: "graph_records_rejected",
    help: "Records that the load check keeps out of the graph.",
    registers: [registry],
  });

  return {
    registry,
    middleware: (request, response, next) => {
      const stop = seconds.startTimer({ method: request.method });
      response.once("close", () => {
        // The route's pattern, not the path: every id in a label would make a series of its own.
        const { path } = (request.route ?? {}) as { path?: unknown };
        stop({ route: typeof path === "string" ? path : "other", status: response.statusCode });
      });
      next();
    },
  };
}

/** Serves the metrics on a port of their own, whatever the path. */
export function serveMetrics(
  registry: Registry,
  host: string,
  port: number,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const server = createServer((_request, response) => {
    registry.metrics().then(
      (text) => response.setHeader("content-type", registry.contentType).end(text),
      (error: unknown) => {
        const { statusCode, headers } = apiErrorFrom(error);
        response.writeHead(statusCode, headers).end();
      },
    );
  });
  return new Promise((listening, failed) => {
    server.once("error", failed);
    server.listen(port, host, () =>
      listening({
        port: (server.address() as AddressInfo).port,
        stop: () => new Promise((done) => void server.close(() => done())),
      }),
    );
  });
}

type Health = {
  pending: number;
  oldestPendingSeconds: number;
  rejected: number;
  graphState: string;
  verifiedAt: string | null;
  drift: number | null;
};

async function readHealth(connections: Connections): Promise<Health> {
  const { rows } = await connections.borrow({ keyId: "" }, (connection) =>
    connection.run<{ answer: string }>({
      text: "select app_private.run_as('api_read', 'select row_to_json(health)::text from rest.health') as answer",
    }),
  );
  return JSON.parse(rows[0]!.answer) as Health;
}
