// admin graph rebuild, verify and status: on the graph in use, as an operator runs them.
import { Readable } from "node:stream";
import { expect, test } from "@jest/globals";
import { Parser } from "n3";
import { rdfXml } from "../graph/rdf-xml.ts";
import { GraphUnavailable } from "../graph/store.ts";
import { bySubject } from "../worker/compare.ts";
import { drain } from "../worker/drain.ts";
import { rebuild, wanted } from "../worker/rebuild.ts";
import type { RebuildProgress } from "../worker/rebuild.ts";
import { verify } from "../worker/verify.ts";
import { eventually } from "./support/eventually.ts";
import { admin } from "./support/process.ts";
import { onEachStore } from "./support/on-each-store.ts";
import { DATA, NS, PATIENCE, WATCH_MS } from "./support/projection.ts";
import { contributor, ORG } from "./support/world.ts";

onEachStore({}, (projection, once) => {
  const needsGraph = `${DATA}/needs/`;
  const parts = () => ({
    pool: projection().database.owner,
    store: projection().running.client,
    projector: projection().projector,
    logger: projection().logger,
    ...PATIENCE,
  });

  /** As the command does it: to begin a process takes a second. */
  async function rebuilt(): Promise<void> {
    await rebuild(parts());
    await drain(parts());
  }

  async function runAdmin(...args: string[]) {
    const result = await admin(["graph", ...args, "--json"], projection().settings);
    return { code: result.code, value: JSON.parse(result.stdout) as Record<string, unknown> };
  }

  /** Makes a chain of need, commitment and attestation; returns its commitment. */
  async function writeChain(): Promise<string> {
    const { rows } = await projection().database.owner.query<{ id: string }>(
      `with n as (
         insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
         values ($1, 'River Mission', $2, 'Chain', '{PRA}') returning need_id
       ), c as (
         insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description,
           accelerator_scope, concerns_need_id)
         select $1, 'River Mission', $2, 'Chain', '{PRA}', need_id from n returning commitment_id
       )
       insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
         fulfills_commitment_id)
       select $1, 'River Mission', $2, '{PRA}', commitment_id from c returning fulfills_commitment_id as id`,
      [ORG, contributor],
    );
    return rows[0]!.id;
  }

  test("a rebuild during writes ends with the graph equal to the tables, and a reader of the chain never sees it vanish", async () => {
    await projection().startWorker();
    await writeChain();
    const ids = await projection().declareNeeds(2_000);
    await projection().settled();
    const done = new AbortController();
    let reads = 0;
    const reader = async () => {
      while (!done.signal.aborted) {
        const seen = await projection().running.client.ask(
          `ask { ?c <${NS}concernsNeed> ?need . ?a <${NS}fulfillsCommitment> ?c . ?need <${NS}needStatus> ?status }`,
        );
        expect(seen).toBe(true);
        reads += 1;
      }
    };
    const writer = async () => {
      for (let index = 0; !done.signal.aborted; index += 1) {
        await projection().setNeedStatus(ids[(index * 17) % ids.length]!, index % 2 ? "met" : "open");
        if (index % 10 === 0) await projection().declareNeed();
        if (index % 25 === 0) {
          await projection().database.owner.query("delete from app_public.needs where need_id = $1", [
            ids.pop(),
          ]);
        }
      }
    };
    const others = Promise.all([reader(), writer()]);
    const progress: RebuildProgress[] = [];
    // Of a slow machine the store may take longer than is waited for, and the rebuild is made again, as its job would be.
    const insist = (tries: number): Promise<unknown> =>
      rebuild(parts(), (seen) => void progress.push(seen)).catch((error: unknown) => {
        if (tries === 1 || !(error instanceof GraphUnavailable)) throw error;
        return insist(tries - 1);
      });
    try {
      for (let round = 0; round < 2; round += 1) await insist(3);
      await eventually(() => expect(reads).toBeGreaterThan(5));
    } finally {
      done.abort();
    }
    await others;
    const { total, written, rejected } = progress.at(-1)!;
    expect([total, written].map((count) => count > 1_900)).toEqual([true, true]);
    expect(rejected).toBe(0);
    await projection().equal();
  });

  test("a rebuild that is cut off at any byte leaves the old graph whole, and the next worker takes it up", async () => {
    const ids = await projection().declareNeeds(300);
    const { client } = projection().running;
    await rebuilt();
    const body = await wholeBody();
    // Something to tell the old graph from the new one.
    await client.update(`INSERT DATA { GRAPH <${needsGraph}> { <urn:x-old> <urn:p> "o" } }`);
    const count = async () =>
      (await client.select(`select (count(*) as ?n) where { graph <${needsGraph}> { ?s ?p ?o } }`))[0]?.["n"]
        ?.value;
    const old = await count();
    const ends = [...body.matchAll(/<\/rdf:Description>\n/g)].map(
      ({ index, 0: { length } }) => index + length,
    );
    // Without the line end after it, the document is whole.
    const last = body.length - 2;
    const cuts = [0, 1, 60, ends[0]!, ends[1]!, ends.at(-1)!, last].concat(
      Array.from({ length: 5 }, () => Math.floor(Math.random() * last)),
    );
    const throughProxy = { ...parts(), store: projection().store };
    for (const at of cuts) {
      projection().proxy.cut = { graph: needsGraph, after: at };
      await expect(rebuild(throughProxy)).rejects.toThrow(GraphUnavailable);
      expect({ at, triples: await count() }).toEqual({ at, triples: old });
    }
    projection().proxy.cut = undefined;
    expect(await projection().graphState()).toBe("rebuilding");
    await projection().startWorker();
    await eventually(async () => expect(await client.ask("ask { <urn:x-old> ?p ?o }")).toBe(false));
    await eventually(async () => expect(await projection().graphState()).toBe("current"));
    await projection().equal();
    expect(ids).toHaveLength(300);
  });

  /** A rebuild whose graph of needs has been read and is on its way; `goOn` lets it arrive, and waits for the end. */
  async function rebuildOnItsWay(): Promise<{ sent: string[]; goOn: () => Promise<void> }> {
    const { proxy, store } = projection();
    const sent: string[] = [];
    proxy.refuses = (graph) => {
      if (graph) sent.push(graph);
      return undefined;
    };
    proxy.holds = (body) => body.includes("<rdf:RDF") && sent.at(-1) === needsGraph;
    const rebuilt = rebuild({ ...parts(), store });
    await eventually(() => expect(sent.at(-1)).toBe(needsGraph));
    const goOn = async () => {
      proxy.holds = undefined;
      await proxy.release();
      await rebuilt;
    };
    return { sent, goOn };
  }

  test("a rebuild that is asked for again while a graph is on its way sends that graph again", async () => {
    await projection().declareNeeds(3);
    const { sent, goOn } = await rebuildOnItsWay();
    await projection().database.owner.query("select app_private.request_rebuild()");
    await goOn();
    expect(sent.filter((graph) => graph === needsGraph)).toHaveLength(2);
  });

  test("a rebuild notes as written what was waiting, but for what changed meanwhile or does not pass, and nothing else", async () => {
    const { owner } = projection().database;
    const remove = (id: string) => owner.query("delete from app_public.needs where need_id = $1", [id]);
    const spoil = (id: string) =>
      owner.query("update app_public.needs set concerns_country_code = '{kenya}' where need_id = $1", [id]);
    const [refusedBefore] = (await projection().declareNeeds(1)) as [string];
    await spoil(refusedBefore);
    await rebuilt();
    // More than are read at once.
    const ids = await projection().declareNeeds(1_004);
    const [changed, deleted, gone, refused, ...others] = ids as [string, string, string, string];
    await remove(gone);
    await spoil(refused);
    const { goOn } = await rebuildOnItsWay();
    await projection().setNeedStatus(changed, "met");
    await remove(deleted);
    await goOn();
    const { rows } = await owner.query<{ id: string }>(
      "select record_id as id from app_private.dirty_records where kind = 'need'",
    );
    expect(rows.map(({ id }) => id).toSorted()).toEqual([changed, deleted, refused].toSorted());
    expect((await projection().graphStatus("need", others.at(-1)!)).status).toBe("synced");
    expect((await projection().graphStatus("need", refusedBefore)).status).toBe("rejected");
    await projection().startWorker();
    await projection().equal();
    expect((await projection().graphStatus("need", refused)).status).toBe("rejected");
    // What is known of a store that is set back is from when on it lacks them.
    const { rows: turns } = await owner.query(
      `select from app_private.graph_records as r join app_private.graph_rebuilds as whole using (kind)
       where (r.turn is null or r.turn < whole.turn) and r.record_id <> $1`,
      [refusedBefore],
    );
    expect(turns).toEqual([]);
  });

  test("a rebuild that was left is taken up by the worker although somebody writes all the time", async () => {
    await projection().startWorker(WATCH_MS);
    const ids = await projection().declareNeeds(20);
    await projection().settled();
    const { client } = projection().running;
    await client.update(`INSERT DATA { GRAPH <${needsGraph}> { <urn:x-old> <urn:p> "o" } }`);
    const done = new AbortController();
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let index = writer; !done.signal.aborted; index += 1) {
        await projection().setNeedStatus(ids[index % ids.length]!, index % 2 ? "met" : "open");
      }
    });
    await projection().database.owner.query("select app_private.request_rebuild()");
    await eventually(async () => expect(await client.ask("ask { <urn:x-old> ?p ?o }")).toBe(false));
    done.abort();
    await Promise.all(writers);
    await projection().equal();
  });

  /** About what a rebuild sends for the needs. */
  async function wholeBody(): Promise<string> {
    const text = await projection().running.client.construct(
      `construct { ?s ?p ?o } where { graph <${needsGraph}> { ?s ?p ?o } }`,
    );
    const subjects = [...bySubject(new Parser({ format: "N-Triples" }).parse(text))].toSorted(([a], [b]) =>
      a < b ? -1 : 1,
    );
    const quads = subjects.map(([, lines]) =>
      new Parser({ format: "N-Triples" }).parse([...lines].join("\n")),
    );
    let body = "";
    for await (const part of rdfXml(Readable.from([quads]))) body += part;
    return body;
  }

  test("a rebuild whose answer is lost, or comes from somebody else, is not taken for done", async () => {
    await projection().declareNeeds(3);
    await rebuilt();
    projection().proxy.mode = "swallow";
    await expect(rebuild({ ...parts(), store: projection().store })).rejects.toThrow(GraphUnavailable);
    const { rows } = await projection().database.owner.query(
      "select count(*)::integer as left from app_private.graph_rebuilds where requested_at is not null",
    );
    expect(rows).toEqual([{ left: 3 }]);
    projection().proxy.mode = "ok";
    await rebuild({ ...parts(), store: projection().store });
    await projection().equal();
  });

  test("text that XML cannot hold is in the graph after a rebuild", async () => {
    const text = "bell \u0007, noncharacter \ufffe, <&>\"'\r\n\t]]> and 🙏🏽";
    const id = await projection().declareNeed();
    // Earlier versions accepted such characters, and what they stored is still there.
    await projection().database.owner.query(
      "update app_public.needs set need_description = $2 where need_id = $1",
      [id, text],
    );
    await projection().declareNeed({
      needDescription: `  ${text.replace("\u0007", "").replace("\ufffe", "")}  `,
    });
    await rebuilt();
    await rebuilt();
    expect(
      await projection().running.client.select(
        `select ?text where { <${needsGraph}${id}> <${NS}needDescription> ?text }`,
      ),
    ).toEqual([{ text: { type: "literal", value: text } }]);
    await projection().equal();
  });

  test("a rebuild fills an empty store and drops what is foreign, without a worker", async () => {
    await writeChain();
    await projection().declareNeeds(10);
    await projection().running.client.update(
      `INSERT DATA { GRAPH <${needsGraph}> { <urn:x-foreign> <urn:p> "o" } }`,
    );
    expect(await runAdmin("rebuild")).toEqual({ code: 0, value: { total: 13, written: 13, rejected: 0 } });
    await projection().equal();
    expect(await runAdmin("verify")).toMatchObject({ code: 0, value: { records: 13, pending: 0 } });
    expect(await runAdmin("status")).toMatchObject({
      code: 0,
      value: {
        storeAvailable: true,
        oldestPendingSeconds: 0,
        pendingLists: [],
        graphs: [
          { kind: "need", records: 11, synced: 11, pending: 0, rejected: 0 },
          { kind: "commitment", records: 1, synced: 1 },
          { kind: "engagement_claim", records: 1, synced: 1 },
        ],
      },
    });
  });

  test("the operator's tool finds a store by its three URLs, and does there itself what nobody else does", async () => {
    const id = await projection().declareNeed();
    const settings = { DATABASE_URL: projection().database.url, ...projection().running.environment };
    expect((await admin(["graph", "rebuild"], settings)).code).toBe(0);
    expect(await projection().running.client.ask(`ask { <${needsGraph}${id}> ?p ?o }`)).toBe(true);
    expect((await admin(["graph", "verify"], settings)).code).toBe(0);
    // There is no worker who would do it, or say that it is done.
    expect(await projection().graphState()).toBe("current");
    await projection().running.client.update(
      `DELETE WHERE { GRAPH <${needsGraph}> { <${needsGraph}${id}> ?p ?o } }`,
    );
    expect((await admin(["graph", "verify", "--repair"], settings)).code).toBe(0);
    expect(await projection().running.client.ask(`ask { <${needsGraph}${id}> ?p ?o }`)).toBe(true);
  });

  test("a command whose store goes away while it writes ends with that, and tries no more", async () => {
    await rebuilt();
    const id = await projection().declareNeed();
    // Who tries on and on has it in the end.
    let refusals = 0;
    projection().proxy.refuses = (_, body) => (body.includes(id) && refusals++ < 20 ? 503 : undefined);
    const { code, value } = await runAdmin("verify", "--repair");
    expect([code, refusals < 20]).toEqual([2, true]);
    expect(value).toEqual({ error: "failed", message: expect.any(String) });
    projection().proxy.refuses = undefined;
    expect((await runAdmin("verify", "--repair")).code).toBe(0);
    await projection().equal();
  });

  once("a rebuild tells a person how many records are written, and how many were refused", async () => {
    const [id] = await projection().declareNeeds(3);
    const said = async () => (await admin(["graph", "rebuild"], projection().settings)).stdout;
    expect(await said()).toBe("3 records written\n");
    await projection().database.owner.query(
      "update app_public.needs set concerns_country_code = '{kenya}' where need_id = $1",
      [id],
    );
    expect(await said()).toBe("2 records written; 1 refused by the load check, see graph status\n");
  });

  test("a rebuild applies the current load check", async () => {
    const ids = await projection().declareNeeds(3);
    await rebuilt();
    await projection().database.owner.query("alter table app_public.needs disable trigger project_update");
    await projection().database.owner.query(
      "update app_public.needs set concerns_country_code = '{kenya}' where need_id = $1",
      [ids[0]],
    );
    expect(await runAdmin("rebuild")).toEqual({ code: 0, value: { total: 3, written: 2, rejected: 1 } });
    expect(await projection().graphStatus("need", ids[0]!)).toEqual({
      status: "rejected",
      errors: [
        { path: "concernsCountryCode[0]", message: expect.stringContaining("two upper-case letters") },
      ],
    });
    await projection().equal();
  });

  test("verify tells missing, stale, altered and foreign apart, exits 1, and repairs them", async () => {
    const ids = await projection().declareNeeds(5);
    await rebuilt();
    const { client } = projection().running;
    const iri = (index: number) => `${needsGraph}${ids[index]}`;
    const modified = "<http://purl.org/dc/terms/modified>";
    await client.update(`
      DELETE WHERE { GRAPH <${needsGraph}> { <${iri(0)}> ?p ?o } } ;
      DELETE { GRAPH <${needsGraph}> { <${iri(1)}> ${modified} ?then } }
      INSERT { GRAPH <${needsGraph}> { <${iri(1)}> ${modified} "2020-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> } }
      WHERE { GRAPH <${needsGraph}> { <${iri(1)}> ${modified} ?then } } ;
      INSERT DATA { GRAPH <${needsGraph}> { <${iri(2)}> <${NS}needDescription> "another" . <${iri(9)}0> a <${NS}Need> } } ;
      INSERT DATA { GRAPH <${DATA}/accelerators/> { <urn:x-foreign> a <urn:T> } }`);
    const examples = [
      { kind: "missing", graph: needsGraph, iri: iri(0), record: { kind: "need", id: ids[0] } },
      { kind: "stale", graph: needsGraph, iri: iri(1), record: { kind: "need", id: ids[1] } },
      { kind: "altered", graph: needsGraph, iri: iri(2), record: { kind: "need", id: ids[2] } },
      { kind: "foreign", graph: needsGraph, iri: `${iri(9)}0` },
      { kind: "foreign", graph: `${DATA}/accelerators/`, iri: "urn:x-foreign" },
    ];
    const found = await runAdmin("verify");
    expect(found.code).toBe(1);
    expect(found.value["differences"]).toEqual({ missing: 1, stale: 1, altered: 1, foreign: 2 });
    expect(new Set(found.value["examples"] as unknown[])).toEqual(new Set(examples));
    expect(await runAdmin("verify", "--repair")).toMatchObject({ code: 0, value: { repaired: 5 } });
    expect(await runAdmin("verify")).toMatchObject({ code: 0, value: { examples: [] } });
    await projection().equal();
  });

  test.each([503, 502])(
    "a store that answers %i to a whole graph, and takes updates, gets its records one by one",
    async (status) => {
      await projection().startWorker();
      await writeChain();
      await projection().settled();
      const { running, proxy } = projection();
      await running.client.update(`INSERT DATA { GRAPH <${needsGraph}> { <urn:x-old> <urn:p> "o" } }`);
      proxy.refuses = (graph) => (graph === needsGraph ? status : undefined);
      await projection().database.owner.query("select app_private.request_rebuild()");
      await eventually(async () => expect(await wanted(projection().database.owner)).toEqual([]));
      await projection().current();
      expect(await running.client.ask("ask { <urn:x-old> ?p ?o }")).toBe(false);
      await projection().equal();
    },
  );

  test("while a foreign graph is being replaced, the graph does not count as whole", async () => {
    await projection().startWorker(WATCH_MS);
    await writeChain();
    await projection().current();
    const { running, proxy } = projection();
    proxy.holds = (body) => body.includes("<rdf:RDF");
    await running.client.update("DROP GRAPH <" + DATA + "/projection/>");
    await eventually(async () => expect(await wanted(projection().database.owner)).toContain("need"));
    const { rows } = await projection().database.owner.query('select "isWhole" from rest.health');
    expect(rows).toEqual([{ isWhole: false }]);
    proxy.holds = undefined;
    await proxy.release();
    await projection().current();
    await projection().equal();
  });

  test("verify sees no differences in records that are being written", async () => {
    await projection().startWorker();
    const ids = await projection().declareNeeds(300);
    await projection().settled();
    const done = new AbortController();
    const writer = (async () => {
      for (let index = 0; !done.signal.aborted; index += 1) {
        await projection().setNeedStatus(ids[index % ids.length]!, index % 2 ? "met" : "open");
      }
    })();
    for (let round = 0; round < 3; round += 1) {
      expect((await verify(parts())).differences).toEqual({ missing: 0, stale: 0, altered: 0, foreign: 0 });
    }
    done.abort();
    await writer;
    await projection().equal();
  });

  once("status says when the store does not answer, and what was refused", async () => {
    await projection().declareNeed();
    await projection().proxy.stop();
    const { code, value } = await runAdmin("status");
    expect(code).toBe(1);
    expect(value).toMatchObject({ storeAvailable: false, graphs: [{ pending: 1, triples: null }, {}, {}] });
    const read = await admin(["graph", "status"], projection().settings);
    expect(read.stderr).toContain("The graph store does not answer.");
    // What nobody could count is not nothing.
    expect(read.stdout).toMatch(/\n\S+ +1 +0 +1 +0 +\?\n/);
    expect((await admin(["graph", "rebuild"], projection().settings)).code).toBe(2);
  });
});
