// Callers who hang up: while their key is being looked up, when nobody has begun yet to listen for it, and while something is done.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { once } from "node:events";
import { request } from "node:http";
import { Readable } from "node:stream";
import type pg from "pg";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { toolCall } from "./support/mcp.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, ORG } from "./support/world.ts";

let service: TestService;
let holder: pg.PoolClient;
/** How many queries have reached the graph store. */
let queries = 0;
const store = createGraphStore(storeUrls("http://127.0.0.1:9"));
beforeAll(async () => {
  service = await startTestService({
    store: {
      ...store,
      // As a store does: it takes the place of the query first.
      query: async (_query, { place, signal } = {}) => {
        const giveBack = await place?.(signal);
        queries += 1;
        giveBack?.();
        return {
          status: 200,
          contentType: "application/sparql-results+json",
          body: Readable.from(["{}"]),
        };
      },
    },
  });
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
  // What keys are used is noted beside it, and waits as well.
  await eventually(async () => expect(await waiting(/app_private\.authenticate/)).toHaveLength(1));
  caller.abort();
  await expect(asked).rejects.toThrow();
  await holder.query("rollback");
  await eventually(async () => expect(await waiting(/./)).toEqual([]));
}

test("have no query sent to the graph", async () => {
  const key = await issueTestKey(service.database.owner, "api_read");
  await hangUp("/v0/sparql?query=ASK%7B%7D", key);
  // Whatever was still to be done for the first comes before this one, which counts for the same limit.
  expect((await call(`${service.url}/v0/sparql?query=ASK%7B%7D`, "GET", key)).status).toBe(200);
  expect(queries).toBe(1);
});

const NEED = {
  ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: contributor },
  ...{ needDescription: "Bibles for the river", accelerators: ["PRA"] },
};

test.each<[string, string, object | null]>([
  ["what is read by REST", "/v0/needs", null],
  ["the church search", "/v0/orgs/search", null],
  [
    "what is read by GraphQL",
    `/graphql?${new URLSearchParams({ query: "{ needs { nodes { id } } }" }).toString()}`,
    null,
  ],
  ["what is changed by REST", "/v0/needs", NEED],
  ["a query by POST", "/graphql", { query: "{ needs { nodes { id } } }" }],
  ["a call of the tool", "/v0/mcp", toolCall({ q: "river" })],
])(
  "%s is not gone on with in the database, also where the end of the body came late",
  async (_, path, body) => {
    const key = await issueTestKey(service.database.owner, "api_write");
    await call(`${service.url}/v0/accelerators`, "GET", key);
    await holder.query("begin; lock table app_public.needs, app_public.churches");
    const text = JSON.stringify(body);
    const asking = request(`${service.url}${path}`, {
      method: body ? "POST" : "GET",
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { expect: "100-continue", "content-length": Buffer.byteLength(text) }),
        ...(body && { "content-type": "application/json" }),
      },
    });
    asking.on("error", () => undefined);
    if (body) {
      await once(asking, "continue");
      asking.write(text.slice(0, -1));
      // By then it is known whose the one before is.
      await call(`${service.url}/v0/accelerators`, "GET", key);
      asking.end(text.slice(-1));
    } else asking.end();
    await eventually(async () => expect(await waiting(/./)).toHaveLength(1), 20_000);
    asking.destroy();
    // Before any time limit of its own.
    await eventually(async () => expect(await waiting(/./)).toEqual([]), 5_000);
  },
);
