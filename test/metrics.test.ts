// Metrics of server and worker.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { Metrics } from "../process/metrics.ts";
import { startServer } from "../server/main.ts";
import type { RunningServer } from "../server/main.ts";
import { startWorker } from "../worker/main.ts";
import type { Worker } from "../worker/main.ts";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { send } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

const logger = pino({ level: "silent" });

let service: TestService;
let server: RunningServer;
let worker: Worker;
const config = { ...loadConfig({ PORT: "0", GRAPH_VERIFY_SHARE: "0" }), metricsPort: 0 };
const serving = jest.spyOn(Metrics.prototype, "serve");
beforeAll(async () => {
  service = await startTestService({ graphql: "on demand" });
  const { store, database } = service;
  server = await startServer({ config, databaseUrl: database.serverUrl, store, logger });
  worker = await startWorker({
    config: { ...config, databaseUrl: database.url },
    databaseUrl: database.url,
    store,
    logger,
  });
});
afterAll(async () => {
  await worker.stop();
  await server.stop();
  await service.stop();
});

test("metrics are told on the address of HOST alone", () => {
  // Those of this file's own server and worker; other tests may have begun some before.
  expect(serving.mock.calls.slice(0, 2)).toEqual([
    [config.host, 0],
    [config.host, 0],
  ]);
});

const db = () => service.database.owner;
async function scrape(port: number | undefined): Promise<string[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(answer.status).toBe(200);
  return (await answer.text()).split("\n");
}
const ofServer = () => scrape(server.metricsPort);
const ofWorker = () => scrape(worker.metricsPort);

describe("the server", () => {
  const count = async (series: string) => {
    const line = (await ofServer()).find((each) => each.startsWith(`${series} `));
    return Number(line?.split(" ").at(-1) ?? 0);
  };

  test("counts what callers were refused, by code", async () => {
    const counts = () =>
      Promise.all(
        [
          ["missing_api_key", 401],
          ["invalid_api_key", 401],
          ["read_only", 403],
          ["rate_limited", 429],
        ].map(([code, status]) => count(`http_errors_total{code="${code}",status="${status}"}`)),
      );
    const before = await counts();
    const { read } = service.keys;
    const slow = await issueTestKey(db(), "api_read", { ratePerMinute: 1 });
    await call(`${server.url}/v0/needs`, "GET", undefined);
    await call(`${server.url}/v0/needs`, "GET", "ek_unknown");
    await call(`${server.url}/v0/sparql`, "POST", read, "delete where { ?s ?p ?o }", {
      "content-type": "application/sparql-query",
    });
    for (let i = 0; i < 2; i++) await call(`${server.url}/v0/needs`, "GET", slow);
    await send(
      { ...service, url: server.url },
      "{ needs { nodes { statusHistory { nodes { requestId } } } } }",
    );
    expect(await counts()).toEqual(before.map((n) => n + 1));
  });

  test("makes no series of what callers make up", async () => {
    const lines = async () => (await ofServer()).filter((line) => line.startsWith("http_"));
    const before = (await lines()).length;
    for (const [method, path] of [
      ["PROPFIND", "/v0/needs"],
      ["PURGE", "/made-up"],
      ["MKCOL", "/made/up"],
      ["REPORT", "/v0/made-up"],
    ] as const) {
      await call(`${server.url}${path}`, method, undefined);
    }
    expect((await ofServer()).join("\n")).not.toMatch(/PROPFIND|PURGE|MKCOL|REPORT|made/);
    // At most a histogram for each status, and the code.
    expect((await lines()).length - before).toBeLessThan(35);
  });

  test("tells of its connections, and how long they were waited for", async () => {
    await call(`${server.url}/v0/needs`, "GET", service.keys.read);
    expect(await count('database_pool_wait_seconds_count{pool="server"}')).toBeGreaterThan(0);
    expect(await count('database_pool_connections{pool="server",state="idle"}')).toBeGreaterThan(0);
    expect((await ofServer()).join("\n")).toMatch(/^database_pool_waiting\{pool="server"\} 0$/m);
    // There is no replica that it could use, or not.
    expect((await ofServer()).join("\n")).not.toMatch(/^database_replica_/m);
  });
});

