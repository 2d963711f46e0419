// GET /v0/commitments: complete at every moment by the table, with the graph's contents wherever these can be trusted.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { startWorker } from "../worker/main.ts";
import { eventually } from "./support/eventually.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { testStores } from "./support/stores.ts";
import type { RunningStore } from "./support/stores.ts";
import { contributor, ORG, OTHER_ORG, otherAdmin } from "./support/world.ts";

const NS = "https://ontology.example.org/core#";
const MODIFIED = "http://purl.org/dc/terms/modified";
const GRAPH = "https://data.example.org/commitments/";

type Item = Record<string, unknown> & { commitmentId: string; status: string; graphStatus: string };

let service: TestService;

const post = async (path: string, body: object) => {
  const answer = await call(`${service.url}${path}`, "POST", service.keys.write, body);
  expect(answer.status).toBeLessThan(300);
  return answer.body as Record<string, string>;
};
const COMMITMENT = {
  orgUri: OTHER_ORG,
  orgName: "Harbor Trust",
  declaredByEmail: otherAdmin,
  commitmentDescription: "We record them",
  // Neither in alphabetical order nor in its reverse.
  acceleratorScope: ["PRA-INT", "PRA"],
  concernsCountryCode: ["UG", "KE", "TZ"],
};
const declare = async (fields: object = {}) =>
  (await post("/v0/commitments", { ...COMMITMENT, ...fields }))["commitmentId"]!;
const setStatus = (commitmentId: string, status: string) =>
  post("/v0/commitments/status", { commitmentId, status, actorEmail: otherAdmin });

async function list(query = "") {
  const answer = await call(`${service.url}/v0/commitments?${query}`, "GET", service.keys.read);
  const { commitments, total } = answer.body as { commitments: Item[]; total: number };
  return { status: answer.status, source: answer.headers.get("x-data-source"), commitments, total };
}
/** Once it is: a store that has just started on a busy machine may take longer than a list waits for it. */
const listFromGraph = (query = "") =>
  eventually(async () => {
    const page = await list(query);
    expect(page.source).toBe("graph");
    return page;
  });
const one = async (commitmentId: string) =>
  (await call(`${service.url}/v0/commitments/${commitmentId}`, "GET", service.keys.read)).body as Item;

/** Lets a worker bring everything into the graph, and stops it again: what is written after that is not in it. */
async function project(): Promise<void> {
  const worker = await startWorker({
    databaseUrl: service.database.url,
    store: service.store,
    config: loadConfig({ LOG_LEVEL: "silent", DATABASE_URL: service.database.url }),
    logger: pino({ level: "silent" }),
  });
  try {
    await eventually(async () => {
      const { rows } = await service.database.owner.query("select from app_private.dirty_records");
      expect(rows).toEqual([]);
    });
  } finally {
    await worker.stop();
  }
}

