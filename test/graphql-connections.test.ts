// What one GraphQL request may use of the database: one connection, in one round trip a statement, and no rights that
// outlive it.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { PgClient, PgClientQuery } from "postgraphile/@dataplan/pg";
import type { ServerResponse } from "node:http";
import { EventEmitter } from "node:events";
import { RequestConnection } from "../server/graphql/connection.ts";
import { RequestConnections } from "../server/graphql/connections.ts";
import { callerWith } from "../server/identity/identity.ts";
import { BorrowedConnection } from "../server/postgres/connections.ts";
import { Postgres } from "../server/postgres/postgres.ts";
import type { Lender } from "../server/postgres/reads.ts";
import { CallerGone } from "../server/postgres/unavailable.ts";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { ask, refusal, send } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

const ANSWER_BYTES = 8 * 1024 * 1024;

let service: TestService;

beforeAll(async () => {
  // Long enough that no statement ends by itself where it is to be ended.
  service = await startTestService({
    config: { statementTimeoutMs: 120_000, answerMaxBytes: ANSWER_BYTES },
  });
});
afterAll(() => service.stop());

const times = (count: number, make: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => make(n)).join(" ");

/** The server's statements that wait for a lock. */
const waiting = async () => {
  const { rows } = await service.database.owner.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'`,
  );
  return rows.map(({ pid }) => pid);
};

/** Does something while every statement that reads needs waits. */
const whileNeedsAreLocked = async (work: () => Promise<void>) => {
  const client = await service.database.owner.connect();
  try {
    await client.query("begin; lock table app_public.needs in access exclusive mode");
    await work();
  } finally {
    await client.query("rollback");
    client.release();
  }
};

