import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { RunningServer } from "../server/main.ts";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let second: RunningServer;
beforeAll(async () => {
  service = await startTestService();
  second = await startAnotherServer(service, { RATE_LIMIT_PER_MINUTE: "3" });
  // What they remember of a key does not get old: if they know of a change, they have been told.
  jest.spyOn(performance, "now").mockReturnValue(performance.now());
});
afterAll(async () => {
  jest.restoreAllMocks();
  await second.stop();
  await service.stop();
});

const PATHS = ["/v0/needs", "/v0/commitments", "/v0/engagement-claims", "/v0/accelerators", "/v0/health"];

describe("every route requires a key", () => {
  test.each(PATHS)("%s without one", async (path) => {
    const answer = await call(`${service.url}${path}`, "GET", undefined);
    expect(answer).toMatchObject({ status: 401, body: { error: "missing_api_key", statusCode: 401 } });
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("an unknown, an expired and a revoked key get the same answer", async () => {
    const expired = await issueTestKey(service.database.owner, "api_read", { expiresAt: "2020-01-01" });
    const revoked = await issueTestKey(service.database.owner, "api_read");
    await service.database.owner.query(
      "update app_private.api_keys set revoked_at = now() where key_hash = sha256(convert_to($1, 'utf8'))",
      [revoked],
    );
    const answers = await Promise.all(
      [`ek_${"x".repeat(43)}`, expired, revoked].map((key) => call(`${service.url}/v0/needs`, "GET", key)),
    );
    expect(answers[0]).toMatchObject({ status: 401, body: { error: "invalid_api_key" } });
    for (const answer of answers) {
      expect(answer.body).toEqual({
        ...answers[0]!.body,
        requestId: answer.headers.get("x-request-id"),
      });
      expect(answer.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    }
  });

  test.each([["Basic ZWs6"], ["Bearer"], ["Bearer a b"], [""], ["ek_abc"]])(
    "the header %j is not a key",
    async (header) => {
      const answer = await call(`${service.url}/v0/needs`, "GET", undefined, undefined, {
        authorization: header,
      });
      expect(answer.status).toBe(401);
    },
  );

  test("the scheme's case does not matter", async () => {
    const header = { authorization: `bearer ${service.keys.read}` };
    expect((await call(`${service.url}/v0/needs`, "GET", undefined, undefined, header)).status).toBe(200);
  });

  test("a key in the query does not count here", async () => {
    expect((await call(`${service.url}/v0/needs?apiKey=${service.keys.read}`, "GET", undefined)).status).toBe(
      401,
    );
  });
});

test("a revocation takes effect at once in every process, and an expiry without an announcement", async () => {
  const key = await issueTestKey(service.database.owner, "api_read");
  for (const { url } of [service, second]) {
    expect((await call(`${url}/v0/accelerators`, "GET", key)).status).toBe(200);
  }
  // Where a machine is so busy that it expires before it was used, another one.
  const soon = await eventually(async () => {
    const expiresAt = new Date(Date.now() + 1500).toISOString();
    const expiring = await issueTestKey(service.database.owner, "api_read", { expiresAt });
    expect((await call(`${service.url}/v0/accelerators`, "GET", expiring)).status).toBe(200);
    return expiring;
  });
  await service.database.owner.query(
    "update app_private.api_keys set revoked_at = now() where key_hash = sha256(convert_to($1, 'utf8'))",
    [key],
  );
  for (const { url } of [service, second]) {
    await refusedSoon(url, key);
  }
  await refusedSoon(service.url, soon);
});

test("whatever happens to a key in the database is announced to every process, its deletion too", async () => {
  const listener = await service.database.owner.connect();
  const announced: (string | undefined)[] = [];
  listener.on("notification", ({ payload }) => announced.push(payload));
  try {
    await listener.query("listen api_keys");
    const { rows } = await listener.query<{ id: string }>(
      `insert into app_private.api_keys (label, key_hash, scope) values ('gone', sha256('gone'), 'api_read') returning key_id as id`,
    );
    for (const change of [
      "update app_private.api_keys set label = 'going'",
      "delete from app_private.api_keys",
    ]) {
      await listener.query(`${change} where key_id = $1`, [rows[0]!.id]);
    }
    // The announcement of a statement comes before its answer ends.
    await listener.query("select");
    expect(announced.filter((id) => id === rows[0]!.id)).toHaveLength(3);
  } finally {
    listener.release(true);
  }
});

test("a key that is revoked while it is being looked up is not remembered as it was", async () => {
  const { owner } = service.database;
  const key = await issueTestKey(owner, "api_read");
  const later = await issueTestKey(owner, "api_read");
  const status = async (of: string) => (await call(`${service.url}/v0/accelerators`, "GET", of)).status;
  const revoke = (revoked: string) =>
    owner.query(
      "update app_private.api_keys set revoked_at = now() where key_hash = sha256(convert_to($1, 'utf8'))",
      [revoked],
    );
  expect(await status(later)).toBe(200);
  const definition = "select pg_get_functiondef('app_private.key_state'::regproc) as state";
  const { rows } = await owner.query<{ state: string }>(definition);
  const holder = await owner.connect();
  try {
    await holder.query("select pg_advisory_lock(4711)");
    // Waits for the lock once it has seen the key as it was.
    await owner.query(`
      create or replace function app_private.key_state(key app_private.api_keys) returns text language plpgsql as $$
      begin
        if key.key_hash = sha256(convert_to('${key}', 'utf8')) then
          perform pg_advisory_xact_lock_shared(4711);
        end if;
        return case when key.revoked_at is null then 'live' else 'revoked' end;
      end $$`);
    const first = status(key);
    await eventually(async () => {
      const waiting = await owner.query(
        `select from pg_locks where objid = 4711 and not granted
           and database = (select oid from pg_database where datname = current_database())`,
      );
      expect(waiting.rowCount).toBe(1);
    });
    await revoke(key);
    // Whoever knows of what was announced later knows of that, too.
    await revoke(later);
    await eventually(async () => expect(await status(later)).toBe(401));
    await holder.query("select pg_advisory_unlock(4711)");
    expect(await first).toBe(200);
    expect(await status(key)).toBe(401);
  } finally {
    holder.release(true);
    await owner.query(rows[0]!.state);
  }
});

test("a server that lost its listener asks the database each time, and listens again", async () => {
  const { owner } = service.database;
  const key = await issueTestKey(owner, "api_read");
  expect((await call(`${service.url}/v0/accelerators`, "GET", key)).status).toBe(200);
  const admit = (limit: number) =>
    owner.query(
      `do $$ begin execute format('alter database %I connection limit ${limit}', current_database()); end $$`,
    );
  const listeners = "from pg_stat_activity where datname = current_database() and query = 'listen api_keys'";
  try {
    // What it has open it keeps, but it cannot listen again.
    await admit(0);
    await owner.query(`select pg_terminate_backend(pid) ${listeners}`);
    await owner.query(
      "update app_private.api_keys set revoked_at = now() where key_hash = sha256(convert_to($1, 'utf8'))",
      [key],
    );
    await refusedSoon(service.url, key);
  } finally {
    await admit(-1);
  }
  await eventually(async () => expect((await owner.query(`select ${listeners}`)).rowCount).toBe(2));
});

async function refusedSoon(url: string, key: string): Promise<void> {
  const refused = async () => expect((await call(`${url}/v0/accelerators`, "GET", key)).status).toBe(401);
  await eventually(refused, 30_000);
}

describe("the rate limit", () => {
  test("holds for a key and tells it when to come back", async () => {
    const key = await issueTestKey(service.database.owner, "api_read", { ratePerMinute: 2 });
    const other = await issueTestKey(service.database.owner, "api_read");
    const statuses = [];
    for (let i = 0; i < 3; i++)
      statuses.push((await call(`${service.url}/v0/accelerators`, "GET", key)).status);
    expect(statuses).toEqual([200, 200, 429]);
    const refused = await call(`${service.url}/v0/needs`, "POST", key, "{");
    expect(refused).toMatchObject({ status: 429, body: { error: "rate_limited" } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.headers.get("ratelimit")).toMatch(/r=0/);
    expect(refused.headers.get("ratelimit-policy")).toMatch(/q=2/);
    expect((await call(`${service.url}/v0/accelerators`, "GET", other)).status).toBe(200);
  });

  test("is the configured one for a key without its own", async () => {
    const key = await issueTestKey(service.database.owner, "api_read");
    await service.database.owner.query(
      "update app_private.api_keys set rate_per_minute = null where key_hash = sha256(convert_to($1, 'utf8'))",
      [key],
    );
    const statuses = [];
    for (let i = 0; i < 4; i++)
      statuses.push((await call(`${second.url}/v0/accelerators`, "GET", key)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });
});
