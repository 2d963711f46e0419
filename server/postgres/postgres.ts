// All connections of one server process to PostgreSQL, apart by what they are for: requests, however many there are,
// take none from the look-up of keys, from readiness and metrics, or from LISTEN.
import pg from "pg";
import { createPool } from "../../db/pool.ts";
import { Connections } from "./connections.ts";
import { Pulse } from "./pulse.ts";
import { Shares } from "./shares.ts";

/** How many requests may wait, in all and of one key, and for how long. */
const QUEUE = 1_000;
const QUEUE_PER_KEY = 200;
const PATIENCE_MS = 2_000;

/** How much of the pool one key can have. */
const SHARE = 1 / 4;

const CONNECT_TIMEOUT_MS = 1_500;
const LOOKUPS = 2;
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
};

/** The server's connections. */
export class Postgres {
  /** For requests, through Connections. */
  readonly pool: pg.Pool;
  readonly connections: Connections;
  /** For keys. */
  readonly lookups: pg.Pool;
  /** For metrics. */
  readonly probes: pg.Pool;
  readonly pulse: Pulse;

  constructor({ url, poolSize, statementTimeoutMs, onError }: PostgresOptions) {
    const open = (max: number) =>
      createPool(url, { max, onError, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true });
    this.pool = open(poolSize);
    this.lookups = open(LOOKUPS);
    this.probes = open(PROBES);
    this.pulse = new Pulse(() => new pg.Client({ connectionString: url, keepAlive: true }));
    const shares = new Shares({
      slots: poolSize,
      perCaller: Math.max(1, Math.ceil(poolSize * SHARE)),
      patienceMs: PATIENCE_MS,
      queuePerCaller: QUEUE_PER_KEY,
      queue: QUEUE,
    });
    this.connections = new Connections({
      ...{ pool: this.pool, shares, pulse: this.pulse, timeoutMs: statementTimeoutMs },
    });
  }

  async end(): Promise<void> {
    await Promise.all([this.pool.end(), this.lookups.end(), this.probes.end(), this.pulse.stop()]);
  }
}
