// A graph store that accepts everything and answers nothing is noticed at every door, long before any time limit; one that
// is busy is left in peace. No time limit here is one that a test could reach.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { startServer } from "../server/main.ts";
import type { RunningServer } from "../server/main.ts";
import { projectionStatus } from "../worker/status.ts";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { fusekiIsAvailable, startFuseki } from "./support/fuseki.ts";
import { startProjection, startSharedStore } from "./support/projection.ts";
import type { Projection, SharedStore } from "./support/projection.ts";
import { call } from "./support/service.ts";
import type { Answer } from "./support/service.ts";
import { testStores } from "./support/stores.ts";

const NEVER_MS = 900_000;
const SOME = "select * { ?s ?p ?o } limit 1";

function serve(databaseUrl: string, store: Projection["store"]): Promise<RunningServer> {
  return startServer({
    config: loadConfig({
      PORT: "0",
      METRICS_PORT: "0",
      SPARQL_TIMEOUT_MS: String(NEVER_MS),
      RATE_LIMIT_PER_MINUTE: "1000000",
    }),
    databaseUrl,
    store,
    graphql: "on demand",
    logger: pino({ level: "silent" }),
  });
}

/** The doors of a server, as somebody with a key sees them. */
function doorsOf(server: RunningServer, key: string) {
  const get = (path: string) => call(`${server.url}${path}`, "GET", key);
  return {
    sparql: (query = SOME) => get(`/v0/sparql?query=${encodeURIComponent(query)}`),
    health: () => get("/v0/health"),
    list: () => get("/v0/commitments"),
    ready: () => get("/readyz"),
    metrics: () => call(`http://127.0.0.1:${server.metricsPort}/metrics`, "GET", undefined),
  };
}

function expectUnavailable({ status, headers, body }: Answer): void {
  expect({ status, body }).toMatchObject({ status: 503, body: { error: "graph_unavailable" } });
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
}

/** Asks at every door at once. */
async function everyDoorKnows(doors: ReturnType<typeof doorsOf>): Promise<void> {
  const [sparql, health, list, ready, metrics] = await Promise.all([
    doors.sparql(),
    doors.health(),
    doors.list(),
    doors.ready(),
    doors.metrics(),
  ]);
  expectUnavailable(sparql);
  expect(health).toMatchObject({ status: 200, body: { status: "degraded", tripleCount: null } });
  expect([list.status, list.headers.get("x-data-source")]).toEqual([200, "database"]);
  expect([ready.status, metrics.status]).toEqual([200, 200]);
}

