// The SQL files of migrations and rules: which there are, and how one is executed.
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import pg from "pg";
import { passes } from "./patience.ts";

const INDEX = "index.sql";

/** The error with which PostgreSQL refuses a command that begins or ends a transaction within EXECUTE. */
const EXECUTE = { code: "0A000", routine: "exec_stmt_dynexecute" };

/** The database and this program do not match; the message says how. */
export class MigrationError extends Error {
  override name = "MigrationError";
}

/** The versions of the migrations in a folder, in order. */
export async function migrationsIn(folder: string): Promise<string[]> {
  return (await sqlFilesIn(folder)).map((file) => file.slice(0, -4)).toSorted();
}

/**
 * The files of rules in a folder, in the order of its index.
 * @throws MigrationError for a malformed line of the index, and if it does not name each file exactly once
 */
export async function rulesIn(folder: string): Promise<string[]> {
  const lines = (await readFile(join(folder, INDEX), "utf8")).split(/\r?\n/);
  const named = lines.flatMap((line, at) => {
    if (/^\s*(--.*)?$/.test(line)) return [];
    const [, file] = /^\\ir\s+(\S+)\s*$/.exec(line) ?? [];
    if (file === undefined) {
      throw new MigrationError(
        `db/rules/${INDEX}:${at + 1}: this must be \\ir and the name of a file: ${line}`,
      );
    }
    return [file];
  });
  const there = new Set((await sqlFilesIn(folder)).filter((file) => file !== INDEX));
  for (const file of named) {
    // A file that is named twice is missing the second time.
    if (!there.delete(file)) {
      throw new MigrationError(`db/rules/${INDEX} names ${file}, which is not there or was named before.`);
    }
  }
  if (there.size > 0) {
    throw new MigrationError(
      `db/rules/${INDEX} does not name ${[...there].join(", ")}: the rules there would not be applied.`,
    );
  }
  return named;
}

async function sqlFilesIn(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => /\.sql$/i.test(file));
  const shouted = files.find((file) => !file.endsWith(".sql"));
  if (shouted !== undefined) {
    throw new MigrationError(
      `db/${basename(folder)}/${shouted}: its name must end in .sql, in lower case, or it would not be applied.`,
    );
  }
  return files;
}

/**
 * Executes the SQL of a file within the caller's transaction, which it cannot end: if it were sent directly,
 * a commit in it would make everything before it permanent.
 * @param place the file's name, for messages
 * @throws MigrationError for an error of PostgreSQL, with its line; a temporary one (see passes) unchanged
 */
export async function carryOut(client: pg.ClientBase, place: string, sql: string): Promise<void> {
  await client.query("select set_config('engagement.sql', $1, true)", [sql]);
  await client
    .query("do $$ begin execute current_setting('engagement.sql'); end $$")
    .catch((error: unknown) => {
      if (!(error instanceof pg.DatabaseError) || passes(error)) throw error;
      const line = lineOf(error, sql);
      const isOfTransactions = error.code === EXECUTE.code && error.routine === EXECUTE.routine;
      const why = isOfTransactions
        ? "a file is carried out whole or not at all, so it must not contain begin, commit, rollback or savepoint"
        : error.message;
      throw new MigrationError(`${place}${line === undefined ? "" : `:${line}`}: ${why}`, { cause: error });
    });
}

/** The line of an error, in the file or in the body of a function in it, if PostgreSQL reports a position. */
function lineOf({ internalPosition, internalQuery = "" }: pg.DatabaseError, sql: string): number | undefined {
  const start = sql.indexOf(internalQuery);
  if (internalPosition === undefined || start === -1) return undefined;
  return sql.slice(0, start + Number(internalPosition)).split("\n").length;
}
