import pg from "pg";

const { DATE, TIMESTAMP, TIMESTAMPTZ } = pg.types.builtins;

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
