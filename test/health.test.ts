// What /v0/health says of a store that answers, but not to everything that it is asked.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, jest, test } from "@jest/globals";
import { loadConfig } from "../config.ts";
import { saveSettings } from "../db/settings.ts";
import { startEmbeddedStore } from "../graph/embedded/index.ts";
import { createNames } from "../graph/namespaces.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import type { Database } from "../server/database.ts";
import { healthRoutes } from "../server/resources/health.ts";
import { eventually } from "./support/eventually.ts";
import { call, startAnotherServer, startTestServiceWithGraph } from "./support/service.ts";

type Count = () => Promise<Partial<Record<"n" | "asked", { value: string }>>[]>;

/** The store that the worker has written, and the one that is asked; nobody's if undefined. */
type Stores = {
  written?: string | undefined;
  asked?: string | undefined;
  isSilent?: boolean;
  onMark?: () => void;
};

/** Asks a service whose store counts like this, and whose graph is whole or not. */
function healthOf(
  count: Count,
  isWhole = true,
  isThere = () => true,
  verificationFails = false,
  stores: Stores = {},
) {
  const mark = () => {
    stores.onMark?.();
    if (stores.isSilent) throw new Error("no answer");
    return [{ asked, ...(stores.asked && { turn: { value: "1" }, store: { value: stores.asked } }) }];
  };
  const store = {
    isAvailable: () => Promise.resolve(isThere()),
    select: async (query: string) => (query.includes("count(*)") ? await count() : mark()),
  };
  const told = { isWhole, verificationFails, pending: 0 };
  const read = () => Promise.resolve(JSON.stringify({ told, owner: stores.written ?? null }));
  const [route] = healthRoutes({
    database: { read } as unknown as Database,
    store: store as unknown as GraphStore,
    names: createNames(loadConfig({})),
  });
  return async () => JSON.parse((await route!.handle!({} as never, {} as never, {})) as string) as object;
}

const asked = { value: "just now" };
const seven: Count = () => Promise.resolve([{ asked, n: { value: "7" } }]);
const fails: Count = () => Promise.reject(new Error("out of memory"));

test("a store that answers and counts is ok, and degraded where the graph is not whole", async () => {
  expect(await healthOf(seven)()).toEqual({ status: "ok", tripleCount: 7, pending: 0 });
  expect(await healthOf(seven, false)()).toEqual({ status: "degraded", tripleCount: 7, pending: 0 });
});

test.each<[string, Stores, string, number | null]>([
  ["the one that is written", { written: "a", asked: "a" }, "ok", 7],
  ["another one", { written: "a", asked: "b" }, "degraded", null],
  ["an empty one, while another is written", { written: "a" }, "degraded", null],
  ["one that nobody has written yet", {}, "ok", 7],
])("a store is of use if it is %s", async (_, stores, status, tripleCount) => {
  const ask = healthOf(seven, true, () => true, false, stores);
  expect(await ask()).toEqual({ status, tripleCount, pending: 0 });
});

test("a store that is exchanged, or written for the first time, shows at the next look", async () => {
  const stores: Stores = {};
  const ask = healthOf(seven, true, () => true, false, stores);
  const statuses: unknown[] = [];
  for (const [written, asked] of [
    [undefined, undefined],
    ["a", "a"],
    ["b", "a"],
    ["b", "b"],
  ] as const) {
    Object.assign(stores, { written, asked });
    statuses.push(((await ask()) as { status: string }).status);
  }
  expect(statuses).toEqual(["ok", "ok", "degraded", "ok"]);
});

test("a store that does not say whose it is counts as ours", async () => {
  const stores: Stores = { written: "a", asked: "b", isSilent: true };
  expect(await healthOf(seven, true, () => true, false, stores)()).toMatchObject({ status: "ok" });
});

test("a slow store is asked for both at the same time: its count and whose it is", async () => {
  let said: (() => void) | undefined;
  const isAsked = new Promise<void>((resolve) => (said = resolve));
  const stores: Stores = { written: "a", asked: "a", onMark: () => said!() };
  const count = () => isAsked.then(seven);
  expect(await healthOf(count, true, () => true, false, stores)()).toMatchObject({
    status: "ok",
    tripleCount: 7,
  });
});

test("a store is asked once for all who want to know at the same time", async () => {
  let times = 0;
  const stores: Stores = { written: "a", asked: "a", onMark: () => times++ };
  const ask = healthOf(seven, true, () => true, false, stores);
  await Promise.all([ask(), ask(), ask()]);
  expect(times).toBe(1);
});

test("a graph that cannot be verified is degraded, since nobody knows whether it is whole", async () => {
  const ask = healthOf(seven, true, () => true, true);
  expect(await ask()).toEqual({ status: "degraded", tripleCount: 7, pending: 0 });
});

