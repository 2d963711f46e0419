// Whoever holds what others need, and does not let go: nothing else waits for them, and nobody is told that all is well.
import { expect, test } from "@jest/globals";
import pg from "pg";
import { saveSettings } from "../db/settings.ts";
import { drain } from "../worker/drain.ts";
import { eventually } from "./support/eventually.ts";
import { onEachStore } from "./support/on-each-store.ts";
import { ORG } from "./support/world.ts";

onEachStore({}, (projection) => {
  const owner = () => projection().database.owner;

  /** Works in a transaction that stays open, and is rolled back in the end. */
  async function whileOpen(begin: (writer: pg.PoolClient) => Promise<unknown>, work: () => Promise<void>) {
    const writer = await owner().connect();
    try {
      await writer.query("begin");
      await begin(writer);
      await work();
    } finally {
      await writer.query("rollback");
      writer.release();
    }
  }

  const synced = (id: string) =>
    eventually(async () => expect((await projection().graphStatus("need", id)).status).toBe("synced"));
  const health = async () =>
    (await owner().query<{ graphState: string; isWhole: boolean }>("select * from rest.health")).rows[0]!;

  test("the right to write is held by a process that does nothing: after half a minute the graph counts as behind", async () => {
    await projection().startWorker();
    await projection().current();
    const lock = "pg_advisory_xact_lock(7203545)";
    await whileOpen(
      (holder) => holder.query(`select ${lock}`),
      async () => {
        const id = await projection().declareNeed();
        expect(await health()).toMatchObject({ graphState: "current", isWhole: true });
        await owner().query("update app_private.graph_records set dirty_since = now() - interval '31 s'");
        await owner().query(
          "update app_private.graph_records set dirty_since = null where revision = synced_revision",
        );
        expect(await health()).toMatchObject({ graphState: "behind", isWhole: false });
        expect((await projection().graphStatus("need", id)).status).toBe("pending");
      },
    );
    await projection().current();
  });

  test("the right to write is given back after work, also when the store was away", async () => {
    const { store, projector, logger, proxy } = projection();
    const holders = () =>
      owner().query(
        `select from pg_locks where locktype = 'advisory' and objid = 7203545
           and database = (select oid from pg_database where datname = current_database())`,
      );
    // The store has to be known for the database's own before anything is written into it.
    const worker = await projection().startWorker();
    await projection().current();
    await worker.stop();
    await projection().declareNeed();
    for (const mode of ["closed", "status500", "ok"] as const) {
      proxy.mode = mode;
      const { state } = await drain({ pool: owner(), store, projector, logger });
      expect({ mode, state }).toEqual({ mode, state: mode === "ok" ? "drained" : "store_unavailable" });
      expect((await holders()).rows).toEqual([]);
    }
  });

  test("whoever has the right to write and is silent for a minute loses it, and nobody else does", async () => {
    const { store, projector, logger } = projection();
    await projection().startWorker();
    await projection().current();
    const holder = new pg.Client(projection().database.url);
    await holder.connect();
    holder.on("error", () => undefined);
    const ended = new Promise<void>((done) => holder.once("end", done));
    await holder.query("select pg_advisory_lock(7203545)");
    const silentFor = (seconds: number) =>
      owner().query("update app_private.graph_store set held_at = now() - make_interval(secs => $1)", [
        seconds,
      ]);
    const id = await projection().declareNeed();
    await silentFor(50);
    expect(await drain({ pool: owner(), store, projector, logger })).toEqual({ state: "busy" });
    expect((await holder.query("select")).rowCount).toBe(1);
    await silentFor(61);
    await ended;
    await synced(id);
    await projection().equal();
  });

  test("a worker that runs on under other names than the service has by now writes nothing, and says why", async () => {
    await projection().startWorker();
    await projection().current();
    const { config, store, projector, logger } = projection();
    await saveSettings(owner(), { ...config, graphDataUrl: "https://elsewhere.example" });
    const id = await projection().declareNeed();
    // The worker may have the right just now, to find out the same.
    await eventually(() =>
      expect(drain({ pool: owner(), store, projector, logger })).rejects.toThrow(
        /^GRAPH_DATA_URL is https:\/\/data\.example\.org here, and was https:\/\/elsewhere\.example/,
      ),
    );
    expect((await projection().graphStatus("need", id)).status).toBe("pending");
    await saveSettings(owner(), config);
    await projection().current();
    await projection().equal();
  });

  test("a list of which somebody is making another edition keeps no record waiting", async () => {
    await projection().startWorker();
    await projection().current();
    await owner().query("update app_public.organizations set name = name || '!' where org_uri = $1", [ORG]);
    await whileOpen(
      (writer) =>
        writer.query("update app_public.organizations set name = name || '?' where org_uri = $1", [ORG]),
      async () => synced(await projection().declareNeed()),
    );
    await projection().equal();
  });

  test("records that a writer holds do not keep those waiting that came after them", async () => {
    const { store, projector, logger } = projection();
    const worker = await projection().startWorker();
    const held = await projection().declareNeeds(20);
    await projection().current();
    await worker.stop();
    const ids = [held];
    await owner().query("select app_private.mark_records('need', $1)", ids);
    await whileOpen(
      (writer) => writer.query("select app_private.mark_records('need', $1)", ids),
      async () => {
        const id = await projection().declareNeed();
        const done = new AbortController();
        // Fewer at a time than are held.
        const drained = drain({ ...{ pool: owner(), store, projector, logger }, batchSize: 2 }, done.signal);
        await synced(id).finally(() => done.abort());
        expect((await drained).state).toBe("drained");
      },
    );
    await projection().startWorker();
    await projection().equal();
  });
});
