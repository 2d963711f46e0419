// What /v0/health says of a store that answers, but not to everything that it is asked.
import { expect, test } from "@jest/globals";
import type { GraphStore } from "../graph/store.ts";
import type { Database } from "../server/database.ts";
import { healthRoutes } from "../server/resources/health.ts";

type Count = () => Promise<{ n: { value: string } }[]>;

/** Asks a service whose store counts like this, and whose graph is whole or not. */
function healthOf(count: Count, isWhole = true) {
  const store = { isAvailable: () => Promise.resolve(true), select: () => count() };
  const database = { read: () => Promise.resolve(JSON.stringify({ isWhole, pending: 0 })) };
  const [route] = healthRoutes({
    database: database as unknown as Database,
    store: store as unknown as GraphStore,
  });
  return async () => JSON.parse(await route!.handle!({} as never, {} as never, {})) as object;
}

const seven: Count = () => Promise.resolve([{ n: { value: "7" } }]);
const fails: Count = () => Promise.reject(new Error("out of memory"));

test("a store that answers and counts is ok, and degraded where the graph is not whole", async () => {
  expect(await healthOf(seven)()).toEqual({ status: "ok", tripleCount: 7, pending: 0 });
  expect(await healthOf(seven, false)()).toEqual({ status: "degraded", tripleCount: 7, pending: 0 });
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
