// Tests of the graph that hold on every engine.
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from "@jest/globals";
import { startProjection, startSharedStore } from "./projection.ts";
import type { Projection, SharedStore } from "./projection.ts";
import { testStores } from "./stores.ts";

/**
 * Has tests run on each store that is here, each of them on a database of its own and an empty store.
 * @param tests gets the projection of the test that is running, and what tries once what is the same with every store
 */
export function onEachStore(
  { storeTimeoutMs }: { storeTimeoutMs?: number },
  tests: (projection: () => Projection, once: typeof test | typeof test.skip) => void,
): void {
  describe.each(testStores.filter(({ available }) => available))("with $name", (kind) => {
    let store: SharedStore;
    let projection: Projection;
    beforeAll(async () => {
      store = await startSharedStore(kind);
    });
    afterAll(() => store.remove());
    beforeEach(async () => {
      projection = await startProjection(store, storeTimeoutMs);
    });
    tests(() => projection, kind.name === "embedded" ? test : test.skip);
    // After what tests clean up themselves.
    afterEach(() => projection.stop());
  });
}
