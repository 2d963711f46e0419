// PostGraphile's access to the database: one connection per request. A statement's request is found by its
// settings object: PostGraphile passes the one in the request's context, always the same, to each statement.
import type { ServerResponse } from "node:http";
import { DatabaseError } from "pg";
import type { Pool } from "pg";
import { makePgService } from "postgraphile/adaptors/pg";
import type { NodePostgresPgClient } from "postgraphile/@dataplan/pg/adaptors/pg";
import { traceParent } from "../../process/tracing.ts";
import type { Identity } from "../identity/identity.ts";
import type { Connections } from "../postgres/connections.ts";
import { Reads } from "../postgres/reads.ts";
import { CallerGone, DatabaseUnavailable } from "../postgres/unavailable.ts";
import { hungUp } from "../hang-up.ts";
import { currentRequest } from "../request-context.ts";
import { RequestConnection } from "./connection.ts";

/** What PostgreSQL is told about a request; PostGraphile calls it pgSettings. */
export type Settings = Record<string, string | undefined>;

type Work<T> = (client: NodePostgresPgClient) => T | Promise<T>;

/** The connections of the requests that are being answered. */
export class RequestConnections {
  readonly #connections: Connections;
  readonly #reads: Reads;
  readonly #answerMaxBytes: number;
  readonly #begun = new WeakMap<Settings, RequestConnection>();

  /**
   * @param answerMaxBytes the limit for one answer
   * @param reads where queries run; by default where everything else does
   */
  constructor(connections: Connections, answerMaxBytes: number, reads = new Reads(connections)) {
    this.#connections = connections;
    this.#reads = reads;
    this.#answerMaxBytes = answerMaxBytes;
  }

  /**
   * Begins a request; its statements are cancelled when its caller hangs up.
   * @returns settings that identify its connection
   */
  begin({ id, role, keyId = "", person }: Identity, response: ServerResponse): Settings {
    const settings = {
      // The database decides by role what a caller may do.
      role,
      // Optimizing compiled code takes longer than statements that run for milliseconds.
      jit_optimize_above_cost: "-1",
      // After a bulk load the planner takes thousands of rows for one until statistics are made, and would
      // compare every row with every other. Without a materialized copy, it has to price that as one scan of
      // the table per row, and it always knows the size of a table.
      enable_material: "off",
      // Who vouches for the actor (db/rules/identity.sql), and what the histories record
      // (db/migrations/0044_trail.sql).
      "app.key_id": keyId,
      "app.person": person ? JSON.stringify(person) : "",
      "app.request_id": currentRequest()?.id ?? "",
      "app.trace_parent": traceParent() ?? "",
    };
    const connection = new RequestConnection(this.#connections, id, settings, this.#answerMaxBytes);
    this.#begun.set(settings, connection);
    const gone = hungUp(response);
    const stop = () => connection.stop(new CallerGone());
    if (gone.aborted) stop();
    else gone.addEventListener("abort", stop, { once: true });
    return settings;
  }

  /** Sends the statements of a request that only reads to a replica, if one is up to date. */
  readsOnly(settings: Settings): void {
    this.of(settings).askInstead(this.#reads.begin());
  }

  /** @throws for settings of no request: every statement must have a caller */
  of(settings: Settings): RequestConnection {
    const connection = this.#begun.get(settings);
    if (!connection) throw new Error("A statement has to belong to a request.");
    return connection;
  }

  /** @param pool for PostGraphile's own queries, which introspect the database */
  service(pool: Pool): GraphileConfig.PgServiceConfiguration {
    const service = makePgService({ pool, schemas: ["app_public"], pubsub: false });
    const { createWithPgClient } = service.adaptor;
    return {
      ...service,
      adaptor: {
        ...service.adaptor,
        createWithPgClient: async (...options) => {
          const withOwnClient = await createWithPgClient(...options);
          return <T>(settings: Settings | null, work: Work<T>): Promise<T> =>
            settings === null
              ? onceMoreIfLost(() => withOwnClient(null, work))
              : // PostGraphile does not get the connection itself, or it could bypass its turns and bounds.
                this.of(settings).use((client) => work(client as NodePostgresPgClient));
        },
      },
    };
  }
}

/**
 * Repeats a read once if its connection is lost: PostGraphile may return a connection to the pool as good
 * that is about to break.
 * @throws what PostgreSQL raised; DatabaseUnavailable if the second connection is lost as well
 */
async function onceMoreIfLost<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
  }
  try {
    return await ask();
  } catch (cause) {
    throw cause instanceof DatabaseError ? cause : new DatabaseUnavailable({ cause });
  }
}
