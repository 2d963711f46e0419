// The embedded PostgreSQL and the embedded store of a data directory, and the processes that share them.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import pg from "pg";
import { startEmbeddedStore } from "../graph/embedded/index.ts";
import { joinEmbeddedPostgres, joinEmbeddedStore } from "../process/embedded.ts";
import { takeLock } from "../process/lock.ts";
import { eventually } from "./support/eventually.ts";
import { processesNaming } from "./support/process.ts";

const STORE = { queryTimeoutMs: 30_000 };

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "engagement-graph-parts-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("select");
    await client.end();
    return true;
  } catch {
    return false;
  }
}

test("PostgreSQL stops when the last one leaves who uses it, not earlier, and is not brought back then", async () => {
  const warnings: string[] = [];
  const failures: Error[] = [];
  const service = await joinEmbeddedPostgres(dir, {
    onWarning: (message) => warnings.push(message),
    onFailure: (error) => failures.push(error),
  });
  const tool = await joinEmbeddedPostgres(dir);
  expect(tool.url).toBe(service.url);
  await tool.leave();
  expect(await answers(service.url)).toBe(true);
  const other = await joinEmbeddedPostgres(dir);
  await service.leave();
  expect(await answers(other.url)).toBe(true);
  await other.leave();
  expect(await answers(other.url)).toBe(false);
  // One that has put everything in order is there for a moment still.
  await eventually(async () => expect(await processesNaming(dir)).toEqual([]));

  // The last to leave may be the one that watches.
  const alone = await joinEmbeddedPostgres(dir, {
    onWarning: (message) => warnings.push(message),
    onFailure: (error) => failures.push(error),
  });
  await alone.leave();
  expect(await answers(alone.url)).toBe(false);
  expect([...warnings, ...failures]).toEqual([]);
});

test("a store is joined by whoever only looks in, and waited for by the service, which has its own", async () => {
  const lock = await takeLock(join(dir, "graph.lock"), "exclusive", 0);
  const first = await startEmbeddedStore({ dir: join(dir, "graph"), ...STORE });
  const waiting = joinEmbeddedStore(dir, { ...STORE, own: true });
  const guest = await joinEmbeddedStore(dir, STORE);
  expect(guest.url).toBe(first.url);
  await guest.leave();
  await first.stop();
  lock!.release();
  const own = await waiting;
  expect(own.url).not.toBe(first.url);
  await own.leave();
});

test("a store that has stopped, or could not start, leaves its folder to the next", async () => {
  const file = join(dir, "graph");
  await writeFile(file, "in the way");
  await expect(joinEmbeddedStore(dir, { ...STORE, own: true })).rejects.toThrow(/EEXIST|ENOTDIR/);
  await rm(file);
  await mkdir(file);
  const free = async () => {
    const lock = await takeLock(join(dir, "graph.lock"), "exclusive", 0);
    lock?.release();
    return lock !== undefined;
  };
  expect(await free()).toBe(true);
  const store = await joinEmbeddedStore(dir, { ...STORE, own: true });
  expect(await free()).toBe(false);
  await store.leave();
  expect(await free()).toBe(true);
});
