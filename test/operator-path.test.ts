// The operator's path, exactly as docs/operations.md prints it: two clusters, two graph stores, and nothing else.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import type { EmbeddedPostgres } from "../db/embedded.ts";
import { startEmbeddedStore } from "../graph/embedded/index.ts";
import type { EmbeddedStore } from "../graph/embedded/index.ts";
import { describeWithDistribution } from "./support/distribution.ts";
import { freePort, launch, ROOT, temporaryDataDir } from "./support/process.ts";

jest.setTimeout(600_000);

/** The blocks of shell in one section of docs/operations.md. */
async function commandsOf(title: string): Promise<string> {
  const page = await readFile(join(ROOT, "docs/operations.md"), "utf8");
  const section = page.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? "";
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => match[1]!).join("\n");
}

describeWithDistribution("docs/operations.md, from an empty machine to an upgrade", (programs) => {
  let data: Awaited<ReturnType<typeof temporaryDataDir>>;
  let clusters: EmbeddedPostgres[];
  let stores: EmbeddedStore[];

  beforeAll(async () => {
    data = await temporaryDataDir();
    clusters = [];
    stores = [];
    for (const name of ["old", "new"]) {
      const cluster = await startEmbeddedPostgres(join(data.dir, name), {}, programs);
      clusters.push(cluster);
      // The path makes it itself.
      const client = new pg.Client(cluster.urlOf("postgres"));
      await client.connect();
      await client.query("drop database engagement");
      await client.end();
      stores.push(await startEmbeddedStore({ dir: join(data.dir, `${name}-graph`) }));
    }
  });
  afterAll(async () => {
    for (const store of stores) await store.stop();
    for (const cluster of clusters) await cluster.stop();
    await data.remove();
  });

  test("works as printed, and the restored database has what was written", async () => {
    const commands = await commandsOf("From an empty machine to an upgrade");
    expect(commands).toContain("pg_restore");
    const port = String(await freePort());
    const [from, to] = clusters.map((cluster) => cluster.urlOf("postgres"));
    const [store, newStore] = stores.map(({ url }) => new URL(url));
    const plain = (url: URL) => url.origin + url.pathname;
    // The two embedded stores have passwords of their own; the page has one for both.
    const script = commands.replace(/^export FUSEKI_URL=.*$/m, "$&; FUSEKI_PASSWORD=$NEW_FUSEKI_PASSWORD");
    const path = launch("bash", ["--norc", "-euo", "pipefail", "-c", script], {
      ...{ SUPERUSER_URL: from!, NEW_SUPERUSER_URL: to!, OWNER_PASSWORD: "owner", SERVER_PASSWORD: "server" },
      ...{ FUSEKI_URL: plain(store!), FUSEKI_USER: store!.username, FUSEKI_PASSWORD: store!.password },
      ...{ NEW_FUSEKI_URL: plain(newStore!), NEW_FUSEKI_PASSWORD: newStore!.password },
      ...{ PORT: port, API: `http://127.0.0.1:${port}`, BACKUP: join(data.dir, "engagement.dump") },
      PATH: `${programs.folder}:${process.env["PATH"]}`,
    });
    try {
      const code = await path.ended;
      expect(code === 0 ? "done" : JSON.stringify(path.output())).toBe("done");
    } finally {
      // Server and worker, if a command before their end has failed.
      try {
        process.kill(-path.child.pid!, "SIGKILL");
      } catch {
        // There are none.
      }
    }
    const { stdout } = path.output();
    // Asked for with the new key on the restored database.
    expect(stdout).toMatch(/"needs" : \[\{[^\n]*"Wells"[^\n]*"total" : 1\}/);
    expect(stdout).toMatch(/invalid_api_key/);
    const client = new pg.Client(clusters[1]!.urlOf("engagement"));
    await client.connect();
    const { rows } = await client.query(
      `select need_description, state::text from app_public.needs
       join app_private.graph_records on record_id = need_id`,
    );
    await client.end();
    expect(rows).toEqual([{ need_description: "Wells", state: "synced" }]);
  });
});
