// When keys are used: recorded in the database for `keys list`, by the minute, and not by the request.
import { LRUCache } from "lru-cache";
import type { Connections } from "../postgres/connections.ts";

const NOTED_KEYS = 10_000;
/**
 * How long a process does not report a key again; the database keeps one report a minute of all processes.
 */
const SILENCE_MS = 60_000;
/** How long reports are gathered into one statement. */
const GATHER_MS = 1_000;

/** Reports to the database which keys are used. */
export class KeyUses {
  readonly #connections: Connections;
  readonly #noted = new LRUCache<string, true>({ max: NOTED_KEYS, ttl: SILENCE_MS });
  readonly #gathered = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** Notes that a key is being used, without delaying the request. */
  note(keyId: string): void {
    if (this.#noted.has(keyId)) return;
    this.#noted.set(keyId, true);
    this.#gathered.add(keyId);
    this.#timer ??= setTimeout(() => void this.#tell(), GATHER_MS).unref();
  }

  /** Reports what is still gathered. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#tell();
  }

  async #tell(): Promise<void> {
    this.#timer = undefined;
    const keyIds = [...this.#gathered];
    this.#gathered.clear();
    if (keyIds.length === 0) return;
    try {
      await this.#connections.borrow({ caller: "" }, (connection) =>
        connection.run({ text: "select app_private.note_key_uses($1)", values: [keyIds] }),
      );
    } catch {
      // The database is down, which is reported elsewhere; the next use is reported again.
      for (const keyId of keyIds) this.#noted.delete(keyId);
    }
  }
}
