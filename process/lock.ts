// Locks between processes that end with the process that holds them, however it ends. Node has no call for the
// operating system's file locks, but its SQLite does; nothing is ever stored in the file.
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const SQLITE_BUSY = 5;
const SQLITE_CANTOPEN = 14;

/** A held lock; releasing it twice does nothing. */
export type Lock = { release: () => void };

/** A lock file that cannot be opened, such as one of another user's; the message is for the operator. */
class LockError extends Error {
  override name = "LockError";
}

/**
 * Takes a lock on a file, which is created if absent and never removed.
 * @param mode any number of processes may hold it shared, only one exclusive
 * @param waitMs how long to wait for it; 0 asks once
 * @returns undefined if other processes held it all the time
 * @throws LockError when the file cannot be opened
 */
export async function takeLock(
  path: string,
  mode: "shared" | "exclusive",
  waitMs: number,
): Promise<Lock | undefined> {
  const deadline = performance.now() + waitMs;
  const file = await open(path);
  for (;;) {
    if (tryLock(file, mode)) {
      return {
        release: () => {
          if (file.isOpen) file.close();
        },
      };
    }
    if (performance.now() >= deadline) {
      file.close();
      return undefined;
    }
    await sleep(25);
  }
}

async function open(path: string): Promise<DatabaseSync> {
  try {
    await makeFolder(dirname(path));
    const file = new DatabaseSync(path);
    file.exec("pragma locking_mode = normal");
    return file;
  } catch (error) {
    throw new LockError(`DATA_DIR: ${dirname(path)} cannot be used: ${reason(error)}`, { cause: error });
  }
}

/** Without mkdir's recursion, which never ends in a folder where nothing can be created, such as /proc. */
async function makeFolder(path: string): Promise<void> {
  const make = () =>
    mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST" || !(await stat(path)).isDirectory()) throw error;
    });
  try {
    await make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await make();
  }
}

function reason(error: unknown): string {
  const { code, errcode } = error as NodeJS.ErrnoException & { errcode?: number };
  switch (errcode ?? code) {
    case "EACCES":
    case "EPERM":
    case SQLITE_CANTOPEN:
      return "this user may not write there";
    case "EROFS":
      return "it is on a file system that can only be read";
    case "ENOSPC":
      return "the disk is full";
    case "ENOENT":
      return "no folder can be made there";
    case "EEXIST":
    case "ENOTDIR":
      return "there is a file in its place";
    default:
      return (error as Error).message;
  }
}

function tryLock(file: DatabaseSync, mode: "shared" | "exclusive"): boolean {
  try {
    if (mode === "exclusive") file.exec("begin exclusive");
    else file.exec("begin; select count(*) from sqlite_schema");
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) {
      throw new LockError(`a lock could not be taken: ${(error as Error).message}`, { cause: error });
    }
    if (file.isTransaction) file.exec("rollback");
    return false;
  }
}
