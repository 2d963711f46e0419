// Which key is calling. The database decides what it may do; here it is only looked up, and cached briefly.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ApiError } from "../errors.ts";
import type { Connections } from "../postgres/connections.ts";
import { Announcements } from "./announcements.ts";
import { KeyLookup } from "./lookup.ts";
import type { Key } from "./lookup.ts";
import { KeyUses } from "./uses.ts";

const REMEMBERED_KEYS = 10_000;
/**
 * How long a key is cached, valid or unknown, in case an announcement is lost unnoticed: by a connection that
 * was cut silently, or by a pooler.
 */
const REMEMBERED_MS = 5_000;

/** Looks up API keys and remembers them until the database says that one has changed. */
export class KeyRing {
  readonly #connections: Connections;
  readonly #lookup: KeyLookup;
  readonly #announcements: Announcements;
  readonly #uses: KeyUses;
  /** By hash, or by hash and address where the address matters. */
  readonly #known = new LRUCache<string, Key>({ max: REMEMBERED_KEYS, ttl: REMEMBERED_MS });
  readonly #unknown = new LRUCache<string, true>({ max: REMEMBERED_KEYS, ttl: REMEMBERED_MS });
  #isListening = false;
  #changes = 0;

  /**
   * @param parts.statements how many lookups may run at a time
   * @param parts.listenUrl leads directly to PostgreSQL
   */
  constructor(parts: { connections: Connections; statements: number; listenUrl: string }) {
    this.#connections = parts.connections;
    this.#lookup = new KeyLookup(parts.connections, parts.statements);
    this.#uses = new KeyUses(parts.connections);
    this.#announcements = new Announcements(parts.listenUrl, {
      changed: (keyId) => {
        this.#changes++;
        this.#unknown.clear();
        for (const [name, key] of this.#known) if (key.keyId === keyId) this.#known.delete(name);
      },
      listening: (isListening) => {
        this.#isListening = isListening;
        this.#known.clear();
        this.#unknown.clear();
      },
    });
  }

  /**
   * Starts listening for changed keys. Whenever that fails later on, every request queries the database.
   * @throws NotAnnounced when it fails now
   */
  start(): Promise<void> {
    return this.#announcements.start(this.#connections);
  }

  async stop(): Promise<void> {
    await this.#uses.stop();
    await this.#announcements.stop();
  }

  /**
   * @param address that the key is used from
   * @throws ApiError 401 invalid_api_key when the key is unknown, expired or revoked; 403 when it is not for this address
   */
  async identify(text: string, address: string): Promise<Key> {
    const key = await this.#find(hash("sha256", text, "base64"), address);
    if (!key) throw new ApiError("invalid_api_key");
    if (!key.isForAddress) throw new ApiError("key_not_for_address");
    this.#uses.note(key.keyId);
    return key;
  }

  async #find(hash: string, address: string): Promise<Key | undefined> {
    if (this.#unknown.has(hash)) return undefined;
    const here = `${hash} ${address}`;
    const known = this.#known.get(hash) ?? this.#known.get(here);
    if (known && (known.expiresAt === null || known.expiresAt > Date.now())) return known;
    const [wasListening, changes] = [this.#isListening, this.#changes];
    const key = await this.#lookup.find(hash, address);
    // A key that changed during the lookup must not be cached as it was before.
    if (wasListening && this.#isListening && changes === this.#changes) {
      if (key) this.#known.set(key.isForNetworks ? here : hash, key);
      else this.#unknown.set(hash, true);
    }
    return key;
  }
}