describe.each(testStores.filter((store) => store.available))("with $name", (kind) => {
  let store: SharedStore;
  let projection: Projection;
  let server: RunningServer;
  let doors: ReturnType<typeof doorsOf>;

  beforeAll(async () => {
    store = await startSharedStore(kind);
  });
  afterAll(() => store.remove());
  beforeEach(async () => {
    projection = await startProjection(store, NEVER_MS);
    server = await serve(projection.database.serverUrl, projection.store);
    doors = doorsOf(server, await issueTestKey(projection.database.owner, "api_read"));
  });
  afterEach(async () => {
    projection.proxy.mode = "ok";
    projection.proxy.holds = undefined;
    await projection.proxy.release();
    await server.stop();
    await projection.stop();
  });

  /** Whether something has ended, without waiting for it. */
  function ended(work: Promise<unknown>): () => boolean {
    let hasEnded = false;
    void work.finally(() => (hasEnded = true));
    return () => hasEnded;
  }

  test("nothing is answered any more, then everything again", async () => {
    // It looks at the store of its own accord when it starts, and not again.
    await projection.startWorker(NEVER_MS);
    await projection.declareNeeds(10);
    await projection.settled();
    await eventually(async () => expect((await doors.health()).body).toMatchObject({ status: "ok" }));
    expect((await doors.sparql()).status).toBe(200);
    const note = (state: string) =>
      projection.database.owner.query("select app_private.note_graph_state($1)", [state]);
    const behind = await eventually(async () => {
      // The worker may only now note that it has written all.
      await note("behind");
      const { body } = await doors.health();
      expect(body.graphState).toBe("behind");
      return body;
    });
    expect(behind).toMatchObject({ status: "degraded", tripleCount: expect.any(Number) });
    await note("current");
    expect((await doors.health()).body).toMatchObject({ status: "ok" });

    projection.proxy.mode = "hang";
    await projection.declareNeed();
    await everyDoorKnows(doors);
    await everyDoorKnows(doors);
    await eventually(async () => expect(await projection.graphState()).toBe("unavailable"));
    const { owner } = projection.database;
    const status = await projectionStatus(owner, projection.store, projection.projector.names);
    expect(status).toMatchObject({ state: "unavailable", storeAvailable: false });

    projection.proxy.mode = "ok";
    await projection.proxy.release();
    await eventually(async () => {
      expect((await doors.sparql()).status).toBe(200);
      expect((await doors.health()).body).toMatchObject({ status: "ok", graphState: "current" });
      expect((await doors.list()).headers.get("x-data-source")).toBe("graph");
    });
    await projection.equal();
  });

  test("a long query goes on for as long as the store answers others", async () => {
    let probes = 0;
    projection.proxy.holds = (body) => {
      if (body.startsWith("ASK {}")) probes++;
      return body.includes("urn:long");
    };
    const long = doors.sparql("ask { <urn:long> ?p ?o }");
    const hasEnded = ended(long);
    await eventually(() => Promise.resolve(expect(probes).toBeGreaterThan(8)));
    expect(hasEnded()).toBe(false);
    projection.proxy.holds = undefined;
    await projection.proxy.release();
    expect((await long).status).toBe(200);
  });

  test("a store that answers one after another is there while it answers anybody", async () => {
    const probes: string[] = [];
    projection.proxy.holds = (body) => {
      const isProbe = body.startsWith("ASK {}");
      if (isProbe) probes.push(body);
      return isProbe || body.includes("urn:long");
    };
    const long = doors.sparql("ask { <urn:long> ?p ?o }");
    const hasEnded = ended(long);
    // Beside each other, so that one of them is answered in time on a slow machine too.
    const askers = Array.from({ length: 3 }, async () => {
      while (probes.length < 4) {
        expect((await doors.sparql()).status).toBe(200);
        // Often enough, and no more: other test files are running as well.
        await sleep(50);
      }
    });
    await Promise.all(askers);
    expect(hasEnded()).toBe(false);
    // Nobody else asks, so that nothing is answered any more.
    expectUnavailable(await long);
  });

  test("what an answer has begun with is not all of it: the connection breaks", async () => {
    await projection.running.client.putGraph(
      "urn:many",
      Array.from({ length: 3_000 }, (_, i) => `<urn:s${i}> <urn:p> "${"x".repeat(8_000)}" .`).join("\n"),
      "application/n-triples",
    );
    const answer = await fetch(
      `${server.url}/v0/sparql?query=${encodeURIComponent("select * { graph <urn:many> { ?s ?p ?o } }")}`,
      { headers: { authorization: `Bearer ${await issueTestKey(projection.database.owner, "api_read")}` } },
    );
    expect(answer.status).toBe(200);
    projection.proxy.holds = () => true;
    projection.proxy.pause();
    await expect(answer.arrayBuffer()).rejects.toThrow();
  });
});

(fusekiIsAvailable ? test : test.skip)("a Fuseki that is frozen, and thawed", async () => {
  const dir = await mkdtemp(join(tmpdir(), "engagement-frozen-"));
  const fuseki = await startFuseki({ dir });
  const { url, user, password } = fuseki;
  const store = createGraphStore({ ...storeUrls(url), user, password, timeoutMs: NEVER_MS });
  const database = await createTestDatabase();
  const server = await serve(database.serverUrl, store);
  try {
    const doors = doorsOf(server, await issueTestKey(database.owner, "api_read"));
    expect((await doors.sparql()).status).toBe(200);
    process.kill(fuseki.pid, "SIGSTOP");
    // Its threads may go on until the first of them has been told.
    await eventually(() => everyDoorKnows(doors));
    await everyDoorKnows(doors);
    process.kill(fuseki.pid, "SIGCONT");
    await eventually(async () => {
      expect((await doors.sparql()).status).toBe(200);
      expect((await doors.health()).body.tripleCount).not.toBeNull();
    });
  } finally {
    process.kill(fuseki.pid, "SIGCONT");
    await server.stop();
    store.close();
    await database.drop();
    await fuseki.stop();
    await rm(dir, { recursive: true, force: true });
  }
});
