// Whether a URL leads to a database that the service can work with.
import pg from "pg";

/** PostgreSQL 15, as server_version_num writes it: it introduced security_invoker views. */
const OLDEST_VERSION = 150_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** The database cannot be reached or is too old; the message is one line without the password. */
class DatabaseUnusable extends Error {
  override name = "DatabaseUnusable";
}

/**
 * Asks a database for its version.
 * @throws DatabaseUnusable when it does not answer within ten seconds, refuses the login, or is older than 15
 */
export async function requireDatabase(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on("error", () => undefined);
  let version: number;
  try {
    await client.connect();
    const { rows } = await client.query<{ server_version_num: string }>("show server_version_num");
    version = Number(rows[0]?.server_version_num);
  } catch (error) {
    throw new DatabaseUnusable(`no database at ${place(connectionString)}: ${reason(error)}`, {
      cause: error,
    });
  } finally {
    await client.end().catch(() => undefined);
  }
  if (version < OLDEST_VERSION) {
    throw new DatabaseUnusable(
      `the database at ${place(connectionString)} is PostgreSQL ${Math.floor(version / 10_000)}; 15 or newer is needed`,
    );
  }
}

function place(connectionString: string): string {
  const { host, pathname } = new URL(connectionString);
  return `${host}${pathname}`;
}

// A name with several addresses fails once for each.
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join("; ");
  return error instanceof Error ? error.message.replace(/\s*\n\s*/g, " ") : String(error);
}
