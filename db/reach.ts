// Whether a URL leads to a database that the service can work with.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import pg from "pg";

/** PostgreSQL 15, as server_version_num writes it: it introduced security_invoker views. */
const OLDEST_VERSION = 150_000;
const CONNECT_TIMEOUT_MS = 10_000;
const VERSION = "server_version_num";

/**
 * What the rules and the owner's programs rely on, and a database, a role, a locale or a replica may have otherwise. For callers
 * the server sets some of it with each statement as well (server/postgres/connections.ts), as it may change while the server runs.
 */
const NEEDED: Readonly<Record<string, string>> = {
  server_encoding: "UTF8",
  // In a Turkish locale it is another letter, and one e-mail address would be two.
  "lower('I')": "i",
  // In the locale C names in another case are not found, and erasing one cuts others that begin with it.
  "'É' ~* 'é'": "true",
  // After waiting for a lock, the rules look at what others have committed meanwhile.
  default_transaction_isolation: "read committed",
  // They wait as long as their statement may take; this would end them with an error.
  lock_timeout: "0",
  // Otherwise a caller is refused what a policy would decide.
  row_security: "on",
  // Otherwise no trigger runs.
  session_replication_role: "origin",
  // Other styles write time zones as abbreviations, which the worker cannot read again.
  DateStyle: "ISO",
  // How they read and write SQL.
  standard_conforming_strings: "on",
  array_nulls: "on",
  quote_all_identifiers: "off",
};

/** A setting, or what an expression yields. */
export type Setting = Readonly<{ name: string; setting: string }>;

/** Asks for the settings under which it runs. */
export const SETTINGS_ASKED = `select name, setting from pg_settings
  union all values ('lower(''I'')', lower('I')), ('''É'' ~* ''é''', ('É' ~* 'é')::text)`;

/** The first of these settings that is not as needed, in words; undefined if all are. */
export function unsuitable(settings: readonly Setting[]): string | undefined {
  const found = new Map(settings.map(({ name, setting }) => [name, setting]));
  for (const [name, needed] of Object.entries(NEEDED)) {
    // Behind a comma DateStyle says how dates are read that are not in ISO 8601.
    if (found.get(name)?.split(",", 1)[0] !== needed)
      return `${name} = ${found.get(name)}; it must be ${needed} for this login`;
  }
  return undefined;
}

/** How long a notification may take to arrive. */
const NOTIFY_TIMEOUT_MS = 10_000;

/**
 * The database cannot be reached, is too old, or is behind an unsuitable pooler; the message is one line
 * without the password.
 */
class DatabaseUnusable extends Error {
  override name = "DatabaseUnusable";
}

/**
 * Makes sure that a database is one that the service can work with.
 * @throws DatabaseUnusable when it does not answer within ten seconds, refuses the login, is older than 15, or has another
 *   setting or locale than the rules need
 */
export async function requireDatabase(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on("error", () => undefined);
  let settings: readonly Setting[];
  try {
    await client.connect();
    ({ rows: settings } = await client.query<Setting>(SETTINGS_ASKED));
  } catch (error) {
    throw new DatabaseUnusable(`no database at ${place(connectionString)}: ${reason(error)}`, {
      cause: error,
    });
  } finally {
    await client.end().catch(() => undefined);
  }
  const version = Number(settings.find(({ name }) => name === VERSION)?.setting);
  if (version < OLDEST_VERSION) {
    throw new DatabaseUnusable(
      `the database at ${place(connectionString)} is PostgreSQL ${Math.floor(version / 10_000)}; 15 or newer is needed`,
    );
  }
  const other = unsuitable(settings);
  if (other !== undefined)
    throw new DatabaseUnusable(`the database at ${place(connectionString)} has ${other}`);
}

/**
 * Makes sure that a connection keeps its session: a pooler in transaction mode loses the effect of LISTEN,
 * and leaves advisory locks to the next client.
 * @param sender URL through which the same database is reached otherwise
 * @throws DatabaseUnusable when a notification of the sender does not arrive within ten seconds
 */
export async function requireSession(connectionString: string, sender = connectionString): Promise<void> {
  const clients = [connectionString, sender].map((url) => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
    return client.on("error", () => undefined);
  });
  const [listening, notifying] = clients as [pg.Client, pg.Client];
  const channel = `session_${randomUUID().replaceAll("-", "")}`;
  try {
    for (const client of clients) await client.connect();
    const arrived = once(listening, "notification", { signal: AbortSignal.timeout(NOTIFY_TIMEOUT_MS) });
    arrived.catch(() => undefined);
    await listening.query(`listen ${channel}`);
    await notifying.query(`notify ${channel}`);
    await arrived;
  } catch (error) {
    const isLost = (error as { name?: unknown }).name === "AbortError";
    const why = isLost
      ? "a pooler in transaction mode stands before it, where a direct connection is needed" +
        (sender === connectionString ? "" : `; or it is another database than ${place(sender)}`)
      : reason(error);
    throw new DatabaseUnusable(`${place(connectionString)}: ${why}`, { cause: error });
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}

function place(connectionString: string): string {
  const { host, pathname } = new URL(connectionString);
  return `${host}${pathname}`;
}

// A host name with several addresses fails once for each.
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join("; ");
  return error instanceof Error ? error.message.replace(/\s*\n\s*/g, " ") : String(error);
}
