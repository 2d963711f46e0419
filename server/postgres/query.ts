// A statement and the settings that it runs under, in one round trip and one transaction: the settings end with it.
// They need no session of their own, so a pooler may give every transaction another connection.
import pg from "pg";

/** What node-postgres does with a query, beyond what its types tell. */
type Wire = {
  parse: (message: { text: string; name: string }) => void;
  bind: (message: { portal: string; statement: string; values: unknown[] }) => void;
  execute: (message: { portal: string; rows: number }) => void;
  close: (message: { type: "S"; name: string }) => void;
  parsedStatements: Record<string, string>;
};
type Internals = {
  prepare(connection: Wire): void;
  handleDataRow(message: { length: number }): void;
  handleCommandComplete(message: unknown, connection: unknown): void;
};

const Query = pg.Query as unknown as new (
  config: pg.QueryConfig & { queryMode: "extended" },
  values: undefined,
  callback: (error: Error | null, result: pg.QueryResult) => void,
) => pg.Submittable & Internals;

/** The statement that applies settings, its $1, as JSON {name: value}. */
export const SETTINGS = {
  name: "settings",
  text: "select set_config(key, value, true) from json_each_text($1)",
} as const;

/** What else is to be done about a query. */
export type Surroundings = {
  /** A prepared statement that the connection can do without from now on. */
  forget?: string | undefined;
  /** Is told the bytes of each row. What it throws becomes the answer, and no more rows are kept. */
  onRow?: ((bytes: number) => void) | undefined;
};

/** A query that is preceded by its settings before the same Sync. */
export class QueryUnder extends Query {
  readonly #settings: string | null;
  readonly #isPrepared: boolean;
  readonly #around: Surroundings;
  readonly #refused: { error?: Error };
  #isSettled: boolean;

  /**
   * @param settings as JSON {name: value}; null: none, as for the end of a transaction that has failed
   * @param isPrepared whether SETTINGS is prepared on the connection; else it is parsed on the way
   */
  constructor(
    config: pg.QueryConfig,
    settings: string | null,
    isPrepared: boolean,
    callback: (error: Error | null, result: pg.QueryResult) => void,
    around: Surroundings = {},
  ) {
    const refused: { error?: Error } = {};
    super({ ...config, queryMode: "extended" }, undefined, (error, result) =>
      callback(refused.error ?? error, result),
    );
    this.#settings = settings;
    this.#isPrepared = isPrepared;
    this.#around = around;
    this.#refused = refused;
    this.#isSettled = settings === null;
  }

  override prepare(connection: Wire): void {
    const { forget } = this.#around;
    // Before anything that can fail, because the server skips what follows an error.
    if (forget !== undefined) {
      connection.close({ type: "S", name: forget });
      delete connection.parsedStatements[forget];
    }
    if (this.#settings === null) return super.prepare(connection);
    const name = this.#isPrepared ? SETTINGS.name : "";
    if (!this.#isPrepared) connection.parse({ text: SETTINGS.text, name });
    connection.bind({ portal: "", statement: name, values: [this.#settings] });
    connection.execute({ portal: "", rows: 0 });
    super.prepare(connection);
  }

  override handleDataRow(message: { length: number }): void {
    if (!this.#isSettled || this.#refused.error) return;
    try {
      this.#around.onRow?.(message.length);
      super.handleDataRow(message);
    } catch (error) {
      this.#refused.error = error as Error;
    }
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.#isSettled) super.handleCommandComplete(message, connection);
    else this.#isSettled = true;
  }
}
