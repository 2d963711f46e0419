// Turns for work that may block the event loop for long, such as planning a GraphQL operation: other requests
// are handled in between. Otherwise a hundred requests that come together would be prepared one after the
// other while nothing is answered, not even a liveness probe. CPU time counts, and not elapsed time: on a
// busy machine every request takes long.
import { CallerGone, ServiceBusy } from "./postgres/unavailable.ts";

/**
 * Short turns follow each other for this long: one per iteration would be too few when iterations are long.
 */
const AT_ONCE_MS = 10;

/** After a longer turn the caller pauses for as long as it took, so that others have half of the time. */
const LONG_MS = 20;
const PATIENCE_MS = 30_000;

type Waiting = { since: number; begin: () => void; refuse: (error: Error) => void };

/** Gives turns by caller, a few in each iteration of the event loop. */
export class LoopTurns {
  /** In the order of their turns: the caller who has just had one comes last. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #resting = new Set<string>();
  #isRunning = false;

  /**
   * Waits for a caller's turn, which lasts until the code after it waits for something else.
   * @param gone aborted if the turn is no longer needed
   * @param since when the wait began, if this is not the request's first turn
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

  /** @param spentMs CPU time of the turns since the loop did something else */
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
    // After everything in this turn that does not wait for something else.
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
