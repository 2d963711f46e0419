// Where a request reads: from the replica, if there is one and it has everything that was acknowledged
// before; otherwise from the primary. A read that fails on the replica is repeated on the primary, which is
// safe as it changes nothing.
import { DatabaseError } from "pg";
import type pg from "pg";
import type { Borrower, BorrowedConnection, Connections } from "./connections.ts";
import type { Position } from "./positions.ts";
import type { Replica } from "./replica.ts";
import { DatabaseUnavailable, isSick, ReplicaUnfit } from "./unavailable.ts";

type Place = "primary" | "replica";

/** A connection while it is lent. */
export type Lent = Pick<BorrowedConnection, "run" | "rest" | "release">;

/** Lends connections. */
export type Lender = {
  readonly timeoutMs: number;
  take: (borrower: Borrower) => Promise<Lent>;
};

// Errors of a statement that only a primary can run, and PostgreSQL's internal errors.
const NOT_HERE = /^(55000|XX)/;

/** The reads of a server process. */
export class Reads {
  readonly #primary: Connections;
  readonly #replica: Replica | undefined;
  #told: (place: Place) => void = () => undefined;

  constructor(primary: Connections, replica?: Replica) {
    this.#primary = primary;
    this.#replica = replica;
  }

  /** Reports for each statement where it was answered. */
  onRead(told: (place: Place) => void): void {
    this.#told = told;
  }

  /** Lends the connections of one request. Once it has read from the primary, it never sees older data. */
  begin(): Lender {
    const replica = this.#replica;
    if (!replica) return this.#counted("primary", this.#primary);
    let finding: Promise<Position | undefined> | undefined;
    return {
      timeoutMs: this.#primary.timeoutMs,
      take: async (borrower) => {
        finding ??= replica.ready();
        const position = await finding;
        const fromPrimary = () => {
          finding = Promise.resolve(undefined);
          return this.#counted("primary", this.#primary).take(borrower);
        };
        if (!position) return fromPrimary();
        try {
          const lent = await this.#counted("replica", replica.connections).take({ ...borrower, position });
          return new Replaceable(lent, replica, fromPrimary);
        } catch (error) {
          if (!isForPrimary(error, replica)) throw error;
          return fromPrimary();
        }
      },
    };
  }

  #counted(place: Place, connections: Connections): Lender {
    const told = () => this.#told(place);
    return {
      timeoutMs: connections.timeoutMs,
      take: async (borrower) => {
        const connection = await connections.take(borrower);
        return {
          run: async (...args) => {
            const result = await connection.run<never>(...args);
            told();
            return result;
          },
          rest: () => connection.rest(),
          release: () => connection.release(),
        };
      },
    };
  }
}

/** Stands in after the replica's connection was given back, while there is none to the primary. */
const NONE: Lent = {
  run: () => Promise.reject(new DatabaseUnavailable()),
  rest: () => Promise.resolve(),
  release: () => undefined,
};

/** A connection to the replica, until it is exchanged for one to the primary. */
class Replaceable implements Lent {
  #lent: Lent;
  #isReplica = true;
  readonly #replica: Replica;
  readonly #fromPrimary: () => Promise<Lent>;

  constructor(lent: Lent, replica: Replica, fromPrimary: () => Promise<Lent>) {
    this.#lent = lent;
    this.#replica = replica;
    this.#fromPrimary = fromPrimary;
  }

  async run<R extends pg.QueryResultRow>(
    query: pg.QueryConfig,
    settings?: Readonly<Record<string, string>> | null,
    onRow?: (bytes: number) => void,
  ): Promise<pg.QueryResult<R>> {
    let read = 0;
    const count = (bytes: number) => {
      read += bytes;
      onRow?.(bytes);
    };
    try {
      return await this.#lent.run<R>(query, settings, count);
    } catch (error) {
      if (!this.#isReplica || !isForPrimary(error, this.#replica)) throw error;
    }
    // The rows that were counted so far come again.
    onRow?.(-read);
    this.#isReplica = false;
    this.#lent.release();
    this.#lent = NONE;
    this.#lent = await this.#fromPrimary();
    return this.#lent.run<R>(query, settings, onRow);
  }

  rest(): Promise<void> {
    return this.#lent.rest();
  }

  release(): void {
    this.#lent.release();
  }
}

/** Whether to repeat a failed read on the primary. An unusable replica is passed over from now on. */
function isForPrimary(error: unknown, replica: Replica): boolean {
  if (error instanceof ReplicaUnfit && error.isBehind) {
    replica.forget();
    return true;
  }
  if (error instanceof ReplicaUnfit || error instanceof DatabaseUnavailable) {
    replica.passOver(error);
    return true;
  }
  return error instanceof DatabaseError && (isSick(error) || NOT_HERE.test(error.code ?? ""));
}