describe("the worker", () => {
  test("tells of jobs that are due and of those that failed, for every task", async () => {
    await db().query("select graphile_worker.add_job('forget_answers', run_at => now() + interval '1 day')");
    await db().query(
      "select graphile_worker.add_job('expire_commitments', job_key => 'stuck', run_at => now() + interval '1 day')",
    );
    await db().query("update graphile_worker._private_jobs set attempts = max_attempts where key = 'stuck'");
    // Left out where the database takes longer than a scrape waits.
    await eventually(async () => {
      const text = (await ofWorker()).join("\n");
      expect(text).toMatch(/^jobs_due\{task="forget_answers"\} 0$/m);
      expect(text).toMatch(/^jobs_failed\{task="forget_answers"\} 0$/m);
      expect(text).toMatch(/^jobs_failed\{task="expire_commitments"\} 1$/m);
    });
  });

  test("times jobs", async () => {
    await db().query("select graphile_worker.add_job('fold_record_totals')");
    await eventually(async () => {
      expect((await ofWorker()).join("\n")).toMatch(
        /^job_duration_seconds_count\{(outcome="done",)?task="fold_record_totals"(,outcome="done")?\} [1-9]/m,
      );
    });
  });

  test("tells of mails that wait and of those that failed", async () => {
    await db().query(
      `insert into app_private.mails (unique_key, kind, recipient, data, next_attempt_at, created_at, failed_at)
       values ('a', 'claim_queue', 'a@b.example', '{}', now() + interval '1 day', now() - interval '1 hour', null),
         ('b', 'claim_queue', 'a@b.example', '{}', now(), now(), now())`,
    );
    await eventually(async () => {
      const text = (await ofWorker()).join("\n");
      expect(text).toMatch(/^mails_waiting 1$/m);
      expect(text).toMatch(/^mails_failed 1$/m);
      expect(text).toMatch(/^mails_oldest_waiting_seconds 3[67]\d\d/m);
    });
  });

  test("of which the port is taken does not start, and says so as the server does", async () => {
    const taken = startWorker({
      config: { ...config, databaseUrl: service.database.url, metricsPort: worker.metricsPort },
      databaseUrl: service.database.url,
      store: service.store,
      logger,
    });
    await expect(taken).rejects.toMatchObject({ code: "EADDRINUSE", port: worker.metricsPort });
  });
});

test("a database that does not answer holds nothing up, and is asked once", async () => {
  const client = await db().connect();
  try {
    await client.query("begin; lock table app_private.graph_records, app_private.mails");
    for (const scraped of [ofServer, ofWorker]) {
      const texts = await Promise.all([scraped(), scraped(), scraped()]);
      for (const lines of [...texts, await scraped()]) {
        expect(lines).toContain("database_up 0");
        expect(lines.filter((line) => /^(graph_records_pending|mails_waiting) /.test(line))).toEqual([]);
        expect(lines.some((line) => line.startsWith("process_resident_memory_bytes "))).toBe(true);
      }
    }
    const askedBy = async (program: string) => {
      // Not within the transaction, which keeps what it has seen of others.
      const { rows } = await db().query<{ count: number }>(
        `select count(*)::integer as count from pg_stat_activity where application_name = $1
         and datname = current_database() and wait_event_type = 'Lock' and query ~ 'rest.health|as waiting'`,
        [program],
      );
      return rows[0]!.count;
    };
    // The server's own question may have run into its time limit by now; the worker has two, of which neither has one.
    expect(await askedBy("engagement-server")).toBeLessThanOrEqual(1);
    await eventually(async () => expect(await askedBy("engagement-worker")).toBe(2), 20_000);
  } finally {
    await client.query("rollback");
    client.release();
  }
  for (const scraped of [ofServer, ofWorker]) {
    await eventually(async () => {
      const lines = await scraped();
      expect(lines).toContain("database_up 1");
      expect(lines.some((line) => line.startsWith("graph_records_pending "))).toBe(true);
    });
  }
});

test("server and worker in one process are told of at one place", async () => {
  const metrics = new Metrics();
  const { store, database } = service;
  const both = await startWorker({
    config: { ...config, databaseUrl: database.url },
    databaseUrl: database.url,
    store,
    logger,
    metrics,
  });
  const door = await startServer({
    ...{ config, databaseUrl: database.serverUrl, store, logger, metrics },
    graphql: "on demand",
  });
  try {
    expect(both.metricsPort).toBeUndefined();
    await eventually(async () => {
      const text = (await scrape(door.metricsPort)).join("\n");
      for (const name of [
        'jobs_due{task="send_mails"}',
        "graph_drift",
        'database_pool_waiting{pool="server"}',
      ]) {
        expect(text).toContain(`\n${name} `);
      }
    });
  } finally {
    await door.stop();
    await both.stop();
  }
});
