// The primary's position in its write-ahead log: every change that any server has acknowledged lies before
// it. One small query serves all requests that came in before it was sent.
import { setTimeout as sleep } from "node:timers/promises";
import type { Connections } from "./connections.ts";

/** A place in the log of one database; `replayed` is what a replica was known to have before the primary was asked. */
export type Position = Readonly<{ database: string; timeline: string; at: number; replayed?: number }>;

/** The pause between one query and the next. */
const PAUSE_MS = 2;

/** Asks the primary for its position. */
export class Positions {
  readonly #connections: Connections;
  #next: Promise<Position> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /**
   * A position at or after everything that has been acknowledged until now.
   * @throws what Connections throw; DatabaseError if the server is not a primary
   */
  current(): Promise<Position> {
    if (!this.#next) {
      // A request that comes while a query is under way may have seen a commit that the query does not cover.
      const next = this.#last.then(() => {
        this.#next = undefined;
        return this.#ask();
      });
      this.#next = next;
      this.#last = next.catch(() => undefined).then(() => sleep(PAUSE_MS, undefined, { ref: false }));
    }
    return this.#next;
  }

  async #ask(): Promise<Position> {
    const { rows } = await this.#connections.borrow({ caller: "" }, (connection) =>
      connection.run<{ position: Position }>({
        name: "log_position",
        text: "select app_private.log_position() as position",
      }),
    );
    return rows[0]!.position;
  }
}
