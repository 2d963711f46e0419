// One process at a time may use a store directory; the others can find out where it is being served.
import { hash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { chmod, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, Server } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PRIVATE_DIRECTORY, PRIVATE_FILE } from "./files.ts";

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
  password: string;
}

/** Where a directory is being served, and the password for it. */
export interface Address {
  /** without credentials */
  url: string;
  password: string;
}

// Any user of the machine can reach the port; only the one who may read the directory knows the password.
const USER = "embedded";

const FILE = "server.json";
/** The path at which the server of a directory states its own name. */
export const PROBE_PATH = "/instance";
const SETTLE_MS = 30;
const PROBE_TIMEOUT_MS = 2_000;

/**
 * Claims a directory for a server that already listens at `url`. A claim is valid as long as its server
 * answers with its own name, so a process that was killed leaves nothing to clean up.
 * @param password that requests must carry (see isAllowed)
 * @throws StoreInUse
 */
export async function lockDirectory(
  dir: string,
  { url, password }: Address,
  server: Server,
): Promise<{ release(): Promise<void> }> {
  const instance = randomUUID();
  server.on("request", (request, response) => {
    // The name is secret too: a process that knew it could listen at the same port
    // later, and be taken for the store.
    if (request.url === PROBE_PATH) response.end(isAllowed(request, password) ? instance : "");
  });
  await mkdir(dir, { recursive: true, mode: PRIVATE_DIRECTORY });
  await chmod(dir, PRIVATE_DIRECTORY);
  const path = join(dir, FILE);
  const draft = `${path}.${instance}`;
  await writeFile(draft, JSON.stringify({ url, instance, password } satisfies Holder), {
    mode: PRIVATE_FILE,
  });
  try {
    for (;;) {
      // Unlike writing, linking creates the file complete with its content or not at all.
      if (await linked(draft, path)) break;
      const holder = await findHolder(dir);
      if (holder) throw new StoreInUse(holder.url);
      await rm(path, { force: true });
    }
  } finally {
    await rm(draft, { force: true });
  }
  // Two processes that found the same dead claim may each have removed the
  // other's: the last one to claim wins.
  await sleep(SETTLE_MS);
  const holder = await findHolder(dir);
  if (holder?.url !== url) throw new StoreInUse(holder?.url ?? "an address of its own");
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

export function createPassword(): string {
  return randomBytes(32).toString("base64url");
}

/** Whether a request carries the password. */
export function isAllowed(request: IncomingMessage, password: string): boolean {
  return timingSafeEqual(digest(request.headers.authorization ?? ""), digest(authorization(password)));
}

/** The URL with the credentials in front of the host, as clients of a graph store take it. */
export function withCredentials({ url, password }: Address): string {
  const full = new URL(url);
  full.username = USER;
  full.password = password;
  return full.href.replace(/\/$/, "");
}

function authorization(password: string): string {
  return `Basic ${Buffer.from(`${USER}:${password}`).toString("base64")}`;
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** Where the directory is being served, if it is. */
export async function findHolder(dir: string): Promise<Address | undefined> {
  try {
    const { url, instance, password } = JSON.parse(await readFile(join(dir, FILE), "utf8")) as Holder;
    const answer = await fetch(url + PROBE_PATH, {
      headers: { authorization: authorization(password) },
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    return (await answer.text()) === instance ? { url, password } : undefined;
  } catch {
    return undefined;
  }
}
