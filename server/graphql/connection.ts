// Limits how much of the database one request may use: one connection, however many fields it asks for; as
// much time in all as one statement may take; and as many bytes of rows as an answer may have.
import type pg from "pg";
import type { PgClient, PgClientQuery } from "postgraphile/@dataplan/pg";
import { ApiError } from "../errors.ts";
import type { Repeatable } from "../repeatable.ts";
import type { Lender, Lent as Connection } from "../postgres/reads.ts";
import { StatementTimeout } from "../postgres/unavailable.ts";

const CONTAINS = " @> ";
/** Idempotency keys and stored answers are accessed as the server, not in the caller's role. */
const AS_SERVER = { role: "none" };
/**
 * The part of its time that a request gets if it is one transaction, whose locks others wait for to the end.
 */
const WHOLE = 1 / 5;

/** A borrowed connection, and how many calls are using it. */
type Lent = { connection: Promise<Connection>; users: number };

/** The connection of one request: borrowed only while it is in use, and running one statement at a time. */
export class RequestConnection {
  #connections: Lender;
  readonly #caller: string;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #stopping = new AbortController();
  #stopped: Error | undefined;
  #msLeft: number;
  #tookMs = 0;
  #countTaken: (tookMs: number) => void = () => undefined;
  readonly #answerMaxBytes: number;
  #bytesLeft: number;
  #lent: Lent | undefined;
  #isWhole = false;
  #failed: Error | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * @param caller the caller whose share of the connections it uses
   * @param settings that its statements run under, such as the role
   * @param answerMaxBytes how many bytes of rows it may read, which is about the size of its answer
   */
  constructor(
    connections: Lender,
    caller: string,
    settings: Readonly<Record<string, string>>,
    answerMaxBytes: number,
  ) {
    this.#connections = connections;
    this.#caller = caller;
    this.#settings = settings;
    this.#answerMaxBytes = answerMaxBytes;
    this.#bytesLeft = answerMaxBytes;
    this.#msLeft = connections.timeoutMs;
  }

  /** Divides the bytes that may be read by how often the answer repeats parts of them, at most. */
  repeats(copies: number): void {
    this.#bytesLeft = this.#answerMaxBytes / copies;
  }

