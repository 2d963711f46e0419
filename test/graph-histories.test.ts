// Marks that say what this database would say and were not written by it as it is: of a history that it has left, of
// another installation, by hand, or by half an update.
import { describe, expect, test } from "@jest/globals";
import { drain } from "../worker/drain.ts";
import { verify } from "../worker/verify.ts";
import { backUp } from "./support/back-up.ts";
import { eventually } from "./support/eventually.ts";
import { onEachStore } from "./support/on-each-store.ts";
import { DATA, NS, PATIENCE, WATCH_MS } from "./support/projection.ts";

// A worker that looks this seldom notices only what an update runs into.
const NEVER_MS = 3_600_000;
const NEEDS = `${DATA}/needs/`;
const ACCELERATORS = `${DATA}/accelerators/`;
const WHOLE = `${DATA}/projection/`;
const MARK = `${NS}projectionTurn`;
const RUN = `${NS}projectionRun`;
const FOREIGN = `INSERT DATA { GRAPH <${NEEDS}> { <${NEEDS}11111111-2222-4333-8444-555555555555> a <${NS}Need> } }`;
// What a restored database knows of the past.
const RESTORED = [
  ...["app_public.needs", "app_private.graph_records", "app_private.graph_references"],
  ...["app_private.graph_store", "app_private.graph_marks", "app_private.graph_runs"],
];

