import pg from "pg";

const { DATE, TIMESTAMP, TIMESTAMPTZ } = pg.types.builtins;

/**
 * For the owner's programs, which wait for a graph store or a mail server and read large files: limits that an operator has set
 * for requests do not apply to them, and a time without an offset is in UTC. Releases differ in which limits they have.
 */
const UNHURRIED = `select set_config(name, case name when 'TimeZone' then 'UTC' else '0' end, false) from pg_settings
  where name in ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout',
    'TimeZone')`;

/** A pool for the role that owns the schema; see createPool. */
export function createOwnerPool(...[url, options]: Parameters<typeof createPool>): pg.Pool {
  // The pool waits for the promise, which its type leaves out.
  return createPool(url, { ...options, onConnect: (client): unknown => client.query(UNHURRIED) });
}

/**
 * A connection pool whose lost connections are reported, not thrown. Dates and times are returned as the text that
 * PostgreSQL prints, microseconds included.
 * @param connectionString a postgres:// URL
 * @param options.onError called when a connection breaks
 */
export function createPool(
  connectionString: string,
  options: pg.PoolConfig & { onError?: (error: Error) => void } = {},
): pg.Pool {
  const { onError = () => undefined, ...config } = options;
  const types = new pg.TypeOverrides();
  for (const type of [DATE, TIMESTAMP, TIMESTAMPTZ]) types.setTypeParser(type, (text) => text);
  const pool = new pg.Pool({ connectionString, types, ...config });
  pool.on("error", onError);
  pool.on("connect", (client) => client.on("error", onError));
  return pool;
}
