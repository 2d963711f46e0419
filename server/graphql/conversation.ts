// What comes over one WebSocket: each message at its time, and no more of them than its caller may send requests.
import type { WebSocket } from "ws";

/** Of answers, in bytes, that nobody takes. */
const LONGEST_UNREAD = 1_000_000;
/** So much is said before anybody knows who says it, and now and then later on. */
const FREE = 10;
/** A subscription is begun with a message, and ended with another. */
const FREE_WITH_SUBSCRIPTION = 2;

/** Counts something as a request, until nobody waits for it any more. */
type Count = (gone: AbortSignal) => Promise<void>;

/** One WebSocket, and what is said over it. */
export class Conversation {
  readonly #socket: WebSocket;
  readonly #tooMuch: (error: unknown) => void;
  readonly #gone = new AbortController();
  #count: Count | undefined;
  #free = FREE;
  #waiting = 0;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param tooMuch ends a conversation in which more is said than may be, with the refusal if there is one */
  constructor(socket: WebSocket, tooMuch: (refusal: unknown) => void) {
    this.#socket = socket;
    this.#tooMuch = tooMuch;
    socket.once("close", () => this.#gone.abort());
    // Whatever it says, and whoever they are: also before that is known.
    const hear = () => this.#hear();
    socket.on("message", hear).on("ping", hear).on("pong", hear);
  }

  /** @param count as a request of whoever it is found to be */
  enter(count: Count): void {
    this.#count = count;
  }

  /**
   * Counts a subscription.
   * @throws ApiError 429 rate_limited
   */
  async subscribe(): Promise<void> {
    // What was in the same packet is heard before this is counted.
    this.#free += FREE_WITH_SUBSCRIPTION;
    try {
      await this.#inTurn();
    } catch (error) {
      this.#free -= FREE_WITH_SUBSCRIPTION;
      throw error;
    }
  }

  /** Has the answer to a ping free. */
  pinged(): void {
    this.#free += 1;
  }

  #hear(): void {
    // Whoever asks without reading the answers.
    if (this.#socket.bufferedAmount > LONGEST_UNREAD) this.#socket.terminate();
    else if (this.#free > 0) this.#free -= 1;
    else if (this.#count) this.#inTurn().catch(this.#tooMuch);
    else this.#socket.terminate();
  }

  /** One after the other: a refusal that waits has what comes behind it wait as well, unread. */
  async #inTurn(): Promise<void> {
    this.#waiting += 1;
    this.#socket.pause();
    const counted = this.#turn.then(() => this.#count?.(this.#gone.signal));
    this.#turn = counted.catch(() => undefined);
    try {
      await counted;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#socket.resume();
    }
  }
}
