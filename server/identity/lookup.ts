// Looking keys up. Those that are asked for while a statement is under way wait for the next, which takes all of
// them, so that however many unknown keys are tried, they are few statements.
import type { choices } from "../../db/catalog.ts";
import type { Connections } from "../postgres/connections.ts";

/** The PostgreSQL role that a key acts in. */
export type Scope = (typeof choices)["api_keys.scope"][number];

/** A key as the database knows it. */
export type Key = Readonly<{
  keyId: string;
  scope: Scope;
  ratePerMinute: number | null;
  expiresAt: number | null;
}>;

const AT_A_TIME = 500;

type Row = {
  hash: string;
  key_id: string;
  scope: Scope;
  rate_per_minute: number | null;
  expires_at: string | null;
};
type Asked = PromiseWithResolvers<Key | undefined>;

/** Looks up keys by their hashes in base64. */
export class KeyLookup {
  readonly #connections: Connections;
  readonly #statements: number;
  readonly #asked = new Map<string, Asked>();
  #running = 0;

  /** @param statements how many may run at a time */
  constructor(connections: Connections, statements: number) {
    this.#connections = connections;
    this.#statements = statements;
  }

  /** The live key with this hash; those who ask for the same before it is looked up share the answer. */
  find(hash: string): Promise<Key | undefined> {
    const asked = this.#asked.get(hash) ?? Promise.withResolvers<Key | undefined>();
    this.#asked.set(hash, asked);
    if (this.#running < this.#statements) void this.#run();
    return asked.promise;
  }

  async #run(): Promise<void> {
    this.#running++;
    while (this.#asked.size > 0) {
      const batch = new Map(this.#asked.entries().take(AT_A_TIME));
      for (const hash of batch.keys()) this.#asked.delete(hash);
      try {
        const found = await this.#ask([...batch.keys()]);
        for (const [hash, asked] of batch) asked.resolve(found.get(hash));
      } catch (error) {
        for (const asked of batch.values()) asked.reject(error);
      }
    }
    this.#running--;
  }

  async #ask(hashes: string[]): Promise<Map<string, Key>> {
    const { rows } = await this.#connections.borrow({ keyId: "" }, (connection) =>
      connection.run<Row>({
        name: "authenticate",
        text: `select hash, key.* from unnest($1::text[]) as hash,
          app_private.authenticate(decode(hash, 'base64')) as key`,
        values: [hashes],
      }),
    );
    return new Map(
      rows.map((row) => [
        row.hash,
        Object.freeze({
          keyId: row.key_id,
          scope: row.scope,
          ratePerMinute: row.rate_per_minute,
          expiresAt: row.expires_at === null ? null : Date.parse(row.expires_at),
        }),
      ]),
    );
  }
}
