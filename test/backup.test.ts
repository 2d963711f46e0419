// A dump, restored into a cluster that knows nothing of the service, by an owner who is no superuser.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { closePool } from "../db/close.ts";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import type { EmbeddedPostgres } from "../db/embedded.ts";
import { createPool } from "../db/pool.ts";
import { describeWithDistribution } from "./support/distribution.ts";
import { run, temporaryDataDir } from "./support/process.ts";
import type { Outcome } from "./support/process.ts";
import { columnsOf, restoreRelease, rowsOf } from "./support/release.ts";

describeWithDistribution("a dump of a database that is in use", ({ folder, ...programs }) => {
  let data: Awaited<ReturnType<typeof temporaryDataDir>>;
  let source: EmbeddedPostgres;
  let elsewhere: EmbeddedPostgres;
  let dump: string;
  /** The restored database, as its owner. */
  let url: string;

  const migrate = (...args: string[]): Promise<Outcome> =>
    run(process.execPath, ["admin/migrate.ts", ...args], { DATABASE_URL: url });
  const restore = (): Promise<Outcome> =>
    run(join(folder, "pg_restore"), [
      "--exit-on-error",
      "--no-owner",
      "--single-transaction",
      "--dbname",
      url,
      dump,
    ]);

  beforeAll(async () => {
    data = await temporaryDataDir();
    dump = join(data.dir, "engagement.dump");
    source = await startEmbeddedPostgres(join(data.dir, "source"), {}, programs);
    elsewhere = await startEmbeddedPostgres(join(data.dir, "elsewhere"), {}, programs);
    // The cluster of the dump has the roles, as 0.1.0 made them.
    url = source.url;
    expect(await migrate("--roles")).toMatchObject({ code: 0 });
    await restoreRelease(source.url);
    expect(await migrate()).toMatchObject({ code: 0 });
    expect(await run(join(folder, "pg_dump"), ["--format=custom", "--file", dump, source.url])).toMatchObject(
      {
        code: 0,
        stderr: "",
      },
    );
    const client = new pg.Client(elsewhere.url);
    await client.connect();
    await client.query("create role somebody login createrole password 'else'");
    await client.query("alter database engagement owner to somebody");
    await client.end();
    const owner = new URL(elsewhere.url);
    owner.username = "somebody";
    owner.password = "else";
    url = owner.href;
  });
  afterAll(async () => {
    await source.stop();
    await elsewhere.stop();
    await data.remove();
  });

  test("restores after npm run migrate -- --roles alone, and is the same database after npm run migrate", async () => {
    expect(await restore()).toMatchObject({ code: 1, stderr: expect.stringContaining("does not exist") });
    expect(await migrate("--roles")).toMatchObject({ code: 0 });
    expect(await migrate("--roles")).toMatchObject({ code: 0, stderr: "" });
    expect(await restore()).toMatchObject({ code: 0, stderr: "" });
    const migrated = await migrate();
    expect(migrated).toMatchObject({ code: 0 });
    expect(migrated.stdout).toContain("up to date");

    const pools = [source.url, url].map((connectionString) => createPool(connectionString, { max: 1 }));
    try {
      const [before, after] = pools as [pg.Pool, pg.Pool];
      expect(await columnsOf(after)).toEqual(await columnsOf(before));
      expect(await rowsOf(after)).toEqual(await rowsOf(before));
      // What the roles may do came with the rules, not with the dump; the server's login has none of it by itself.
      const login = await after.query(
        "select rolcanlogin, rolinherit from pg_roles where rolname = 'engagement_server'",
      );
      expect(login.rows).toEqual([{ rolcanlogin: true, rolinherit: false }]);
      const client = await after.connect();
      await client.query("begin; grant api_read to current_user; set local role api_read");
      expect((await client.query("select need_id from app_public.needs")).rowCount).toBe(6);
      await expect(client.query("select from app_private.api_keys")).rejects.toMatchObject({ code: "42501" });
      await client.query("rollback");
      client.release();
    } finally {
      await Promise.all(pools.map(closePool));
    }
  });
});
