// What a server makes of its settings, and what is left of one that could not start.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { SCHEMAS } from "../db/ownership.ts";
import { saveSettings } from "../db/settings.ts";
import { snapshot } from "../db/snapshot.ts";
import { createNames } from "../graph/namespaces.ts";
import { GraphTimeout, GraphUnreachable } from "../graph/store.ts";
import type { GraphStore, QueryOptions } from "../graph/store.ts";
import { Metrics } from "../process/metrics.ts";
import { startServer } from "../server/main.ts";
import { createTestDatabase, issueTestKey } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { freePort } from "./support/process.ts";
import { holdRoles } from "./support/roles.ts";
import { call } from "./support/service.ts";

let database: TestDatabase;
const serving = jest.spyOn(Metrics.prototype, "serve");
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  // Of a server that has left them open.
  for (const { value } of serving.mock.results) await (await (value as ReturnType<Metrics["serve"]>)).stop();
  await database.drop();
});

type Given = { store?: object; log?: string[]; databaseUrl?: string; isWithOwner?: boolean };

const serve = async (environment: NodeJS.ProcessEnv, { store = {}, log = [], ...given }: Given = {}) => {
  const config = loadConfig({ PORT: "0", ...environment });
  await saveSettings(database.owner, config);
  return startServer({
    config,
    databaseUrl: database.serverUrl,
    store: { close: () => undefined, ...store } as GraphStore,
    logger: pino({ level: "warn" }, { write: (line) => void log.push(line) }),
    graphql: "on demand",
    ...given,
  });
};
const someKeys = (count: number) =>
  Promise.all(Array.from({ length: count }, () => issueTestKey(database.owner, "api_read")));