  /**
   * Counts one request for every `msPerRequest` milliseconds that its statements have taken in all.
   * @param counted how many requests it has already been counted as
   * @param count called with the number of further requests
   */
  countTime(msPerRequest: number, counted: number, count: (requests: number) => void): void {
    this.#countTaken = (tookMs) => {
      const further = Math.ceil(tookMs / msPerRequest) - counted;
      if (further <= 0) return;
      counted += further;
      count(further);
    };
  }

  /** Takes connections from another lender; to be called before the first statement. */
  askInstead(connections: Lender): void {
    this.#connections = connections;
  }

  /** Cancels the running statement, and refuses further ones. */
  stop(reason: Error): void {
    this.#stopped ??= reason;
    this.#stopping.abort();
  }

  /** Calls `work` with the connection, which concurrent calls share. */
  use<T>(work: (client: PgClient) => T | Promise<T>): Promise<T> {
    return this.#lend((connection) => work(this.#clientOn(connection)));
  }

  /**
   * Answers a request once: everything that uses the connection meanwhile is part of one transaction, which
   * also stores the answer. A repetition of the request gets the stored answer.
   * @param work makes the answer; if it throws, nothing is done
   * @throws what `work` and PostgreSQL throw; ApiError 409 for a key that was used for another request
   */
  once({ key, request }: Repeatable, work: () => Promise<string>): Promise<string> {
    return this.#lend(async (connection) => {
      const run = (text: string, values: unknown[] = []) =>
        this.#inTurn(() => this.#run<{ answer: string | null }>(connection, { text, values }, AS_SERVER));
      await run("begin");
      this.#isWhole = true;
      try {
        const { rows } = await run(
          "select app_private.recall_answer($1, $2, app_private.request_fingerprint($3, nullif($4, '')::jsonb)) as answer",
          [this.#caller, key, JSON.stringify(request), this.#settings["app.person"]],
        );
        let answer = rows[0]?.answer ?? undefined;
        if (answer === undefined) {
          this.#msLeft *= WHOLE;
          await run("set constraints all deferred");
          answer = await work();
          // Not at commit, which no time limit would end.
          await this.#inTurn(() => this.#run(connection, { text: "set constraints all immediate" }));
          await run("select app_private.keep_answer($1, $2, $3)", [this.#caller, key, answer]);
        }
        await run("commit");
        return answer;
      } catch (error) {
        // If the rollback fails, the connection is closed, which has the same effect.
        await this.#inTurn(() => connection.run({ text: "rollback" }, null)).catch(() => undefined);
        throw error;
      }
    });
  }

  async #lend<T>(work: (connection: Connection) => T | Promise<T>): Promise<T> {
    const lent = (this.#lent ??= { connection: this.#borrow(), users: 0 });
    lent.users++;
    try {
      return await work(await lent.connection);
    } finally {
      if (--lent.users === 0) {
        this.#lent = undefined;
        await lent.connection.then(
          (connection) => connection.release(),
          () => undefined,
        );
      }
    }
  }

  #borrow(): Promise<Connection> {
    const borrower = {
      ...{ caller: this.#caller, gone: this.#stopping.signal },
      took: (ms: number) => this.#countTaken((this.#tookMs += ms)),
    };
    return this.#orStopped(this.#connections.take(borrower));
  }

  #clientOn(connection: Connection): PgClient {
    const query = <T>(statement: PgClientQuery) => this.#run<T & object>(connection, statement);
    const inTransaction: PgClient = { query, withTransaction: (work) => work(inTransaction) };
    return {
      query: <T>(statement: PgClientQuery) =>
        this.#inTurn(async () => {
          // No rest within a transaction: other requests may be waiting for its locks.
          if (!this.#isWhole) await this.#orStopped(connection.rest());
          return query<T>(statement);
        }),
      // Statements within already have the turn; waiting for another one would be a deadlock.
      withTransaction: (work) =>
        this.#inTurn(async () => {
          if (this.#isWhole) return work(inTransaction);
          await query({ text: "begin" });
          try {
            const value = await work(inTransaction);
            await query({ text: "commit" });
            return value;
          } catch (error) {
            await connection.run({ text: "rollback" }, null);
            throw error;
          }
        }),
    };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #run<T extends pg.QueryResultRow>(
    connection: Connection,
    { text, values, name, arrayMode }: PgClientQuery,
    role: Readonly<Record<string, string>> = {},
  ): Promise<pg.QueryResult<T>> {
    if (this.#failed) throw this.#failed;
    if (this.#msLeft < 1) throw new StatementTimeout();
    // A cached plan assumes average frequency for every code, and scans the whole table for one that no row
    // has. In a transaction, a prepared statement that a pooler has forgotten would be an error that ends it.
    const isPrepared = !this.#isWhole && !text.includes(CONTAINS);
    const query = {
      text,
      values,
      name: isPrepared ? name : undefined,
      ...(arrayMode && { rowMode: "array" }),
    };
    const settings = { ...this.#settings, ...role, statement_timeout: String(Math.ceil(this.#msLeft)) };
    const began = performance.now();
    try {
      return await this.#orStopped(connection.run<T>(query, settings, (bytes) => this.#count(bytes)));
    } catch (error) {
      // PostgreSQL refuses everything else in a failed transaction; callers should get the first error.
      if (this.#isWhole) this.#failed = error as Error;
      throw error;
    } finally {
      this.#msLeft -= performance.now() - began;
    }
  }

  /** Work that fails because it was stopped rejects with the reason for stopping. */
  async #orStopped<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw this.#stopped ?? error;
    }
  }

  #count(bytes: number): void {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft >= 0) return;
    this.stop(
      new ApiError("validation_failed", {
        message: "The answer would exceed the size limit; ask for less at once.",
      }),
    );
    throw this.#stopped;
  }
}
