// What an address may try with keys that nobody knows.
import { once } from "node:events";
import { request } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { RunningServer } from "../server/main.ts";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

const LIMIT = 5;

let service: TestService;
const servers: RunningServer[] = [];
beforeAll(async () => {
  service = await startTestService({ graphql: "on demand" });
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});
afterAll(() => service.stop());

async function start(environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const settings = { UNKNOWN_KEYS_PER_MINUTE: String(LIMIT), ...environment };
  // Each would build the schema, which takes longer than all that is tried here.
  const server = await startAnotherServer(service, settings, { graphql: "on demand" });
  servers.push(server);
  return server.url;
}

let made = 0;
const unknownKey = () => `ek_unknown-${made++}`;

async function statusOf(url: string, key: string | undefined, headers: Record<string, string> = {}) {
  return (await call(`${url}/v0/accelerators`, "GET", key, undefined, headers)).status;
}

/** Sends a request, and returns when the server has it in hand. */
async function ask(url: string, key: string): Promise<{ status: Promise<number | undefined> }> {
  const asking = request(`${url}/v0/accelerators`, {
    headers: { authorization: `Bearer ${key}`, expect: "100-continue" },
  });
  const answered = once(asking, "response");
  asking.end();
  await once(asking, "continue");
  return {
    status: answered.then(([answer]) => {
      answer.resume();
      return answer.statusCode;
    }),
  };
}

describe("an address that has come with too many unknown keys", () => {
  test("is refused with 429, and told when to come back", async () => {
    const url = await start();
    for (let i = 0; i < LIMIT; i++) expect(await statusOf(url, unknownKey())).toBe(401);
    const { status, body, headers } = await call(`${url}/v0/needs`, "GET", unknownKey());
    expect([status, body.error]).toEqual([429, "rate_limited"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await statusOf(url, undefined)).toBe(401);
  });

  test("is refused at every door", async () => {
    const url = await start();
    for (let i = 0; i < LIMIT; i++) await statusOf(url, unknownKey());
    for (const path of ["/graphql", "/v0/sparql", "/v0/mcp", `/v0/mcp?apiKey=${unknownKey()}`]) {
      const key = path.includes("?") ? undefined : unknownKey();
      expect([path, (await call(`${url}${path}`, "POST", key, {})).status]).toEqual([path, 429]);
    }
  });

  test("is refused although all of them come at the same time", async () => {
    const url = await start();
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(url, unknownKey())));
    expect(statuses.filter((status) => status === 401)).toHaveLength(LIMIT);
    expect(statuses.filter((status) => status === 429)).toHaveLength(40 - LIMIT);
  });

  test("also with one wrong key again and again", async () => {
    const url = await start();
    const key = unknownKey();
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(url, key)));
    expect(statuses.filter((status) => status === 401)).toHaveLength(LIMIT);
  });

  test("can go on with a key that has been valid, until it is not", async () => {
    const url = await start();
    const { read } = service.keys;
    const key = await issueTestKey(service.database.owner, "api_read");
    expect(await statusOf(url, key)).toBe(200);
    while ((await statusOf(url, unknownKey())) !== 429);
    expect(await statusOf(url, key)).toBe(200);
    // One that has not been seen here could as well be guessed.
    expect(await statusOf(url, read)).toBe(429);
    await service.database.owner.query(
      "update app_private.api_keys set revoked_at = now() where key_hash = sha256(convert_to($1, 'utf8'))",
      [key],
    );
    await eventually(async () => expect(await statusOf(url, key)).not.toBe(200));
    expect(await statusOf(url, key)).toBe(429);
  });
});

// Of which a key has a quarter: where the machine is busy, one that waits for a connection may wait in vain.
const ROOM = { DATABASE_POOL_SIZE: String(8 * LIMIT) };

test("valid keys do not count, however many come at once", async () => {
  const url = await start(ROOM);
  const many = await Promise.all(Array.from({ length: 2 * LIMIT }, () => statusOf(url, service.keys.read)));
  expect(new Set(many)).toEqual(new Set([200]));
  for (let i = 0; i < 2 * LIMIT; i++) {
    expect(await statusOf(url, await issueTestKey(service.database.owner, "api_read"))).toBe(200);
  }
});

