// Refusals that wait. Thousands a second, each of them soon answered, would take the time of everybody else; so whoever goes
// on after many of them waits for each further one.
import type { RequestHandler } from "express";
import { apiErrorFrom } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { pass } from "./guards.ts";
import { NetworkLimit, networkOf } from "./network.ts";

/** In a minute. */
export const REFUSED_AT_ONCE = 50;
const HELD_MS = 500;
/** Of one caller; of more than these each waits for twice as long, three times as long, and so on. */
const HELD_AT_A_TIME = 100;
const LONGEST_MS = 10_000;

/** Lets callers wait for their refusals. */
export class HoldBack {
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  readonly #refused = new NetworkLimit(REFUSED_AT_ONCE);
  #isEnding = false;

  /**
   * Waits before somebody is refused.
   * @param gone aborted when nobody waits for it any more
   */
  async wait(caller: string, gone: AbortSignal): Promise<void> {
    if (this.#isEnding) return;
    const held = (this.#held.get(caller) ?? 0) + 1;
    this.#held.set(caller, held);
    const ms = Math.min(LONGEST_MS, HELD_MS * Math.ceil(held / HELD_AT_A_TIME));
    await new Promise<void>((answer) => {
      const end = () => {
        gone.removeEventListener("abort", end);
        this.#waiting.delete(end);
        answer();
      };
      // Who hangs up has its others wait as if it had stayed: to come back at once must not be quicker.
      setTimeout(() => {
        this.#leave(caller);
        end();
      }, ms).unref();
      this.#waiting.add(end);
      gone.addEventListener("abort", end);
      if (gone.aborted) end();
    });
  }

  /** The same guard, whose refusals wait where a network has had many of them. */
  slowly(guard: RequestHandler): RequestHandler {
    return async (request, response, next) => {
      try {
        await pass(guard, request, response);
      } catch (error) {
        const isRefusal = apiErrorFrom(error).statusCode < 500;
        const isOneOfMany = isRefusal && (await this.#refused.consume(request).then(() => false, isOver));
        if (isOneOfMany) await this.wait(`network ${networkOf(request)}`, hungUp(response));
        throw error;
      }
      next();
    };
  }

  /** Answers all that wait, and has nobody wait any more. */
  end(): void {
    this.#isEnding = true;
    for (const answer of this.#waiting) answer();
  }

  #leave(caller: string): void {
    const left = this.#held.get(caller)! - 1;
    if (left === 0) this.#held.delete(caller);
    else this.#held.set(caller, left);
  }
}

function isOver(): boolean {
  return true;
}
