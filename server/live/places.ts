// Limits how many of something, such as connections, each caller has in this process.
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import type { Caller } from "../identity/identity.ts";

/** How many a key may have, which many people may share, and how many a person. */
export type MostPlaces = Readonly<{ ofKey: number; ofPerson: number }>;

export class Places {
  readonly #most: MostPlaces;
  readonly #what: string;
  readonly #taken = new Map<string, number>();

  /** @param what names them in refusals */
  constructor(most: MostPlaces, what: string) {
    this.#most = most;
    this.#what = what;
  }

  /**
   * Takes one. The returned function gives it back; call it once.
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
