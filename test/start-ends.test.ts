// How npm start ends when a part of it ends by itself, does not end, or is told to hurry. What is preloaded has it happen at SIGUSR2.
import { access } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { freePort, launch, temporaryDataDir } from "./support/process.ts";
import type { Running } from "./support/process.ts";

const READY = "Ctrl-C stops it";
/** `front` is the thread of the embedded store, and `late` what waits twenty seconds for an end in good order. */
const preloaded = (beginning: string, atSignal: string) =>
  `--import=data:text/javascript,${encodeURIComponent(`
    import threads from "node:worker_threads";
    import { syncBuiltinESMExports } from "node:module";
    if (threads.isMainThread) {
      const { Worker } = threads;
      const { setTimeout } = globalThis;
      let front;
      let late = () => undefined;
      threads.Worker = class extends Worker {
        constructor(file, options) {
          super(file, options);
          if (String(file).endsWith("/front.ts")) { front = this; ${beginning} }
        }
      };
      syncBuiltinESMExports();
      globalThis.setTimeout = (work, ms, ...rest) => {
        if (ms === 20_000) late = work;
        return setTimeout(work, ms, ...rest);
      };
      process.on("SIGUSR2", () => { ${atSignal} });
    }`)}`;
/** The store is not told to stop before it is let. */
const HELD = `this.postMessage = (...sent) => {
  front.letGo = () => super.postMessage(...sent);
  process.stdout.write("The store is to stop.\\n");
};`;

let database: TestDatabase;
let data: Awaited<ReturnType<typeof temporaryDataDir>>;
let service: Running;
beforeEach(async () => {
  [database, data] = await Promise.all([createTestDatabase(), temporaryDataDir()]);
});
afterEach(async () => {
  await service.end("SIGKILL");
  await database.drop();
  await data.remove();
});

async function start(beginning: string, atSignal: string): Promise<void> {
  const PORT = String(await freePort());
  service = launch(process.execPath, ["start.ts"], {
    ...{ DATABASE_URL: database.url, DATA_DIR: data.dir, PORT, SHUTDOWN_TIMEOUT_MS: "0" },
    // Under npm a second signal within a second would be npm's copy of the first.
    ...{ npm_lifecycle_event: "", NODE_OPTIONS: preloaded(beginning, atSignal) },
  });
  await service.prints(READY);
}
const said = () =>
  service
    .output()
    .stderr.split("\n")
    .filter((line) => line.startsWith("npm start: "));
/** It ends, or else the test does not. */
const ends = async (code: number) => {
  await eventually(() => Promise.resolve(expect(service.child.exitCode).toBe(code)), 60_000);
  await service.ended;
};
const isClosed = () =>
  access(join(data.dir, "graph/server.json")).then(
    () => false,
    () => true,
  );
test("a store that ends by itself ends npm start, which says so", async () => {
  await start("", "void front.terminate();");
  service.child.kill("SIGUSR2");
  await ends(1);
  expect(said()).toEqual(["npm start: The embedded graph store ended."]);
});

test("a fault of ours ends npm start with one line, and its store in good order", async () => {
  await start("", 'setImmediate(() => { throw new Error("this was not to happen"); });');
  service.child.kill("SIGUSR2");
  await ends(1);
  expect(said()).toEqual(["npm start: this was not to happen"]);
  expect(await isClosed()).toBe(true);
});

test("who is told to stop at once waits for the store, which keeps what it holds", async () => {
  await start(HELD, "front.letGo();");
  service.child.kill("SIGINT");
  await service.prints("The store is to stop.");
  service.child.kill("SIGINT");
  service.child.kill("SIGUSR2");
  await ends(0);
  expect(await isClosed()).toBe(true);
});

test("what does not stop in time is named, and npm start ends", async () => {
  await start(HELD, "late();");
  service.child.kill("SIGINT");
  await service.prints("The store is to stop.");
  service.child.kill("SIGUSR2");
  await ends(1);
  expect(said()).toEqual(["npm start: graph store did not stop in time"]);
});
