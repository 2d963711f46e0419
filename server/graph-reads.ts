// Graph queries that routes make besides reading tables: few at a time, and answered soon or not at all.
import { GraphRejected, GraphUnavailable } from "../graph/store.ts";
import type { GraphStore, Row } from "../graph/store.ts";
import type { Identity } from "./identity/identity.ts";
import { ServiceBusy } from "./postgres/unavailable.ts";
import { halfOf, Shares } from "./shares.ts";

// Longer than a healthy store takes, yet short enough for a caller to wait for.
const TIMEOUT_MS = 5_000;
/** The tables answer at once, so it is not worth waiting longer in a queue for the graph. */
const PATIENCE_MS = 100;
const SLOW_MS = 1_000;
const WAITING_PER_CALLER = 50;
const WAITING = 200;

export class GraphReads {
  readonly #store: Pick<GraphStore, "select">;
  readonly #shares: Shares;

  /** @param concurrency queries at the same time, half of them for one caller */
  constructor(store: Pick<GraphStore, "select">, concurrency: number) {
    this.#store = store;
    this.#shares = new Shares({
      slots: concurrency,
      perCaller: halfOf(concurrency),
      slowMs: SLOW_MS,
      patienceMs: PATIENCE_MS,
      queuePerCaller: WAITING_PER_CALLER,
      queue: WAITING,
    });
  }

  /**
   * @returns undefined if the graph does not answer, or is too busy
   * @throws any other error, such as CallerGone
   */
  async select(sparql: string, { id, gone }: Identity): Promise<Row[] | undefined> {
    let giveBack: (() => void) | undefined;
    try {
      giveBack = await this.#shares.take(id, gone);
      return await this.#store.select(sparql, { timeoutMs: TIMEOUT_MS, signal: gone });
    } catch (error) {
      // A store that refuses even this is of no more use than one that is down.
      const isUnanswered =
        error instanceof ServiceBusy || error instanceof GraphUnavailable || error instanceof GraphRejected;
      if (isUnanswered) return undefined;
      throw error;
    } finally {
      giveBack?.();
    }
  }
}
