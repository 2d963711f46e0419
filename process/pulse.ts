// Whether something that the service depends on is there. A request that has no answer yet may be slow, or whoever is to
// answer may be frozen and never do: a question that anything alive answers at once tells the two apart.
import { within } from "./patience.ts";

/** What a sign of life is, of one dependency. */
export interface Signs {
  /**
   * Asks for one.
   * @param late aborted when nobody waits for it any longer
   * @returns false: there is somebody, who cannot be used
   * @throws when there is nobody; SilentWay
   */
  ask(late: AbortSignal): Promise<boolean>;
  /** how long requests go without an answer before it is asked, in milliseconds */
  askAfterMs: number;
  /** how long it may take to be answered, in milliseconds */
  patienceMs: number;
}

/** Whoever is asked anew answers, and a question from before has no answer still: on that way nothing gets through. */
export class SilentWay extends Error {}

const TICK_MS = 250;
// How soon its return is noticed.
const RETRY_MS = 200;

type Waiting = { since: number; fail: (cause: Error) => void };
/** When somebody was asked for a sign of life, and whether somebody else has answered since, over a way that was there before. */
type Question = { at: number; isAnsweredElsewhere: boolean };

/** One that waits. */
export interface Attendance {
  /** Tells of an answer, which is a sign of life. */
  answered(): void;
  /** Ends the waiting. */
  end(): void;
}

/** Feels the pulse of a dependency while anybody waits for it. */
export class Pulse {
  readonly #signs: Signs;
  readonly #waiting = new Set<Waiting>();
  readonly #listeners: ((isDown: boolean) => void)[] = [];
  #beat: Promise<boolean> | undefined;
  #tick: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #question: Question | undefined;
  /** One before, to which nobody has answered. */
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

  /** How often it has been lost; a connection from before the last time may lead nowhere. */
  get outages(): number {
    return this.#outages;
  }

  /** Calls something whenever it is lost, and when it is back. */
  onChange(listener: (isDown: boolean) => void): void {
    this.#listeners.push(listener);
  }

  /** Asks for a sign of life; those who ask at the same time share the answer. */
  beat(): Promise<boolean> {
    this.#beat ??= this.#ask().finally(() => (this.#beat = undefined));
    return this.#beat;
  }

  /**
   * Feels the pulse from now on, until the attendance ends.
   * @param fail called when there is none
   * @param madeAt since when there is the way on which an answer comes
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
      // Something that does one thing after another has been at somebody else's; and what was lost is known to be.
      const isSilent = error instanceof SilentWay;
      // Of all the ways from before it may be that one alone.
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
