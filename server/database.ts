// A door asks PostgreSQL with a single statement, which runs under the caller's role.
import { traceParent } from "../process/tracing.ts";
import type { Identity } from "./identity/identity.ts";
import type { Connections } from "./postgres/connections.ts";
import { currentRequest } from "./request-context.ts";

/** Runs statements on behalf of a caller. */
export class Database {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /**
   * Runs one statement in one round trip, as the caller's role (app_private.run_as).
   * @param statement SQL that returns one text; its $1 is `input` as jsonb
   * @param idempotencyKey a repetition with this key gets the first answer again
   * @returns the text, usually JSON to be passed on unchanged; null when there was no row
   * @throws what PostgreSQL raised, and what Connections throw; apiErrorFrom turns it into what callers are told
   */
  async answer(
    identity: Identity,
    statement: string,
    input: Record<string, unknown> = {},
    idempotencyKey?: string,
  ): Promise<string | null> {
    const { rows } = await this.#connections.borrow(
      { caller: identity.id, gone: identity.gone },
      (connection) =>
        connection.run<{ answer: string | null }>({
          name: "run_as",
          text: "select app_private.run_as($1, $2, $3, $4, $5, $6, $7, $8) as answer",
          values: [
            identity.role,
            statement,
            JSON.stringify(input),
            identity.keyId ?? null,
            idempotencyKey ?? null,
            currentRequest()?.id ?? null,
            traceParent() ?? null,
            identity.person ? JSON.stringify(identity.person) : null,
          ],
        }),
    );
    return rows[0]?.answer ?? null;
  }
}
