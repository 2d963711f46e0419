// Lends database connections to requests, to each caller no more than its share.
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError } from "pg";
import type pg from "pg";
import { within } from "../../process/patience.ts";
import type { Pulse } from "../../process/pulse.ts";
import { traceStatement } from "../../process/tracing.ts";
import { cancelStatement } from "./cancel.ts";
import { whileAlive } from "./heartbeat.ts";
import { makeRoom } from "./prepared.ts";
import type { Position } from "./positions.ts";
import { QueryUnder, SETTINGS, SETTINGS_AT } from "./query.ts";
import type { Preface } from "./query.ts";
import { currentRequest } from "../request-context.ts";
import type { RequestContext } from "../request-context.ts";
import type { GiveBack, Shares } from "../shares.ts";
import {
  CallerGone,
  DatabaseUnavailable,
  isLost,
  isSick,
  ReplicaUnfit,
  StatementTimeout,
} from "./unavailable.ts";

/** On whose behalf a connection is used. */
export type Borrower = Readonly<{
  /** whose share it counts against: the id of the caller, or empty for the service itself */
  caller: string;
  /** Aborted when the caller hangs up; what runs is cancelled then. */
  gone?: AbortSignal;
  /** The log position that a replica must have replayed. */
  position?: Position;
  /** Called with the milliseconds that each statement kept the database, unless that does not answer. */
  took?: (ms: number) => void;
}>;

/** How long to wait for a new connection: a server may answer on open ones and accept no new ones. */
const CONNECT_PATIENCE_MS = 1_500;

/** How long, past its own statement timeout, the database gets to report it. */
const GRACE_MS = 1_000;
/** How long a cancel request may take, and the statement then to end; and how often this is tried. */
const CANCEL_PATIENCE_MS = 1_000;
const CANCEL_TRIES = 3;

/** After a statement that took longer, a request pauses as long, up to a limit, if others are active. */
const LONG_MS = 10;
const LONGEST_REST_MS = 200;

/** The same on all servers and replicas, whatever their own settings are: how values are written, and that policies decide. */
const FIXED = { timezone: "UTC", datestyle: "ISO", extra_float_digits: "1", row_security: "on" };

/** What PostgreSQL answers behind a pooler that loses prepared statements, as PgBouncer did before 1.21. */
const NOT_PREPARED = new Set(["26000", "42P05"]);

// Error codes of db/rules/replicas.sql: their prefix, and the one for a replica that is behind.
const OURS = "EG";
const BEHIND = "EG002";

/** Lends connections. */
export class Connections {
  readonly #pool: pg.Pool;
  readonly #shares: Shares;
  readonly #pulse: Pulse;
  readonly #timeoutMs: number;
  readonly #preface: Preface;
  // The pulse's outage count when each connection was opened: one from before an outage is not reused.
  readonly #made = new WeakMap<pg.PoolClient, number>();
  readonly #madeAt = new WeakMap<pg.PoolClient, number>();
  readonly #prepared = new WeakSet<pg.PoolClient>();
  readonly #lost = new WeakSet<pg.PoolClient>();
  // Requests that have had a connection before.
  readonly #underWay = new WeakSet<RequestContext>();
  #mayPrepare = true;
  #told: (seconds: number) => void = noop;

