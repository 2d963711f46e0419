// The files of SQL that make a database what it is: which of them there are, and how one of them is carried out.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { passes } from "./patience.ts";

const INDEX = "index.sql";

/** What PostgreSQL was at when it refused a command that begins or ends a transaction. */
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
 * @throws MigrationError for a line of the index that says something else, and where it does not name just what is there
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
    // What is named twice is not there the second time.
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
  return (await readdir(folder)).filter((file) => file.endsWith(".sql"));
}

/**
 * Carries out what a file says, within the caller's transaction, which it cannot end: sent as it stands, a commit in it would,
 * and leave what came before for good.
 * @param place its name, for messages
 * @throws MigrationError for what PostgreSQL refuses, with its line; what passes by itself as it is
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
        ? "a file is carried out whole or not at all, so begin, commit, rollback and savepoint cannot stand in it"
        : error.message;
      throw new MigrationError(`${place}${line === undefined ? "" : `:${line}`}: ${why}`, { cause: error });
    });
}

/** The line at which PostgreSQL saw a mistake, if it says where: in the file, or in the body of a function in it. */
function lineOf({ internalPosition, internalQuery = "" }: pg.DatabaseError, sql: string): number | undefined {
  const start = sql.indexOf(internalQuery);
  if (internalPosition === undefined || start === -1) return undefined;
  return sql.slice(0, start + Number(internalPosition)).split("\n").length;
}
