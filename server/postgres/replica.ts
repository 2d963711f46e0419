// A replica of the database, which answers reads in place of the primary once it has replayed everything
// acknowledged before. While it is behind or silent, it is passed over, and examined again after a moment.
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError } from "pg";
import type { Logger } from "pino";
import { SETTINGS_ASKED, unsuitable } from "../../db/reach.ts";
import type { Setting } from "../../db/reach.ts";
import { within } from "../../process/patience.ts";
import { apart } from "../request-context.ts";
import { Postgres } from "./postgres.ts";
import type { PostgresOptions } from "./postgres.ts";
import { Positions } from "./positions.ts";
import type { Position } from "./positions.ts";
import { isSick, ReplicaUnfit } from "./unavailable.ts";

/** How soon a replica that is passed over is examined again. */
const RETRY_MS = 1_000;
/** How often a replica that is behind is asked how far it has replayed. */
const POLL_MS = 2;
/** How long metrics wait for the lag: less than for their query to the primary. */
const LAG_PATIENCE_MS = 1_000;

type Waiting = { at: number; resolve: (isThere: boolean) => void };

export type ReplicaOptions = PostgresOptions & {
  /** how long a read waits for it to catch up */
  maxLagMs: number;
  logger: Pick<Logger, "info" | "warn">;
};

/** Decides whether reads may go to the replica. */
export class Replica {
  readonly #postgres: Postgres;
  readonly #positions: Positions;
  readonly #maxLagMs: number;
  readonly #logger: ReplicaOptions["logger"];
  readonly #waiting = new Set<Waiting>();
  #known = 0;
  #isWatching = false;
  #isUsed = false;
  /** Why it is passed over, as last logged. */
  #reason: string | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param positions of the primary */
  constructor(positions: Positions, { maxLagMs, logger, ...options }: ReplicaOptions) {
    this.#postgres = new Postgres({ ...options, isReplica: true });
    this.#positions = positions;
    this.#maxLagMs = maxLagMs;
    this.#logger = logger;
  }

  /** Its connections for requests. */
  get connections() {
    return this.#postgres.requests;
  }

  get pool() {
    return this.#postgres.pool;
  }

  /** Whether reads go to it at present. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Examines it for the first time. The service can start whatever the result. */
  async start(): Promise<void> {
    await this.#examine();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    this.#release();
    await this.#postgres.end();
  }

  /** The position at which to read, once the replica has replayed it; undefined if it is passed over. */
  async ready(): Promise<Position | undefined> {
    if (!this.#isUsed) return undefined;
    // If the primary does not tell its position, the read goes to it and reports why.
    const position = await this.#position().catch(() => undefined);
    if (position === undefined || !this.#isUsed) return undefined;
    if (await this.#reaches(position)) return position;
    this.passOver(this.#tooFarBehind());
    return undefined;
  }

  /** Sends it no more reads until an examination succeeds. Until then, further calls do nothing. */
  passOver(reason: unknown): void {
    if (this.#isUsed) this.#setAside(reason);
  }

  /** Forgets how far it has replayed: its address leads to several servers, or now to another one. */
  forget(): void {
    this.#known = 0;
  }

  /**
   * How many bytes of the log it has not replayed yet, below 0 if it is ahead of the primary; undefined if that is unknown at
   * the moment.
   */
  async lag(): Promise<number | undefined> {
    const found = await within(LAG_PATIENCE_MS, this.#compare(), () => new Error("no answer")).catch(
      () => undefined,
    );
    return found && found.at - found.replayed;
  }

  /** Asks how far it has replayed, and the primary after that. */
  async #compare() {
    this.#known = await this.#replayed();
    return this.#position().catch((cause: unknown) => {
      throw new ReplicaUnfit("the primary does not say how far it is", { cause });
    });
  }

  /** The position of the primary, and what the replica was known to have replayed before. */
  async #position() {
    const replayed = this.#known;
    return { ...(await this.#positions.current()), replayed };
  }

  #setAside(reason: unknown): void {
    if (this.#isStopped) return;
    const why = reason instanceof ReplicaUnfit ? reason.message : "it does not answer";
    if (why !== this.#reason) {
      this.#logger.warn(
        { reason: why, err: reason },
        "the replica is passed over: reads stay on the primary",
      );
    }
    this.#reason = why;
    this.#isUsed = false;
    this.#release();
    this.#retry = apart(() => setTimeout(() => void this.#examine(), RETRY_MS).unref());
  }

  async #examine(): Promise<void> {
    try {
      const position = await this.#compare();
      // If it does not get there, the statement below reports why.
      await this.#reaches(position);
      await this.#postgres.probes.borrow({ caller: "", position }, async (connection) => {
        const { rows: settings } = await connection.run<Setting>({ text: SETTINGS_ASKED });
        const other = unsuitable(settings);
        if (other !== undefined) throw new ReplicaUnfit(`it has ${other}`);
        const { rows } = await connection.run<{ roles: string | null }>({
          text: "select app_private.roles_out_of_reach() as roles",
        });
        const roles = rows[0]?.roles;
        if (roles) throw new ReplicaUnfit(`its login may not become ${roles}`);
      });
    } catch (error) {
      this.#setAside(error instanceof ReplicaUnfit && error.isBehind ? this.#tooFarBehind() : error);
      return;
    }
    if (this.#isStopped) return;
    this.#isUsed = true;
    this.#reason = undefined;
    this.#logger.info("reads go to the replica");
  }

  #tooFarBehind(): ReplicaUnfit {
    return new ReplicaUnfit(`it has not replayed within ${this.#maxLagMs} ms what was acknowledged before`);
  }

  #reaches({ at }: Position): Promise<boolean> {
    if (this.#known >= at) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (isThere: boolean) => {
        clearTimeout(patience);
        this.#waiting.delete(waiting);
        resolve(isThere);
      };
      const waiting = { at, resolve: settle };
      const patience = setTimeout(() => settle(false), this.#maxLagMs);
      this.#waiting.add(waiting);
      if (!this.#isWatching) void this.#watch();
    });
  }

  /** Asks how far it has replayed, on behalf of all waiting reads. */
  async #watch(): Promise<void> {
    this.#isWatching = true;
    try {
      while (this.#waiting.size > 0) {
        this.#known = await this.#replayed().catch((error: unknown) => {
          // The query may have been cancelled because it was in the way of replay, and can be repeated.
          if (error instanceof DatabaseError && isSick(error)) return this.#known;
          throw error;
        });
        for (const { at, resolve } of this.#waiting) if (at <= this.#known) resolve(true);
        if (this.#waiting.size > 0) await sleep(POLL_MS);
      }
    } catch (error) {
      this.passOver(error);
      this.#release();
    } finally {
      this.#isWatching = false;
    }
  }

  async #replayed(): Promise<number> {
    const { rows } = await this.#postgres.probes.borrow({ caller: "" }, (connection) =>
      connection.run<{ at: string | null }>({
        name: "replayed_position",
        text: "select app_private.replayed_position() as at",
      }),
    );
    const at = rows[0]?.at;
    if (at === null || at === undefined) throw new ReplicaUnfit("it is no replica");
    return Number(at);
  }

  #release(): void {
    for (const { resolve } of this.#waiting) resolve(false);
  }
}
