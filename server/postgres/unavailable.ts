// What can go wrong between this process and PostgreSQL that is neither a rule's refusal nor the caller's fault.
import { DatabaseError } from "pg";

/** The database does not answer, or the connection to it broke. */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
  /** Whether a statement had been sent, so that it is unknown whether it took effect. */
  readonly isOutcomeUnknown: boolean;

  constructor(options: { cause?: unknown; isOutcomeUnknown?: boolean } = {}) {
    super("the database does not answer", { cause: options.cause });
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
  }
}

/** A caller waited for a connection in vain, because all are in use. */
export class ServiceBusy extends Error {
  override name = "ServiceBusy";
}

/** A statement exceeded its time limit as measured by this process; the database itself did not report it. */
export class StatementTimeout extends Error {
  override name = "StatementTimeout";
}

/** A replica that cannot be used, or not yet; the statement was not begun. The message is the reason. */
export class ReplicaUnfit extends Error {
  override name = "ReplicaUnfit";
  /** Whether it is only behind (db/rules/replicas.sql). */
  readonly isBehind: boolean;

  constructor(reason: string, options: { cause?: unknown; isBehind?: boolean } = {}) {
    super(reason, { cause: options.cause });
    this.isBehind = options.isBehind ?? false;
  }
}

/** The caller has hung up, so there is nobody to answer. */
export class CallerGone extends Error {
  override name = "CallerGone";
}

// Connection failures, resources that ran out, shutdowns; a server that only reads, as after a failover; and
// transactions that can simply be tried again.
const SICK = /^(08|53|57P|25006|40)/;
// Of these, the ones after which the connection itself is unusable.
const LOST = /^(08|57P)/;

/** Whether an error of PostgreSQL, or of a pooler in front of it, says that it cannot serve anybody now. */
export function isSick(error: DatabaseError): boolean {
  return SICK.test(error.code ?? "");
}

/** Whether the connection that an error came over must not be reused, and the outcome is unknown. */
export function isLost(error: DatabaseError): boolean {
  return error.severity === "FATAL" || LOST.test(error.code ?? "");
}
