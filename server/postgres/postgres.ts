// All connections of one server process to PostgreSQL, kept apart by purpose: requests, however many, cannot
// use up those for key look-ups, for readiness and metrics, or for LISTEN.
import pg from "pg";
import { createPool } from "../../db/pool.ts";
import { closePool } from "../../db/close.ts";
import { Connections } from "./connections.ts";
import { Pulse } from "../../process/pulse.ts";
import { Heartbeat } from "./heartbeat.ts";
import { Shares } from "../shares.ts";

/** How many requests may wait, in all and of one key, and for how long. */
const QUEUE = 1_000;
const QUEUE_PER_KEY = 200;
const PATIENCE_MS = 2_000;

/** How much of the pool one key can have. */
const SHARE = 1 / 4;
/** Most requests take a few milliseconds; grouping all records fifty, a search of everything hundreds. */
const SLOW_MS = 25;

// When an attempt to connect is given up for which no request waits any longer.
const CONNECT_TIMEOUT_MS = 10_000;
/** For the service's own queries, which are short. */
const OWN_TIMEOUT_MS = 5_000;

/** How many key look-ups run at a time. */
export const LOOKUPS = 2;
const PROBES = 1;

export type PostgresOptions = {
  /** URL of the server's own login, which can do nothing but assume the role of a key's scope */
  url: string;
  /** connections for requests */
  poolSize: number;
  /** for each statement of a request */
  statementTimeoutMs: number;
  /** called when a connection breaks */
  onError: (error: Error) => void;
  /** whether it is a replica, which each statement that carries a log position then checks */
  isReplica?: boolean;
};

/** The server's connections. */
export class Postgres {
  readonly requests: Connections;
  readonly lookups: Connections;
  /** For metrics. */
  readonly probes: Connections;
  /** For reading the log position, where there are replicas. */
  readonly positions: Connections;
  /** For readiness. */
  readonly pulse: Pulse;
  /** The pool behind `requests`, for the start of the service. */
  readonly pool: pg.Pool;
  readonly #heartbeat: Heartbeat;
  readonly #open: (max: number) => pg.Pool;
  readonly #isReplica: boolean | undefined;
  readonly #pools: pg.Pool[] = [];

  constructor({ url, poolSize, statementTimeoutMs, onError, isReplica }: PostgresOptions) {
    this.#isReplica = isReplica;
    this.#open = (max) =>
      createPool(url, {
        max,
        onError,
        // The history tables record which program made a change.
        application_name: "engagement-server",
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        keepAlive: true,
      });
    this.#heartbeat = new Heartbeat(() => new pg.Client({ connectionString: url, keepAlive: true }));
    this.pulse = new Pulse(this.#heartbeat);
    this.requests = this.#connections(poolSize, Math.ceil(poolSize * SHARE), statementTimeoutMs);
    this.lookups = this.#connections(LOOKUPS, LOOKUPS, OWN_TIMEOUT_MS);
    this.probes = this.#connections(PROBES, PROBES, OWN_TIMEOUT_MS);
    this.positions = this.#connections(PROBES, PROBES, OWN_TIMEOUT_MS);
    this.pool = this.#pools[0]!;
  }

  /** @throws when the database cannot be reached */
  start(): Promise<void> {
    return this.#heartbeat.start();
  }

  async end(): Promise<void> {
    await Promise.all([...this.#pools.map(closePool), this.pulse.stop()]);
    await this.#heartbeat.stop();
  }

  #connections(slots: number, perCaller: number, timeoutMs: number): Connections {
    const pool = this.#open(slots);
    this.#pools.push(pool);
    const limits = { slowMs: SLOW_MS, patienceMs: PATIENCE_MS, queuePerCaller: QUEUE_PER_KEY, queue: QUEUE };
    const shares = new Shares({ slots, perCaller, ...limits });
    return new Connections({ pool, shares, pulse: this.pulse, timeoutMs, isReplica: this.#isReplica });
  }
}
