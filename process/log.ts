// Keeps texts that users wrote into records, mails or requests out of the logs. Errors quote such texts in
// their messages, details and causes, so only what is listed here is logged of an error. No log level shows
// more: what is logged only to find a fault stays in the log afterwards.
import pg from "pg";
import { pino } from "pino";
import type { Logger } from "pino";
import { OtherNames } from "../db/settings.ts";
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

/** In characters: how much of what cannot be written is kept until it can. */
const KEPT = 1_000_000;

/**
 * The log of a process, which neither ends nor waits because a disk is full, or a reader gone or blocked.
 * @param to standard output (1) or standard error (2)
 */
export function openLog(level: string, to: 1 | 2): Logger {
  const options = { dest: to, sync: true, maxLength: KEPT, retryEAGAIN: () => false };
  const destination = pino.destination(options);
  destination.on("error", () => undefined);
  return pino({ level }, destination);
}

/** The same for a service's other output. Not for a command, which fails if its answer cannot be written. */
export function outliveOutputs(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

/**
 * A logger that leaves out the texts of errors.
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
  // The stack begins with the message, which may have lines that look like frames.
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

/** A SQLSTATE, ECONNREFUSED, need_not_found, a mail server's 550 or a store's 400; never a text. */
function shortCode(error: Error): string | undefined {
  const { code, responseCode, status } = error as Error & Record<string, unknown>;
  const codes = [code, responseCode, status].filter(
    (each) => typeof each === "number" || (typeof each === "string" && /^\w{1,50}$/.test(each)),
  );
  return codes.length > 0 ? codes.join(" ") : undefined;
}

/** Where it happened, by names of the schema; `detail`, `where` and `internalQuery` quote rows and values. */
function placeInDatabase(error: pg.DatabaseError): Record<string, string> {
  const { severity, schema, table, column, constraint, routine } = error;
  const named = Object.entries({ severity, schema, table, column, constraint, routine });
  return Object.fromEntries(named.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

// PostgreSQL's messages on connections, transactions, permissions, resources, interventions and system limits
// name roles, tables and constraints. Not 22 and P0, which quote values; not 42601, which quotes searches.
const ABOUT_THE_DATABASE = /^(08|23|25|28|40|42(?!601)|53|55|57|58)/;

function harmlessPart(error: Error): string | undefined {
  if (error instanceof pg.DatabaseError)
    return ABOUT_THE_DATABASE.test(error.code ?? "") ? error.message : undefined;
  // Our own text ends at the colon, where the store's begins.
  if (error instanceof GraphUnavailable) return error.message.split(":", 1)[0];
  // Addresses that are no secret, and nobody would find the variable without them.
  if (error instanceof OtherNames) return error.message;
  // Errors of the system and of the store's client name only an address, a port, a time limit.
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall !== undefined || (typeof code === "string" && code.startsWith("UND_ERR"))) return error.message;
  return undefined;
}
