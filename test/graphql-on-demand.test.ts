// GraphQL where its schema is built with the first request, as npm start does it.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { eventually } from "./support/eventually.ts";
import { ask, send } from "./support/graphql.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

const QUERY = "{ accelerators(first: 1) { nodes { code } } }";

// Each with a service of its own: whoever asks first, even without a key, has the schema built.
let service: TestService;

beforeEach(async () => {
  service = await startTestService({ graphql: "on demand" });
});
afterEach(() => service.stop());

/** The server's statements that wait for a lock. */
const waiting = async () => {
  const { rows } = await service.database.owner.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'`,
  );
  return rows.map(({ pid }) => pid);
};

test("whoever asks first is told what went wrong, others notice nothing, and the next request builds it", async () => {
  const client = await service.database.owner.connect();
  try {
    // Whoever reads the catalog has to wait for it.
    await client.query("begin; lock table app_public.needs in access exclusive mode");
    const first = [send(service, QUERY), send(service, QUERY)];
    await eventually(async () => expect(await waiting()).toHaveLength(1));
    expect((await call(`${service.url}/v0/accelerators`, "GET", service.keys.read)).status).toBe(200);
    await client.query("select pg_terminate_backend($1)", [(await waiting())[0]]);
    for (const { status, errors } of await Promise.all(first)) {
      expect(status).toBe(503);
      expect(errors?.[0]?.extensions).toMatchObject({ code: "database_unavailable", statusCode: 503 });
    }
  } finally {
    await client.query("rollback");
    client.release();
  }
  expect(await ask(service, QUERY)).toEqual({ accelerators: { nodes: [{ code: expect.any(String) }] } });
  expect((await call(`${service.url}/graphiql`, "GET", undefined)).status).toBe(200);
});

test("what only begins like its path is nothing, and a caller without a key is refused as ever", async () => {
  for (const path of ["/graphqlx", "/graphql/x", "/graphiqlx"]) {
    expect((await call(service.url + path, "GET", undefined)).status).toBe(404);
  }
  const answer = await call(`${service.url}/graphql`, "POST", undefined, { query: QUERY });
  expect(answer.status).toBe(401);
  expect(answer.body).toMatchObject({ errors: [{ extensions: { code: "missing_api_key" } }] });
});

test("who asks for a stream first of all is refused by a server that ends meanwhile, and keeps it from nothing", async () => {
  const server = await startAnotherServer(service, { SHUTDOWN_TIMEOUT_MS: "60000" });
  const client = await service.database.owner.connect();
  let stopped: Promise<void> | undefined;
  try {
    await client.query("begin; lock table app_public.needs in access exclusive mode");
    const query = "subscription { changes { position } }";
    const answer = call(`${server.url}/graphql/stream`, "POST", service.keys.read, { query });
    await eventually(async () => expect(await waiting()).toHaveLength(1));
    stopped = server.stop();
    await client.query("rollback");
    expect(await answer).toMatchObject({
      ...{ status: 503, body: { errors: [{ extensions: { code: "service_busy" } }] } },
    });
  } finally {
    await client.query("rollback");
    client.release();
    await (stopped ?? server.stop());
  }
});