const connections = async (names = "%") => {
  const { rows } = await database.owner.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and usename = 'engagement_server' and application_name like $1`,
    [names],
  );
  return rows.map(({ pid }) => pid);
};

test("as many SPARQL queries run at a time as are configured, each for as long as that is", async () => {
  const running: PromiseWithResolvers<never>[] = [];
  const limits: (number | undefined)[] = [];
  const late = new GraphTimeout("late");
  let isOver = false;
  const query = async (_: string, asked: QueryOptions = {}) => {
    const end = await asked.place?.(asked.signal);
    const answer = Promise.withResolvers<never>();
    if (isOver) answer.reject(late);
    answer.promise.catch(() => end?.());
    running.push(answer);
    limits.push(asked.timeoutMs);
    return answer.promise;
  };
  const server = await serve(
    { SPARQL_CONCURRENCY: "5", SPARQL_TIMEOUT_MS: "600000" },
    {
      // It is there, however long its queries take.
      store: { query, ask: () => Promise.resolve(true) },
    },
  );
  try {
    const keys = await someKeys(6);
    const ask = (key: string) => call(`${server.url}/v0/sparql?query=ASK%7B%7D`, "GET", key);
    const asked = keys.slice(1).map(ask);
    await eventually(() => expect(running).toHaveLength(5));
    // Eight of one key wait, and one more is refused at once.
    const others = Array.from({ length: 9 }, () => ask(keys[0]!));
    expect((await Promise.race(others)).body).toMatchObject({ error: "service_busy" });
    expect(running).toHaveLength(5);
    expect(new Set(limits)).toEqual(new Set([600_000]));
    isOver = true;
    for (const each of running) each.reject(late);
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([504, 504, 504, 504, 504]);
    await Promise.all(others);
  } finally {
    await server.stop();
  }
});

test("as many lists are asked of the graph at a time as are configured, and who comes then has the table's", async () => {
  const asked: PromiseWithResolvers<never>[] = [];
  const select = () => {
    const answer = Promise.withResolvers<never>();
    asked.push(answer);
    return answer.promise;
  };
  const store = { select, ask: () => Promise.resolve(true) };
  const server = await serve({ SPARQL_CONCURRENCY: "5" }, { store });
  try {
    const [last, ...others] = await someKeys(6);
    const list = async (key: string) => {
      const { status, headers } = await call(`${server.url}/v0/commitments`, "GET", key);
      return [status, headers.get("x-data-source")];
    };
    const lists = others.map(list);
    await eventually(() => expect(asked).toHaveLength(5));
    expect(await list(last!)).toEqual([200, "database"]);
    expect(asked).toHaveLength(5);
    for (const { reject } of asked) reject(new GraphTimeout("late"));
    await Promise.all(lists);
  } finally {
    await server.stop();
  }
});

test("the description of the SPARQL endpoint names the graphs of the installation", async () => {
  const texts: string[] = [];
  const query = (text: string) => {
    texts.push(text);
    return Promise.reject(new GraphTimeout("late"));
  };
  const server = await serve(
    { GRAPH_DATA_URL: "https://own.example" },
    { store: { query, ask: () => Promise.resolve(true) } },
  );
  try {
    const [key] = await someKeys(1);
    expect((await call(`${server.url}/v0/sparql`, "GET", key)).status).toBe(504);
  } finally {
    await server.stop();
  }
  const { namedGraphs } = createNames(loadConfig({ GRAPH_DATA_URL: "https://own.example" }));
  const named = [...texts.join("").matchAll(/sd:name <([^>]*)>/g)].map(([, name]) => name!);
  expect(named.toSorted()).toEqual(namedGraphs.toSorted());
});

test("the description of REST says where the service is for everybody, and what its graph is called", async () => {
  const server = await serve({
    ...{ PLATFORM_URL: "http://own.example", GRAPH_DATA_URL: "https://data.own.example" },
    NAMESPACE_URL: "https://words.own.example/core#",
  });
  try {
    const { body } = await call(`${server.url}/docs/openapi.json`, "GET", undefined);
    const { servers } = body as { servers: { url: string }[] };
    expect(servers.map(({ url }) => url)).toEqual(["/", "http://own.example"]);
    const text = JSON.stringify(body);
    for (const name of ["https://data.own.example/", "https://words.own.example/core#"])
      expect(text).toContain(name);
  } finally {
    await server.stop();
  }
});

test("beyond as many connections as are configured, the one on which nothing was asked for longest is closed", async () => {
  const server = await serve({ MAX_CONNECTIONS: "6" });
  const sockets: Socket[] = [];
  try {
    for (let n = 0; n < 7; n += 1) {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1").on("error", () => undefined);
      sockets.push(socket.resume());
      await once(socket, "connect");
    }
    const first = [true, ...Array<boolean>(6).fill(false)];
    await eventually(() => expect(sockets.map(({ closed }) => closed)).toEqual(first), 5_000);
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  }
});

test("of as many connections as are configured one key has half for being told", async () => {
  const server = await serve({ MAX_CONNECTIONS: "4" });
  const told = new AbortController();
  try {
    const [key, other] = await someKeys(2);
    const listen = async (by: string) => {
      const { status, body } = await fetch(`${server.url}/graphql/stream`, {
        method: "POST",
        headers: {
          ...{ authorization: `Bearer ${by}`, accept: "text/event-stream" },
          "content-type": "application/json",
        },
        body: JSON.stringify({ query: "subscription { changes { cursor } }" }),
        signal: told.signal,
      });
      if (status !== 200) await body?.cancel();
      return status;
    };
    expect([await listen(key!), await listen(key!)]).toEqual([200, 200]);
    expect([await listen(key!), await listen(other!)]).toEqual([429, 200]);
  } finally {
    told.abort();
    await server.stop();
  }
});

test("a key is looked up over connections that no request can have", async () => {
  const server = await serve({ DATABASE_POOL_SIZE: "1" });
  const holder = await database.owner.connect();
  try {
    const [key] = await someKeys(1);
    const list = (by: string) => call(`${server.url}/v0/accelerators`, "GET", by);
    await holder.query("begin; lock table app_public.accelerators in access exclusive mode");
    const held = list(key!);
    await eventually(async () => {
      const { rowCount } = await database.owner.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      expect(rowCount).toBe(1);
    }, 30_000);
    expect((await list("ek_nobody")).status).toBe(401);
    await holder.query("rollback");
    expect((await held).status).toBe(200);
  } finally {
    await holder.query("rollback");
    holder.release();
    await server.stop();
  }
});

const inIpv6 = networkInterfaces()["lo"]?.some(({ family }) => family === "IPv6") ? test : test.skip;
inIpv6("a server on an address of IPv6 says where it is as a URL has it", async () => {
  const server = await serve({ HOST: "::1" });
  try {
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await call(`${server.url}/healthz`, "GET", undefined)).status).toBe(200);
  } finally {
    await server.stop();
  }
});

test("a server that cannot start keeps neither a connection nor the port of its metrics", async () => {
  const taken = createServer();
  await once(taken.listen(0, "127.0.0.1"), "listening");
  try {
    const { port } = taken.address() as AddressInfo;
    const METRICS_PORT = String(await freePort());
    await expect(serve({ PORT: String(port), METRICS_PORT })).rejects.toThrow("EADDRINUSE");
    await expect(fetch(`http://127.0.0.1:${METRICS_PORT}`)).rejects.toThrow("fetch failed");
    // Less than the ten seconds after which a pool closes what nobody uses.
    await eventually(async () => expect(await connections()).toEqual([]), 5_000);
  } finally {
    taken.close();
  }
});

