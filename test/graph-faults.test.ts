// Whatever fails, graph and tables are equal in the end. Each fault is brought about for real.
import type { ChildProcess } from "node:child_process";
import { afterEach, expect, test } from "@jest/globals";
import { enums } from "../db/catalog.ts";
import { verify } from "../worker/verify.ts";
import { eventually } from "./support/eventually.ts";
import { POISON } from "./support/faulty-proxy.ts";
import type { Mode } from "./support/faulty-proxy.ts";
import { launch } from "./support/process.ts";
import { onEachStore } from "./support/on-each-store.ts";
import { DATA, NS, WATCH_MS } from "./support/projection.ts";

const anyStatus = () => enums.need_status[Math.floor(Math.random() * enums.need_status.length)]!;

onEachStore({ storeTimeoutMs: 3_000 }, (projection) => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  /** The worker as a separate process, as `npm run worker` runs it. */
  function spawnWorker(): ChildProcess {
    const { child } = launch(process.execPath, ["worker/main.ts"], {
      ...projection().settings,
      LOG_LEVEL: "warn",
    });
    children.push(child);
    return child;
  }

  test("the store is down for the duration of 1,000 writes, and comes back", async () => {
    await projection().startWorker();
    const early = await projection().declareNeed();
    await projection().settled();
    projection().proxy.mode = "closed";
    for (let batch = 0; batch < 20; batch += 1) {
      await Promise.all(Array.from({ length: 50 }, () => projection().declareNeed()));
    }
    await projection().setNeedStatus(early, "met");
    expect((await projection().graphStatus("need", early)).status).toBe("pending");
    // A store that is down costs no pile of jobs and no attempts.
    await eventually(async () => {
      const { rows } = await projection().database.owner.query<{ jobs: number; failed: number }>(
        `select count(*)::integer as jobs, count(*) filter (where attempts > 1)::integer as failed
         from graphile_worker.jobs where task_identifier = 'project_records'`,
      );
      expect(rows[0]!.jobs).toBeLessThan(3);
      expect(rows[0]!.failed).toBe(0);
    });
    projection().proxy.mode = "ok";
    await projection().equal();
  });

  test.each<Mode>(["status500", "lie", "half", "silent", "page", "empty", "swallow"])(
    "the store answers updates like this: %s",
    async (mode) => {
      await projection().startWorker();
      const ids = await projection().declareNeeds(50);
      await projection().settled();
      projection().proxy.mode = mode;
      const arrived = projection().proxy.updates;
      await projection().declareNeeds(50);
      for (const id of ids.slice(0, 5)) await projection().setNeedStatus(id, "met");
      await eventually(() => Promise.resolve(expect(projection().proxy.updates).toBeGreaterThan(arrived)));
      const state = mode === "empty" || mode === "swallow" ? "unconfirmed" : "unavailable";
      await eventually(async () => expect(await projection().graphState()).toBe(state));
      expect((await projection().graphStatus("need", ids[0]!)).status).toBe("pending");
      projection().proxy.mode = "ok";
      await projection().equal();
      await eventually(async () => expect(await projection().graphState()).toBe("current"));
    },
  );

  test("the worker is killed in the middle of a batch, and another takes over within ten seconds", async () => {
    const worker = spawnWorker();
    await projection().settled();
    const ids = await projection().declareNeeds(200);
    await projection().settled();
    projection().proxy.mode = "held";
    const arrived = projection().proxy.updates;
    await projection().database.owner.query("update app_public.needs set status = 'met'");
    await eventually(() => Promise.resolve(expect(projection().proxy.updates).toBeGreaterThan(arrived)));
    worker.kill("SIGKILL");
    projection().proxy.mode = "ok";
    for (const id of ids.slice(0, 10)) await projection().setNeedStatus(id, "withdrawn");
    spawnWorker();
    await projection().equal();
    // The update of the dead worker comes last, and must not undo what the other one wrote.
    await projection().proxy.release();
    await projection().equal();
  });

  test("the database cuts every connection of the worker, again and again", async () => {
    await projection().startWorker();
    const ids = await projection().declareNeeds(100);
    for (let cut = 0; cut < 5; cut += 1) {
      await Promise.all(ids.slice(0, 30).map((id) => projection().setNeedStatus(id, anyStatus())));
      await projection().database.owner.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'engagement-worker' and datname = current_database()`,
      );
    }
    await projection().equal();
    // Jobs continue as well.
    const late = await projection().declareNeed();
    await eventually(async () =>
      expect((await projection().graphStatus("need", late)).status).toBe("synced"),
    );
  });

  test("2,000 status changes on 200 records from 16 clients, with two workers, one in another process", async () => {
    await projection().startWorker();
    spawnWorker();
    const ids = await projection().declareNeeds(200);
    let left = 2_000;
    const client = async () => {
      while (left > 0) {
        left -= 1;
        await projection().setNeedStatus(ids[Math.floor(Math.random() * ids.length)]!, anyStatus());
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    await projection().equal();
  });

  test.each<Mode>(["poison", "breaks"])(
    "one record among 1,000 on which the store %s leaves 999 in the graph",
    async (mode) => {
      await projection().startWorker();
      projection().proxy.mode = mode;
      const ids = await projection().declareNeeds(1_000);
      await projection().settled();
      await projection().database.owner.query(
        "update app_public.needs set need_description = $1 where need_id = $2",
        [POISON, ids[500]],
      );
      await projection().database.owner.query("update app_public.needs set status = 'met'");
      await projection().settled();
      // It is sent again now and then, and is pending meanwhile.
      await eventually(async () => {
        const { rows } = await projection().database.owner.query(
          "select state, count(*)::integer from app_private.graph_records group by state order by state",
        );
        expect(rows).toEqual([
          { state: "synced", count: 999 },
          { state: "rejected", count: 1 },
        ]);
        expect((await projection().graphStatus("need", ids[500]!)).errors).toEqual([
          { path: "", message: expect.stringContaining("refused") },
        ]);
      });
      const inGraph = await projection().running.client.select(
        `select (count(*) as ?met) where { graph <${DATA}/needs/> { ?s <${NS}needStatus> "met" } }`,
      );
      expect(inGraph[0]?.["met"]?.value).toBe("999");
      // The earlier version of the refused record has been withdrawn.
      expect(await projection().running.client.ask(`ask { <${DATA}/needs/${ids[500]}> ?p ?o }`)).toBe(false);

      projection().proxy.mode = "ok";
      await projection().setNeedStatus(ids[500]!, "withdrawn");
      await projection().equal();
    },
  );

  test("an old backup of one graph is restored: what it lacks is noticed, what is wrong in it is for verify --repair", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(100);
    await projection().settled();
    const graph = `${DATA}/needs/`;
    const { client } = projection().running;
    const backup = await client.construct(`construct { ?s ?p ?o } where { graph <${graph}> { ?s ?p ?o } }`);
    await projection().declareNeeds(20);
    for (const id of ids.slice(0, 30)) await projection().setNeedStatus(id, "met");
    await projection().database.owner.query("delete from app_public.needs where need_id = $1", [ids[99]]);
    await projection().settled();

    await client.putGraph(graph, backup, "application/n-triples");
    await client.update(
      `DELETE WHERE { GRAPH <${graph}> { <${graph}${ids[40]}> <${NS}orgName> ?name } } ;
       INSERT DATA { GRAPH <${graph}> { <urn:x-foreign> <urn:p> "o" } }`,
    );
    const parts = { pool: projection().database.owner, store: client, projector: projection().projector };
    const expected = { missing: 0, stale: 0, altered: 1, foreign: 1 };
    await eventually(async () => {
      await projection().settled();
      expect((await verify(parts)).differences).toEqual(expected);
    });
    expect(await verify({ ...parts, repair: true })).toMatchObject({ differences: expected, repaired: 2 });
    await projection().equal();
  });

  test("an old backup of the database is restored, and the graph is written as before", async () => {
    const worker = await projection().startWorker();
    await projection().declareNeeds(10);
    await projection().settled();
    await worker.stop();
    // The backup knows none of the drains that the store has seen.
    await projection().database.owner.query("update app_private.graph_store set drain = 1");
    await projection().database.owner.query("update app_public.needs set status = 'met'");
    await projection().startWorker();
    await projection().equal();
  });

  test("a store that has lost everything is filled again", async () => {
    const worker = await projection().startWorker();
    await projection().declareNeeds(10);
    await projection().settled();
    await worker.stop();
    await projection().running.client.update("DROP ALL");
    await projection().startWorker();
    await eventually(async () =>
      expect(await projection().running.client.ask(`ask { graph <${DATA}/needs/> { ?s ?p ?o } }`)).toBe(true),
    );
    await projection().equal();
  });
});
