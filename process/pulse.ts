// Whether a dependency of the service is alive. A request without an answer may be slow, or the dependency
// frozen for ever: a question that anything alive answers at once tells the two apart.
import { within } from "./patience.ts";

/** How to ask one dependency for a sign of life. */
export interface Signs {
  /**
   * Asks for a sign of life.
   * @param late aborted when nobody waits for it any longer
   * @returns false if the dependency is alive but cannot be used
   * @throws if it is not alive; SilentWay
   */
  ask(late: AbortSignal): Promise<boolean>;
  /** how long requests go without an answer before it is asked, in milliseconds */
  askAfterMs: number;
  /** how long it may take to be answered, in milliseconds */
  patienceMs: number;
}

/** A new connection answers, but a question on an old one does not get an answer: the old one is dead. */
export class SilentWay extends Error {}

const TICK_MS = 250;
// How soon the return of a lost dependency is noticed.
const RETRY_MS = 200;

type Waiting = { since: number; fail: (cause: Error) => void };
/** When a sign of life was asked for, and whether a request on an older connection was answered since. */
type Question = { at: number; isAnsweredElsewhere: boolean };

/** A request that waits for the dependency. */
export interface Attendance {
  /** Reports an answer, which is a sign of life. */
  answered(): void;
  /** Ends the waiting. */
  end(): void;
}

/** Checks a dependency while any request waits for it. */
export class Pulse {
  readonly #signs: Signs;
  readonly #waiting = new Set<Waiting>();
  readonly #listeners: ((isDown: boolean) => void)[] = [];
  #beat: Promise<boolean> | undefined;
  #tick: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #question: Question | undefined;
  /** The previous question, if it had no answer. */
  #unanswered: Question | undefined;
  #outages = 0;
  #isDown = false;
  #stopped = false;

  constructor(signs: Signs) {
    this.#signs = signs;
  }

  /** Whether it was found not to answer, and has not answered since. */
  get isDown(): boolean {
    return this.#isDown;
  }

  /** How often it has been lost; a connection from before the last loss may be dead. */
  get outages(): number {
    return this.#outages;
  }

  /** Calls the listener whenever the dependency is lost, and when it is back. */
  onChange(listener: (isDown: boolean) => void): void {
    this.#listeners.push(listener);
  }

  /** Asks for a sign of life; concurrent calls share the answer. */
  beat(): Promise<boolean> {
    this.#beat ??= this.#ask().finally(() => (this.#beat = undefined));
    return this.#beat;
  }

  /**
   * Checks the dependency from now on, until the attendance ends.
   * @param fail called when it is lost
   * @param madeAt when the connection was opened on which the answer will come
   */
  attend(fail: (cause: Error) => void, madeAt = Number.POSITIVE_INFINITY): Attendance {
    const waiting = { since: performance.now(), fail };
    this.#waiting.add(waiting);
    this.#tick ??= setInterval(() => this.#check(), TICK_MS);
    return {
      answered: () => {
        this.#answeredAt = performance.now();
        for (const question of [this.#question, this.#unanswered])
          if (question) question.isAnsweredElsewhere ||= madeAt <= question.at;
      },
      end: () => void this.#waiting.delete(waiting),
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#tick);
    clearTimeout(this.#retry);
    await this.#beat;
  }

  #check(): void {
    // The one that has waited longest is the first.
    const [oldest] = this.#waiting;
    if (!oldest) {
      clearInterval(this.#tick);
      this.#tick = undefined;
    } else if (performance.now() - oldest.since >= this.#signs.askAfterMs) void this.beat();
  }

  async #ask(): Promise<boolean> {
    const { patienceMs } = this.#signs;
    const question = { at: performance.now(), isAnsweredElsewhere: false };
    this.#question = question;
    const late = new AbortController();
    try {
      const isUsable = await within(
        patienceMs,
        this.#signs.ask(late.signal),
        () => new Error(`no sign of life within ${patienceMs} ms`),
      );
      this.#unanswered = undefined;
      this.#declareUp();
      return isUsable;
    } catch (error) {
      late.abort(error);
      // A dependency that serves one request at a time was busy with another one. And once it counts as lost,
      // its old connections are not used any more, so an answer on a new one means that it is back.
      const isSilent = error instanceof SilentWay;
      // If another old connection has answered since, only the silent one is dead.
      const isThatWay = this.#unanswered?.isAnsweredElsewhere === true;
      this.#unanswered = isSilent ? undefined : question;
      if (isSilent ? this.#isDown || isThatWay : this.#answeredAt > question.at) {
        this.#declareUp();
        return true;
      }
      this.#declareDown(error as Error);
      return false;
    }
  }

  #declareUp(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    for (const listener of this.#listeners) listener(false);
  }

  #declareDown(error: Error): void {
    const wasUp = !this.#isDown;
    this.#isDown = true;
    for (const { fail } of this.#waiting) fail(error);
    if (wasUp) {
      this.#outages++;
      for (const listener of this.#listeners) listener(true);
    }
    clearTimeout(this.#retry);
    if (!this.#stopped) this.#retry = setTimeout(() => void this.beat(), RETRY_MS);
  }
}