/** What comes of a start; a server that begins after all is stopped. */
const begun = (given: Given = {}) => serve({}, given).then((server) => server.stop());

/** A login that may do what the server does before it becomes its caller, and that was given some of the roles. */
async function otherLogin(
  given: string,
): Promise<{ name: string; url: string; remove: () => Promise<void> }> {
  const name = `login_${randomBytes(6).toString("hex")}`;
  await database.owner.query(
    `create role ${name} login noinherit password 'server-test'; grant usage on schema app_private to ${name};
     grant execute on all functions in schema app_private to ${name};
     grant select, insert, update, delete on app_private.rate_limits to ${name};
     ${given === "" ? "" : `grant ${given} to ${name}`}`,
  );
  const url = Object.assign(new URL(database.url), { username: name, password: "server-test" }).href;
  const remove = async () => {
    await database.owner.query(`drop owned by ${name}; drop role ${name}`);
  };
  return { name, url, remove };
}

test("a server whose login may not become its callers does not start, and says which", async () => {
  const { rows } = await database.owner.query<{ release: number }>(
    "select current_setting('server_version_num')::integer / 10000 as release",
  );
  // Roles are the whole cluster's.
  const letGo = await holdRoles();
  const none = await otherLogin("");
  const some = await otherLogin("api_read, api_write, api_review");
  try {
    await expect(begun({ databaseUrl: none.url })).rejects.toThrow(
      `DATABASE_URL: the login ${none.name} may not become api_person, api_read, api_review, api_write, as callers ` +
        "need; use that of engagement_server",
    );
    const onePerson = `DATABASE_URL: the login ${some.name} may not become api_person, as callers need`;
    await expect(begun({ databaseUrl: some.url })).rejects.toThrow(onePerson);
    // Since PostgreSQL 16 who is a member may not always switch.
    if (rows[0]!.release < 16) return;
    await database.owner.query(`grant api_person to ${some.name} with set false`);
    await expect(begun({ databaseUrl: some.url })).rejects.toThrow(onePerson);
  } finally {
    await none.remove();
    await some.remove();
    await letGo();
  }
});

