// Rate limiting of one WebSocket: messages are read one at a time, and count like the caller's requests.
import type { WebSocket } from "ws";

/** In bytes, of answers that the client has not read. */
const LONGEST_UNREAD = 1_000_000;
/** Messages that are not counted: the first ones, before the caller is known, and a few later on. */
const FREE = 10;
/** A subscription takes one message to begin and another to end. */
const FREE_WITH_SUBSCRIPTION = 2;

/** Counts one request. A refusal may be delayed, until `gone` is aborted. */
type Count = (gone: AbortSignal) => Promise<void>;

/** One WebSocket and the messages that arrive on it. */
export class Conversation {
  readonly #socket: WebSocket;
  readonly #tooMuch: (error: unknown) => void;
  readonly #gone = new AbortController();
  #count: Count | undefined;
  #free = FREE;
  #waiting = 0;
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * @param tooMuch called with the refusal when more messages arrive than are allowed; ends the conversation
   */
  constructor(socket: WebSocket, tooMuch: (refusal: unknown) => void) {
    this.#socket = socket;
    this.#tooMuch = tooMuch;
    socket.once("close", () => this.#gone.abort());
    // Every message counts, also before the caller is known.
    const hear = () => this.#hear();
    socket.on("message", hear).on("ping", hear).on("pong", hear);
  }

  /** @param count counts a request of the caller, who is known from now on */
  enter(count: Count): void {
    this.#count = count;
  }

  /**
   * Counts a subscription.
   * @throws ApiError 429 rate_limited
   */
  async subscribe(): Promise<void> {
    // Messages from the same packet arrive before this one has been counted.
    this.#free += FREE_WITH_SUBSCRIPTION;
    try {
      await this.#inTurn();
    } catch (error) {
      this.#free -= FREE_WITH_SUBSCRIPTION;
      throw error;
    }
  }

  /** Makes the answer to a ping free. */
  pinged(): void {
    this.#free += 1;
  }

  #hear(): void {
    // The client sends without reading the answers.
    if (this.#socket.bufferedAmount > LONGEST_UNREAD) this.#socket.terminate();
    else if (this.#free > 0) this.#free -= 1;
    else if (this.#count) this.#inTurn().catch(this.#tooMuch);
    else this.#socket.terminate();
  }

  /**
   * Counts in order, and stops reading meanwhile: a delayed refusal delays the messages behind it as well.
   */
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