test("a store that cannot count is degraded, and ok as soon as it can", async () => {
  let count = fails;
  const ask = healthOf(() => count());
  expect(await ask()).toEqual({ status: "degraded", tripleCount: null, pending: 0 });
  expect(await ask()).toEqual({ status: "degraded", tripleCount: null, pending: 0 });
  count = seven;
  expect(await ask()).toEqual({ status: "ok", tripleCount: 7, pending: 0 });
  // Counting is not repeated at once.
  count = fails;
  expect(await ask()).toEqual({ status: "ok", tripleCount: 7, pending: 0 });
});

test.each([
  ["nothing", []],
  ["a row without a number", [{ asked }]],
  ["less than none", [{ asked, n: { value: "-5" } }]],
  ["what is no whole number", [{ asked, n: { value: "7.5" } }]],
  ["what it has answered to another question", [{ n: { value: "7" } }]],
])("a store that counts %s is degraded", async (_, rows) => {
  const ask = healthOf(() => Promise.resolve(rows));
  expect(await ask()).toEqual({ status: "degraded", tripleCount: null, pending: 0 });
});

test("a store that is away is degraded and has no triples, whatever it had before", async () => {
  let isThere = true;
  const ask = healthOf(seven, true, () => isThere);
  expect(await ask()).toEqual({ status: "ok", tripleCount: 7, pending: 0 });
  isThere = false;
  expect(await ask()).toEqual({ status: "degraded", tripleCount: null, pending: 0 });
});

test("who has counted before waits less long for the next count than who has not, and tells the last", async () => {
  const never: Count = () => new Promise(() => undefined);
  let now = 0;
  const clock = jest.spyOn(performance, "now").mockImplementation(() => now);
  try {
    let count = seven;
    const known = healthOf(() => count());
    await known();
    [now, count] = [5_001, never];
    const told: object[] = [];
    await Promise.all([healthOf(never), known].map(async (ask) => told.push(await ask())));
    expect(told).toEqual([
      { status: "ok", tripleCount: 7, pending: 0 },
      { status: "ok", tripleCount: null, pending: 0 },
    ]);
  } finally {
    clock.mockRestore();
  }
});

test("triples are counted again after five seconds, and until they are the last count stands", async () => {
  let now = 0;
  const clock = jest.spyOn(performance, "now").mockImplementation(() => now);
  let counted = 0;
  const waiting: (() => void)[] = [];
  const ask = healthOf(() => {
    counted += 1;
    const number = String(counted);
    if (counted !== 2) return Promise.resolve([{ asked, n: { value: number } }]);
    return new Promise((done) => waiting.push(() => done([{ asked, n: { value: number } }])));
  });
  const count = async () => ((await ask()) as { tripleCount: number }).tripleCount;
  try {
    expect(await count()).toBe(1);
    now = 5_000;
    expect([await count(), counted]).toEqual([1, 1]);
    now = 5_001;
    expect([await count(), await count(), counted]).toEqual([1, 1, 2]);
    waiting[0]!();
    expect([await count(), counted]).toEqual([2, 2]);
    now = 10_002;
    expect([await count(), counted]).toEqual([3, 3]);
  } finally {
    clock.mockRestore();
  }
});

test("a server with another store than the worker's is degraded, although each of its parts is well", async () => {
  const service = await startTestServiceWithGraph();
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-other-"));
  const embedded = await startEmbeddedStore({ dir, port: 0 });
  const store = createGraphStore(storeUrls(embedded.url));
  const other = await startAnotherServer({ database: service.database, store });
  const healthAt = async ({ url }: { url: string }) => {
    const { body } = await call(`${url}/v0/health`, "GET", service.keys.read);
    return body as Record<string, unknown>;
  };
  try {
    await eventually(async () => expect(await healthAt(service)).toMatchObject({ status: "ok" }));
    const known = { status: "degraded", tripleCount: null, graphState: "current" };
    // While its store is slow to say whose it is, it counts as the worker's.
    await eventually(async () => expect(await healthAt(other)).toMatchObject(known), 20_000);
  } finally {
    await other.stop();
    store.close();
    await embedded.stop();
    await service.stop();
    await rm(dir, { recursive: true });
  }
});

test("a server is degraded while everything in the graph is named otherwise than it was when the server started", async () => {
  const service = await startTestServiceWithGraph();
  const health = async () =>
    (await call(`${service.url}/v0/health`, "GET", service.keys.read)).body as object;
  const config = loadConfig({});
  try {
    await eventually(async () => expect(await health()).toMatchObject({ status: "ok" }));
    for (const other of [
      { ...config, graphDataUrl: "https://other.example" },
      { ...config, namespaceUrl: "https://other.example/ns#" },
    ]) {
      await saveSettings(service.database.owner, other);
      expect(await health()).toMatchObject({ status: "degraded" });
    }
    await saveSettings(service.database.owner, config);
    await eventually(async () => expect(await health()).toMatchObject({ status: "ok" }));
  } finally {
    await service.stop();
  }
});