  constructor(parts: {
    pool: pg.Pool;
    shares: Shares;
    pulse: Pulse;
    timeoutMs: number;
    isReplica?: boolean | undefined;
  }) {
    this.#pool = parts.pool;
    this.#shares = parts.shares;
    this.#pulse = parts.pulse;
    this.#timeoutMs = parts.timeoutMs;
    this.#preface = parts.isReplica ? SETTINGS_AT : SETTINGS;
    this.#pool.on("connect", (client) => {
      this.#made.set(client, this.#pulse.outages);
      this.#madeAt.set(client, performance.now());
      client.once("error", () => this.#lost.add(client));
    });
  }

  /** Connections lent, and requests that wait for one. */
  get usage(): { used: number; waiting: number } {
    return this.#shares.usage;
  }

  /** Reports how long each request waited for a connection, in seconds, whether or not it got one. */
  onWait(told: (seconds: number) => void): void {
    this.#told = told;
  }

  /** For how long a statement may run. */
  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** Whether named statements can be prepared: false once a pooler was found to forget them. */
  get mayPrepare(): boolean {
    return this.#mayPrepare;
  }

  /**
   * Lends a connection for some work.
   * @throws whatever take or the work throws
   */
  async borrow<T>(borrower: Borrower, work: (connection: BorrowedConnection) => Promise<T>): Promise<T> {
    const connection = await this.take(borrower);
    try {
      return await work(connection);
    } finally {
      connection.release();
    }
  }

  /**
   * Lends a connection until it is released.
   * @throws ServiceBusy when the queue is full or the wait too long; DatabaseUnavailable; CallerGone
   */
  async take(borrower: Borrower): Promise<BorrowedConnection> {
    if (this.#pulse.isDown) throw new DatabaseUnavailable();
    const began = performance.now();
    const waited = () => this.#told((performance.now() - began) / 1_000);
    const request = currentRequest();
    const isUnderWay = request !== undefined && this.#underWay.has(request);
    const { caller, gone } = borrower;
    const giveBack = await this.#shares.take(caller, gone, isUnderWay).finally(waited);
    if (request) this.#underWay.add(request);
    try {
      const client = await this.#connect();
      return new BorrowedConnection({
        ...{ client, giveBack, pulse: this.#pulse, timeoutMs: this.#timeoutMs, preface: this.#preface },
        ...{
          gone: borrower.gone,
          position: borrower.position,
          took: borrower.took,
          madeAt: this.#madeAt.get(client),
        },
        prepare: () => this.#prepare(client),
        hasCompany: () => this.#shares.hasCompany(caller),
        isInTheWay: () => this.#shares.isWantedBesides(caller),
        isLost: () => this.#lost.has(client),
        forgets: () => (this.#mayPrepare = false),
      });
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    for (;;) {
      const isOpen = this.#pool.idleCount > this.#pool.waitingCount;
      const connecting = this.#pool.connect();
      let client: pg.PoolClient;
      try {
        client = await (isOpen
          ? connecting
          : whileAlive(this.#pulse, () =>
              within(CONNECT_PATIENCE_MS, connecting, () => new DatabaseUnavailable()),
            ));
      } catch (error) {
        // The connection may still open after this request has given up on it.
        connecting.then(
          (late) => late.release(),
          () => undefined,
        );
        throw error instanceof DatabaseUnavailable ? error : new DatabaseUnavailable({ cause: error });
      }
      if (this.#made.get(client) === this.#pulse.outages) return client;
      client.release(true);
    }
  }

  /** Prepares the settings statement on a connection; returns whether statements can be prepared at all. */
  async #prepare(client: pg.PoolClient): Promise<boolean> {
    if (this.#mayPrepare && !this.#prepared.has(client)) {
      const { name, text } = this.#preface;
      await client.query({ name, text, values: ["{}"] });
      this.#prepared.add(client);
    }
    return this.#mayPrepare;
  }
}

type Parts = {
  client: pg.PoolClient;
  giveBack: GiveBack;
  pulse: Pulse;
  timeoutMs: number;
  preface: Preface;
  gone: AbortSignal | undefined;
  position: Position | undefined;
  took: ((ms: number) => void) | undefined;
  madeAt: number | undefined;
  prepare: () => Promise<boolean>;
  hasCompany: () => boolean;
  isInTheWay: () => boolean;
  isLost: () => boolean;
  forgets: () => void;
};

/** A connection while it is lent to one caller. */
export class BorrowedConnection {
  readonly #parts: Parts;
  #isBroken = false;
  #tookMs = 0;
  #restedMs = 0;
  #cancelling: Promise<unknown> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Before a further statement, pauses for as long as the last one took, if that was long and other callers
   * are active: a request with twenty statements must not keep a processor busy from the first to the last.
   * No pause while another caller only waits for a connection: it would have to wait for the pause as well.
   * @throws CallerGone
   */
  async rest(): Promise<void> {
    const tookMs = this.#tookMs;
    this.#tookMs = 0;
    const { gone, hasCompany, isInTheWay } = this.#parts;
    if (tookMs <= LONG_MS || !hasCompany() || isInTheWay()) return;
    const began = performance.now();
    try {
      await sleep(Math.min(tookMs, LONGEST_REST_MS), undefined, { signal: gone });
    } catch {
      throw new CallerGone();
    } finally {
      this.#restedMs += performance.now() - began;
    }
  }

  /**
   * Runs one statement under settings that hold for it alone, in one round trip.
   * @param settings such as the role; statement_timeout and FIXED are added. null: none at all
   * @param onRow called with the bytes of each row; an error that it throws becomes the query's error
   * @throws DatabaseError as PostgreSQL raised it; DatabaseUnavailable, StatementTimeout, CallerGone; ReplicaUnfit
   */
  async run<R extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    settings: Readonly<Record<string, string>> | null = {},
    onRow?: (bytes: number) => void,
  ): Promise<pg.QueryResult<R>> {
    const { client, prepare, forgets, timeoutMs, preface, position } = this.#parts;
    const applied = settings && {
      preface,
      value: preface.valueOf({ statement_timeout: String(timeoutMs), ...FIXED, ...settings }, position),
    };
    const send = async () => {
      const isPrepared = await prepare().catch((error: unknown) => {
        throw unfit(preface, error);
      });
      const named = isPrepared ? query : { ...query, name: undefined };
      const forget = makeRoom(client, named.name);
      return new Promise<pg.QueryResult<R>>((done, failed) => {
        const sent: QueryUnder = new QueryUnder(
          named,
          applied,
          isPrepared,
          (error, result) => {
            if (!error) done(result as pg.QueryResult<R>);
            else failed(sent.hasBegun ? error : unfit(preface, error));
          },
          { forget, onRow },
        );
        client.query(sent);
      });
    };
    const began = performance.now();
    return traceStatement(query, () =>
      this.#watch(() =>
        send().catch((error: unknown) => {
          // Nothing took effect: the statement was not found, and the settings ended with the transaction.
          if (!(error instanceof DatabaseError && NOT_PREPARED.has(error.code ?? ""))) throw error;
          forgets();
          return send();
        }),
      ),
    ).finally(() => (this.#tookMs = performance.now() - began));
  }

  /**
   * Gives the connection back once nothing runs on it any more; one that is broken, or in the middle of a
   * transaction, is closed.
   */
  release(): void {
    const { client, giveBack } = this.#parts;
    const finish = () => {
      const isIdle = client.getTransactionStatus() === "I" || client.getTransactionStatus() === null;
      client.release(this.#isBroken || !isIdle);
      giveBack(this.#restedMs);
    };
    if (this.#cancelling) void this.#cancelling.then(finish);
    else finish();
  }

  async #watch<T>(send: () => Promise<T>): Promise<T> {
    const { client, pulse, gone, timeoutMs, madeAt, took } = this.#parts;
    if (gone?.aborted) throw new CallerGone();
    const overdue = Promise.withResolvers<never>();
    const giveUp = () => overdue.reject(new StatementTimeout());
    // An answer that arrived while this process was blocked is read first.
    const deadline = setTimeout(() => setImmediate(giveUp), timeoutMs + GRACE_MS);
    let running: Promise<T> | undefined;
    const began = performance.now();
    let failure: unknown;
    const hangUp = () => {
      this.#cancelling = cancelUntil(client, (running ?? Promise.resolve()).then(noop, noop)).catch(
        () => (this.#isBroken = true),
      );
    };
    gone?.addEventListener("abort", hangUp, { once: true });
    try {
      return await whileAlive(
        pulse,
        () => {
          running = send();
          return Promise.race([running, overdue.promise]);
        },
        { isOutcomeUnknown: true, madeAt },
      );
    } catch (error) {
      failure = this.#failureOf(error);
      throw gone?.aborted ? new CallerGone() : failure;
    } finally {
      clearTimeout(deadline);
      gone?.removeEventListener("abort", hangUp);
      if (!(failure instanceof DatabaseUnavailable)) took?.(performance.now() - began);
    }
  }

  #failureOf(error: unknown): unknown {
    const isGivenUp = error instanceof DatabaseUnavailable || error instanceof StatementTimeout;
    const isSevered = this.#parts.isLost() || (error instanceof DatabaseError && isLost(error));
    this.#isBroken ||= isGivenUp || isSevered;
    if (isGivenUp || !isSevered) return error;
    return new DatabaseUnavailable({ cause: error, isOutcomeUnknown: true });
  }
}

/** An error before the statement itself has begun on a replica means that this replica cannot be used. */
function unfit(preface: Preface, error: unknown): unknown {
  if (preface !== SETTINGS_AT || !(error instanceof DatabaseError)) return error;
  if (NOT_PREPARED.has(error.code ?? "") || isSick(error)) return error;
  const reason = error.code?.startsWith(OURS)
    ? error.message
    : "it is not a database of this service and version";
  return new ReplicaUnfit(reason, { cause: error, isBehind: error.code === BEHIND });
}

/** Repeats the cancel request until the statement has ended: one that arrives before it has no effect. */
async function cancelUntil(client: pg.ClientBase, ended: Promise<void>): Promise<void> {
  let isOver = false;
  const end = ended.then(() => (isOver = true));
  for (let tries = 0; tries < CANCEL_TRIES; tries++) {
    await cancelStatement(client, CANCEL_PATIENCE_MS);
    await Promise.race([end, sleep(CANCEL_PATIENCE_MS, undefined, { ref: false })]);
    if (isOver) return;
  }
  throw new StatementTimeout();
}

function noop(): void {}
