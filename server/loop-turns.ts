// What may keep the event loop for long, such as to plan a GraphQL operation: everybody else has a turn in between. A hundred
// requests that come together would otherwise be prepared one after the other while nobody is answered, not even whoever asks
// whether the service lives. Time is the processor's: a machine that has other work makes nobody's request a long one.
import { CallerGone, ServiceBusy } from "./postgres/unavailable.ts";

/** Small ones follow each other at once: where a turn of the loop is long, one in each would be too few for all that come. */
const AT_ONCE_MS = 10;

/** Who has kept the loop for longer lets as much time pass, so that others have half of it. */
const LONG_MS = 20;
const PATIENCE_MS = 30_000;

type Waiting = { since: number; begin: () => void; refuse: (error: Error) => void };

/** Gives turns by caller, few in each turn of the event loop. */
export class LoopTurns {
  /** In the order of their turns: whoever has just had one comes last. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #resting = new Set<string>();
  #isRunning = false;

  /**
   * Waits for a caller's turn. What is done then, until something else is waited for, is the turn.
   * @param gone of who does not need it any more
   * @param since when it first waited, of what had to take another turn
   * @throws CallerGone, ServiceBusy
   */
  take(caller: string, gone?: AbortSignal, since = performance.now()): Promise<void> {
    return new Promise((begin, refuse) => {
      const own = this.#waiting.get(caller) ?? [];
      this.#waiting.set(caller, own);
      own.push({
        since,
        begin: () => (gone?.aborted ? refuse(new CallerGone()) : begin()),
        refuse,
      });
      this.#run();
    });
  }

  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#next(0));
  }

  /** @param spentMs by those who had their turns since the loop did something else */
  #next(spentMs: number): void {
    const [caller, own] = this.#waiting.entries().find(([name]) => !this.#resting.has(name)) ?? [];
    this.#isRunning = caller !== undefined;
    if (caller === undefined || !own) return;
    this.#waiting.delete(caller);
    const { since, begin, refuse } = own.shift()!;
    if (own.length > 0) this.#waiting.set(caller, own);
    const before = process.threadCpuUsage();
    if (performance.now() - since > PATIENCE_MS) refuse(new ServiceBusy());
    else begin();
    // Once all is done that waits for nothing else.
    queueMicrotask(() =>
      process.nextTick(() => {
        const { user, system } = process.threadCpuUsage(before);
        const tookMs = (user + system) / 1_000;
        if (tookMs > LONG_MS) this.#rest(caller, tookMs);
        if (spentMs + tookMs < AT_ONCE_MS) this.#next(spentMs + tookMs);
        else setImmediate(() => this.#next(0));
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
