// PostGraphile's way to the database: one connection a request. Which request a statement belongs to is told by the
// settings object, which PostGraphile passes on from the request's context to each statement, always the same one.
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
   * @param answerMaxBytes of one answer
   * @param reads where queries are asked; by default where all else is
   */
  constructor(connections: Connections, answerMaxBytes: number, reads = new Reads(connections)) {
    this.#connections = connections;
    this.#reads = reads;
    this.#answerMaxBytes = answerMaxBytes;
  }

  /** Begins a request, whose statements end when its caller hangs up. Its connection is found by what this returns. */
  begin({ id, role, keyId = "", person }: Identity, response: ServerResponse): Settings {
    const settings = {
      // All that the database is told about a caller; what that one may do is decided there.
      role,
      // To compile a statement that runs for milliseconds takes longer than it does.
      jit_optimize_above_cost: "-1",
      // Of what came in all at once the planner takes thousands for one until statistics are made, and would compare each with
      // each. Without a copy of them to do so from, that costs it as often reading a table, whose size it always knows.
      enable_material: "off",
      // Who says who is acting (db/rules/identity.sql), and what the histories remember (db/migrations/0044_trail.sql).
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

  /** Has a request that only reads do so where there is the least to do. */
  readsOnly(settings: Settings): void {
    this.of(settings).askInstead(this.#reads.begin());
  }

  /** @throws for settings that are of no request: a statement without anybody who answers for it */
  of(settings: Settings): RequestConnection {
    const connection = this.#begun.get(settings);
    if (!connection) throw new Error("A statement has to belong to a request.");
    return connection;
  }

  /** @param pool for what PostGraphile asks on its own behalf: what there is in the database */
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
              : // Nobody gets at the connection itself, past its turns and bounds.
                this.of(settings).use((client) => work(client as NodePostgresPgClient));
        },
      },
    };
  }
}

/**
 * For what only reads: PostGraphile gives a connection back to the pool as good that is about to break.
 * @throws what PostgreSQL raised; DatabaseUnavailable where the second connection is lost as well
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
