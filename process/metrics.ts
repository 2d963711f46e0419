// Prometheus metrics of a process, on a port of their own: those that all parts of the service have. The
// parts add their own (server/metrics.ts, worker/metrics.ts).
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { enums } from "../db/catalog.ts";

/** The state of the graph, as in rest.health. */
export type GraphHealth = {
  pending: number;
  oldestPendingSeconds: number;
  rejected: number;
  pendingLists: string[];
  graphState: string;
  verifiedAt: string | null;
  drift: number | null;
  verificationFails: boolean;
};

/** A queue for connections. */
type Queue = {
  readonly usage: { waiting: number };
  /** Reports how long each was waited for, in seconds. */
  onWait: (told: (seconds: number) => void) => void;
};

// Less than Prometheus waits for a scrape, so that the other metrics come even while the database is frozen.
const PATIENCE_MS = 2_000;
/** Enough for a few Prometheus servers; limited, because idle or slow clients must not use up memory. */
const CONNECTIONS = 50;
const SILENCE_MS = 15_000;

/** The metrics of one process, whichever parts run in it. */
export class Metrics {
  readonly registry = new Registry();
  readonly #pools = new Map<string, { pool: pg.Pool; queue: Queue | undefined }>();
  readonly #waits: Histogram<"pool">;
  readonly #up: Gauge;
  /** Each queries the database, and returns whether it answered. */
  readonly #readings: (() => Promise<boolean>)[] = [];
  #graphIsWatched = false;
  #telling: Promise<string> | undefined;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    const pools = this.#pools;
    const connections = new Gauge({
      name: "database_pool_connections",
      help: "Connections to PostgreSQL that are open, by pool and state: used or idle.",
      labelNames: ["pool", "state"],
      registers,
      collect() {
        for (const [name, { pool, queue }] of pools) {
          const { totalCount, idleCount, waitingCount } = pool;
          connections.set({ pool: name, state: "idle" }, idleCount);
          connections.set({ pool: name, state: "used" }, totalCount - idleCount);
          waiting.set({ pool: name }, queue?.usage.waiting ?? waitingCount);
        }
      },
    });
    const waiting = new Gauge({
      name: "database_pool_waiting",
      help: "Requests and jobs that wait for a connection.",
      labelNames: ["pool"],
      registers,
    });
    this.#waits = new Histogram({
      name: "database_pool_wait_seconds",
      help: "How long it took to be given a connection, by pool.",
      labelNames: ["pool"],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5],
      registers,
    });
    this.#up = new Gauge({
      name: "database_up",
      help: "Whether PostgreSQL answered this scrape in time; what it was asked for is left out if not.",
      registers,
    });
  }

  /**
   * Reports the connections of a pool, and how long requests wait for one.
   * @param queue where requests wait, if not at the pool itself
   */
  watchPool(name: string, pool: pg.Pool, queue?: Queue): void {
    this.#pools.set(name, { pool, queue });
    if (queue) return queue.onWait((seconds) => this.#waits.observe({ pool: name }, seconds));
    const connect = pool.connect.bind(pool) as (done?: Connected) => Promise<pg.PoolClient> | void;
    pool.connect = ((done?: Connected) => {
      const stop = this.#waits.startTimer({ pool: name });
      if (!done) return (connect() as Promise<pg.PoolClient>).finally(stop);
      return connect((...outcome) => {
        stop();
        done(...outcome);
      });
    }) as typeof pool.connect;
  }

  /**
   * Adds gauges whose values come from the database. A frozen database is asked once, not with every scrape.
   * @param read one short query
   * @param show sets the gauges
   * @param gauges left out while there is no answer: an old value, or 0, would be wrong
   */
  watchDatabase<T>(read: () => Promise<T>, show: (found: T) => void, gauges: readonly Gauge[]): void {
    let asking: Promise<T | undefined> | undefined;
    this.#readings.push(async () => {
      asking ??= read()
        .catch(() => undefined)
        .finally(() => (asking = undefined));
      const found = await Promise.race([asking, sleep(PATIENCE_MS, undefined, { ref: false })]);
      gauges.forEach(forget);
      if (found !== undefined) show(found);
      return found !== undefined;
    });
  }

  /** Reports how far the graph is behind the tables; of the parts that call this, only the first is asked. */
  watchGraph(read: () => Promise<GraphHealth>): void {
    if (this.#graphIsWatched) return;
    this.#graphIsWatched = true;
    const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [this.registry] });
    const pending = gauge(
      "graph_records_pending",
      "Records whose current revision has not reached the graph.",
    );
    const oldest = gauge(
      "graph_oldest_pending_seconds",
      "How long the oldest record that has not reached the graph has been waiting.",
    );
    const rejected = gauge("graph_records_rejected", "Records that the load check keeps out of the graph.");
    const lists = gauge("graph_lists_pending", "Lists whose current content has not reached the graph.");
    const drift = gauge(
      "graph_drift",
      "Differences between graph and tables that the last whole verification found and left.",
    );
    const verified = gauge(
      "graph_verified_timestamp_seconds",
      "When the last whole verification ended, in seconds since 1970; 0 before the first.",
    );
    const failing = gauge(
      "graph_verification_failing",
      "1 if the background verification could not do its last step, 0 if it could.",
    );
    const state = new Gauge({
      name: "graph_state",
      help: "1 for the state that the graph is in, 0 for the others.",
      labelNames: ["state"],
      registers: [this.registry],
    });
    const show = (health: GraphHealth) => {
      pending.set(health.pending);
      oldest.set(health.oldestPendingSeconds);
      rejected.set(health.rejected);
      lists.set(health.pendingLists.length);
      drift.set(health.drift ?? 0);
      verified.set(health.verifiedAt === null ? 0 : Date.parse(health.verifiedAt) / 1_000);
      failing.set(health.verificationFails ? 1 : 0);
      for (const each of enums.graph_state) state.set({ state: each }, each === health.graphState ? 1 : 0);
    };
    this.watchDatabase(read, show, [pending, oldest, rejected, lists, drift, verified, failing, state]);
  }

  /** Collecting takes as long as many requests, so concurrent scrapes share the result. */
  #text(): Promise<string> {
    return (this.#telling ??= this.#tell().finally(() => (this.#telling = undefined)));
  }

  async #tell(): Promise<string> {
    const answered = await Promise.all(this.#readings.map((reading) => reading()));
    this.#up.set(answered.includes(false) ? 0 : 1);
    return this.registry.metrics();
  }

  /** Serves the metrics, whatever the path. */
  serve(host: string, port: number): Promise<{ port: number; stop: () => Promise<void> }> {
    const server = createServer((_request, response) => {
      this.#text().then(
        (text) => response.setHeader("content-type", this.registry.contentType).end(text),
        () => response.writeHead(503).end(),
      );
    });
    server.maxConnections = CONNECTIONS;
    server.timeout = SILENCE_MS;
    return new Promise((listening, failed) => {
      server.once("error", failed);
      server.listen(port, host, () =>
        listening({
          port: (server.address() as AddressInfo).port,
          stop: () =>
            new Promise((done) => {
              server.close(() => done());
              server.closeAllConnections();
            }),
        }),
      );
    });
  }
}

/** Leaves a gauge without a value. Resetting one without labels only sets it to 0. */
function forget(gauge: Gauge): void {
  gauge.reset();
  const { labelNames } = gauge as Gauge & { labelNames: readonly string[] };
  if (labelNames.length === 0) gauge.remove();
}

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: Error | boolean) => void,
) => void;