describe.each(testStores.filter(({ available }) => available))("with $name", (kind) => {
  let dir: string;
  let running: RunningStore;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "engagement-commitments-"));
    running = await kind.start({ dir });
    service = await startTestService({ store: running.client });
  });
  afterAll(async () => {
    await service.stop();
    await running.stop();
    await rm(dir, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await service.database.owner.query("delete from app_public.commitments");
  });

  /** Changes the graph behind the service's back. */
  const tamper = (id: string, remove: string, insert = "") =>
    running.client.update(
      `delete { graph <${GRAPH}> { ${remove} } } insert { graph <${GRAPH}> { ${insert} } }
       where { graph <${GRAPH}> { ?c ?p ?o filter(?c = <${GRAPH}${id}>) ${remove} } }`,
    );

  test("an empty list says that the graph was there", async () => {
    expect(await listFromGraph()).toEqual({ status: 200, source: "graph", commitments: [], total: 0 });
  });

  test("what was just written is listed, in order, before the graph has it", async () => {
    const first = await declare();
    expect(await listFromGraph()).toEqual({
      status: 200,
      source: "graph",
      commitments: [await one(first)],
      total: 1,
    });
    await project();
    const second = await declare();
    const page = await listFromGraph();
    expect(page).toEqual({
      status: 200,
      source: "graph",
      commitments: [await one(second), await one(first)],
      total: 2,
    });
    expect(page.commitments.map(({ graphStatus }) => graphStatus)).toEqual(["pending", "synced"]);
  });

  test("a page of what the graph has says how many there are in all, and where the next one is", async () => {
    const ids = [await declare(), await declare(), await declare()].toReversed();
    await project();
    const page = await listFromGraph("limit=2");
    expect(page.commitments.map(({ commitmentId }) => commitmentId)).toEqual(ids.slice(0, 2));
    expect(page.total).toBe(3);
    const { headers } = await call(`${service.url}/v0/commitments?limit=2`, "GET", service.keys.read);
    const [, next] = /^<\/v0\/commitments\?(.*)>; rel="next"$/.exec(headers.get("link") ?? "") ?? [];
    const last = await listFromGraph(next);
    expect(last.commitments.map(({ commitmentId }) => commitmentId)).toEqual(ids.slice(2));
    expect(last.total).toBe(3);
  });

  test("a status is the one that was set last, whatever the graph still says", async () => {
    const id = await declare();
    await project();
    await setStatus(id, "funded");
    expect((await list()).commitments).toMatchObject([{ status: "funded", graphStatus: "pending" }]);
    expect(await list("status=declared")).toMatchObject({ commitments: [], total: 0 });
    expect(await list("status=funded")).toMatchObject({ commitments: [{ commitmentId: id }], total: 1 });
  });

  test("what the load check refused is listed, and says so", async () => {
    await service.database.owner.query(
      "insert into app_public.people_groups (rop3, name) values ('100001', 'Known')",
    );
    try {
      const id = await declare({ concernsPeopleGroupRop3: ["999999"] });
      await project();
      expect((await list()).commitments).toMatchObject([
        { commitmentId: id, graphStatus: "rejected", concernsPeopleGroupRop3: ["999999"] },
      ]);
    } finally {
      await service.database.owner.query("delete from app_public.people_groups");
    }
  });

  test("every item is the one that is read by itself, with lists as they were posted", async () => {
    const need = await post("/v0/needs", {
      orgUri: ORG,
      orgName: "River Mission",
      declaredByEmail: contributor,
      needDescription: "Wells",
      accelerators: ["PRA"],
    });
    const full = { concernsNeedId: need["needId"], targetCompletionDate: "2031-02-28" };
    await declare({ ...full, concernsPeopleGroupRop3: ["104425", "100001"] });
    await declare({ commitmentDescription: 'A "quote", a \\ and\na line', concernsCountryCode: [] });
    await project();
    const { commitments } = await list();
    expect(commitments).toHaveLength(2);
    for (const item of commitments) {
      expect(item["acceleratorScope"]).toEqual(COMMITMENT.acceleratorScope);
      expect(item).toEqual(await one(item.commitmentId));
    }
  });

  test("contents are the graph's, what it withholds is the table's", async () => {
    const id = await declare();
    await project();
    await tamper(
      id,
      `?c <${NS}commitmentDescription> ?text ; <${NS}commitmentStatus> ?status`,
      `?c <${NS}commitmentDescription> "In other words" ; <${NS}commitmentStatus> "abandoned" ; <${NS}countryCode> "RW"`,
    );
    expect(await listFromGraph()).toMatchObject({
      source: "graph",
      commitments: [
        {
          commitmentDescription: "In other words",
          status: "abandoned",
          declaredByEmail: otherAdmin,
          concernsCountryCode: [...COMMITMENT.concernsCountryCode, "RW"],
          graphStatus: "synced",
        },
      ],
    });
  });

  test.each([
    ["gone", "?c ?property ?value", ""],
    ["without its description", `?c <${NS}commitmentDescription> ?text`, ""],
    ["without its target date", `?c <${NS}targetCompletionDate> ?date`, ""],
    [
      "without one of its countries",
      `?c <${NS}countryCode> "KE" ; <${NS}commitmentDescription> ?text`,
      `?c <${NS}commitmentDescription> "In other words"`,
    ],
    ["with two descriptions", `?c a ?class`, `?c a ?class ; <${NS}commitmentDescription> "Another"`],
    ["in a status that there is not", `?c <${NS}commitmentStatus> ?s`, `?c <${NS}commitmentStatus> "lost"`],
    ["linked to no need", "?c a ?class", `?c a ?class ; <${NS}concernsNeed> <${NS}need>`],
    [
      "of a later moment",
      `?c <${NS}commitmentStatus> ?s ; <${MODIFIED}> ?t`,
      `?c <${NS}commitmentStatus> "funded" ; <${MODIFIED}> "2099-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>`,
    ],
  ])("a commitment that the graph has %s comes from the table, and is pending", async (_, remove, insert) => {
    const id = await declare({ targetCompletionDate: "2031-02-28" });
    await project();
    const [before] = (await list()).commitments;
    await tamper(id, remove, insert);
    expect(await listFromGraph("status=declared")).toEqual({
      status: 200,
      source: "graph",
      commitments: [{ ...before, graphStatus: "pending" }],
      total: 1,
    });
  });

  test("page and total are of one moment, while others write and the graph follows", async () => {
    const worker = await startWorker({
      databaseUrl: service.database.url,
      store: service.store,
      config: loadConfig({ LOG_LEVEL: "silent", DATABASE_URL: service.database.url }),
      logger: pino({ level: "silent" }),
    });
    const written = new AbortController();
    const write = async () => {
      for (let i = 0; i < 10; i++) await setStatus(await declare(), i % 2 ? "funded" : "declared");
      await service.database.owner.query("delete from app_public.commitments where status = 'funded'");
    };
    const read = async () => {
      while (!written.signal.aborted) {
        for (const filter of ["", "status=declared", `orgUri=${encodeURIComponent(OTHER_ORG)}`]) {
          const { commitments, total } = await list(`limit=200&${filter}`);
          expect(commitments).toHaveLength(total);
          if (filter.startsWith("status"))
            expect(commitments.filter(({ status }) => status !== "declared")).toEqual([]);
        }
      }
    };
    try {
      const reading = [read(), read()];
      await Promise.all([write(), write(), write()]).finally(() => written.abort());
      await Promise.all(reading);
    } finally {
      await worker.stop();
    }
  });
});

