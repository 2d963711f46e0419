// Whole graphs that do not arrive, or arrive late, or twice: the number that each of them says is noticed to be too small.
import { expect, test } from "@jest/globals";
import { migrate } from "../db/migrate.ts";
import { GraphUnavailable } from "../graph/store.ts";
import { rebuild, wanted } from "../worker/rebuild.ts";
import { eventually } from "./support/eventually.ts";
import { onEachStore } from "./support/on-each-store.ts";
import { DATA, NS, PATIENCE, WATCH_MS } from "./support/projection.ts";

// A worker that looks this seldom notices only what an update runs into.
const NEVER_MS = 3_600_000;
const NEEDS = `${DATA}/needs/`;
const ORGANIZATIONS = `${DATA}/organizations/`;
const MARK = `${NS}projectionTurn`;

const setStatus = (status: string) =>
  `DELETE { GRAPH <${NEEDS}> { ?s <${NS}needStatus> ?old } } INSERT { GRAPH <${NEEDS}> { ?s <${NS}needStatus> "${status}" } }
   WHERE { GRAPH <${NEEDS}> { ?s <${NS}needStatus> ?old } }`;

onEachStore({ storeTimeoutMs: 10_000 }, (projection) => {
  const owner = () => projection().database.owner;
  const client = () => projection().running.client;
  const throughProxy = () => ({
    ...{ pool: owner(), store: projection().store },
    ...{ projector: projection().projector, logger: projection().logger, ...PATIENCE },
  });

  const current = () => projection().current();

  /** Has the worker replace the graphs of records, and the lists. */
  async function rebuilt(): Promise<void> {
    await owner().query("select app_private.request_rebuild()");
    await eventually(async () => expect(await wanted(owner())).toEqual([]));
    await current();
  }

  /** Counts the records that are written from now on. */
  async function counting(): Promise<() => Promise<number>> {
    const { rows: before } = await owner().query<{ at: string }>("select clock_timestamp()::text as at");
    return async () => {
      const { rows } = await owner().query<{ written: number }>(
        "select count(*)::integer as written from app_private.graph_records where synced_at > $1",
        [before[0]!.at],
      );
      return rows[0]!.written;
    };
  }

  /** Whether somebody has asked for everything to be verified. */
  async function isUrgent(): Promise<boolean> {
    const { rows } = await owner().query<{ urgent: boolean }>(
      "select urgent from app_private.graph_verification",
    );
    return rows[0]!.urgent;
  }

  /** Waits until the named graphs say what the database expects, which is after every loss has been found. */
  async function numbered(): Promise<void> {
    await eventually(async () => {
      await current();
      const rows = await client().select(
        `select ?g ?turn where { graph ?g { ?g <${MARK}> ?turn } filter(?g != <${DATA}/projection/>) }`,
      );
      const said = new Map(rows.map(({ g, turn }) => [g!.value, turn!.value]));
      const { rows: known } = await owner().query<{ name: keyof typeof contents; turn: string }>(
        "select name, turn from app_private.graph_marks",
      );
      const { contents } = projection().projector.names;
      expect(known).toHaveLength(Object.keys(contents).length);
      expect(said).toEqual(new Map(known.map(({ name, turn }) => [contents[name], turn])));
    });
  }

  /** Changes, after which the needs of `ids` are not what they were. */
  async function change([first, second, third]: string[]): Promise<void> {
    await projection().setNeedStatus(first!, "met");
    await projection().setNeedStatus(second!, "withdrawn");
    await owner().query("delete from app_public.needs where need_id = $1", [third]);
    await projection().declareNeed();
    await current();
  }

  test("one that is delivered again later loses what was written in between, and only that is written again", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(30);
    projection().proxy.mode = "replayGraph";
    await rebuilt();
    projection().proxy.mode = "ok";
    await change(ids);
    const written = await counting();
    await projection().proxy.release();
    await eventually(async () => expect(await written()).toBe(4));
    await numbered();
    await projection().equal();
    expect(await written()).toBe(4);
  });

  test("what is written next does not cover that up", async () => {
    await projection().startWorker(NEVER_MS);
    const ids = await projection().declareNeeds(30);
    projection().proxy.mode = "replayGraph";
    await rebuilt();
    projection().proxy.mode = "ok";
    await change(ids);
    await projection().proxy.release(NEEDS);
    await projection().setNeedStatus(ids[10]!, "met");
    await current();
    await projection().equal();
  });

  test("one that is delivered after it was given up and sent anew", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(30);
    await current();
    projection().proxy.mode = "lateGraph";
    await owner().query("select app_private.request_rebuild()");
    await owner().query("update app_public.organizations set name = name || ' (renamed)'");
    await eventually(async () => expect(await projection().graphState()).toBe("unavailable"));
    await owner().query("update app_public.organizations set name = name || ' again'");
    projection().proxy.mode = "ok";
    await eventually(async () => expect(await wanted(owner())).toEqual([]));
    await change(ids);
    await projection().proxy.release();
    await numbered();
    await projection().equal();
  });

  test("one that brings back what XML cannot hold as it was before", async () => {
    await projection().startWorker(WATCH_MS);
    const [id] = await projection().declareNeeds(3);
    // Earlier versions accepted such characters, and what they stored is still there.
    await owner().query(
      "update app_public.needs set need_description = E'a bell: \\x07' where need_id = $1",
      [id],
    );
    projection().proxy.mode = "replayGraph";
    await rebuilt();
    projection().proxy.mode = "ok";
    await projection().proxy.release(NEEDS);
    await numbered();
    expect(await client().ask(`ask { <${NEEDS}${id}> <${NS}needDescription> ?text }`)).toBe(true);
    await projection().equal();
  });

  test("one of another graph, while what the first has lost is being marked", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(3);
    projection().proxy.mode = "replayGraph";
    await rebuilt();
    projection().proxy.mode = "ok";
    await projection().setNeedStatus(ids[0]!, "met");
    await owner().query("update app_public.organizations set name = name || ' (renamed)'");
    await current();
    const writer = await owner().connect();
    await writer.query("begin");
    await writer.query("update app_public.needs set status = 'partially_met' where need_id = $1", [ids[0]]);
    await projection().proxy.release(NEEDS);
    await eventually(async () => {
      const { rows } = await owner().query(
        "select from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())",
      );
      expect(rows).not.toEqual([]);
    });
    await projection().proxy.release(ORGANIZATIONS);
    await writer.query("rollback");
    writer.release();
    await numbered();
    await projection().equal();
  });

  test("an update that was refused and comes late has no effect on a graph that has seen a later one, though the whole was set back", async () => {
    const worker = await projection().startWorker(NEVER_MS);
    await projection().declareNeeds(3);
    await current();
    const contents = (graph: string) =>
      client().construct(`construct { ?s ?p ?o } where { graph <${graph}> { ?s ?p ?o } }`);
    const whole = await contents(`${DATA}/projection/`);
    const late: string[] = [];
    projection().proxy.refuses = (graph, body) => {
      if (graph !== null || !body.includes("comes late")) return undefined;
      late.push(body);
      return 400;
    };
    const id = await projection().declareNeed({ needDescription: "This one comes late" });
    await eventually(async () =>
      expect((await projection().graphStatus("need", id)).status).toBe("rejected"),
    );
    await worker.stop();
    await client().putGraph(`${DATA}/projection/`, whole, "application/n-triples");
    const before = (await contents(NEEDS)).split("\n").toSorted();
    for (const update of late) await client().update(update);
    expect((await contents(NEEDS)).split("\n").toSorted()).toEqual(before);
  });

  test("a list that is swallowed, with as many triples as before, is not taken for written", async () => {
    await owner().query("insert into app_public.people_groups (rop3, name) values ('100001', 'Somali')");
    await projection().startWorker(WATCH_MS);
    await current();
    projection().proxy.mode = "swallowGraph";
    await owner().query("update app_public.people_groups set name = 'Borana'");
    await eventually(async () => expect(await projection().graphState()).toBe("unconfirmed"));
    projection().proxy.mode = "ok";
    await current();
    expect(await client().ask(`ask { graph <${DATA}/his/> { ?s ?p "Borana" } }`)).toBe(true);
    await projection().equal();
  });

  test("a rebuild that is swallowed, over drift with as many triples, is not taken for done", async () => {
    await projection().declareNeeds(5);
    await rebuild(throughProxy());
    await client().update(setStatus("met"));
    projection().proxy.mode = "swallowGraph";
    await expect(rebuild(throughProxy())).rejects.toThrow(GraphUnavailable);
    expect(await wanted(owner())).toContain("need");
    projection().proxy.mode = "ok";
    await rebuild(throughProxy());
    await projection().startWorker();
    await projection().equal();
  });

  test("one graph is set back to an earlier state, and another is not", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(10);
    await current();
    const backup = await client().construct(`construct { ?s ?p ?o } where { graph <${NEEDS}> { ?s ?p ?o } }`);
    await change(ids);
    const written = await counting();
    await client().putGraph(NEEDS, backup, "application/n-triples");
    await numbered();
    await projection().equal();
    expect(await written()).toBe(4);
  });

  test("an update that a killed worker could not note is no loss", async () => {
    const worker = await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await worker.stop();
    await owner().query("update app_private.graph_marks set turn = turn - 1");
    await owner().query("update app_private.graph_store set turn = turn - 1");
    const written = await counting();
    await projection().startWorker(WATCH_MS);
    await projection().declareNeed();
    await current();
    await projection().equal();
    expect(await written()).toBe(1);
  });

  test("graphs of a version without numbers may be wrong, and are written again once", async () => {
    const worker = await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(5);
    await current();
    await worker.stop();
    await owner().query("delete from app_private.graph_marks");
    await client().update(
      `DELETE { GRAPH ?g { ?g <${MARK}> ?turn } }
       WHERE { GRAPH ?g { ?g <${MARK}> ?turn } FILTER(?g != <${DATA}/projection/>) } ;
       ${setStatus("withdrawn")}`,
    );
    const written = await counting();
    const again = await projection().startWorker(WATCH_MS);
    await numbered();
    await projection().equal();
    expect(await written()).toBe(5);
    expect(await isUrgent()).toBe(true);
    await again.stop();
    const arrived = projection().proxy.updates;
    await projection().startWorker(WATCH_MS);
    await projection().setNeedStatus(ids[0]!, "met");
    await current();
    // The change, and nothing else.
    expect(projection().proxy.updates).toBe(arrived + 1);
    await projection().equal();
  });

  test("a number that is none of the service's is put right", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await client().update(
      `DELETE { GRAPH <${NEEDS}> { <${NEEDS}> <${MARK}> ?turn } } INSERT { GRAPH <${NEEDS}> { <${NEEDS}> <${MARK}> "yes", 7 } }
       WHERE { GRAPH <${NEEDS}> { <${NEEDS}> <${MARK}> ?turn } }`,
    );
    await numbered();
    await projection().equal();
  });

  test("an older number beside a graph's own has what came after it written again", async () => {
    await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await client().update(
      `${setStatus("withdrawn")} ; INSERT DATA { GRAPH <${NEEDS}> { <${NEEDS}> <${MARK}> 1 } }`,
    );
    await eventually(async () =>
      expect(await client().ask(`ask { graph <${NEEDS}> { <${NEEDS}> <${MARK}> 1 } }`)).toBe(false),
    );
    await numbered();
    await projection().equal();
  });

  test("a kind of record that came with a later migration is marked and rebuilt like the others", async () => {
    await owner().query("delete from app_private.graph_rebuilds where kind = 'need'");
    const worker = await projection().startWorker(WATCH_MS);
    await projection().declareNeeds(5);
    await current();
    await client().update(`DROP GRAPH <${NEEDS}>`);
    await numbered();
    await projection().equal();
    await worker.stop();
    await migrate(projection().database.url);
    await client().update(`INSERT DATA { GRAPH <${NEEDS}> { <urn:x-old> <urn:p> "o" } }`);
    await rebuild(throughProxy());
    await projection().equal();
  });
});
