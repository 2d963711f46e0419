// Delayed refusals. Answering thousands a second at once would take the time of everybody else, so a caller
// who goes on after many refusals waits for each further one.
import type { RequestHandler } from "express";
import { apiErrorFrom } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { pass } from "./guards.ts";
import { NetworkLimit, networkOf } from "./network.ts";

/** Refusals in a minute that are not delayed. */
export const REFUSED_AT_ONCE = 50;
const HELD_MS = 500;
/**
 * Delayed refusals of one caller at a time. Beyond this number each waits twice as long, beyond twice this
 * number three times as long, and so on.
 */
const HELD_AT_A_TIME = 100;
const LONGEST_MS = 10_000;

/** Delays refusals. */
export class HoldBack {
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  readonly #refused = new NetworkLimit(REFUSED_AT_ONCE);
  #isEnding = false;

  /**
   * Waits before a caller is refused.
   * @param gone aborted when the caller hangs up
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
      // A caller who hangs up still counts for the whole time: coming back at once must not be quicker.
      setTimeout(() => {
        this.#leave(caller);
        end();
      }, ms).unref();
      this.#waiting.add(end);
      gone.addEventListener("abort", end);
      if (gone.aborted) end();
    });
  }

  /** The same guard, with its refusals delayed for a network that has had many of them. */
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

  /** Ends all delays, and adds no more. */
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
