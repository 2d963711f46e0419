import pg from "pg";

// Timestamps, dates and JSON leave the database as text: what PostgreSQL printed is what callers get.
const TEXT_TYPES: ReadonlySet<number> = new Set([
  pg.types.builtins.DATE,
  pg.types.builtins.TIMESTAMPTZ,
  pg.types.builtins.TIMESTAMP,
]);

/**
 * A connection pool whose lost connections are reported, not thrown.
 * @param connectionString a postgres:// URL
 * @param onError told of connections that broke while idle
 */
export function createPool(
  connectionString: string,
  options: pg.PoolConfig & { onError?: (error: Error) => void } = {},
): pg.Pool {
  const { onError = () => undefined, ...config } = options;
  const pool = new pg.Pool({
    connectionString,
    types: {
      getTypeParser: ((oid: number, format?: "text" | "binary") =>
        TEXT_TYPES.has(oid)
          ? (text: string) => text
          : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
    ...config,
  });
  pool.on("error", onError);
  pool.on("connect", (client) => client.on("error", onError));
  return pool;
}
