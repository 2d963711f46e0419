// One process at a time may use a store directory; the others can learn where it serves.
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rm } from "node:fs/promises";
import type { Server } from "node:http";
import { join } from "node:path";

/** Another process serves the directory. */
export class StoreInUse extends Error {
  override name = "StoreInUse";
  /** where it listens */
  readonly url: string;

  constructor(url: string) {
    super(`The graph store is in use by another process, which serves it at ${url}.`);
    this.url = url;
  }
}

interface Holder {
  url: string;
  instance: string;
}

const FILE = "server.json";
/** Where the server of a directory tells its own name. */
export const PROBE_PATH = "/instance";
const PROBE_TIMEOUT_MS = 2_000;

/**
 * Claims a directory for a server that already listens at `url`. A claim is alive as long as its server answers with
 * its own name, so a process that was killed leaves nothing to clean up.
 * @throws StoreInUse
 */
export async function lockDirectory(
  dir: string,
  url: string,
  server: Server,
): Promise<{ release(): Promise<void> }> {
  const instance = randomUUID();
  server.on("request", (request, response) => {
    if (request.url === PROBE_PATH) response.end(instance);
  });
  await mkdir(dir, { recursive: true });
  const path = join(dir, FILE);
  for (;;) {
    try {
      const file = await open(path, "wx", 0o600);
      await file.writeFile(JSON.stringify({ url, instance } satisfies Holder));
      await file.close();
      return { release: () => rm(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = await findHolder(dir);
    if (holder) throw new StoreInUse(holder);
    await rm(path, { force: true });
  }
}

/** Where the directory is being served, if it is. */
export async function findHolder(dir: string): Promise<string | undefined> {
  try {
    const { url, instance } = JSON.parse(await readFile(join(dir, FILE), "utf8")) as Holder;
    const answer = await fetch(url + PROBE_PATH, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    return (await answer.text()) === instance ? url : undefined;
  } catch {
    return undefined;
  }
}
