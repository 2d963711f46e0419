// Checks whether PostgreSQL answers, over a connection that is used for nothing else.
import { DatabaseError } from "pg";
import type pg from "pg";
import { closeClient } from "../../db/close.ts";
import { Pulse, SilentWay } from "../../process/pulse.ts";
import type { Signs } from "../../process/pulse.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

// The server is up but out of resources, or rejects the password: connections that are open still work.
const IS_THERE = /^(53|28)/;

/** The connection that checks. */
export class Heartbeat implements Signs {
  // Until the database is asked, and until it counts as dead: together below two seconds.
  readonly askAfterMs = 500;
  readonly patienceMs = 1_000;
  readonly #connect: () => pg.Client;
  #client: pg.Client | undefined;
  /** A connection that did not answer in time. */
  #silent: pg.Client | undefined;

  /** @param connect makes a client that is not connected yet */
  constructor(connect: () => pg.Client) {
    this.#connect = connect;
  }

  /**
   * Connects for the first time, however long that takes.
   * @throws what connecting throws
   */
  async start(): Promise<void> {
    this.#client = this.#open();
    await this.#client.connect();
  }

  async ask(late: AbortSignal): Promise<boolean> {
    const client = this.#client ?? this.#open();
    const isNew = this.#client === undefined;
    this.#client = client;
    const giveUp = () => (isNew ? this.#drop(client) : this.#keepSilent(client));
    late.addEventListener("abort", giveUp, { once: true });
    try {
      if (isNew) await client.connect();
      await client.query("select");
      // It answered after all, if late.
      if (client === this.#silent) this.#endSilent();
      if (this.#silent === undefined) return true;
    } catch (error) {
      this.#drop(client);
      if (error instanceof DatabaseError && IS_THERE.test(error.code ?? "")) return false;
      throw error;
    }
    this.#endSilent();
    throw new SilentWay("a connection does not answer, though a new one does");
  }

  async stop(): Promise<void> {
    this.#endSilent();
    if (this.#client) await closeClient(this.#client);
  }

  #open(): pg.Client {
    const client = this.#connect();
    const drop = () => this.#drop(client);
    client.on("error", drop);
    client.on("end", drop);
    return client;
  }

  /** Keeps it until a new connection has answered: others as old as this one may be dead as well. */
  #keepSilent(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#endSilent();
    this.#silent = client;
  }

  #endSilent(): void {
    this.#silent?.connection.stream.destroy();
    this.#silent = undefined;
  }

  #drop(client: pg.Client): void {
    // Its end counts as an answer.
    if (this.#silent === client) this.#endSilent();
    if (this.#client !== client) return;
    this.#client = undefined;
    client.connection.stream.destroy();
  }
}

/**
 * Waits for work in the database, but only while the database is alive.
 * @param options.madeAt when the connection that does the work was opened
 * @throws DatabaseUnavailable, at once when it is known to be down
 */
export async function whileAlive<T>(
  pulse: Pulse,
  work: () => Promise<T>,
  { madeAt, ...options }: { isOutcomeUnknown?: boolean; madeAt?: number | undefined } = {},
): Promise<T> {
  if (pulse.isDown) throw new DatabaseUnavailable();
  const lost = Promise.withResolvers<never>();
  const fail = (cause: Error) => lost.reject(new DatabaseUnavailable({ ...options, cause }));
  const attendance = pulse.attend(fail, madeAt);
  try {
    // Whichever of the two loses the race is ignored.
    const result = await Promise.race([work(), lost.promise]);
    attendance.answered();
    return result;
  } finally {
    attendance.end();
  }
}