test("a login that loses a role while the server works is the server's failure, and not its caller's", async () => {
  const letGo = await holdRoles();
  const login = await otherLogin("api_read, api_write, api_review, api_person");
  const log: string[] = [];
  const server = await serve({}, { databaseUrl: login.url, log });
  try {
    const key = await issueTestKey(database.owner, "api_read");
    const asked = () =>
      Promise.all([
        call(`${server.url}/v0/accelerators`, "GET", key),
        call(`${server.url}/graphql`, "POST", key, { query: "{ needs { totalCount } }" }),
      ]);
    expect((await asked()).map(({ status }) => status)).toEqual([200, 200]);
    await database.owner.query(`revoke api_read, api_write, api_review, api_person from ${login.name}`);
    const [list, graphql] = await asked();
    expect(list).toMatchObject({ status: 500, body: { error: "internal_error" } });
    expect(JSON.stringify(graphql.body)).toContain("internal_error");
    expect(log.join("")).toContain("42501");
  } finally {
    await server.stop();
    await login.remove();
    await letGo();
  }
});

test.each([
  ["row-level security", "app_public.needs", "row level security"],
  ["triggers", "app_private.api_keys", "trigger announce"],
])("a server does not start where %s is switched off, and says on what", async (what, table, switched) => {
  await database.owner.query(`alter table ${table} disable ${switched}`);
  try {
    await expect(begun()).rejects.toThrow(
      new RegExp(`^DATABASE_URL: ${what} (is|are) switched off on ${table}; run npm run migrate$`),
    );
  } finally {
    await database.owner.query(`alter table ${table} enable ${switched}`);
  }
});

/** What db/rules/rights-relied-on.sql does about rights on what others own. */
async function relied(): Promise<string> {
  const rules = await readFile(new URL("../db/rules/rights-relied-on.sql", import.meta.url), "utf8");
  return /^do \$\$.*?^\$\$;/ms.exec(rules)![0];
}

test("what is taken from everybody to harden a database is not taken from callers, and where it is, no server starts", async () => {
  const { owner } = database;
  const server = await serve({});
  const key = await issueTestKey(owner, "api_read");
  const searched = () => call(`${server.url}/v0/orgs/search?q=gr%C3%A2ce`, "GET", key);
  try {
    await owner.query("revoke all on schema public from public");
    expect((await searched()).status).toBe(200);
    await owner.query("revoke all on schema public from api_read");
    expect((await searched()).status).not.toBe(200);
    await expect(begun()).rejects.toThrow(
      "DATABASE_URL: rights are lacking that the rules rely on; run npm run migrate, or, as a superuser: " +
        "grant usage on schema public to api_read",
    );
    await owner.query(await relied());
    expect((await searched()).status).toBe(200);
    await begun();
  } finally {
    await owner.query("grant usage on schema public to public, api_read");
    await server.stop();
  }
});

test.each([
  [
    "to use a schema",
    "revoke all on schema public from public, api_read",
    "grant usage on schema public to api_read",
    ["api_read: usage schema public"],
  ],
  [
    "to call a function",
    "revoke execute on function public.unaccent(text), public.similarity(text, text) from public",
    "grant execute on function public.similarity(text,text), public.unaccent(text) to api_read",
    [],
  ],
  [
    "to connect",
    "do $$ begin execute format('revoke all on database %I from public, engagement_server', current_database()); end $$",
    "grant connect on database test_\\w+ to engagement_server",
    ["engagement_server: connect the database"],
  ],
])(
  "the right %s is granted by whoever may, and else stops the migration, which says what to do",
  async (_, taken, step, planned) => {
    const name = `login_${randomBytes(6).toString("hex")}`;
    const client = await database.owner.connect();
    const lacking = async () => {
      const { rows } = await client.query<{ step: string }>(
        "select step from app_private.rights_relied_on() where not is_held",
      );
      return rows.map((row) => row.step);
    };
    // What a plan compares.
    const granted = async () =>
      (await snapshot(client, SCHEMAS)).filter(({ kind }) => kind === "grant").map((each) => each.name);
    try {
      await client.query(
        `begin; create role ${name}; grant usage on schema app_private to ${name};
       grant execute on function app_private.rights_relied_on to ${name}; ${taken}; savepoint taken; set local role ${name}`,
      );
      const stopped = step.replaceAll(/[()]/g, "\\$&");
      await expect(client.query(await relied())).rejects.toThrow(
        new RegExp(
          `^rights are lacking that the rules rely on; after npm run migrate -- --roles a superuser has to: ${stopped}$`,
        ),
      );
      await client.query("rollback to savepoint taken");
      expect(await lacking()).toEqual([expect.stringMatching(new RegExp(`^${stopped}$`))]);
      const before = await granted();
      await client.query(await relied());
      expect((await granted()).filter((each) => !before.includes(each))).toEqual(planned);
      expect(await lacking()).toEqual([]);
    } finally {
      await client.query("rollback");
      client.release();
    }
  },
);