onEachStore({ storeTimeoutMs: 10_000 }, (projection) => {
  const owner = () => projection().database.owner;
  const client = () => projection().running.client;

  const current = () => projection().current();

  /** Waits until the graph is right, however often it was thought to be before. */
  async function right(): Promise<void> {
    await eventually(async () => {
      await current();
      await projection().equal();
    });
  }

  /** What the database knows, to be put back later without anything taking notice. */
  async function backUpDatabase(): Promise<() => Promise<void>> {
    await owner().query("create schema backup");
    for (const table of RESTORED) {
      await owner().query(`create table backup.${table.split(".")[1]} as select * from ${table}`);
    }
    return async () => {
      const connection = await owner().connect();
      await connection.query("begin");
      await connection.query("set local session_replication_role = replica");
      for (const table of RESTORED) {
        const { rows } = await connection.query<{ columns: string }>(
          `select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
           where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
          [table],
        );
        const { columns } = rows[0]!;
        await connection.query(`delete from ${table}`);
        await connection.query(
          `insert into ${table} (${columns}) overriding system value select ${columns} from backup.${table.split(".")[1]}`,
        );
      }
      await connection.query("commit");
      connection.release();
    };
  }

  /** Whether somebody has asked for everything to be verified. */
  async function isUrgent(): Promise<boolean> {
    const { rows } = await owner().query<{ urgent: boolean }>(
      "select urgent from app_private.graph_verification",
    );
    return rows[0]!.urgent;
  }

  /** Has the graph of the needs say something else of itself. */
  const say = (triples: string) =>
    client().update(
      `DELETE { GRAPH <${NEEDS}> { <${NEEDS}> ?p ?o } } INSERT { GRAPH <${NEEDS}> { <${NEEDS}> ${triples} } }
       WHERE { GRAPH <${NEEDS}> { <${NEEDS}> ?p ?o } }`,
    );
  const alter = () =>
    client().update(
      `DELETE { GRAPH <${NEEDS}> { ?s <${NS}needStatus> ?old } } INSERT { GRAPH <${NEEDS}> { ?s <${NS}needStatus> "withdrawn" } }
       WHERE { GRAPH <${NEEDS}> { ?s <${NS}needStatus> ?old } }`,
    );
  async function said(graph: string): Promise<{ turn: bigint; run: string }> {
    const rows = await client().select(
      `select ?turn ?run where { graph <${graph}> { <${graph}> <${MARK}> ?turn ; <${RUN}> ?run } }`,
    );
    expect(rows).toHaveLength(1);
    return { turn: BigInt(rows[0]!["turn"]!.value), run: rows[0]!["run"]!.value };
  }

  test.each(["is looked for", "is not covered up by the next write"])(
    "the database was set back by one write: it %s",
    async (how) => {
      const worker = await projection().startWorker(WATCH_MS);
      const [id] = await projection().declareNeeds(5);
      await current();
      await worker.stop();
      const restore = await backUpDatabase();
      const again = await projection().startWorker(WATCH_MS);
      await projection().setNeedStatus(id!, "met");
      await current();
      await again.stop();
      await restore();
      if (how !== "is looked for") {
        await projection().declareNeed();
        const { store: door, projector, logger } = projection();
        const result = await drain({ pool: owner(), store: door, projector, logger, ...PATIENCE });
        expect(result.state).toBe("store_unavailable");
      }
      await projection().startWorker(WATCH_MS);
      await right();
    },
  );

  test("an update that has the number of another history's last one has no effect", async () => {
    const worker = await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await projection().declareNeed();
    await current();
    await worker.stop();
    const { turn } = await said(WHOLE);
    const drained = turn / 1_000_000n;
    expect(turn).toBe(drained * 1_000_000n + 1n);
    await owner().query("update app_private.graph_store set drain = $1", [String(drained - 1n)]);
    const all = "construct { ?s ?p ?o } where { graph ?g { ?s ?p ?o } }";
    const before = (await client().construct(all)).split("\n").toSorted();
    await projection().declareNeed();
    const { store: door, projector, logger } = projection();
    const result = await drain({ pool: owner(), store: door, projector, logger, ...PATIENCE });
    expect(result.state).toBe("store_unavailable");
    expect((await client().construct(all)).split("\n").toSorted()).toEqual(before);
    await projection().startWorker(WATCH_MS);
    await right();
  });

  test.each([
    ["the worker that sent it was stopped before it could show it", 1n, false],
    ["nothing but a number set by hand can have", 2n, true],
  ])("a list is ahead of all updates as %s", async (_how, ahead, isWrittenAgain) => {
    const worker = await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await worker.stop();
    const { turn, run } = await said(WHOLE);
    await client().update(
      `DELETE { GRAPH <${ACCELERATORS}> { <${ACCELERATORS}> <${MARK}> ?turn ; <${RUN}> ?run } }
       INSERT { GRAPH <${ACCELERATORS}> { <${ACCELERATORS}> <${MARK}> ${turn + ahead} ; <${RUN}> "${run}" } }
       WHERE { GRAPH <${ACCELERATORS}> { <${ACCELERATORS}> <${MARK}> ?turn ; <${RUN}> ?run } }`,
    );
    const written = () =>
      owner()
        .query<{ revision: string }>(
          "select revision from app_private.graph_references where name = 'accelerators'",
        )
        .then(({ rows }) => rows[0]!.revision);
    const before = await written();
    await projection().startWorker(WATCH_MS);
    await eventually(async () => expect(await isUrgent()).toBe(true));
    await right();
    expect((await written()) !== before).toBe(isWrittenAgain);
  });

  test("the mending of a database that was set back fails the first time", async () => {
    const worker = await projection().startWorker(NEVER_MS);
    const [id] = await projection().declareNeeds(5);
    await current();
    const restore = await backUpDatabase();
    await projection().setNeedStatus(id!, "met");
    await current();
    await worker.stop();
    await restore();
    await owner().query(`
      create function public.fail() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
      create trigger fail before update on app_private.graph_verification
        for each row execute function public.fail()`);
    await projection().startWorker(WATCH_MS);
    const drains = async () =>
      (await owner().query<{ drain: string }>("select drain from app_private.graph_store")).rows[0]!.drain;
    const first = BigInt(await drains());
    await eventually(async () => expect(BigInt(await drains())).toBeGreaterThan(first + 1n));
    await owner().query("drop function public.fail cascade");
    await right();
  });

  test.each(["the whole store", "the graph of the needs alone"])(
    "two histories with the same numbers: %s is restored from the one that was left",
    async (what) => {
      let worker = await projection().startWorker(WATCH_MS);
      const ids = await projection().declareNeeds(8);
      await current();
      await worker.stop();
      const restoreDatabase = await backUpDatabase();
      const restoreStore = await backUp(client());
      const history = async (some: string[], status: string) => {
        worker = await projection().startWorker(WATCH_MS);
        for (const id of some) {
          await projection().setNeedStatus(id, status);
          await projection().declareNeed();
          await current();
        }
        await worker.stop();
      };
      await history(ids.slice(0, 3), "met");
      const first = await backUp(client());
      const needs = await client().construct(
        `construct { ?s ?p ?o } where { graph <${NEEDS}> { ?s ?p ?o } }`,
      );
      await restoreDatabase();
      await restoreStore();
      await history(ids.slice(3, 6), "withdrawn");
      if (what === "the whole store") await first();
      else await client().putGraph(NEEDS, needs, "application/n-triples");
      await projection().startWorker(WATCH_MS);
      await right();
    },
  );

  describe("a graph of another installation", () => {
    const stranger = `"7b0e6f4e-6a39-4f0c-9d55-0a1c9a3f6b11"`;

    test.each([
      ["a larger number", 1_000_000n],
      ["the same number", 0n],
      ["a smaller number", -1n],
    ])("with %s", async (_what, difference) => {
      await projection().startWorker(WATCH_MS);
      await projection().declareNeeds(5);
      await current();
      const { turn } = await said(NEEDS);
      await alter();
      await say(`<${MARK}> ${turn + difference} ; <${RUN}> ${stranger}`);
      await right();
    });

    test("is not covered up by the next write", async () => {
      await projection().startWorker(NEVER_MS);
      await projection().declareNeeds(5);
      await current();
      const { turn } = await said(NEEDS);
      await alter();
      await say(`<${MARK}> ${turn} ; <${RUN}> ${stranger}`);
      await projection().declareNeed();
      await right();
    });

    test("mixed into one's own is not covered up by the next write", async () => {
      await projection().startWorker(NEVER_MS);
      await projection().declareNeeds(5);
      await current();
      await alter();
      await client().update(`INSERT DATA { GRAPH <${NEEDS}> { <${NEEDS}> <${RUN}> ${stranger} } }`);
      await projection().declareNeed();
      await right();
    });
  });

  test.each([
    ["beyond reason", 9_000_000_000_000_000n],
    ["beyond what PostgreSQL can count to", 10n ** 40n],
    ["of one of the next drains", 2_000_000n],
    ["beyond the last update of all", 500n],
  ])("a number by hand, %s", async (_what, more) => {
    await projection().startWorker(WATCH_MS);
    const [id] = await projection().declareNeeds(5);
    await current();
    const { turn, run } = await said(NEEDS);
    await alter();
    await say(`<${MARK}> ${turn + more} ; <${RUN}> "${run}"`);
    await right();
    await projection().setNeedStatus(id!, "met");
    await right();
    expect((await said(NEEDS)).turn).toBeLessThan(turn + 52_000_000n);
  });

  test("an update of which only the beginning was applied does not count", async () => {
    await projection().startWorker(NEVER_MS);
    const [id] = await projection().declareNeeds(5);
    await current();
    const lists = async () =>
      (await owner().query("select name, synced_at from app_private.graph_references order by name")).rows;
    const before = await lists();
    let cut = 0;
    projection().proxy.truncate = (update) => {
      const at = update.search(/ ;\nDELETE \{ GRAPH <[^>]*> \{ \?s \?p \?o \} \}\nWHERE/);
      if (at < 0) return update;
      cut += 1;
      return update.slice(0, at);
    };
    await projection().setNeedStatus(id!, "met");
    const added = await projection().declareNeed();
    await eventually(async () => expect(await projection().graphState()).toBe("unconfirmed"));
    expect(cut).toBeGreaterThan(0);
    expect((await projection().graphStatus("need", added)).status).toBe("pending");
    projection().proxy.truncate = undefined;
    await right();
    expect((await projection().graphStatus("need", added)).status).toBe("synced");
    // Which graphs it was to change is known: the others have lost nothing.
    expect(await lists()).toEqual(before);
  });

  test("a database that could not be asked for a while may have been set back", async () => {
    await projection().startWorker(NEVER_MS);
    await projection().declareNeeds(5);
    await current();
    const ask = "app_private.graph_work_waits()";
    await client().update(`DROP GRAPH <${NEEDS}>`);
    await owner().query(`alter function ${ask} rename to elsewhere`);
    await eventually(async () => expect(await isUrgent()).toBe(true));
    await owner().query("alter function app_private.elsewhere() rename to graph_work_waits");
    await right();
  });

  test("what a worker wrote and could not note has everything verified, and nothing written again", async () => {
    const worker = await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await worker.stop();
    await owner().query("update app_private.graph_marks set turn = turn - 1");
    await owner().query("update app_private.graph_store set turn = turn - 1");
    const { rows: before } = await owner().query(
      "select record_id, synced_at from app_private.graph_records",
    );
    await projection().startWorker(WATCH_MS);
    await eventually(async () => expect(await isUrgent()).toBe(true));
    await right();
    const { rows: after } = await owner().query("select record_id, synced_at from app_private.graph_records");
    expect(new Set(after)).toEqual(new Set(before));
  });

  test("what a worker wrote and could not note is not covered up by the next write", async () => {
    const worker = await projection().startWorker(NEVER_MS);
    await projection().declareNeeds(5);
    await current();
    await owner().query("update app_private.graph_marks set turn = turn - 1");
    await owner().query("update app_private.graph_store set turn = turn - 1");
    await client().update(FOREIGN);
    await projection().declareNeed();
    await eventually(async () => expect(await isUrgent()).toBe(true));
    await worker.stop();
  });

  test("what the graph says of itself is lost, and nothing else: foreign records go", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await client().update(FOREIGN);
    await client().update(`DROP GRAPH <${WHOLE}>`);
    await right();
  });

  test("what an operator has removed is noted", async () => {
    const worker = await projection().startWorker(WATCH_MS);
    await current();
    await worker.stop();
    await client().update(`INSERT DATA { GRAPH <urn:x-unlisted> { <urn:s> <urn:p> "o" } }`);
    await verify({
      ...{ pool: owner(), store: projection().store, projector: projection().projector },
      ...{ repair: true, dropUnlisted: true },
    });
    const { rows } = await owner().query<{ turn: string }>("select turn from app_private.graph_store");
    expect(BigInt(rows[0]!.turn)).toBe((await said(WHOLE)).turn);
  });

  test("drains are forgotten, but for those that graphs should say", async () => {
    const worker = await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await worker.stop();
    const lists = await said(ACCELERATORS);
    await owner().query(
      "insert into app_private.graph_runs (drain) select i from generate_series(1000, 1100) as i",
    );
    await owner().query("update app_private.graph_store set drain = 150999");
    const again = await projection().startWorker(WATCH_MS);
    await projection().declareNeed();
    await current();
    await again.stop();
    const { rows } = await owner().query(
      "select from app_private.graph_runs where drain between 1000 and 1100",
    );
    expect(rows).toEqual([]);
    const arrived = projection().proxy.updates;
    await projection().startWorker(WATCH_MS);
    await projection().declareNeed();
    await right();
    // The need, and nothing that would have been taken for lost.
    expect(projection().proxy.updates).toBe(arrived + 1);
    expect(await said(ACCELERATORS)).toEqual(lists);
  });
});
