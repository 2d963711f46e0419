// How far the log of the primary has got: all that anybody has been told is done is before it, whichever server told them. One
// small question serves all requests that have come before it is asked.
import { setTimeout as sleep } from "node:timers/promises";
import type { Connections } from "./connections.ts";

/** A place in the log of one database. */
export type Position = Readonly<{ database: string; timeline: string; at: number }>;

/** How much time is at least between one question and the next. */
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
   * A position that is not before what has been acknowledged until now.
   * @throws what Connections throw, and PostgreSQL where it is no primary
   */
  current(): Promise<Position> {
    if (!this.#next) {
      // Who comes while a question is under way has perhaps seen something that it does not know of.
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
