// Four processes: server, worker, PostgreSQL, and Fuseki behind a proxy.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fuseki } from "../graph/fuseki/launch.ts";
import { startFuseki } from "../test/support/fuseki.ts";
import { freePort, run } from "../test/support/process.ts";
import { startKillablePostgres } from "./postgres.ts";
import { startStoreProxy } from "./proxy.ts";
import type { Upstream } from "./proxy.ts";
import { ask, introduce, runAdmin, serverIsReady, USUAL } from "./service.ts";
import type { Service, Start } from "./service.ts";
import { Supervised } from "./supervisor.ts";
import type { Settings } from "./supervisor.ts";

/** A Fuseki as the proxy reaches it. */
export const upstreamOf = ({ url, user, password }: Fuseki): Upstream => ({
  url,
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});

export const startWithFuseki: Start = async (parts) => {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-faults-"));
  parts.defer(() => rm(dir, { recursive: true, force: true }));
  const postgres = await startKillablePostgres(join(dir, "postgres"));
  parts.defer(() => postgres.stop());
  let stores = 0;
  const newFolder = () => join(dir, `store-${(stores += 1)}`);
  let folder = newFolder();
  let fuseki = await startFuseki({ dir: folder });
  parts.defer(() => fuseki.stop());
  const proxy = await startStoreProxy(upstreamOf(fuseki));
  parts.defer(() => proxy.stop());
  const use = async (another: string) => {
    folder = another;
    fuseki = await startFuseki({ dir: folder });
    proxy.upstream = upstreamOf(fuseki);
  };

  const url = `http://127.0.0.1:${await freePort()}`;
  let extra: Settings = {};
  const settings = () => ({
    ...USUAL,
    DATABASE_URL: postgres.url,
    FUSEKI_URL: proxy.url,
    PORT: new URL(url).port,
    ...extra,
  });
  const server = new Supervised("server", settings);
  const worker = new Supervised("worker", settings);
  const migrated = await run("npm", ["run", "--silent", "migrate"], settings());
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  const key = await introduce(settings());
  for (const part of [server, worker]) {
    parts.defer(() => part.stop());
    part.start();
  }

  return {
    store: "fuseki",
    url,
    key,
    parts: ["server", "worker", "store", "postgres"],
    sql: (text, values) => ask(postgres.url, text, values),
    graph: () => upstreamOf(fuseki),
    proxy,
    async configure(different) {
      extra = different;
      await worker.stop();
      worker.start();
    },
    async kill(part, pauseMs) {
      if (part === "server") await server.kill();
      else if (part === "worker") await worker.kill();
      else if (part === "postgres") await postgres.kill(pauseMs);
      else {
        await fuseki.kill();
        await sleep(pauseMs);
        await use(folder);
      }
    },
    restartPostgres: (pauseMs) => postgres.restart(pauseMs),
    async whileStoreIsDown(work) {
      await fuseki.stop();
      await work(folder);
      await use(folder);
    },
    // From one request to the next, as when a name leads to another machine: nothing is down in between.
    async exchangeStore(from) {
      const previous = fuseki;
      const another = newFolder();
      if (from !== undefined) await cp(from, another, { recursive: true });
      await use(another);
      await previous.stop();
    },
    async alter(update) {
      const store = upstreamOf(fuseki);
      const answer = await fetch(`${store.url}/update`, {
        method: "POST",
        headers: { authorization: store.authorization, "content-type": "application/sparql-update" },
        body: update,
      });
      if (!answer.ok) throw new Error(`Fuseki refused: ${await answer.text()}`);
    },
    admin: (...args) => runAdmin(args, settings()),
    ready: () => serverIsReady(url, () => server.lastWords),
  } satisfies Service;
};
