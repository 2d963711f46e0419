// What may enter a log: nothing that somebody wrote into a record, a mail or a request. Errors quote such texts in their
// messages, details and causes, so of an error only what is listed here is logged. The whole of it is nowhere to be had
// at any level: what is only logged in search of a fault stays in the log.
import pg from "pg";
import { pino } from "pino";
import type { Logger } from "pino";
import { GraphUnavailable } from "../graph/store-errors.ts";

/** An error as it is logged. */
type LoggedError = {
  type: string;
  code?: string | undefined;
  message?: string | undefined;
  at?: string[];
  database?: Record<string, string>;
  cause?: LoggedError;
};

const DEEPEST_CAUSE = 4;

/** In characters, of what cannot be written: so much is written when there is room again. */
const KEPT = 1_000_000;

/**
 * The log of a process, which outlives it: a disk that is full, or a reader that has gone or stands still, is no reason to end
 * or to wait.
 * @param to the standard output or that of errors
 */
export function openLog(level: string, to: 1 | 2): Logger {
  const options = { dest: to, sync: true, maxLength: KEPT, retryEAGAIN: () => false };
  const destination = pino.destination(options);
  destination.on("error", () => undefined);
  return pino({ level }, destination);
}

/** The same for what a process that serves others writes besides its log. A command whose answer is not written has failed. */
export function outliveOutputs(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

/**
 * A logger that keeps the texts of errors to itself.
 * @param also fields for every line
 */
export function discreet(logger: Logger, also: () => Record<string, unknown> = () => ({})): Logger {
  return logger.child(
    {},
    {
      serializers: { err: (error: unknown) => loggedError(error) },
      formatters: { log: (fields) => ({ ...also(), ...fields }) },
    },
  );
}

function loggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error };
  const { cause, message, stack = "" } = error;
  // What is said comes before where it was, and may have lines that look like it.
  const said = stack.includes(message) ? stack.indexOf(message) + message.length : 0;
  const frames = stack
    .slice(said)
    .match(/^ {4}at .*$/gm)
    ?.map((frame) => frame.trim());
  return {
    type: error.constructor.name,
    code: shortCode(error),
    message: harmlessPart(error),
    ...(error instanceof pg.DatabaseError && { database: placeInDatabase(error) }),
    ...(frames && { at: frames }),
    ...(cause !== undefined && depth < DEEPEST_CAUSE && { cause: loggedError(cause, depth + 1) }),
  };
}

/** A SQLSTATE, ECONNREFUSED, need_not_found, the 550 of a mail server or the 400 of a store; never a text. */
function shortCode(error: Error): string | undefined {
  const { code, responseCode, status } = error as Error & Record<string, unknown>;
  const codes = [code, responseCode, status].filter(
    (each) => typeof each === "number" || (typeof each === "string" && /^\w{1,50}$/.test(each)),
  );
  return codes.length > 0 ? codes.join(" ") : undefined;
}

/** Where it happened, in names of the schema; `detail`, `where` and `internalQuery` quote rows and parameters. */
function placeInDatabase(error: pg.DatabaseError): Record<string, string> {
  const { severity, schema, table, column, constraint, routine } = error;
  const named = Object.entries({ severity, schema, table, column, constraint, routine });
  return Object.fromEntries(named.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

// Connections, transactions, permissions, resources, interventions, limits of the system: what PostgreSQL says of these
// names roles, tables and constraints. Not 22 and P0, which quote values, and not 42601, which quotes text searches.
const ABOUT_THE_DATABASE = /^(08|23|25|28|40|42(?!601)|53|55|57|58)/;

function harmlessPart(error: Error): string | undefined {
  if (error instanceof pg.DatabaseError)
    return ABOUT_THE_DATABASE.test(error.code ?? "") ? error.message : undefined;
  // Our own words end where the store's begin.
  if (error instanceof GraphUnavailable) return error.message.split(":", 1)[0];
  // What the system and the client of a store say of a connection: an address, a port, a time limit.
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall !== undefined || (typeof code === "string" && code.startsWith("UND_ERR"))) return error.message;
  return undefined;
}
