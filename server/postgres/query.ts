// A statement and the settings that it runs under, in one round trip and one transaction: the settings end with it.
// They need no session of their own, so a pooler may give every transaction another connection.
import pg from "pg";
import type { Position } from "./positions.ts";

/** The internals of node-postgres that its types do not declare. */
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

/** The statement sent ahead of each query; its $1 is built from the settings, by name. */
export type Preface = Readonly<{
  name: string;
  text: string;
  valueOf: (settings: Readonly<Record<string, string>>, position?: Position) => string;
}>;

/** Applies settings. */
export const SETTINGS: Preface = {
  name: "settings",
  text: "select set_config(key, value, true) from json_each_text($1)",
  valueOf: (settings) => JSON.stringify(settings),
};

/** The same on a replica; with a position, only if it is a replica of that database and has reached it. */
export const SETTINGS_AT: Preface = {
  name: "settings_at",
  text: "select set_config(key, value, true) from json_each_text(app_private.at_position($1))",
  valueOf: (settings, position) => JSON.stringify({ settings, position }),
};

/** A preface with its $1. */
type Applied = Readonly<{ preface: Preface; value: string }>;

/** Further options of a query. */
export type Surroundings = {
  /** A prepared statement to close on the connection. */
  forget?: string | undefined;
  /** Called with the bytes of each row. If it throws, the query fails so, and no more rows are kept. */
  onRow?: ((bytes: number) => void) | undefined;
};

/** A query sent right after its settings, before the same Sync. */
export class QueryUnder extends Query {
  readonly #settings: Applied | null;
  readonly #isPrepared: boolean;
  readonly #around: Surroundings;
  readonly #refused: { error?: Error };
  #isSettled: boolean;

  /**
   * @param settings sent ahead of it; null: nothing, as for ending a transaction that has failed
   * @param isPrepared whether the settings statement is prepared on the connection; if not, it is parsed
   */
  constructor(
    config: pg.QueryConfig,
    settings: Applied | null,
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

  /** Whether the settings have been applied, so that the statement itself has begun. */
  get hasBegun(): boolean {
    return this.#isSettled;
  }

  override prepare(connection: Wire): void {
    const { forget } = this.#around;
    // Before anything that can fail, because the server skips what follows an error.
    if (forget !== undefined) {
      connection.close({ type: "S", name: forget });
      delete connection.parsedStatements[forget];
    }
    if (this.#settings === null) return super.prepare(connection);
    const { preface, value } = this.#settings;
    const name = this.#isPrepared ? preface.name : "";
    if (!this.#isPrepared) connection.parse({ text: preface.text, name });
    connection.bind({ portal: "", statement: name, values: [value] });
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
