// Drift: what changed in the store behind the service's back is found, without being asked, in all that partners query.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { GraphTimeout, GraphUnavailable } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { LIST_NAMES } from "../graph/namespaces.ts";
import { verify } from "../worker/verify.ts";
import { eventually } from "./support/eventually.ts";
import { admin } from "./support/process.ts";
import { DATA, NS, PATIENCE, startProjection, startSharedStore } from "./support/projection.ts";
import type { Projection, SharedStore } from "./support/projection.ts";
import { testStores } from "./support/stores.ts";

const NEEDS = `${DATA}/needs/`;
const QUICK = { GRAPH_VERIFY_SHARE: "1", GRAPH_VERIFY_DAYS: "0.0000001" };

describe.each(testStores.filter((store) => store.available))("with $name", (kind) => {
  /** What the store has no part in. */
  const once = kind.name === "embedded" ? test : test.skip;
  let store: SharedStore;
  let projection: Projection;

  beforeAll(async () => {
    store = await startSharedStore(kind);
  });
  afterAll(() => store.remove());
  afterEach(() => projection.stop());

  async function start(env: NodeJS.ProcessEnv): Promise<string[]> {
    projection = await startProjection(store, 10_000, env);
    await projection.startWorker();
    const ids = await projection.declareNeeds(5);
    await projection.settled();
    return ids;
  }

  async function health() {
    const { rows } = await projection.database.owner.query<{
      verifiedAt: string | null;
      drift: string | null;
    }>(`select "verifiedAt", drift from rest.health`);
    return rows[0]!;
  }

  const parts = () => ({
    pool: projection.database.owner,
    store: projection.running.client,
    projector: projection.projector,
  });

  /** Adds triples to a named graph, if the engine takes them. */
  async function isTaken(graph: string, triples: string): Promise<boolean> {
    const { urls, headers } = projection.running;
    const url = new URL(urls.graphStoreUrl);
    url.searchParams.append("graph", graph);
    const { ok, status } = await fetch(url, {
      ...{ method: "POST", body: triples },
      headers: { ...headers, "content-type": "application/n-triples" },
    });
    if (!ok) expect(status).toBe(400);
    return ok;
  }

  /** Waits until a round that began after now has ended. */
  async function wholeRound(): Promise<void> {
    for (let rounds = 0; rounds < 2; rounds += 1) {
      const before = (await health()).verifiedAt;
      await eventually(async () => expect((await health()).verifiedAt).not.toBe(before));
    }
  }

  /** Each kind of drift in the service's own graphs. */
  async function disturb([first, second]: string[]): Promise<void> {
    await projection.running.client.update(`
      DELETE WHERE { GRAPH <${NEEDS}> { <${NEEDS}${first}> ?p ?o } } ;
      DELETE { GRAPH <${NEEDS}> { <${NEEDS}${second}> <${NS}needStatus> ?o } }
      INSERT { GRAPH <${NEEDS}> { <${NEEDS}${second}> <${NS}needStatus> "met" } }
      WHERE { GRAPH <${NEEDS}> { <${NEEDS}${second}> <${NS}needStatus> ?o } } ;
      INSERT DATA {
        GRAPH <${NEEDS}> { <urn:x-foreign> <urn:p> "o" . _:b <urn:p> "blank" . }
        GRAPH <${DATA}/countries/> { <urn:x-unlisted> <urn:p> "o" }
        GRAPH <${DATA}/iso3166/> { _:c <urn:p> "blank" }
        GRAPH <${DATA}/projection/> { <urn:x-foreign> <urn:p> "o" . _:d <urn:p> "blank" }
      }`);
  }

  test("it is put right in the background, but for what is beside the service's graphs", async () => {
    await disturb(await start(QUICK));
    await wholeRound();
    await projection.settled();
    const { client } = projection.running;
    expect(await client.ask(`ask { graph ?g { ?s <urn:p> ?o } filter(?g != <${DATA}/countries/>) }`)).toBe(
      false,
    );
    expect(await client.ask(`ask { graph <${DATA}/countries/> { <urn:x-unlisted> ?p ?o } }`)).toBe(true);
    await client.update(`DROP GRAPH <${DATA}/countries/>`);
    await projection.equal();
    await wholeRound();
    expect((await health()).drift).toBe("0");
  });

  test("what is beside the service's graphs is reported, and nothing is repaired where that is not wanted", async () => {
    const ids = await start({ ...QUICK, GRAPH_VERIFY: "report" });
    await disturb(ids);
    await wholeRound();
    // Missing, altered; foreign: an IRI and a blank node among needs, in the bookkeeping, and one more in each of two.
    expect((await health()).drift).toBe("8");
    expect(await projection.running.client.ask(`ask { <${NEEDS}${ids[0]}> ?p ?o }`)).toBe(false);
  });

  once.each([
    ["a share", { ...QUICK, GRAPH_VERIFY_SHARE: "0" }],
    ["days", { ...QUICK, GRAPH_VERIFY_DAYS: "0" }],
  ])("with %s of 0 nobody looks", async (_name, env) => {
    const [id] = await start(env);
    await projection.running.client.update(`DELETE WHERE { GRAPH <${NEEDS}> { <${NEEDS}${id}> ?p ?o } }`);
    await sleep(1_000);
    expect(await health()).toEqual({ verifiedAt: null, drift: null });
    expect(await projection.running.client.ask(`ask { <${NEEDS}${id}> ?p ?o }`)).toBe(false);
  });

  test("a round goes on where the last worker left it", async () => {
    projection = await startProjection(store, 10_000, { ...QUICK, GRAPH_VERIFY: "report" });
    const ids = await projection.declareNeeds(600);
    const sorted = ids.toSorted();
    const position =
      "update app_private.graph_verification set part = 0, after = $1, differences = 0, verified_at = now()";
    await projection.database.owner.query(position, [sorted[499]]);
    const worker = await projection.startWorker();
    await projection.settled();
    await projection.running.client.update(
      `DELETE WHERE { GRAPH <${NEEDS}> { <${NEEDS}${sorted[0]}> ?p ?o } } ;
       DELETE WHERE { GRAPH <${NEEDS}> { <${NEEDS}${sorted[550]}> ?p ?o } }`,
    );
    await worker.stop();
    await projection.database.owner.query(position, [sorted[499]]);
    // The next round, which may follow at once, finds both.
    await projection.database.owner.query(`
      create table public.rounds (drift bigint);
      create function public.note_round() returns trigger language plpgsql as $$
        begin insert into public.rounds values (new.drift); return null; end $$;
      create trigger note_round after update on app_private.graph_verification
        for each row when (old.verified_at <> new.verified_at) execute function public.note_round();
      grant insert on public.rounds to public`);
    await projection.startWorker();
    const rounds = async () =>
      (await projection.database.owner.query<{ drift: string }>("select drift from public.rounds")).rows;
    // Only what comes after the position.
    await eventually(async () => expect((await rounds())[0]).toEqual({ drift: "1" }));
  });

  test("a record that was deleted, and waits for the worker to remove it, is no difference", async () => {
    projection = await startProjection(store, 10_000, {});
    const [id] = await projection.declareNeeds(3);
    const worker = await projection.startWorker();
    await projection.settled();
    await worker.stop();
    await projection.database.owner.query("delete from app_public.needs where need_id = $1", [id]);
    const { stdout } = await admin(["graph", "verify", "--json"], projection.settings);
    expect(JSON.parse(stdout)).toMatchObject({
      differences: { foreign: 0, missing: 0, stale: 0, altered: 0 },
    });
  });

  /** The store, with something done before or after it is asked what a graph contains: each time the next. */
  function storeWith(graph: string, steps: { before?: () => Promise<void>; after?: () => Promise<void> }[]) {
    const { client } = projection.running;
    return {
      ...client,
      construct: async (query: string) => {
        const step = query.includes(`<${graph}>`) ? steps.shift() : undefined;
        await step?.before?.();
        const answer = await client.construct(query);
        await step?.after?.();
        return answer;
      },
    };
  }
  const nothing = { pending: 0, differences: { missing: 0, stale: 0, altered: 0, foreign: 0 } };

  test("a record that is written between the look at its table and the look at the graph, again and again, is no difference", async () => {
    const [id] = await start({});
    const write = (status: string) => async () => {
      await projection.setNeedStatus(id!, status);
      await projection.settled();
    };
    const steps = [{ before: write("met") }, { before: write("open") }, { before: write("met") }];
    expect(await verify({ ...parts(), store: storeWith(NEEDS, steps) })).toMatchObject(nothing);
    expect(steps).toEqual([]);
  });

  test("a record that is written anew between all of five looks waits for the next round, and is no difference", async () => {
    const [id] = await start({});
    const steps = ["met", "open", "met", "open", "met"].map((status) => ({
      before: async () => {
        await projection.setNeedStatus(id!, status);
        await projection.settled();
      },
    }));
    const result = await verify({ ...parts(), store: storeWith(NEEDS, steps) });
    expect(result).toMatchObject({ ...nothing, pending: 1 });
    expect(steps).toEqual([]);
  });

  test("a record that waited at the first look is at rest no sooner than after the second", async () => {
    const [id] = await start({});
    projection.proxy.mode = "held";
    await projection.setNeedStatus(id!, "met");
    const write = async () => {
      projection.proxy.mode = "ok";
      await projection.proxy.release();
      await projection.settled();
    };
    const writeAgain = async () => {
      await projection.setNeedStatus(id!, "open");
      await projection.settled();
    };
    const steps = [{ after: write }, { before: writeAgain }];
    expect(await verify({ ...parts(), store: storeWith(NEEDS, steps) })).toMatchObject(nothing);
    expect(steps).toEqual([]);
  });

  test("a list that is written between the look at its tables and the look at the graph waits for the next round", async () => {
    await start({});
    const rename = async () => {
      await projection.database.owner.query(
        "update app_public.accelerators set pref_label = pref_label || '!' where code = 'PRA'",
      );
      await projection.settled();
    };
    const store = storeWith(`${DATA}/accelerators/`, [{ before: rename }]);
    expect(await verify({ ...parts(), store })).toMatchObject({ ...nothing, pending: 1 });
  });

  test("a list that the store refuses does not stop it", async () => {
    await start(QUICK);
    await wholeRound();
    const list = `${DATA}/accelerators/`;
    projection.proxy.refuses = (graph) => (graph === list ? 400 : undefined);
    await projection.database.owner.query(
      "update app_public.accelerators set pref_label = pref_label || '!' where code = 'PRA'",
    );
    await eventually(async () => expect(await projection.graphState()).toBe("behind"));
    await projection.running.client.update(
      `INSERT DATA { GRAPH <${NEEDS}> { <urn:x-foreign> <urn:p> "o" } }`,
    );
    await eventually(async () =>
      expect(await projection.running.client.ask("ask { <urn:x-foreign> ?p ?o }")).toBe(false),
    );
  });

  test("a record that no trigger has seen is missing, and is written when that is repaired", async () => {
    const [id] = await start({});
    const { owner } = projection.database;
    await owner.query("delete from app_private.graph_records where record_id = $1", [id]);
    await projection.running.client.update(`DELETE WHERE { GRAPH <${NEEDS}> { <${NEEDS}${id}> ?p ?o } }`);
    const result = await verify({ ...parts(), repair: true });
    expect(result).toMatchObject({ pending: 0, differences: { missing: 1 }, repaired: 1 });
    await projection.equal();
  });

  test("a record in the graph that the load check would refuse by now is a difference", async () => {
    const [id] = await start({});
    const check = async (records: Parameters<typeof projection.projector.check>[0]) =>
      new Map(
        records.filter((record) => record.id === id).map(({ iri }) => [iri, [{ path: "", message: "No." }]]),
      );
    const result = await verify({ ...parts(), projector: { ...projection.projector, check }, repair: true });
    expect(result).toMatchObject({ differences: { foreign: 1 }, repaired: 1 });
  });

  test("an operator sees all of it, and drops what is unlisted only when asked to", async () => {
    const ids = await start({});
    await disturb(ids);
    const run = async (...args: string[]) => {
      const { code, stdout } = await admin(["graph", "verify", ...args, "--json"], projection.settings);
      return { code, value: JSON.parse(stdout) as { differences: Record<string, number>; repaired: number } };
    };
    const differences = { missing: 1, stale: 0, altered: 1, foreign: 6 };
    expect(await run()).toMatchObject({ code: 1, value: { differences, repaired: 0 } });
    expect(await run("--repair")).toMatchObject({ code: 1, value: { differences, repaired: 7 } });
    await projection.settled();
    const left = { missing: 0, stale: 0, altered: 0, foreign: 1 };
    expect(await run("--repair", "--drop-unlisted")).toMatchObject({ code: 0, value: { differences: left } });
    expect(await run()).toMatchObject({ code: 0, value: { differences: { ...left, foreign: 0 } } });
  });

  test("a store that was emptied is no difference to an operator who repairs: it waits to be written, and what is foreign in it goes all the same", async () => {
    projection = await startProjection(store, 10_000, {});
    await projection.declareNeeds(5);
    // Nobody else is there to notice.
    const worker = await projection.startWorker();
    await projection.settled();
    await worker.stop();
    const { client } = projection.running;
    await client.update(`DROP ALL ; INSERT DATA { GRAPH <${NEEDS}> { <urn:x-foreign> <urn:p> "o" } }`);
    const { code, stdout } = await admin(["graph", "verify", "--repair", "--json"], projection.settings);
    expect({ code, value: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 0,
      value: {
        ...{ records: 5, differences: { missing: 0, stale: 0, altered: 0, foreign: 1 }, repaired: 1 },
        ...{ pending: 5 + LIST_NAMES.length, examples: [{ kind: "foreign", iri: "urn:x-foreign" }] },
      },
    });
    await projection.equal();
  });

  once(
    "an operator is told in words what was compared, how much of it differs in which way, and what was put right",
    async () => {
      const ids = await start({});
      const said = async (...args: string[]) => {
        const { stdout, stderr } = await admin(["graph", "verify", ...args], projection.settings);
        // Each record counts once on the way, whatever part of the graph is looked at.
        expect(stderr.split("\n")).toContain("records: 5 of 5, done");
        await projection.settled();
        return stdout.split("\n").filter((line) => /^\d/.test(line));
      };
      expect(await said()).toEqual(["5 records compared: no differences"]);
      await disturb(ids);
      const all = "5 records compared: 1 missing, 0 stale, 1 altered, 6 foreign";
      expect(await said()).toEqual([all]);
      expect(await said("--repair")).toEqual([all, "7 repaired"]);
      expect(await said("--drop-unlisted")).toEqual([
        "5 records compared: 0 missing, 0 stale, 0 altered, 1 foreign",
        "1 repaired",
      ]);
    },
  );

  once("an operator is shown a hundred differences, and of the others how many there are", async () => {
    await start({});
    const foreign = (number: number) =>
      Array.from({ length: number }, (_, i) => `<urn:x-foreign-${i}> <urn:p> "o" .`).join("\n");
    const shown = async () => {
      const { code, stdout } = await admin(["graph", "verify"], projection.settings);
      return {
        code,
        foreign: stdout.match(/^foreign: /gm)?.length,
        more: /^and .* more$/m.exec(stdout)?.[0],
      };
    };
    await projection.running.client.update(`INSERT DATA { GRAPH <${NEEDS}> { ${foreign(100)} } }`);
    expect(await shown()).toEqual({ code: 1, foreign: 100, more: undefined });
    await projection.running.client.update(`INSERT DATA { GRAPH <${NEEDS}> { ${foreign(101)} } }`);
    expect(await shown()).toEqual({ code: 1, foreign: 100, more: "and 1 more" });
  });

  test.each([
    ["a resource of a graph", `GRAPH <${NEEDS}> { <urn:x-foreign> <urn:p> "o" }`],
    ["a blank node", `GRAPH <${NEEDS}> { _:b <urn:p> "blank" }`],
    ["a resource of the bookkeeping", `GRAPH <${DATA}/projection/> { <urn:x-foreign> <urn:p> "o" }`],
    ["what is said about a graph", `GRAPH <${NEEDS}> { <${NEEDS}> <urn:p> "o" }`],
    ["a named graph", `GRAPH <${DATA}/countries/> { <urn:x-unlisted> <urn:p> "o" }`],
  ])(
    "%s is repaired when the store shows it to be gone, not when something says so",
    async (_what, foreign) => {
      await start({});
      const { client } = projection.running;
      await client.update(`INSERT DATA { ${foreign} }`);
      const there = () => client.ask("ask { graph ?g { ?s <urn:p> ?o } }");
      const repair = { repair: true, dropUnlisted: true };
      const parts = {
        ...{ pool: projection.database.owner, store: projection.store },
        ...{ projector: projection.projector, ...repair, ...PATIENCE },
      };
      projection.proxy.mode = "swallow";
      await expect(verify(parts)).rejects.toThrow(GraphUnavailable);
      expect(await there()).toBe(true);
      projection.proxy.mode = "ok";
      expect(await verify(parts)).toMatchObject({ differences: { foreign: 1 }, repaired: 1 });
      expect(await there()).toBe(false);
      expect(await verify(parts)).toMatchObject({ differences: { foreign: 0 } });
      await projection.equal();
      // What a graph says of itself has been left where it belongs.
      expect(await client.ask(`ask { graph <${NEEDS}> { <${NEEDS}> <${NS}projectionTurn> ?turn } }`)).toBe(
        true,
      );
    },
  );

  test("a term of any kind that the service knows nothing of is a difference, goes, and keeps nothing else from being put right", async () => {
    const [first, second] = await start({});
    const { client } = projection.running;
    await client.update(`DELETE WHERE { GRAPH <${NEEDS}> { <${NEEDS}${second}> ?p ?o } }`);
    // What an engine does not take, nobody can have put into it.
    const taken: string[] = [];
    for (const line of [
      `<${NEEDS}${first}> <urn:p> <<( <urn:a> <urn:b> <urn:c> )>> .`,
      `<${NEEDS}${first}> <urn:p> << <urn:a> <urn:b> <urn:c> >> .`,
      `<${NEEDS}${first}> <urn:p> <http://x.example/a\\u0020b> .`,
      `<${NEEDS}${first}> <http://x.example/p\\u0020q> "o" .`,
      `<${NEEDS}${first}> <urn:p> "o"^^<odd\\u0020type> .`,
      `<${NEEDS}${first}> <urn:p> "o"^^<relative> .`,
      `<${NEEDS}${first}> <urn:p> "o"@en--rtl .`,
      '<http://x.example/a\\u0020b> <urn:p> "o" .',
      '<http://x.example/a\\u2028b> <urn:p> "o" .',
      '<http://x.example/a\\u003Eb> <urn:p> "o" .',
      '<http://x.example/a%zz> <urn:p> "o" .',
      '<http://x.example/a/../b> <urn:p> "o" .',
      '<http://x.example/\\u00E4> <urn:p> "o" .',
      '<< <urn:a> <urn:b> <urn:c> >> <urn:p> "o" .',
    ]) {
      if (await isTaken(NEEDS, line)) taken.push(line);
    }
    const foreign = taken.filter((line) => !line.startsWith(`<${NEEDS}`)).length;
    expect(foreign).toBeGreaterThan(0);
    expect(taken.length).toBeGreaterThan(foreign);
    const differences = { missing: 1, stale: 0, altered: 1, foreign };
    expect(await verify({ ...parts(), repair: true })).toMatchObject({ differences, repaired: 2 + foreign });
    await projection.equal();
  });

  test("a named graph is dropped whatever its name is", async () => {
    await start({});
    let foreign = 0;
    for (const name of ["a b", "a%zz", "a/../b", "a>b", "ä"]) {
      if (await isTaken(`http://x.example/${name}`, '<urn:a> <urn:p> "o" .')) foreign += 1;
    }
    const done = await verify({ ...parts(), dropUnlisted: true });
    expect({ foreign, ...done }).toMatchObject({ differences: { foreign }, repaired: foreign });
    await projection.equal();
  });

  test("what a store keeps though it was told to remove it is not repaired", async () => {
    await start({});
    const { client } = projection.running;
    await client.update(`INSERT DATA { GRAPH <${NEEDS}> { <urn:x-foreign> <urn:p> "o" } }`);
    // As if it meant another one by that name.
    const update: GraphStore["update"] = (text, call) =>
      client.update(text.replaceAll("urn:x-foreign", "urn:x-other"), call);
    expect(await verify({ ...parts(), store: { ...client, update }, repair: true })).toMatchObject({
      ...{ differences: { foreign: 1 }, repaired: 0 },
    });
  });

  test("triples in no graph are dropped likewise, and nothing else", async () => {
    await start({});
    const { client } = projection.running;
    await client.update('INSERT DATA { <urn:x-foreign> <urn:p> "o" }');
    const there = () => client.ask("ask { ?s <urn:p> ?o }");
    // Nobody can query them on Fuseki as it is configured.
    expect(await there()).toBe(kind.name !== "Fuseki");
    const { owner: pool } = projection.database;
    const parts = { pool, projector: projection.projector, dropUnlisted: true, ...PATIENCE };
    if (kind.name !== "Fuseki") {
      projection.proxy.mode = "swallow";
      await expect(verify({ ...parts, store: projection.store })).rejects.toThrow(GraphUnavailable);
      expect(await there()).toBe(true);
      projection.proxy.mode = "ok";
      expect(await verify({ ...parts, store: projection.store })).toMatchObject({ repaired: 1 });
    }
    expect(await there()).toBe(false);
    await projection.equal();
  });

  test("a removal that arrives late leaves alone what is there by then", async () => {
    await start({});
    const { client } = projection.running;
    const insert = `INSERT DATA { GRAPH <${DATA}/countries/> { <urn:x-unlisted> <urn:p> "o" } }`;
    await client.update(insert);
    projection.proxy.mode = "held";
    const { proxy } = projection;
    const arrived = proxy.updates;
    const parts = { pool: projection.database.owner, projector: projection.projector };
    // Its sender gives up; the proxy does not.
    const leaving = new AbortController();
    const update: GraphStore["update"] = (text, call) =>
      projection.store.update(text, { ...call, signal: leaving.signal });
    const removal = verify({ ...parts, store: { ...projection.store, update }, dropUnlisted: true });
    const failure = expect(removal).rejects.toThrow(GraphUnavailable);
    await eventually(() => expect(proxy.updates).toBeGreaterThan(arrived));
    leaving.abort(new GraphTimeout("given up"));
    await failure;
    proxy.mode = "ok";
    const id = await projection.declareNeed();
    await eventually(async () => expect((await projection.graphStatus("need", id)).status).toBe("synced"));
    await proxy.release();
    expect(await client.ask("ask { graph ?g { <urn:x-unlisted> ?p ?o } }")).toBe(true);
    expect(await verify({ ...parts, store: client, dropUnlisted: true })).toMatchObject({ repaired: 1 });
  });
});
