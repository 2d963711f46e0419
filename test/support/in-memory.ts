// Temporary files of tests are databases and stores, which write through to the disk as often as they should. Nothing of
// them has to survive the machine, so they are kept in its memory, where there is plenty: that takes half of the time.
import { chmod, mkdir, readdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

const MEMORY = "/dev/shm";
const NAME = /^engagement-tests-(\d+)$/;
const GIGABYTE = 2 ** 30;

/**
 * Moves them there, for this process and those that it starts.
 * @returns the folder to remove in the end; undefined if they stay where they would be
 */
export async function keepTemporaryFilesInMemory(): Promise<string | undefined> {
  if ((await freeBytes()) < 4 * GIGABYTE || process.availableMemory() < 8 * GIGABYTE) return undefined;
  await removeRemains();
  const folder = join(MEMORY, `engagement-tests-${process.pid}`);
  await mkdir(folder);
  // PostgreSQL, which does not run as root, enters it too.
  await chmod(folder, 0o755);
  process.env["TMPDIR"] = folder;
  return folder;
}

async function freeBytes(): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(MEMORY);
    return bavail * bsize;
  } catch {
    // Not on this system.
    return 0;
  }
}

/** Of runs that were killed. What still runs in such a folder ends without it. */
async function removeRemains(): Promise<void> {
  for (const name of await readdir(MEMORY)) {
    const [, pid] = NAME.exec(name) ?? [];
    if (pid && !isAlive(Number(pid))) await rm(join(MEMORY, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