test("nor does one that comes over many connections, of which a proxy passes on the ports", async () => {
  const url = await start({ ...ROOM, TRUST_PROXY: "1" });
  const key = await issueTestKey(service.database.owner, "api_read");
  const holder = await service.database.owner.connect();
  let statuses: Promise<number[]>;
  try {
    await holder.query("begin; lock table app_private.api_keys");
    const ports = Array.from({ length: 2 * LIMIT }, (_, i) => 4_000 + i);
    statuses = Promise.all(
      ports.map((port) => statusOf(url, key, { "x-forwarded-for": `203.0.113.7:${port}` })),
    );
    await eventually(async () => {
      const { rowCount } = await service.database.owner.query(
        `select from pg_stat_activity
         where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBeGreaterThan(0);
    });
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  expect(new Set(await statuses)).toEqual(new Set([200]));
});

test("requests with a key that is being looked up share what comes of it, a failure too", async () => {
  const url = await start();
  const key = await issueTestKey(service.database.owner, "api_read");
  const holder = await service.database.owner.connect();
  try {
    await holder.query("begin; lock table app_private.api_keys");
    const asked = await Promise.all(Array.from({ length: 3 }, () => ask(url, key)));
    await eventually(async () => {
      const { rows } = await service.database.owner.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'`,
      );
      expect(rows).toHaveLength(1);
    });
    // The lock is still held: whoever asked again would wait for it.
    expect(await Promise.all(asked.map(({ status }) => status))).toEqual([503, 503, 503]);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  await eventually(async () => expect(await statusOf(url, key)).toBe(200));
});

test("a key that could not be looked up is no guess, however often that happens", async () => {
  const url = await start();
  const key = await issueTestKey(service.database.owner, "api_read");
  const holder = await service.database.owner.connect();
  try {
    await holder.query("begin; lock table app_private.api_keys");
    for (let i = 0; i <= LIMIT; i++) {
      const answer = { status: 0 };
      const answered = statusOf(url, key).then((status) => (answer.status = status));
      await eventually(async () => {
        await service.database.owner.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'`,
        );
        expect(answer.status).not.toBe(0);
      });
      expect(await answered).toBe(503);
    }
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  await eventually(async () => expect(await statusOf(url, unknownKey())).toBe(401));
});

describe("behind a proxy", () => {
  const from = (address: string) => ({ "x-forwarded-for": address });

  test("that is trusted, the address is the one that it names", async () => {
    const url = await start({ TRUST_PROXY: "1" });
    while ((await statusOf(url, unknownKey(), from("192.0.2.1"))) !== 429);
    expect(await statusOf(url, unknownKey(), from("192.0.2.2"))).toBe(401);
    // What a caller writes there himself comes before what the proxy adds.
    expect(await statusOf(url, unknownKey(), from("192.0.2.3, 192.0.2.1"))).toBe(429);
  });

  test("an IPv6 network counts as one address", async () => {
    const url = await start({ TRUST_PROXY: "loopback" });
    while ((await statusOf(url, unknownKey(), from("2001:db8:0:7::1"))) !== 429);
    expect(await statusOf(url, unknownKey(), from("2001:db8::7:ffff:0:0:2"))).toBe(429);
    expect(await statusOf(url, unknownKey(), from("2001:db8:0:8::1"))).toBe(401);
  });

  test("of an IPv6 site all networks together count as sixteen, and other sites as others", async () => {
    const url = await start({ TRUST_PROXY: "1", UNKNOWN_KEYS_PER_MINUTE: "2" });
    const tried = async (address: string, key = unknownKey()) => statusOf(url, key, from(address));
    const statuses: number[] = [];
    for (let network = 0; network < 32; network++)
      statuses.push(await tried(`2001:db8:1:${network.toString(16)}::1`));
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(await tried("2001:db8:1:ffff::1")).toBe(429);
    expect(await tried("2001:db8:2:ffff::1")).toBe(401);
    // Written as IPv6, addresses of IPv4 would all be of one.
    for (let last = 1; last <= 33; last++) expect(await tried(`::ffff:192.0.2.${last}`)).toBe(401);
  });

  test("valid keys do not count for a site either", async () => {
    const url = await start({ TRUST_PROXY: "1", UNKNOWN_KEYS_PER_MINUTE: "1" });
    for (let network = 0; network < 17; network++) {
      const key = await issueTestKey(service.database.owner, "api_read");
      expect(await statusOf(url, key, from(`2001:db8:1:${network.toString(16)}::1`))).toBe(200);
    }
  });

  test("that is not trusted, what the header says counts for nothing", async () => {
    const url = await start();
    for (let i = 0; i < LIMIT; i++) await statusOf(url, unknownKey(), from(`192.0.2.${i}`));
    expect(await statusOf(url, unknownKey(), from("192.0.2.99"))).toBe(429);
  });
});