test("but it starts beside a table that somebody has copied there", async () => {
  const client = await database.owner.connect();
  const problems = async () =>
    (await client.query("select problem from app_private.login_problems() where is_fatal")).rows;
  try {
    await client.query("begin; create table app_public.needs_before as select * from app_public.needs");
    expect(await problems()).toEqual([]);
    // Unless somebody may read there, or write.
    for (const given of [
      "select on app_public.needs_before to api_read",
      "select (org_uri) on app_public.needs_before to public",
      "delete on app_public.needs_before to api_person",
      "insert on app_public.needs_before to engagement_server",
    ]) {
      await client.query(`savepoint given; grant ${given}`);
      expect(await problems()).toEqual([
        { problem: "row-level security is switched off on app_public.needs_before; run npm run migrate" },
      ]);
      await client.query("rollback to given");
    }
    // A table of the service without a policy is the same.
    await client.query("alter table app_private.mails disable row level security");
    expect(await problems()).toEqual([]);
    await client.query("grant select on app_private.mails to api_write");
    expect(await problems()).toMatchObject([
      { problem: expect.stringContaining("off on app_private.mails;") },
    ]);
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test.each([
  ["bypasses them", "alter role api_write bypassrls", "api_write"],
  ["is a superuser", "alter role api_read superuser", "api_read"],
  [
    "has the owner's rights",
    "alter role api_review inherit; grant OWNER to api_review OPTIONS",
    "api_review",
  ],
])("no server may start where no policy binds a caller, because its role %s", async (_, done, role) => {
  const client = await database.owner.connect();
  // Roles are the whole cluster's: all of this is undone.
  try {
    await client.query("begin");
    const { rows: releases } = await client.query<{ release: number; owner: string }>(
      "select current_setting('server_version_num')::integer / 10000 as release, 'o_' || md5(random()::text) as owner",
    );
    const { release, owner } = releases[0]!;
    await client.query(`create role ${owner}; alter table app_public.needs owner to ${owner}`);
    await client.query(
      done.replace("OWNER", owner).replace("OPTIONS", release < 16 ? "" : "with inherit true"),
    );
    await client.query("set local role engagement_server");
    const { rows } = await client.query("select * from app_private.login_problems() where is_fatal");
    expect(rows).toEqual([
      {
        problem: expect.stringMatching(`^no policy binds ${role}, .*; run npm run migrate$`),
        is_fatal: true,
      },
    ]);
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("a login that may do more than callers is warned of, unless the owner works in the same process", async () => {
  const warnings = async (options: Parameters<typeof serve>[1]) => {
    const log: string[] = [];
    const server = await serve({}, { ...options, log });
    await server.stop();
    return log.map((line) => (JSON.parse(line) as { msg: string }).msg);
  };
  const { username } = new URL(database.url);
  expect(await warnings({ databaseUrl: database.url, isWithOwner: false })).toEqual([
    `the login ${username} may do more than its callers: it is a superuser; use that of engagement_server`,
  ]);
  expect(await warnings({ databaseUrl: database.url, isWithOwner: true })).toEqual([]);
  expect(await warnings({})).toEqual([]);
});

test("of a login it is told why it may do more than callers", async () => {
  const client = await database.owner.connect();
  const name = `login_${randomBytes(6).toString("hex")}`;
  const told = async () => {
    const { rows } = await client.query<{ problem: string }>(
      "select problem from app_private.login_problems() where not is_fatal",
    );
    return rows.map(({ problem }) => problem);
  };
  try {
    await client.query(
      `begin; create role ${name}; grant usage on schema app_private to ${name};
       grant execute on all functions in schema app_private to ${name}; set local role ${name}`,
    );
    expect(await told()).toEqual([]);
    await client.query(`reset role; alter table app_public.needs owner to ${name}; set local role ${name}`);
    expect(await told()).toEqual([
      expect.stringContaining(`${name} may do more than its callers: it owns the tables;`),
    ]);
    await client.query(`reset role; alter role ${name} bypassrls; set local role ${name}`);
    expect(await told()).toEqual([expect.stringContaining(": it is bound by no policy;")]);
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("a connection that the database breaks off is told of in the log, and by a server that has stopped none is left", async () => {
  const log: string[] = [];
  const server = await serve({}, { log });
  try {
    const key = await issueTestKey(database.owner, "api_read");
    const list = () => call(`${server.url}/v0/accelerators`, "GET", key);
    // More at a time than connections are opened at the start.
    for (const { status } of await Promise.all(Array.from({ length: 8 }, list))) expect(status).toBe(200);
    await eventually(async () => {
      for (const pid of await connections("engagement-server"))
        await database.owner.query("select pg_terminate_backend($1)", [pid]);
      expect(log.join("")).toContain("lost a database connection");
    });
    expect(log.join("")).toContain("57P01");
    // Not even of the request that it was opened for.
    expect(log.filter((line) => /lost a database connection/.test(line)).join("")).not.toContain("requestId");
    await eventually(async () => expect((await list()).status).toBe(200));
  } finally {
    await server.stop();
  }
  await eventually(async () => expect(await connections()).toEqual([]), 15_000);
});

test("a server that has stopped has no connection to its replica left", async () => {
  const server = await serve({ DATABASE_URL: database.serverUrl, DATABASE_READ_URL: database.serverUrl });
  expect(await connections()).not.toEqual([]);
  await server.stop();
  // Less than the ten seconds after which a pool closes what nobody uses.
  await eventually(async () => expect(await connections()).toEqual([]), 5_000);
});

test("a server that has stopped tells no metrics, and asks neither provider nor store any more", async () => {
  const intervals = jest.spyOn(globalThis, "setInterval");
  const timeouts = jest.spyOn(globalThis, "setTimeout");
  const ended = [jest.spyOn(globalThis, "clearInterval"), jest.spyOn(globalThis, "clearTimeout")];
  let isAway = true;
  const ask = () => (isAway ? Promise.reject(new GraphUnreachable("gone")) : Promise.resolve(true));
  try {
    const server = await serve(
      { METRICS_PORT: "0", OIDC_ISSUER: "http://127.0.0.1:9", OIDC_AUDIENCE: "here" },
      { store: { ask, select: ask } },
    );
    const metrics = `http://127.0.0.1:${server.metricsPort}/metrics`;
    expect((await fetch(metrics)).status).toBe(200);
    const [key] = await someKeys(1);
    // From now on it looks again and again whether the store is back.
    expect((await call(`${server.url}/v0/health`, "GET", key)).status).toBe(200);
    await server.stop();
    await expect(fetch(metrics)).rejects.toThrow("fetch failed");
    const isEnded = (timer: unknown) => ended.some(({ mock }) => mock.calls.some(([each]) => each === timer));
    const looks = timeouts.mock.results.filter((_, call) => timeouts.mock.calls[call]![1] === 200);
    expect(looks.length).toBeGreaterThan(0);
    expect(isEnded(looks.at(-1)!.value)).toBe(true);
    expect(intervals.mock.results.map(({ value }) => isEnded(value))).toEqual(
      intervals.mock.results.map(() => true),
    );
    // Of the provider, whose keys are asked for by the clock.
    expect(intervals.mock.calls.map(([, ms]) => ms)).toContain(600_000);
  } finally {
    // Whoever goes on asking is told, and comes to an end.
    isAway = false;
    for (const spied of [intervals, timeouts, ...ended]) spied.mockRestore();
  }
});
