// How many of something each caller has, in this process.
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import type { Caller } from "../identity/identity.ts";

/** How many a key may have, behind which there may be many, and how many a person. */
export type MostPlaces = Readonly<{ ofKey: number; ofPerson: number }>;

export class Places {
  readonly #most: MostPlaces;
  readonly #what: string;
  readonly #taken = new Map<string, number>();

  /** @param what they are, in words */
  constructor(most: MostPlaces, what: string) {
    this.#most = most;
    this.#what = what;
  }

  /**
   * Takes one; call what it returns once to give it back.
   * @throws ApiError rate_limited
   */
  take({ id, keyId }: Pick<Caller, "id" | "keyId">): () => void {
    const most = keyId === undefined ? this.#most.ofPerson : this.#most.ofKey;
    const count = (this.#taken.get(id) ?? 0) + 1;
    if (count > most) {
      const whose = keyId === undefined ? "You have" : "This API key has";
      throw new ApiError("rate_limited", {
        message: `${whose} ${most} ${this.#what} already; end some first.`,
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
