// Lookups of callers, in batches. What is requested while a statement is under way waits for the next one,
// which looks up all of it: many unknown keys, or sessions to check again, are few statements.
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
  /** Whether the address that it is used from matters. */
  isForNetworks: boolean;
  /** Whether it may be used from the address that was asked about. */
  isForAddress: boolean;
}>;

const AT_A_TIME = 500;

type Row = {
  question: number;
  key_id: string;
  scope: Scope;
  rate_per_minute: number | null;
  expires_at: string | null;
  is_for_networks: boolean;
  is_for_address: boolean;
};
type Question = { hash: string; address: string };
type Asked<Q, A> = PromiseWithResolvers<A | undefined> & { question: Q };

/** Looks up many things in one statement. */
export class Lookup<Q, A> {
  readonly #ask: (questions: readonly Q[]) => Promise<ReadonlyMap<number, A>>;
  readonly #statements: number;
  readonly #asked = new Map<string, Asked<Q, A>>();
  #running = 0;

  /**
   * @param ask answers questions by their index
   * @param statements how many may run at a time
   */
  constructor(ask: (questions: readonly Q[]) => Promise<ReadonlyMap<number, A>>, statements: number) {
    this.#ask = ask;
    this.#statements = statements;
  }

  /** Callers who ask for the same name before its statement has begun share the answer. */
  find(name: string, question: Q): Promise<A | undefined> {
    const asked = this.#asked.get(name) ?? { question, ...Promise.withResolvers<A | undefined>() };
    this.#asked.set(name, asked);
    if (this.#running < this.#statements) void this.#run();
    return asked.promise;
  }

  async #run(): Promise<void> {
    this.#running++;
    while (this.#asked.size > 0) {
      const batch = [...this.#asked.entries().take(AT_A_TIME)];
      for (const [name] of batch) this.#asked.delete(name);
      const questions = batch.map(([, asked]) => asked);
      try {
        const found = await this.#ask(questions.map(({ question }) => question));
        for (const [index, asked] of questions.entries()) asked.resolve(found.get(index));
      } catch (error) {
        for (const asked of questions) asked.reject(error);
      }
    }
    this.#running--;
  }
}

/** Looks up keys by their hashes in base64, and the addresses that they are used from. */
export class KeyLookup {
  readonly #connections: Connections;
  readonly #lookup: Lookup<Question, Key>;

  /** @param statements how many may run at a time */
  constructor(connections: Connections, statements: number) {
    this.#connections = connections;
    this.#lookup = new Lookup((questions) => this.#ask(questions), statements);
  }

  /** The live key with this hash, as it may be used from an address. */
  find(hash: string, address: string): Promise<Key | undefined> {
    const name = `${hash} ${address}`;
    return this.#lookup.find(name, { hash, address });
  }

  async #ask(questions: readonly Question[]): Promise<Map<number, Key>> {
    const { rows } = await this.#connections.borrow({ caller: "" }, (connection) =>
      connection.run<Row>({
        name: "authenticate",
        text: `select asked.number::integer - 1 as question, key.*
          from unnest($1::text[], $2::inet[]) with ordinality as asked (hash, address, number),
          app_private.authenticate(decode(asked.hash, 'base64'), asked.address) as key`,
        values: [questions.map(({ hash }) => hash), questions.map(({ address }) => address)],
      }),
    );
    return new Map(
      rows.map((row) => [
        row.question,
        Object.freeze({
          keyId: row.key_id,
          scope: row.scope,
          ratePerMinute: row.rate_per_minute,
          expiresAt: row.expires_at === null ? null : Date.parse(row.expires_at),
          isForNetworks: row.is_for_networks,
          isForAddress: row.is_for_address,
        }),
      ]),
    );
  }
}