describe("with a store that is no use", () => {
  const ANSWERS = {
    "refuses the query": [400, "text/plain", "Parse error"],
    fails: [500, "text/plain", "Internal Server Error"],
    "is hidden behind a login page": [200, "text/html", "<html>Sign in</html>"],
  } as const;

  test.each(Object.entries(ANSWERS))(
    "that %s, the list comes from the table",
    async (_, [status, type, text]) => {
      const fake = createServer(
        (_request, response) => void response.writeHead(status, { "content-type": type }).end(text),
      );
      await new Promise<void>((listening) => fake.listen(0, "127.0.0.1", listening));
      const store = createGraphStore(storeUrls(`http://127.0.0.1:${(fake.address() as AddressInfo).port}`));
      service = await startTestService({ store });
      try {
        const id = await declare();
        await service.database.owner.query(
          "update app_private.graph_records set synced_revision = revision, state = 'synced'",
        );
        expect(await list()).toEqual({
          status: 200,
          source: "database",
          commitments: [await one(id)],
          total: 1,
        });
      } finally {
        await service.stop();
        store.close();
        fake.close();
      }
    },
  );
});

test("while the graph is busy with a caller's lists, the next ones come from the table, and wait for nobody", async () => {
  const asked: (() => void)[] = [];
  const fake = createServer((request, response) => {
    const answer = (body: object) =>
      response
        .writeHead(200, { "content-type": "application/sparql-results+json" })
        .end(JSON.stringify(body));
    const answerTo = (query: string) => {
      const [, nonce] = /\?asked \{ "([^"]+)" \}/.exec(query) ?? [];
      if (query.startsWith("ASK")) answer({ boolean: true });
      else
        asked.push(() => answer({ results: { bindings: [{ asked: { type: "literal", value: nonce } }] } }));
    };
    text(request).then(answerTo, () => request.destroy());
  });
  await new Promise<void>((listening) => fake.listen(0, "127.0.0.1", listening));
  const store = createGraphStore(storeUrls(`http://127.0.0.1:${(fake.address() as AddressInfo).port}`));
  service = await startTestService({ store, config: { sparqlConcurrency: 2 } });
  try {
    const first = list();
    await eventually(() => Promise.resolve(expect(asked).toHaveLength(1)));
    expect(await list()).toMatchObject({ status: 200, source: "database" });
    expect(asked).toHaveLength(1);
    // Half of its time is for the others.
    const other = call(`${service.url}/v0/commitments`, "GET", service.keys.write);
    await eventually(() => Promise.resolve(expect(asked).toHaveLength(2)));
    for (const answer of asked) answer();
    expect((await first).source).toBe("graph");
    expect((await other).headers.get("x-data-source")).toBe("graph");
    const next = list();
    await eventually(() => Promise.resolve(expect(asked).toHaveLength(3)));
    asked[2]!();
    expect((await next).source).toBe("graph");
  } finally {
    await service.stop();
    store.close();
    fake.close();
  }
});
