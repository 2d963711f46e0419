// Turns an error into one line for the operator.
import { DatabaseError } from "pg";

/** What is wrong, in one line; refusals and outages of the database in words. */
export function explain(error: unknown): string {
  const line = words(error)
    .replace(/\s*\n\s*/g, " ")
    .trim();
  return line || "something failed without saying why";
}

function words(error: unknown): string {
  // Connecting to a name with several addresses fails once for each.
  if (error instanceof AggregateError && !error.message) return error.errors.map(words).join("; ");
  if (error instanceof DatabaseError) return databaseWords(error);
  return error instanceof Error ? error.message || error.name : String(error);
}

function databaseWords(error: DatabaseError): string {
  switch (error.code) {
    case "3F000":
    case "42P01":
    case "42703":
    case "42883":
      return `The database does not have this program's schema (${error.message}); run npm run migrate.`;
    case "42501":
      return `The database role of DATABASE_URL may not do this: ${error.message}`;
    default:
      return error.message;
  }
}

/** The code of a refusal that the database raised (docs/errors.md), if it is one. */
export function refusalCode(error: unknown): string | undefined {
  return error instanceof DatabaseError && error.code?.startsWith("PT") ? error.detail : undefined;
}
