// What nobody sees fail is noticed all the same: a store that is no longer the one that it was.
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, jest, test } from "@jest/globals";
import { LIST_NAMES } from "../graph/namespaces.ts";
import { backUp } from "./support/back-up.ts";
import { eventually } from "./support/eventually.ts";
import { onEachStore } from "./support/on-each-store.ts";
import { whenWaitedFor } from "./support/overlap.ts";
import { DATA, NS, WATCH_MS, startSharedStore } from "./support/projection.ts";
import { testStores } from "./support/stores.ts";

const NEEDS = `${DATA}/needs/`;

// So long that no answer runs into it, however busy the machine is.
onEachStore({ storeTimeoutMs: 60_000 }, (projection) => {
  const owner = () => projection().database.owner;

  /** Waits for the service to notice a loss; nothing is written meanwhile. */
  async function noticed(reason: RegExp): Promise<void> {
    await eventually(async () => expect(await reasons()).toEqual([expect.stringMatching(reason)]));
    // Not before everything has been marked and written.
    await eventually(async () => expect(await projection().graphState()).toBe("current"));
    await projection().equal();
  }

  /** Every reason that has been given for a graph that is behind, kept by a trigger because it may be gone in no time. */
  async function reasons(): Promise<string[]> {
    const { rows } = await owner().query<{ reason: string }>("select distinct reason from public.seen");
    return rows.map((row) => row.reason);
  }

  async function settledAndWatched(): Promise<void> {
    await projection().current();
    await owner().query(`
      create table if not exists public.seen (reason text);
      create or replace function public.see() returns trigger language plpgsql as $$
      begin
        if new.state = 'behind' then insert into public.seen values (new.reason); end if;
        return null;
      end $$;
      create or replace trigger see after update on app_private.graph_store
        for each row execute function public.see();`);
  }

  test("it has been emptied, and nobody writes", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(30);
    await settledAndWatched();
    await projection().running.client.update("DROP ALL");
    await noticed(/store is empty/);
  });

  test("it was exchanged for an older backup, and nobody writes: what it lacks is written, and no more", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(30);
    await settledAndWatched();
    const restore = await backUp(projection().running.client);
    await projection().setNeedStatus(ids[0]!, "met");
    await owner().query("delete from app_public.needs where need_id = $1", [ids[1]]);
    await projection().declareNeed();
    await projection().settled();
    const { rows: before } = await owner().query<{ at: string }>("select clock_timestamp()::text as at");
    await restore();
    await noticed(/^The graph store was set back to an earlier state/);
    const { rows } = await owner().query<{ written: number }>(
      "select count(*)::integer as written from app_private.graph_records where synced_at > $1",
      [before[0]!.at],
    );
    expect(rows).toEqual([{ written: 3 }]);
  });

  /** Opens a transaction that changes a need; waits, once `lose` has been done, until the worker waits for it. */
  async function heldBack(id: string, lose: () => Promise<void>): Promise<{ rollBack: () => Promise<void> }> {
    const writer = await owner().connect();
    await writer.query("begin");
    await writer.query("update app_public.needs set status = 'met' where need_id = $1", [id]);
    await lose();
    await whenWaitedFor(projection().database, writer);
    return {
      async rollBack() {
        await writer.query("rollback");
        writer.release();
      },
    };
  }

  test("it has been emptied while a writer holds a record, and the writer rolls back", async () => {
    await projection().startWorker(WATCH_MS);
    const [id] = await projection().declareNeeds(30);
    await settledAndWatched();
    const writer = await heldBack(id!, () => projection().running.client.update("DROP ALL"));
    await writer.rollBack();
    await noticed(/store is empty/);
  });

  test("it is emptied while what an older backup lacks is being marked", async () => {
    await projection().startWorker(WATCH_MS);
    const [id] = await projection().declareNeeds(30);
    await settledAndWatched();
    const restore = await backUp(projection().running.client);
    await projection().setNeedStatus(id!, "partially_met");
    await projection().settled();
    const writer = await heldBack(id!, restore);
    await projection().running.client.update("DROP ALL");
    await writer.rollBack();
    await eventually(async () => expect(await reasons()).toContain("The graph store is empty."));
    await eventually(async () => expect(await projection().graphState()).toBe("current"));
    await projection().equal();
  });

  test("a rebuild is younger than the backup that was restored: its graph is written again", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(10);
    await settledAndWatched();
    const { client } = projection().running;
    await client.update(`DELETE WHERE { GRAPH <${NEEDS}> { ?s <${NS}needStatus> ?o } }`);
    const restore = await backUp(projection().running.client);
    await owner().query("select app_private.request_rebuild()");
    await eventually(async () => expect(await client.ask(`ask { ?s <${NS}needStatus> ?o }`)).toBe(true));
    await projection().equal();
    await eventually(async () => expect(await projection().graphState()).toBe("current"));
    await restore();
    await noticed(/set back to an earlier state/);
  });

  test("it was set back while somebody writes: no update covers that up", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(30);
    await settledAndWatched();
    const restore = await backUp(projection().running.client);
    for (const id of ids.slice(0, 10)) await projection().setNeedStatus(id, "met");
    await projection().settled();
    await restore();
    await projection().setNeedStatus(ids[20]!, "met");
    await noticed(/set back to an earlier state/);
  });

  test("it was exchanged while somebody writes: nothing is taken for written that is not", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(30);
    await settledAndWatched();
    await projection().running.client.update("DROP ALL");
    for (const id of ids.slice(0, 10)) await projection().setNeedStatus(id, "met");
    await noticed(/store is empty/);
  });

  test("it holds the graph of another database", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(10);
    await settledAndWatched();
    await projection().running.client.update(`
      DELETE { GRAPH <${DATA}/projection/> { ?s <${NS}projectionStore> ?id } }
      INSERT { GRAPH <${DATA}/projection/> { ?s <${NS}projectionStore> "another" } }
      WHERE { GRAPH <${DATA}/projection/> { ?s <${NS}projectionStore> ?id } } ;
      DROP GRAPH <${NEEDS}>`);
    await noticed(/another graph/);
    const { rows } = await owner().query("select urgent from app_private.graph_verification");
    expect(rows).toEqual([{ urgent: true }]);
  });

  describe("a cache before it answers what it has answered before", () => {
    beforeEach(async () => {
      projection().proxy.mode = "cache";
      await projection().startWorker(WATCH_MS);
      await projection().declareNeeds(10);
    });

    test("it has been emptied", async () => {
      await settledAndWatched();
      await projection().running.client.update("DROP ALL");
      await noticed(/store is empty/);
    });

    test("a list has changed, and changed back", async () => {
      const name = (to: string) =>
        owner().query(
          `insert into app_public.people_groups (rop3, name) values ('100001', $1)
           on conflict (rop3) do update set name = excluded.name`,
          [to],
        );
      for (const to of ["Somali", "Soomaali", "Somali"]) {
        await name(to);
        await projection().equal();
      }
    });
  });

  test("a cache before it knows questions by their meaning, and what it answers counts for nothing", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(10);
    await settledAndWatched();
    projection().proxy.mode = "normalizingCache";
    await eventually(async () => expect(await projection().graphState()).toBe("unavailable"));
    await projection().running.client.update("DROP ALL");
    const id = await projection().declareNeed();
    expect((await projection().graphStatus("need", id)).status).toBe("pending");
    projection().proxy.mode = "ok";
    await noticed(/store is empty/);
  });

  test("two updates have overlapped in it: everything is verified", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(10);
    await settledAndWatched();
    await projection().running.client.update(
      `INSERT DATA { GRAPH <${DATA}/projection/> { <${DATA}/projection/> <${NS}projectionTurn> 1 } }`,
    );
    await noticed(/overlapped/);
    const { rows } = await owner().query("select urgent from app_private.graph_verification");
    expect(rows).toEqual([{ urgent: true }]);
  });

  test("one of its graphs has been emptied", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(10);
    await settledAndWatched();
    await projection().running.client.update(`DROP GRAPH <${NEEDS}>; DROP GRAPH <${DATA}/accelerators/>`);
    await noticed(/need, accelerators was emptied/);
    expect(LIST_NAMES).toContain("accelerators");
  });

  test("the database was set back: what the graph has beyond it is looked for", async () => {
    const worker = await projection().startWorker(WATCH_MS);
    const [id] = await projection().declareNeeds(10);
    await settledAndWatched();
    for (const status of ["met", "open", "met", "open", "met"]) {
      await projection().setNeedStatus(id!, status);
      await projection().settled();
    }
    await worker.stop();
    await owner().query("update app_private.graph_store set drain = 1, turn = 1000001");
    await owner().query("delete from app_private.graph_runs where drain > 1");
    await owner().query("update app_private.graph_marks set turn = least(turn, 1000001)");
    await owner().query("alter table app_public.needs disable trigger user");
    await owner().query("update app_public.needs set status = 'open' where need_id = $1", [id]);
    await owner().query("alter table app_public.needs enable trigger user");
    await projection().startWorker(WATCH_MS);
    await noticed(/database was set back/);
    expect((await owner().query("select urgent from app_private.graph_verification")).rows).toEqual([
      { urgent: true },
    ]);
  });

  test("its queries are answered from a copy that is behind: nothing counts before the copy shows it", async () => {
    const copy = await startSharedStore(testStores[0]!);
    try {
      const behind = { urls: copy.urls, headers: copy.headers, ready: Promise.resolve() };
      projection().proxy.copy = behind;
      await projection().startWorker(WATCH_MS);
      await projection().settled();
      const { promise, resolve } = Promise.withResolvers<void>();
      behind.ready = promise;
      const id = await projection().declareNeed();
      await eventually(async () => expect(await projection().graphState()).toBe("lagging"));
      expect((await projection().graphStatus("need", id)).status).toBe("pending");
      resolve();
      await eventually(async () =>
        expect((await projection().graphStatus("need", id)).status).toBe("synced"),
      );
      expect(await copy.client.ask(`ask { <${NEEDS}${id}> ?p ?o }`)).toBe(true);
      await eventually(async () => expect(await projection().graphState()).toBe("current"));
    } finally {
      await copy.remove();
    }
  });

  test("a table is truncated: its records and what refers to them go", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await projection().current();
    await owner().query("truncate app_public.needs, app_public.organizations cascade");
    await projection().current();
    const { client } = projection().running;
    expect(await client.ask(`ask { graph <${NEEDS}> { ?s a ?type } }`)).toBe(false);
    expect(await client.ask(`ask { graph <${DATA}/organizations/> { ?s a ?type } }`)).toBe(false);
  });

  test("the worker's clock is set back an hour while the store is down", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(10);
    await projection().settled();
    projection().proxy.mode = "closed";
    await projection().declareNeeds(10);
    await eventually(async () => expect(await projection().graphState()).toBe("unavailable"));
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, "now").mockImplementation(() => now() - 3_600_000);
    try {
      await sleep(100);
      projection().proxy.mode = "ok";
      await projection().equal();
    } finally {
      clock.mockRestore();
    }
  });

  test("whole graphs are swallowed by something in the store's place", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().settled();
    projection().proxy.mode = "swallow";
    await owner().query("insert into app_public.people_groups (rop3, name) values ('100001', 'Somali')");
    await eventually(async () => expect(await projection().graphState()).toBe("unconfirmed"));
    projection().proxy.mode = "ok";
    await projection().equal();
  });
});
