// Callers who hang up while their key is being looked up: nobody has begun yet to listen for it.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type pg from "pg";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { call, startTestServiceWithGraph } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let holder: pg.PoolClient;
beforeAll(async () => {
  service = await startTestServiceWithGraph({ config: { sparqlConcurrency: 1 } });
});
afterAll(() => service.stop());
beforeEach(async () => {
  holder = await service.database.owner.connect();
});
afterEach(async () => {
  await holder.query("rollback");
  holder.release();
});

const waiting = async (statement: RegExp): Promise<number[]> => {
  const { rows } = await service.database.owner.query<{ pid: number; query: string }>(
    `select pid, query from pg_stat_activity
     where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'`,
  );
  return rows.filter(({ query }) => statement.test(query)).map(({ pid }) => pid);
};

/** Sends a request with a key that nobody has seen yet, and hangs up while it is being looked up. */
async function hangUp(path: string, key: string): Promise<void> {
  await holder.query("begin; lock table app_private.api_keys");
  const caller = new AbortController();
  const asked = fetch(`${service.url}${path}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: caller.signal,
  });
  await eventually(async () => expect(await waiting(/./)).toHaveLength(1));
  caller.abort();
  await expect(asked).rejects.toThrow();
  await holder.query("rollback");
  await eventually(async () => expect(await waiting(/./)).toEqual([]));
}

test("keep no slot of the graph", async () => {
  for (let round = 0; round < 3; round += 1) {
    const key = await issueTestKey(service.database.owner, "api_read");
    await hangUp("/v0/sparql?query=ASK%7B%7D", key);
    expect((await call(`${service.url}/v0/sparql?query=ASK%7B%7D`, "GET", key)).status).toBe(200);
  }
});

test("have nothing done for them in GraphQL", async () => {
  const key = await issueTestKey(service.database.owner, "api_read");
  const query = encodeURIComponent("{ needs(first: 1) { nodes { needId } } }");
  // What would be done would wait for this lock.
  const other = await service.database.owner.connect();
  try {
    await other.query("begin; lock table app_public.needs");
    await hangUp(`/graphql?query=${query}`, key);
    expect((await call(`${service.url}/v0/accelerators`, "GET", key)).status).toBe(200);
    expect(await waiting(/./)).toEqual([]);
  } finally {
    await other.query("rollback");
    other.release();
  }
});
