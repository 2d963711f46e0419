// Whether PostgreSQL is there. A statement that has no answer yet may be slow, or the server may be frozen and never
// answer: a connection that is used for nothing else tells the two apart, within two seconds.
import { DatabaseError } from "pg";
import type pg from "pg";
import { closeClient } from "../../db/close.ts";
import { within } from "./patience.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

// Together below two seconds: until it is asked, until it counts as dead.
const ASK_AFTER_MS = 500;
const TICK_MS = 250;
const PATIENCE_MS = 1_000;
// How soon its return is noticed.
const RETRY_MS = 200;

// The server is there but has no room, or no longer likes the password: connections that are open still work.
const IS_THERE = /^(53|28)/;

type Guarded = { since: number; fail: (error: Error) => void };

/** Feels the pulse of the database while anybody waits for it. */
export class Pulse {
  readonly #connect: () => pg.Client;
  readonly #waiting = new Set<Guarded>();
  #client: pg.Client | undefined;
  #beat: Promise<boolean> | undefined;
  #tick: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #outages = 0;
  #isDown = false;
  #stopped = false;

  /** @param connect makes a client that is not connected yet */
  constructor(connect: () => pg.Client) {
    this.#connect = connect;
  }

  /** Whether the database was found not to answer, and has not answered since. */
  get isDown(): boolean {
    return this.#isDown;
  }

  /** How often it has been lost; a connection from before the last time may lead nowhere. */
  get outages(): number {
    return this.#outages;
  }

  /**
   * Connects for the first time, however long that takes.
   * @throws what connecting throws
   */
  async start(): Promise<void> {
    this.#client = this.#open();
    await this.#client.connect();
  }

  /** Asks the database for a sign of life; those who ask at the same time share the answer. */
  beat(): Promise<boolean> {
    this.#beat ??= this.#ask().finally(() => (this.#beat = undefined));
    return this.#beat;
  }

  /**
   * Waits for work in the database, but no longer than the database lives.
   * @throws DatabaseUnavailable, at once when it is known to be down
   */
  async guard<T>(work: () => Promise<T>, options: { isOutcomeUnknown?: boolean } = {}): Promise<T> {
    if (this.#isDown) throw new DatabaseUnavailable();
    const lost = Promise.withResolvers<never>();
    const guarded = {
      since: performance.now(),
      fail: (cause: Error) => lost.reject(new DatabaseUnavailable({ ...options, cause })),
    };
    this.#waiting.add(guarded);
    this.#tick ??= setInterval(() => this.#check(), TICK_MS);
    const working = work();
    try {
      return await Promise.race([working, lost.promise]);
    } finally {
      this.#waiting.delete(guarded);
      // Whoever guards has the error already; what comes of the work after that concerns nobody.
      working.catch(() => undefined);
      lost.promise.catch(() => undefined);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#tick);
    clearTimeout(this.#retry);
    await this.#beat;
    if (this.#client) await closeClient(this.#client);
  }

  #check(): void {
    if (this.#waiting.size === 0) {
      clearInterval(this.#tick);
      this.#tick = undefined;
      return;
    }
    // The one that has waited longest is the first.
    const [oldest] = this.#waiting;
    if (oldest && performance.now() - oldest.since >= ASK_AFTER_MS) void this.beat();
  }

  async #ask(): Promise<boolean> {
    const client = this.#client ?? this.#open();
    const isNew = this.#client === undefined;
    this.#client = client;
    try {
      const asking = (isNew ? client.connect() : Promise.resolve()).then(() => client.query("select"));
      await within(PATIENCE_MS, asking);
      this.#isDown = false;
      return true;
    } catch (error) {
      this.#drop(client);
      if (error instanceof DatabaseError && IS_THERE.test(error.code ?? "")) this.#isDown = false;
      else this.#declareDown(error as Error);
      return false;
    }
  }

  #open(): pg.Client {
    const client = this.#connect();
    const drop = () => this.#drop(client);
    client.on("error", drop);
    client.on("end", drop);
    return client;
  }

  #drop(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.connection.stream.destroy();
  }

  #declareDown(error: Error): void {
    if (!this.#isDown) this.#outages++;
    this.#isDown = true;
    for (const { fail } of this.#waiting) fail(error);
    this.#waiting.clear();
    clearTimeout(this.#retry);
    if (!this.#stopped) this.#retry = setTimeout(() => void this.beat(), RETRY_MS);
  }
}
