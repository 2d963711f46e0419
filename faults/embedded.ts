// One process: npm start with its embedded PostgreSQL and its embedded store.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import { freePort } from "../test/support/process.ts";
import { testStores } from "../test/support/stores.ts";
import { killPostgres } from "./postgres.ts";
import { ask, introduce, runAdmin, serverIsReady, USUAL } from "./service.ts";
import type { Service, Start } from "./service.ts";
import { Supervised } from "./supervisor.ts";
import type { Settings } from "./supervisor.ts";

const embeddedStore = testStores.find(({ name }) => name === "embedded")!;

export const startEmbedded: Start = async (parts) => {
  const dataDir = await mkdtemp(join(tmpdir(), "engagement-graph-faults-"));
  parts.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgresDir = join(dataDir, "postgres");
  const folder = join(dataDir, "graph");
  const url = `http://127.0.0.1:${await freePort()}`;
  let extra: Settings = {};
  const settings = () => ({ ...USUAL, DATA_DIR: dataDir, PORT: new URL(url).port, ...extra });
  const all = new Supervised("start", settings);
  const ready = () => serverIsReady(url, () => all.lastWords);
  const whileDown = async (work: () => Promise<void>) => {
    await all.stop();
    await work();
    all.start();
    await ready();
  };

  // After npm start was killed, its PostgreSQL may still be running.
  parts.defer(async () => (await startEmbeddedPostgres(postgresDir)).stop());
  parts.defer(() => all.stop());
  all.start();
  await ready();
  const key = await introduce(settings());
  const service: Service = {
    store: "embedded",
    url,
    key,
    parts: ["server", "postgres"],
    // Joins the server that npm start has started.
    sql: async (text, values) => ask((await startEmbeddedPostgres(postgresDir)).url, text, values),
    // Only the service may use the store itself.
    graph: () => ({ url: `${url}/v0/sparql`, authorization: `Bearer ${key}` }),
    proxy: undefined,
    async configure(different) {
      extra = different;
      await whileDown(() => Promise.resolve());
    },
    async kill(part, pauseMs) {
      if (part === "postgres") await killPostgres(postgresDir);
      await sleep(pauseMs);
      // Only npm start starts its PostgreSQL again.
      await all.kill();
    },
    async restartPostgres(pauseMs) {
      const postgres = await startEmbeddedPostgres(postgresDir);
      await postgres.stop();
      await service.kill("server", pauseMs);
    },
    whileStoreIsDown: (work) => whileDown(() => work(folder)),
    exchangeStore: (from) =>
      whileDown(async () => {
        await rm(folder, { recursive: true, force: true });
        if (from !== undefined) await cp(from, folder, { recursive: true });
      }),
    // While the service is down, because only one process may open the store.
    alter: (update) =>
      whileDown(async () => {
        const store = await embeddedStore.start({ dir: folder });
        try {
          await store.client.update(update);
        } finally {
          await store.stop();
        }
      }),
    admin: (...args) => runAdmin(args, settings()),
    ready,
  };
  return service;
};
