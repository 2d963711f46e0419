// What keeps the event loop for long, such as to plan a GraphQL operation: one at a time, and everybody else has a turn in between.
// A hundred requests that come together would otherwise be prepared one after the other while nobody is answered, not even
// whoever asks whether the service lives.
import { CallerGone, ServiceBusy } from "./postgres/unavailable.ts";

/** Who has kept the loop for longer lets as much time pass, so that others have half of it. */
const LONG_MS = 20;
const PATIENCE_MS = 30_000;

type Waiting = { since: number; begin: () => void; refuse: (error: Error) => void };

/** Gives turns, one in each turn of the event loop, and by caller. */
export class LoopTurns {
  /** In the order of their turns: whoever has just had one comes last. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #resting = new Set<string>();
  #isRunning = false;

  /**
   * Waits for a caller's turn. What is done then, until something else is waited for, is the turn.
   * @param gone of who does not need it any more
   * @throws CallerGone, ServiceBusy
   */
  take(caller: string, gone?: AbortSignal): Promise<void> {
    return new Promise((begin, refuse) => {
      const own = this.#waiting.get(caller) ?? [];
      this.#waiting.set(caller, own);
      own.push({
        since: performance.now(),
        begin: () => (gone?.aborted ? refuse(new CallerGone()) : begin()),
        refuse,
      });
      this.#run();
    });
  }

  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#next());
  }

  #next(): void {
    this.#isRunning = false;
    const [caller, own] = this.#waiting.entries().find(([name]) => !this.#resting.has(name)) ?? [];
    if (caller === undefined || !own) return;
    this.#waiting.delete(caller);
    const { since, begin, refuse } = own.shift()!;
    if (own.length > 0) this.#waiting.set(caller, own);
    const began = performance.now();
    if (began - since > PATIENCE_MS) refuse(new ServiceBusy());
    else begin();
    // Once all is done that waits for nothing else.
    queueMicrotask(() =>
      process.nextTick(() => {
        const tookMs = performance.now() - began;
        if (tookMs > LONG_MS) this.#rest(caller, tookMs);
        this.#run();
      }),
    );
  }

  #rest(caller: string, ms: number): void {
    this.#resting.add(caller);
    setTimeout(() => {
      this.#resting.delete(caller);
      this.#run();
    }, ms).unref();
  }
}