describe("a request with twenty slow fields", () => {
  const slow = `{ ${times(20, (n) => `a${n}: needs(first: ${n}) { nodes { status } }`)} }`;

  test("holds one connection, and leaves REST, readiness and other fields alone", async () => {
    let answer: Promise<unknown> | undefined;
    await whileNeedsAreLocked(async () => {
      answer = ask(service, slow);
      await eventually(async () => expect(await waiting()).toHaveLength(1));
      for (const key of [service.keys.read, service.keys.write]) {
        expect((await call(`${service.url}/v0/accelerators`, "GET", key)).status).toBe(200);
      }
      expect((await call(`${service.url}/readyz`, "GET", undefined)).status).toBe(200);
      expect(await ask(service, "{ accelerators { totalCount } }")).toBeDefined();
      expect(await waiting()).toHaveLength(1);
    });
    expect(Object.keys((await answer) as object)).toHaveLength(20);
  });

  test("leaves other keys alone, however many there are of it", async () => {
    const answers: Promise<unknown[]>[] = [];
    // A key that has kept connections for long before would get fewer.
    const read = await issueTestKey(service.database.owner, "api_read");
    const another = { ...service, keys: { ...service.keys, read } };
    await whileNeedsAreLocked(async () => {
      for (let n = 0; n < 12; n++) answers.push(refusal(another, slow));
      // A quarter of the twenty connections is the share of a key.
      await eventually(async () => expect(await waiting()).toHaveLength(5));
      expect(await ask(service, "{ accelerators { totalCount } }", {}, "write")).toBeDefined();
      expect((await call(`${service.url}/v0/accelerators`, "GET", service.keys.write)).status).toBe(200);
      expect(await waiting()).toHaveLength(5);
    });
    for (const answer of await Promise.all(answers)) {
      expect([
        [undefined, undefined],
        ["service_busy", 503],
      ]).toContainEqual(answer);
    }
  });

  test("is ended by hanging up, and none of its other fields begins", async () => {
    await whileNeedsAreLocked(async () => {
      const hangUp = new AbortController();
      const answer = fetch(`${service.url}/graphql`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.keys.read}`, "content-type": "application/json" },
        body: JSON.stringify({ query: slow }),
        signal: hangUp.signal,
      });
      await eventually(async () => expect(await waiting()).toHaveLength(1));
      hangUp.abort();
      await expect(answer).rejects.toThrow("abort");
      await eventually(async () => expect(await waiting()).toHaveLength(0));
      expect(await ask(service, "{ accelerators { totalCount } }")).toBeDefined();
      expect(await waiting()).toHaveLength(0);
    });
    expect(await ask(service, "{ needs { totalCount } }")).toBeDefined();
  });

  test("answers database_unavailable when its connection is killed, and the next one is served", async () => {
    await whileNeedsAreLocked(async () => {
      const answer = refusal(service, "{ needs { nodes { id } } }");
      await eventually(async () => expect(await waiting()).toHaveLength(1));
      await service.database.owner.query("select pg_terminate_backend($1)", await waiting());
      expect(await answer).toEqual(["database_unavailable", 503]);
    });
    expect(await ask(service, "{ needs { totalCount } }")).toBeDefined();
  });
});

test("an answer larger than it may be is refused, and the connection serves the next", async () => {
  const length = 9_990;
  const perList = 200;
  await service.database.owner.query(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     select $1, 'River Mission', $2, repeat('x', $3), '{PRA}' from generate_series(1, $4)`,
    [ORG, admin, length, perList],
  );
  const lists = (count: number) =>
    `{ ${times(count, (n) => `a${n}: needs(first: ${perList - n}) { nodes { needDescription } }`)} }`;
  const most = Math.floor(ANSWER_BYTES / (length * perList));
  expect((await send(service, lists(most))).errors).toBeUndefined();
  const refused = await send(service, lists(most + 2));
  expect(refused.errors?.[0]).toMatchObject({
    message: expect.stringMatching(/exceed the size limit/),
    extensions: { code: "validation_failed", statusCode: 400 },
  });
  expect((await send(service, lists(1))).errors).toBeUndefined();
});

describe("the connection of a request", () => {
  let postgres: Postgres;
  let connections: RequestConnections;

  beforeAll(async () => {
    await service.database.owner.query(
      `create table app_public.marks (mark text); grant select, insert on app_public.marks to api_write`,
    );
    postgres = open(29_999);
    connections = new RequestConnections(postgres.requests, ANSWER_BYTES);
  });
  afterAll(() => postgres.end());

  // With one connection, whatever a statement leaves behind meets the next one.
  const open = (statementTimeoutMs: number) =>
    new Postgres({
      url: service.database.serverUrl,
      poolSize: 1,
      statementTimeoutMs,
      onError: () => undefined,
    });

  type Work<T> = (client: PgClient) => Promise<T>;
  const begin = (scope: string, from = connections) => {
    const response = new EventEmitter() as unknown as ServerResponse;
    return from.of(
      from.begin(callerWith({ keyId: "key", scope: scope as "api_read", ratePerMinute: null }), response),
    );
  };
  const as = <T>(scope: string, work: Work<T>) => begin(scope).use(work);
  const run = (scope: string, text: string, name?: string) =>
    as(scope, (client) => client.query<unknown[]>({ text, arrayMode: true, ...(name && { name }) }));
  const marks = async () => {
    const { rows } = await service.database.owner.query<{ mark: string }>("table app_public.marks");
    return rows.map(({ mark }) => mark);
  };
  const STATE = `select current_user, current_setting('statement_timeout'), current_setting('jit_optimize_above_cost')`;
  const left = async ({ pool } = postgres) =>
    (await pool.query({ text: STATE, rowMode: "array" })).rows[0] as unknown[];

  test("runs each statement under its request's role and settings", async () => {
    for (const scope of ["api_read", "api_write", "api_read"]) {
      const { rows } = await run(scope, STATE, "state");
      expect(rows[0]).toEqual([scope, "29999ms", "-1"]);
    }
  });

  test.each<[string, () => Promise<unknown>, code: string | undefined]>([
    ["an answer", () => run("api_write", "select 1"), undefined],
    ["an error", () => run("api_write", "select 1/0"), "22012"],
    ["an error of syntax", () => run("api_write", "selec", "broken"), "42601"],
    ["a refusal", () => run("api_read", "insert into app_public.marks values ('a')"), "42501"],
    ["a role that does not exist", () => run("nobody", "select 1"), "22023"],
    ["a role that may not be assumed", () => run("postgres", "select 1"), "42501"],
    [
      "a transaction",
      () =>
        as("api_write", (client) => client.withTransaction((within) => within.query({ text: "select 1" }))),
      undefined,
    ],
    [
      "a transaction that failed",
      () =>
        as("api_write", (client) => client.withTransaction((within) => within.query({ text: "select 1/0" }))),
      "22012",
    ],
  ])("leaves nothing behind after %s", async (_name, work, code) => {
    const before = await left();
    expect(before[0]).toBe("engagement_server");
    const failed = await work().then(
      () => undefined,
      (error: { code?: string }) => error.code,
    );
    expect(failed).toBe(code);
    expect(await left()).toEqual(before);
    // Nor does a statement that was prepared with more rights lend them.
    const insert = "insert into app_public.marks values ('kept') returning mark";
    expect((await run("api_write", insert, "insert")).rows).toEqual([["kept"]]);
    await expect(run("api_read", insert, "insert")).rejects.toMatchObject({ code: "42501" });
    await service.database.owner.query("truncate app_public.marks");
  });

  test("an error undoes what its statement did", async () => {
    const insertAndFail = `with made as (insert into app_public.marks values ('lost') returning 1 as x)
      select x / 0 from made`;
    await expect(run("api_write", insertAndFail)).rejects.toMatchObject({ code: "22012" });
    expect(await marks()).toEqual([]);
  });

  test("a transaction is all or nothing, while other statements of the request wait for its end", async () => {
    const connection = begin("api_write");
    const insert = (mark: string) => ({ text: "insert into app_public.marks values ($1)", values: [mark] });
    const failing = connection.use((client) =>
      client.withTransaction(async (within) => {
        await within.query(insert("lost"));
        await within.withTransaction((deeper) => deeper.query({ text: "select 1/0" }));
      }),
    );
    const next = connection.use((client) =>
      client.withTransaction(async (within) => {
        await within.query(insert("first"));
        await within.query(insert("second"));
      }),
    );
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    await next;
    expect(await marks()).toEqual(["first", "second"]);
    await service.database.owner.query("truncate app_public.marks");
  });

  test("all statements of a request have the time of one, which leaves nothing behind either", async () => {
    const hasty = open(200);
    const before = await left(hasty);
    const connection = begin("api_write", new RequestConnections(hasty.requests, ANSWER_BYTES));
    const slow = connection.use((client) => client.query({ text: "select pg_sleep(60)" }));
    const next = connection.use((client) =>
      client.query({ text: "insert into app_public.marks values ('late')" }),
    );
    // On a slow machine it is given up before PostgreSQL has said so.
    const whyNot = ({ code, name }: { code?: string; name: string }) => code ?? name;
    expect(await slow.then(() => "it ended", whyNot)).toMatch(/^(57014|StatementTimeout)$/);
    await expect(next).rejects.toMatchObject({ name: "StatementTimeout" });
    expect(await marks()).toEqual([]);
    expect(await left(hasty)).toEqual(before);
    await hasty.end();
  });

  test("rests between its statements, outside of transactions", async () => {
    const rest = jest.spyOn(BorrowedConnection.prototype, "rest");
    const some: PgClientQuery = { text: "select 1" };
    await as("api_write", async (client) => {
      await client.query(some);
      await client.query(some);
      expect(rest).toHaveBeenCalledTimes(2);
      await client.withTransaction(async (inner) => {
        await inner.query(some);
        await inner.query(some);
      });
    });
    expect(rest).toHaveBeenCalledTimes(2);
    rest.mockRestore();
  });

  test("that has read too much says so of all that is asked of it, also where it would have to rest", async () => {
    const lender: Lender = {
      timeoutMs: 1_000,
      take: ({ gone }) =>
        Promise.resolve({
          run: async (_query, _settings, onRow) => {
            await Promise.resolve();
            onRow?.(11);
            throw new Error("It went on.");
          },
          rest: () => (gone?.aborted ? Promise.reject(new CallerGone()) : Promise.resolve()),
          release: () => undefined,
        }),
    };
    const connection = new RequestConnection(lender, "key", {}, 10);
    const read = () => connection.use((client) => client.query({ text: "select 1" }));
    const message = expect.stringMatching(/exceed the size limit/);
    const refused = { status: "rejected", reason: expect.objectContaining({ message }) };
    expect(await Promise.allSettled([read(), read()])).toEqual([refused, refused]);
  });

  test("that cannot even be rolled back any more fails for the reason for which it was to be", async () => {
    const lender: Lender = {
      timeoutMs: 1_000,
      take: () =>
        Promise.resolve({
          run: ({ text }) =>
            text === "rollback"
              ? Promise.reject(new Error("the connection is broken"))
              : Promise.resolve({ rows: [] } as never),
          rest: () => Promise.resolve(),
          release: () => undefined,
        }),
    };
    const connection = new RequestConnection(lender, "key", {}, 1_000);
    const repeatable = { key: "k", request: { method: "POST", path: "/graphql", body: {} } };
    const failing = connection.once(repeatable, () => Promise.reject(new Error("the mutation is refused")));
    await expect(failing).rejects.toThrow("the mutation is refused");
  });

  test("may read exactly as many bytes as an answer may have, over all of its statements", async () => {
    const lender: Lender = {
      timeoutMs: 1_000,
      take: () =>
        Promise.resolve({
          run: (_query, _settings, onRow) => {
            onRow?.(5);
            return Promise.resolve({ rows: [] } as never);
          },
          rest: () => Promise.resolve(),
          release: () => undefined,
        }),
    };
    const connection = new RequestConnection(lender, "key", {}, 10);
    const read = () => connection.use((client) => client.query({ text: "select 1" }));
    const outcomes = await Promise.allSettled([read(), read(), read()]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
  });

  test("counts the time of all of its statements together, each part of it once", async () => {
    const took = [60, 60, 260, 10];
    const lender: Lender = {
      timeoutMs: 1_000,
      take: (borrower) =>
        Promise.resolve({
          run: () => {
            borrower.took!(took.shift()!);
            return Promise.resolve({ rows: [] } as never);
          },
          rest: () => Promise.resolve(),
          release: () => undefined,
        }),
    };
    const connection = new RequestConnection(lender, "key", {}, 10);
    const count = jest.fn<(requests: number) => void>();
    connection.countTime(100, 1, count);
    const told: number[] = [];
    while (took.length > 0) {
      await connection.use((client) => client.query({ text: "select 1" }));
      told.push(count.mock.calls.length);
    }
    expect([told, count.mock.calls]).toEqual([
      [0, 1, 2, 2],
      [[1], [2]],
    ]);
  });

  test("rests where a query reads", async () => {
    const rest = jest.spyOn(BorrowedConnection.prototype, "rest");
    await ask(service, "{ needs { totalCount } accelerators { totalCount } }");
    expect(rest).toHaveBeenCalledTimes(2);
    rest.mockRestore();
  });

  test("keeps a hundred prepared statements and no more", async () => {
    for (let n = 0; n < 130; n++) await run("api_read", `select ${n}`, `q${n}`);
    const { rows } = await run(
      "api_read",
      "select count(*)::int from pg_prepared_statements where name ~ '^q\\d'",
    );
    expect(rows).toEqual([[100]]);
    // One that was let go can be prepared again.
    expect((await run("api_read", "select 0", "q0")).rows).toEqual([[0]]);
  });

  test("keeps none of those that look for a code, of which each is planned for the code that is asked for", async () => {
    await run("api_read", "select '{1}'::int[] @> '{1}'", "for_a_code");
    await run("api_read", "select '{1}'::int[] && '{1}'", "for_any");
    const { rows } = await run("api_read", "select name from pg_prepared_statements where name ~ '^for_'");
    expect(rows).toEqual([["for_any"]]);
  });

  test("is asked nothing for a caller who had hung up before", async () => {
    const response = Object.assign(new EventEmitter(), { closed: true, writableFinished: false });
    const caller = callerWith({ keyId: "key", scope: "api_write", ratePerMinute: null });
    const settings = connections.begin(caller, response as unknown as ServerResponse);
    const insert = connections
      .of(settings)
      .use((client) => client.query({ text: "insert into app_public.marks values ('unheard')" }));
    await expect(insert).rejects.toMatchObject({ name: "CallerGone" });
    expect(await marks()).toEqual([]);
  });

  test("settings of no request are refused", () => {
    expect(() => connections.of({ role: "api_review" })).toThrow("belong to a request");
  });
});
