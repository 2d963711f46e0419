// How many of something each caller has, in this process.
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

export class Places {
  readonly #most: number;
  readonly #what: string;
  readonly #taken = new Map<string, number>();

  /**
   * @param most of one caller
   * @param what they are, in words
   */
  constructor(most: number, what: string) {
    this.#most = most;
    this.#what = what;
  }

  /**
   * Takes one; call what it returns once to give it back.
   * @throws ApiError rate_limited
   */
  take(id: string): () => void {
    const count = (this.#taken.get(id) ?? 0) + 1;
    if (count > this.#most) {
      throw new ApiError("rate_limited", {
        message: `This API key, or this person, has ${this.#most} ${this.#what} already; end some first.`,
        headers: { [RESPONSE_HEADERS.retryAfter]: "60" },
      });
    }
    this.#taken.set(id, count);
    return () => {
      const left = this.#taken.get(id)! - 1;
      if (left === 0) this.#taken.delete(id);
      else this.#taken.set(id, left);
    };
  }
}
