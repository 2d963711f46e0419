// One process at a time may use a store directory; the others can find out where it is being served.
import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Another process is serving the directory. */
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
/** Where the server of a directory states its own name. */
export const PROBE_PATH = "/instance";
const SETTLE_MS = 30;
const PROBE_TIMEOUT_MS = 2_000;

/**
 * Claims a directory for a server that already listens at `url`. A claim is valid as long as its server answers with
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
  const draft = `${path}.${instance}`;
  await writeFile(draft, JSON.stringify({ url, instance } satisfies Holder), { mode: 0o600 });
  try {
    for (;;) {
      // Unlike writing, linking creates the file complete with its content or not at all.
      if (await linked(draft, path)) break;
      const holder = await findHolder(dir);
      if (holder) throw new StoreInUse(holder);
      await rm(path, { force: true });
    }
  } finally {
    await rm(draft, { force: true });
  }
  // Two processes that found the same dead claim may each have removed the other's: the last one to claim wins.
  await sleep(SETTLE_MS);
  const holder = await findHolder(dir);
  if (holder !== url) throw new StoreInUse(holder ?? "an address of its own");
  return { release: () => rm(path, { force: true }) };
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
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
