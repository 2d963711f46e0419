// A statement and the settings that it runs under, in one round trip and one transaction: the settings end with it.
// They need no session of their own, so a pooler may give every transaction another connection.
import pg from "pg";

/** What node-postgres does with a query, beyond what its types tell. */
type Wire = {
  parse: (message: { text: string; name: string }) => void;
  bind: (message: { portal: string; statement: string; values: unknown[] }) => void;
  execute: (message: { portal: string; rows: number }) => void;
};
type Internals = {
  prepare(connection: Wire): void;
  handleDataRow(message: unknown): void;
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

/** A query that is preceded by its settings before the same Sync. */
export class QueryUnder extends Query {
  readonly #settings: string;
  readonly #isPrepared: boolean;
  #isSettled = false;

  /**
   * @param settings as JSON {name: value}
   * @param isPrepared whether SETTINGS is prepared on the connection; else it is parsed on the way
   */
  constructor(
    config: pg.QueryConfig,
    settings: string,
    isPrepared: boolean,
    callback: (error: Error | null, result: pg.QueryResult) => void,
  ) {
    super({ ...config, queryMode: "extended" }, undefined, callback);
    this.#settings = settings;
    this.#isPrepared = isPrepared;
  }

  override prepare(connection: Wire): void {
    const name = this.#isPrepared ? SETTINGS.name : "";
    if (!this.#isPrepared) connection.parse({ text: SETTINGS.text, name });
    connection.bind({ portal: "", statement: name, values: [this.#settings] });
    connection.execute({ portal: "", rows: 0 });
    super.prepare(connection);
  }

  override handleDataRow(message: unknown): void {
    if (this.#isSettled) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.#isSettled) super.handleCommandComplete(message, connection);
    else this.#isSettled = true;
  }
}
