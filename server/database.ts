// How doors query PostgreSQL: with a single statement, which runs under the caller's role.
import { traceParent } from "../process/tracing.ts";
import type { Identity } from "./identity/identity.ts";
import type { Connections } from "./postgres/connections.ts";
import { Reads } from "./postgres/reads.ts";
import type { Lender } from "./postgres/reads.ts";
import type { Repeatable } from "./repeatable.ts";
import { currentRequest } from "./request-context.ts";

/** Runs statements on behalf of a caller. */
export class Database {
  readonly #connections: Connections;
  readonly #reads: Reads;

  /** @param reads where statements run that only read; by default where all others do */
  constructor(connections: Connections, reads = new Reads(connections)) {
    this.#connections = connections;
    this.#reads = reads;
  }

  /**
   * Runs one statement in one round trip, as the caller's role (app_private.run_as).
   * @param statement SQL that returns one text; its $1 is `input` as jsonb
   * @param repeatable a request that, if repeated with its key, gets the first answer again
   * @returns the text, usually JSON to be passed on unchanged; null when there was no row
   * @throws what PostgreSQL raised, and what Connections throw; apiErrorFrom turns it into what callers are
   * told
   */
  answer(
    identity: Identity,
    statement: string,
    input: Record<string, unknown> = {},
    repeatable?: Repeatable,
  ): Promise<string | null> {
    return ask(this.#connections, identity, statement, input, repeatable);
  }

  /**
   * The same for a statement that only reads, perhaps on a replica that has all that was acknowledged before.
   */
  read(identity: Identity, statement: string, input: Record<string, unknown> = {}): Promise<string | null> {
    return ask(this.#reads.begin(), identity, statement, input);
  }

  /**
   * The same for a text in pieces, one per row: processing a long text at once would block the event loop.
   */
  readPieces(identity: Identity, statement: string, input: Record<string, unknown>): Promise<string[]> {
    return askPieces(this.#reads.begin(), identity, statement, input);
  }
}

async function ask(
  lender: Lender,
  identity: Identity,
  statement: string,
  input: Record<string, unknown>,
  repeatable?: Repeatable,
): Promise<string | null> {
  const pieces = await askPieces(lender, identity, statement, input, repeatable);
  return pieces[0] ?? null;
}

async function askPieces(
  lender: Lender,
  identity: Identity,
  statement: string,
  input: Record<string, unknown>,
  repeatable?: Repeatable,
): Promise<string[]> {
  const connection = await lender.take({ caller: identity.id, gone: identity.gone });
  try {
    const { rows } = await connection.run<{ answer: string | null }>({
      name: "run_as",
      text: "select app_private.run_as($1, $2, $3, $4, $5, $6, $7, $8, $9) as answer",
      values: [
        identity.role,
        statement,
        JSON.stringify(input),
        identity.keyId ?? null,
        repeatable?.key ?? null,
        currentRequest()?.id ?? null,
        traceParent() ?? null,
        identity.person ? JSON.stringify(identity.person) : null,
        repeatable ? JSON.stringify(repeatable.request) : null,
      ],
    });
    return rows.flatMap(({ answer }) => answer ?? []);
  } finally {
    connection.release();
  }
}
