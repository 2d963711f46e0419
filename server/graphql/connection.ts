// What one request may use of the database: one connection, however many fields it asks for, as long as one statement
// may take, and as many bytes as an answer may have.
import type pg from "pg";
import type { PgClient, PgClientQuery } from "postgraphile/@dataplan/pg";
import { ApiError } from "../errors.ts";
import type { Repeatable } from "../repeatable.ts";
import type { Lender, Lent as Connection } from "../postgres/reads.ts";
import { StatementTimeout } from "../postgres/unavailable.ts";

const CONTAINS = " @> ";
/** Keys and answers are the server's own affair, which no caller's role has to do with. */
const AS_SERVER = { role: "none" };
/** Of the time of a request: others wait for what one has locked that is one transaction, until all that it asks for has been read. */
const WHOLE = 1 / 5;

/** A connection while it is borrowed, and how many ask something of it. */
type Lent = { connection: Promise<Connection>; users: number };

/** The connection of one request: borrowed while anything is asked of it, one statement after the other. */
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
   * @param caller whose share of the connections it is
   * @param settings under which its statements run, such as the role
   * @param answerMaxBytes how many bytes of rows it may read, which is about what its answer has
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

  /** Bounds what may be read to a share of what an answer may have, because parts of it come more than once. */
  repeats(copies: number): void {
    this.#bytesLeft = this.#answerMaxBytes / copies;
  }

  /**
   * Counts the request as one for each so many milliseconds that its statements take in all, as soon as they have.
   * @param counted how many it has been counted as before
   * @param count is told as how many more it counts
   */
  countTime(msPerRequest: number, counted: number, count: (requests: number) => void): void {
    this.#countTaken = (tookMs) => {
      const further = Math.ceil(tookMs / msPerRequest) - counted;
      if (further <= 0) return;
      counted += further;
      count(further);
    };
  }

  /** Has it ask somebody else from now on; before anything was asked. */
  askInstead(connections: Lender): void {
    this.#connections = connections;
  }

  /** Ends what is running, and refuses what would follow. */
  stop(reason: Error): void {
    this.#stopped ??= reason;
    this.#stopping.abort();
  }

  /** Calls something with the connection, which is shared by calls at the same time. */
  use<T>(work: (client: PgClient) => T | Promise<T>): Promise<T> {
    return this.#lend((connection) => work(this.#clientOn(connection)));
  }

  /**
   * Has a request answered once: what asks anything of the connection meanwhile is part of one transaction, with the keeping of
   * its answer, which whoever repeats the request gets.
   * @param work makes the answer; where it throws, nothing was done
   * @throws what the work and PostgreSQL throw; ApiError 409 for a key that another request had
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
          // And not with the commit, which no time limit ends.
          await this.#inTurn(() => this.#run(connection, { text: "set constraints all immediate" }));
          await run("select app_private.keep_answer($1, $2, $3)", [this.#caller, key, answer]);
        }
        await run("commit");
        return answer;
      } catch (error) {
        // Where that is not possible any more, the connection is closed, which has the same end.
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
          // Others may be waiting for what a transaction has locked.
          if (!this.#isWhole) await this.#orStopped(connection.rest());
          return query<T>(statement);
        }),
      // What is asked within has the turn already; to wait for one would be to wait for itself.
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
    // A plan that is kept takes each code for an average one, and goes through a whole table for one that nothing has. One that a
    // pooler has forgotten would end the transaction.
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
      // In a transaction that has failed nothing else can be asked, which is nothing that a caller should be told.
      if (this.#isWhole) this.#failed = error as Error;
      throw error;
    } finally {
      this.#msLeft -= performance.now() - began;
    }
  }

  /** What fails because it was stopped fails for the reason why it was. */
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
        message: "The answer would be larger than an answer may be; ask for less at once.",
      }),
    );
    throw this.#stopped;
  }
}
