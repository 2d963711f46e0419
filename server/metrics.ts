// The server's metrics: what callers ask and how they are answered, and what any key may read of the graph.
import type { RequestHandler } from "express";
import { Counter, Gauge, Histogram } from "prom-client";
import type { GraphHealth, Metrics } from "../process/metrics.ts";
import { routeOf } from "./access-log.ts";
import { ERRORS } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";
import type { Connections } from "./postgres/connections.ts";
import type { Postgres } from "./postgres/postgres.ts";
import type { Reads } from "./postgres/reads.ts";
import type { Replica } from "./postgres/replica.ts";
import { currentRequest } from "./request-context.ts";
import type { SparqlEndpoint } from "./sparql/endpoint.ts";

/** What the server reports to its metrics. */
type ServerMetrics = {
  /** Counts and times requests; comes after nameRequest. */
  measure: RequestHandler;
  /** Counts what was refused before it became a request. */
  refused: (code: ErrorCode) => void;
};

/** The parts of a server that its metrics are about. */
type Told = {
  /** Its connections; the state of the graph is read with no more rights than any key has. */
  postgres: Postgres;
  reads: Reads;
  replica: Replica | undefined;
  sparql: Pick<SparqlEndpoint, "usage">;
};

/** Adds the server's metrics to those of its process. */
export function addServerMetrics(
  metrics: Metrics,
  { postgres, reads, replica, sparql }: Told,
): ServerMetrics {
  const { pool, requests, probes } = postgres;
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
    help: "Refusals and failures returned to callers, by code and its status; one request may have several in GraphQL.",
    labelNames: ["code", "status"],
    registers,
  });
  metrics.watchPool("server", pool, requests);
  metrics.watchGraph(() => readHealth(probes));
  watchReads(metrics, reads, replica);
  watchSparql(metrics, sparql);
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

function watchSparql(metrics: Metrics, sparql: Pick<SparqlEndpoint, "usage">): void {
  const queries = new Gauge({
    name: "sparql_queries",
    help: "SPARQL queries of callers, by state: running, those included that the store has not ended since their callers left, or waiting.",
    labelNames: ["state"],
    registers: [metrics.registry],
    collect() {
      const { used, waiting } = sparql.usage;
      queries.set({ state: "running" }, used);
      queries.set({ state: "waiting" }, waiting);
    },
  });
}

function watchReads(metrics: Metrics, reads: Reads, replica: Replica | undefined): void {
  const registers = [metrics.registry];
  const read = new Counter({
    name: "database_reads_total",
    help: "Statements that only read and were answered, by place: primary or replica.",
    labelNames: ["place"],
    registers,
  });
  reads.onRead((place) => read.inc({ place }));
  const used = new Gauge({
    name: "database_replica_used",
    help: "Whether the replica is asked: 0 while it is passed over; left out where none is configured.",
    registers,
    collect: () => {
      if (replica) used.set(Number(replica.isUsed));
    },
  });
  const lag = new Gauge({
    name: "database_replica_lag_bytes",
    help: "Bytes of the log that the replica has not replayed, below 0 if it is ahead of the primary; left out while unknown.",
    registers,
  });
  used.remove();
  lag.remove();
  if (!replica) return;
  metrics.watchPool("replica", replica.pool, replica.connections);
  // A replica that does not answer does not affect database_up.
  metrics.watchDatabase(
    async () => ({ bytes: await replica.lag() }),
    ({ bytes }) => bytes !== undefined && lag.set(bytes),
    [lag],
  );
}

// Callers may use any method that Node knows, and each would be a series.
const METHODS = new Set(["GET", "HEAD", "POST", "OPTIONS"]);

async function readHealth(connections: Connections): Promise<GraphHealth> {
  const { rows } = await connections.borrow({ caller: "" }, (connection) =>
    connection.run<{ answer: string }>({
      text: "select app_private.run_as('api_read', 'select row_to_json(health)::text from rest.health') as answer",
    }),
  );
  return JSON.parse(rows[0]!.answer) as GraphHealth;
}
