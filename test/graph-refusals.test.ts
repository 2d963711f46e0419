// What a store refuses once is not given up: it is sent again, and until then the graph does not count as whole.
import { describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { readStarterVocabulary } from "../graph/skos.ts";
import { createDrainer } from "../worker/drainer.ts";
import { importVocabulary } from "../worker/imports.ts";
import { wanted } from "../worker/rebuild.ts";
import { projectionStatus } from "../worker/status.ts";
import { eventually } from "./support/eventually.ts";
import { onEachStore } from "./support/on-each-store.ts";
import { DATA, NS, WATCH_MS } from "./support/projection.ts";

const LIST = `${DATA}/his/`;

// Whose answer does not come is known to be silent long before that, and who is merely busy is given time.
onEachStore({ storeTimeoutMs: 30_000 }, (projection) => {
  const owner = () => projection().database.owner;
  const client = () => projection().running.client;

  /** Waits until the graph counts as whole, and compares it with the tables. */
  async function equalAndCurrent(): Promise<void> {
    await eventually(async () => expect(await projection().graphState()).toBe("current"));
    await projection().equal();
  }

  async function health(): Promise<Record<string, unknown>> {
    const { rows } = await owner().query<Record<string, unknown>>("select * from rest.health");
    return rows[0]!;
  }

  describe("a record", () => {
    const MARK = "refused for now";
    const declare = () => projection().declareNeed({ needDescription: MARK });
    const errorsOf = async (id: string) => (await projection().graphStatus("need", id)).errors;

    // A failed update is sent twice before anybody thinks about it.
    test.each([
      [500, 2],
      [500, 4],
      [400, 1],
      [413, 1],
    ])("that is answered %i, %i times, stays in the graph", async (status, times) => {
      await projection().startWorker(WATCH_MS);
      const id = await declare();
      await equalAndCurrent();
      await owner().query(`
        create table public.seen (state text);
        create function public.see() returns trigger language plpgsql as $$
        begin insert into public.seen values (new.state); return null; end $$;
        create trigger see after update on app_private.graph_records for each row execute function public.see();`);
      let left = times;
      projection().proxy.refuses = (_graph, body) => (body.includes(MARK) && left-- > 0 ? status : undefined);
      await projection().setNeedStatus(id, "met");
      await equalAndCurrent();
      expect(left).toBeLessThan(0);
      const { rows } = await owner().query("select state from public.seen where state = 'rejected'");
      expect(rows).toEqual([]);
    });

    test("that is answered 500 once is sent again as it was", async () => {
      await projection().startWorker(WATCH_MS);
      await equalAndCurrent();
      const sent: string[] = [];
      projection().proxy.refuses = (_graph, body) =>
        body.includes(MARK) && sent.push(body) === 1 ? 500 : undefined;
      await declare();
      await equalAndCurrent();
      // But for the comment in its last line, which no other request has.
      const texts = sent.map((text) => text.slice(0, text.lastIndexOf("#")));
      expect(texts).toEqual([texts[0], texts[0]]);
    });

    test("that is refused for a while is taken up again by itself, while others go in", async () => {
      await projection().startWorker(WATCH_MS);
      projection().proxy.refuses = (_graph, body) => (body.includes(MARK) ? 400 : undefined);
      const [id] = [await declare(), await projection().declareNeed()];
      await eventually(async () => expect(await errorsOf(id)).toHaveLength(1));
      const waits = async () => {
        const { rows } = await owner().query<{ refusals: number; wait: number }>(
          `select refusals::integer, extract(epoch from retry_at - synced_at)::float8 as wait from app_private.graph_records
           where record_id = $1`,
          [id],
        );
        return rows[0]!;
      };
      const first = await eventually(async () => {
        const found = await waits();
        expect(found.wait).toBeGreaterThan(0);
        return found;
      });
      // It may have been refused more than once by then. As if the time were over.
      await owner().query("update app_private.graph_records set retry_at = now() where record_id = $1", [id]);
      await eventually(async () => {
        const { refusals, wait } = await waits();
        expect(refusals).toBeGreaterThan(first.refusals);
        expect(wait).toBeGreaterThan(first.wait);
      });
      projection().proxy.refuses = undefined;
      await owner().query("update app_private.graph_records set retry_at = now() where record_id = $1", [id]);
      await eventually(async () => expect(await errorsOf(id)).toEqual([]));
      await equalAndCurrent();
    });

    test("that the load check refuses is not sent again", async () => {
      await projection().startWorker(WATCH_MS);
      await owner().query("insert into app_public.people_groups (rop3, name) values ('100001', 'Somali')");
      const id = await projection().declareNeed({ concernsPeopleGroupRop3: ["100001"] });
      await equalAndCurrent();
      await owner().query("update app_public.people_groups set rop3 = '100002'");
      await projection().setNeedStatus(id, "met");
      await eventually(async () => expect(await errorsOf(id)).toHaveLength(1));
      const { rows } = await owner().query(
        "select refusals::integer, retry_at from app_private.graph_records where record_id = $1",
        [id],
      );
      expect(rows).toEqual([{ refusals: 0, retry_at: null }]);
    });
  });

  describe("a rebuild", () => {
    const NEEDS = `${DATA}/needs/`;

    // As if a database had been set back: nothing in the tables leads to it.
    async function withStranger(): Promise<void> {
      await projection().startWorker(WATCH_MS);
      await projection().declareNeeds(3);
      await equalAndCurrent();
      await client().update(
        `INSERT DATA { GRAPH <${NEEDS}> { <${NEEDS}00000000-0000-4000-8000-00000000aaaa> <urn:p> "o" } }`,
      );
    }

    test.each([400, 500])("whose graph is answered once with %i replaces it", async (status) => {
      await withStranger();
      let left = 1;
      projection().proxy.refuses = (graph) => (graph === NEEDS && left-- > 0 ? status : undefined);
      const { rows: before } = await owner().query<{ at: string }>("select clock_timestamp()::text as at");
      await owner().query("select app_private.request_rebuild()");
      await eventually(async () => expect(await wanted(owner())).toEqual([]));
      await equalAndCurrent();
      expect(left).toBeLessThan(0);
      // Not record by record.
      const { rows } = await owner().query<{ written: number }>(
        "select count(*)::integer as written from app_private.graph_records where synced_at > $1",
        [before[0]!.at],
      );
      expect(rows).toEqual([{ written: 0 }]);
    });

    test("whose graph is always refused leaves nothing in it that no table contains", async () => {
      await withStranger();
      projection().proxy.refuses = (graph) => (graph === NEEDS ? 500 : undefined);
      await owner().query("select app_private.request_rebuild()");
      await eventually(async () => expect(await wanted(owner())).toEqual([]));
      await equalAndCurrent();
    });
  });

  test("a need that is declared while a vocabulary is being imported gets the new concept", async () => {
    await projection().startWorker(WATCH_MS);
    await equalAndCurrent();
    const gate = await owner().connect();
    await gate.query("begin; lock table app_private.administration_history in share mode");
    const moved = readStarterVocabulary().replaceAll(/\bns:PRA-INT\b/g, "ns:PRA-Intercession");
    const importing = importVocabulary(owner(), moved, projection().projector.names);
    try {
      await eventually(async () => {
        const { rows } = await owner().query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%import_accelerators%' and datname = current_database()",
        );
        expect(rows).toHaveLength(1);
      });
      const id = await projection().declareNeed();
      await eventually(async () =>
        expect((await projection().graphStatus("need", id)).status).toBe("synced"),
      );
    } finally {
      await gate.query("commit");
      gate.release();
    }
    await importing;
    await equalAndCurrent();
  });

  describe("what no table contains", () => {
    const foreign = `INSERT DATA { GRAPH <${DATA}/needs/> { <urn:x-foreign> <urn:p> "o" } }`;
    const losses: [string, () => Promise<unknown>][] = [
      [
        "the database was set back",
        () => owner().query("update app_private.graph_store set drain = 1, turn = 1000001"),
      ],
      [
        "the store holds another graph",
        () => owner().query("update app_private.graph_store set identity = gen_random_uuid()"),
      ],
      [
        "two updates have overlapped",
        () =>
          client().update(
            `INSERT DATA { GRAPH <${DATA}/projection/> { <${DATA}/projection/> <${NS}projectionTurn> 1 } }`,
          ),
      ],
    ];
    // The worker of these tests verifies nothing.
    test.each(losses)("is removed although nobody verifies: %s", async (_loss, lose) => {
      const worker = await projection().startWorker(WATCH_MS);
      await projection().declareNeeds(3);
      await equalAndCurrent();
      await worker.stop();
      await client().update(foreign);
      await lose();
      await projection().startWorker(WATCH_MS);
      await eventually(async () => expect(await client().ask("ask { <urn:x-foreign> ?p ?o }")).toBe(false));
      await equalAndCurrent();
    });
  });

  describe("whoever looks at the store", () => {
    const minuteLater = () =>
      owner().query("update app_private.graph_store set looked_at = looked_at - interval '1 minute'");

    test("is missed when there is nobody", async () => {
      const worker = await projection().startWorker(WATCH_MS);
      await projection().declareNeeds(3);
      await equalAndCurrent();
      await worker.stop();
      await client().update("DROP ALL");
      await minuteLater();
      expect(await health()).toMatchObject({ pending: "0", graphState: "unwatched", isWhole: false });
      const status = await projectionStatus(owner(), client(), projection().projector.names);
      expect(status).toMatchObject({ state: "unwatched", reason: expect.stringContaining("No worker") });
      await projection().startWorker(WATCH_MS);
      await equalAndCurrent();
    });

    test("is not missed while there is somebody who has nothing to do, or who cannot reach it", async () => {
      await projection().startWorker(WATCH_MS);
      await equalAndCurrent();
      await minuteLater();
      await eventually(async () => expect(await projection().graphState()).toBe("current"));
      projection().proxy.mode = "hang";
      await eventually(async () => expect(await projection().graphState()).toBe("unavailable"));
      await minuteLater();
      await eventually(async () => expect(await projection().graphState()).toBe("unavailable"));
      // What is under way would be waited for in the end.
      projection().proxy.mode = "ok";
      await projection().proxy.release();
    });

    test("is believed before somebody who cannot reach it", async () => {
      await projection().startWorker(WATCH_MS);
      await equalAndCurrent();
      await owner().query(`
        create table public.seen (state text);
        create function public.see() returns trigger language plpgsql as $$
        begin insert into public.seen values (new.state); return null; end $$;
        create trigger see after update on app_private.graph_store for each row execute function public.see();`);
      const nowhere = createGraphStore(storeUrls("http://127.0.0.1:9/ds"));
      const said: string[] = [];
      const told = { write: (line: string) => void said.push(line) };
      const cutOff = createDrainer({
        pool: owner(),
        store: nowhere,
        projector: projection().projector,
        logger: pino({ level: "warn" }, told),
        watchMs: WATCH_MS,
      });
      try {
        await cutOff.wake();
        expect(said.join("")).toContain("the graph cannot be written");
        const { rows } = await owner().query("select from public.seen where state = 'unavailable'");
        expect(rows).toEqual([]);
      } finally {
        await cutOff.stop();
        nowhere.close();
      }
    });
  });

  describe("a list", () => {
    const change = () =>
      owner().query(
        `insert into app_public.people_groups (rop3, name) values ('100001', 'Somali')
         on conflict (rop3) do update set name = excluded.name || ' again'`,
      );

    test.each([400, 413, 500])("that is answered once with %i", async (status) => {
      await projection().startWorker(WATCH_MS);
      await equalAndCurrent();
      let refusals = 0;
      projection().proxy.refuses = (graph) => (graph === LIST && (refusals += 1) === 1 ? status : undefined);
      await change();
      await eventually(() => Promise.resolve(expect(refusals).toBeGreaterThan(1)));
      await equalAndCurrent();
      expect(await client().ask(`ask { graph <${LIST}> { ?s ?p "Somali" } }`)).toBe(true);
    });

    test("that is refused again and again keeps nothing else waiting, and is told of", async () => {
      await projection().startWorker(WATCH_MS);
      await equalAndCurrent();
      projection().proxy.refuses = (graph) => (graph === LIST ? 500 : undefined);
      await change();
      await owner().query("update app_public.organizations set name = name || ' (renamed)'");
      await eventually(async () =>
        expect(await health()).toMatchObject({
          graphState: "behind",
          isWhole: false,
          pendingLists: ["people_groups"],
        }),
      );
      await eventually(async () => {
        const { rows } = await owner().query("select reason from app_private.graph_store");
        expect(rows).toEqual([{ reason: expect.stringContaining("people_groups") }]);
      });
      const id = await projection().declareNeed();
      await eventually(async () =>
        expect((await projection().graphStatus("need", id)).status).toBe("synced"),
      );
      const again = async () => {
        const { rows: lists } = await owner().query<{ refusals: number }>(
          "select refusals::integer from app_private.graph_references where name = 'people_groups'",
        );
        return lists[0]!.refusals;
      };
      await eventually(async () => {
        // As if the time were over.
        await owner().query(
          "update app_private.graph_references set retry_at = now() where retry_at > now()",
        );
        expect(await again()).toBeGreaterThan(2);
      });
      projection().proxy.refuses = undefined;
      await equalAndCurrent();
      expect(await again()).toBe(0);
    });

    // Without a worker. A transaction has one time, so that nothing here is measured.
    test("that is refused is due after a second, then after two, after five minutes at most, and at once when it has changed", async () => {
      const connection = await owner().connect();
      await connection.query("begin");
      const refuse = (revision: string) =>
        connection.query(
          `select app_private.note_list_refused(name, ${revision}, 'behind', 'No') from app_private.graph_references
           where name = 'people_groups'`,
        );
      const list = async () => {
        const { rows } = await connection.query<{ wait: number | null; is_due: boolean }>(
          `select extract(epoch from retry_at - now())::float8 as wait,
             exists (select from app_private.due_references as d where d.name = r.name) as is_due
           from app_private.graph_references as r where name = 'people_groups'`,
        );
        return rows[0]!;
      };
      try {
        await connection.query("select app_private.mark_references('people_groups')");
        for (const wait of [1, 2, 4]) {
          await refuse("revision");
          expect(await list()).toEqual({ wait, is_due: false });
        }
        for (let times = 0; times < 20; times += 1) await refuse("revision");
        expect(await list()).toEqual({ wait: 300, is_due: false });
        await connection.query(
          "update app_private.graph_references set retry_at = retry_at + interval '1 second'",
        );
        expect(await list()).toEqual({ wait: 301, is_due: true });
        await connection.query("select app_private.mark_references('people_groups')");
        await refuse("revision - 1");
        expect(await list()).toEqual({ wait: null, is_due: true });
        // What was written in between has been refused by nobody.
        await connection.query(
          "select app_private.note_list_written(name, revision) from app_private.graph_references where name = 'people_groups'",
        );
        await connection.query("select app_private.mark_references('people_groups')");
        await refuse("revision");
        expect(await list()).toEqual({ wait: 1, is_due: false });
      } finally {
        connection.release(true);
      }
    });

    test("whose table cannot be read stops neither the other lists nor a rebuild", async () => {
      await owner().query("insert into app_public.people_groups (rop3, name) values ('100001', 'Somali')");
      await projection().startWorker(WATCH_MS);
      await projection().declareNeeds(3);
      await equalAndCurrent();
      await client().update(`INSERT DATA { GRAPH <${DATA}/needs/> { <urn:x-old> <urn:p> "o" } }`);
      await owner().query("alter table app_public.accelerators rename column definition to hidden");
      await owner().query("update app_public.organizations set name = name || ' (renamed)'");
      await owner().query("select app_private.request_rebuild()");
      await eventually(async () => expect(await client().ask("ask { <urn:x-old> ?p ?o }")).toBe(false));
      await eventually(async () => expect(await health()).toMatchObject({ pendingLists: ["accelerators"] }));
      await eventually(async () => expect(await projection().graphState()).toBe("behind"));
      await owner().query("alter table app_public.accelerators rename column hidden to definition");
      await equalAndCurrent();
    });
  });
});
