// GraphQL where its schema is built with the first request, as npm start does it.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import express from "express";
import type { Request, Response } from "express";
import { graphqlOnDemand } from "../server/graphql/on-demand.ts";
import { DatabaseUnavailable } from "../server/postgres/unavailable.ts";
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
    const explorer = call(`${service.url}/graphiql`, "GET", undefined);
    await eventually(async () => expect(await waiting()).toHaveLength(1));
    expect((await call(`${service.url}/v0/accelerators`, "GET", service.keys.read)).status).toBe(200);
    await client.query("select pg_terminate_backend($1)", [(await waiting())[0]]);
    for (const { status, errors } of await Promise.all(first)) {
      expect(status).toBe(503);
      expect(errors?.[0]?.extensions).toMatchObject({ code: "database_unavailable", statusCode: 503 });
    }
    expect(await explorer).toMatchObject({
      status: 503,
      body: expect.stringMatching(/<h1>That did not work</),
    });
  } finally {
    await client.query("rollback");
    client.release();
  }
  expect(await ask(service, QUERY)).toEqual({ accelerators: { nodes: [{ code: expect.any(String) }] } });
  const asked = await call(`${service.url}/GraphQL/`, "POST", service.keys.read, { query: QUERY });
  expect(asked.status).toBe(200);
  expect((await call(`${service.url}/graphiql`, "GET", undefined)).status).toBe(200);
});

test("while the database is known to be down nobody waits for the schema", async () => {
  const postgres = {
    pulse: { isDown: true },
    get requests(): never {
      throw new Error("It is built.");
    },
  };
  const logger = { error: () => undefined, warn: () => undefined };
  const { door, ask: askWithin } = graphqlOnDemand({
    ...{ postgres, logger, answerMaxBytes: 1 },
  } as unknown as Parameters<typeof graphqlOnDemand>[0]);
  const app = express();
  await door(app, {
    key: [],
    again: (_request, _response, next) => next(),
    keyInQuery: [],
    page: [],
    openPage: [],
  });
  const server = app.listen(0, "127.0.0.1");
  try {
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const answer = await call(`http://127.0.0.1:${port}/graphql`, "POST", undefined, { query: QUERY });
    expect([answer.status, answer.body.errors?.[0].extensions.code]).toEqual([503, "database_unavailable"]);
    const within = askWithin({} as Request, {} as Response, QUERY);
    await expect(within).rejects.toThrow(DatabaseUnavailable);
  } finally {
    server.close();
  }
});

test("a server that ends while its schema cannot be built ends in good order", async () => {
  const postgres = {
    pulse: { isDown: false, attend: () => ({ answered: () => undefined, end: () => undefined }) },
    get requests(): never {
      throw new Error("It cannot be built.");
    },
  };
  const logger = { error: () => undefined, warn: () => undefined };
  const {
    ask: askWithin,
    hangUp,
    release,
  } = graphqlOnDemand({
    ...{ postgres, logger, answerMaxBytes: 1 },
  } as unknown as Parameters<typeof graphqlOnDemand>[0]);
  const asked = expect(askWithin({} as Request, {} as Response, QUERY)).rejects.toThrow("cannot be built");
  hangUp();
  await expect(release()).resolves.toBeUndefined();
  await asked;
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
    const query = "subscription { changes { cursor } }";
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
