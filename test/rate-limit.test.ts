// The rate limit of a key: one for all processes of a service, counted in the database by small parts.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { RunningServer } from "../server/main.ts";
import { issueTestKey } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { post, toolCall } from "./support/mcp.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";

let service: TestService;
let second: RunningServer;
beforeAll(async () => {
  // Only where it is told of does the time that something takes count.
  service = await startTestService({ config: { graphqlMsPerRequest: 600_000 } });
  second = await startAnotherServer(service);
});
afterAll(async () => {
  await second.stop();
  await service.stop();
});

const keyWith = (ratePerMinute: number) =>
  issueTestKey(service.database.owner, "api_read", { ratePerMinute });

const ask = (url: string, key: string) => call(`${url}/v0/accelerators`, "GET", key);

/** How many of the requests were admitted; all others must have been refused by the limit. */
async function admitted(requests: Promise<Answer>[]): Promise<number> {
  const told = (await Promise.all(requests)).map(({ status, body }) =>
    // A slow machine has the last of those that were counted wait for a connection in vain.
    status === 200 || body.error === "service_busy" ? "admitted" : status,
  );
  expect(told.filter((each) => each !== "admitted" && each !== 429)).toEqual([]);
  return told.filter((each) => each === "admitted").length;
}

async function counted(key: string): Promise<number> {
  const { rows } = await service.database.owner.query<{ points: number }>(
    `select points from app_private.rate_limits
     where key = (select 'requests:' || key_id from app_private.api_keys where key_hash = sha256(convert_to($1, 'utf8')))`,
    [key],
  );
  return rows[0]?.points ?? 0;
}

describe("two processes", () => {
  // A process that the database does not answer within a second counts alone, as on a machine that is too busy: with another key then.
  test("admit together exactly what the key may, when both are asked for more", () =>
    eventually(async () => {
      const key = await keyWith(60);
      const requests = Array.from({ length: 140 }, (_, i) => ask(i % 2 ? service.url : second.url, key));
      expect(await admitted(requests)).toBe(60);
    }));

  test("count together also while the graph is away", async () => {
    for (const { url } of [service, second])
      expect((await call(`${url}/v0/health`, "GET", service.keys.read)).body.status).toBe("degraded");
    await eventually(async () => {
      const key = await keyWith(20);
      const requests = Array.from({ length: 50 }, (_, i) => ask(i % 2 ? service.url : second.url, key));
      expect(await admitted(requests)).toBe(20);
    });
  });

  test("count for each other, but for the part that one of them has taken", () =>
    eventually(async () => {
      const key = await keyWith(100);
      expect(await admitted(Array.from({ length: 51 }, () => ask(service.url, key)))).toBe(51);
      // The first has taken 55 by now, a twentieth of the limit at a time.
      expect(await admitted(Array.from({ length: 60 }, () => ask(second.url, key)))).toBe(45);
      expect(await admitted(Array.from({ length: 9 }, () => ask(service.url, key)))).toBe(4);
    }));

  test("ask the database for a part of the limit at a time, not for each request", () =>
    eventually(async () => {
      const key = await keyWith(1000);
      await admitted(Array.from({ length: 50 }, () => ask(service.url, key)));
      expect(await counted(key)).toBe(50);
      await ask(service.url, key);
      expect(await counted(key)).toBe(100);
    }));
});

describe("a caller is told", () => {
  test("what is left, and when there is more", async () => {
    const key = await keyWith(3);
    const left = [];
    for (let i = 0; i < 3; i++) {
      const { headers } = await ask(service.url, key);
      expect(headers.get("ratelimit-policy")).toMatch(/^"3-in-1min"; q=3; w=60; pk=:[\w+/]+:$/);
      left.push(headers.get("ratelimit"));
    }
    expect(left).toEqual([2, 1, 0].map((r) => expect.stringMatching(`^"3-in-1min"; r=${r}; t=\\d+$`)));
    const { status, headers, body } = await ask(service.url, key);
    expect([status, body.error]).toEqual([429, "rate_limited"]);
    expect(headers.get("ratelimit")).toMatch(`r=0; t=${headers.get("retry-after")}`);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(60);
  });
});

test("a window that has ended counts no more", async () => {
  const key = await keyWith(2);
  expect(await admitted([ask(second.url, key), ask(second.url, key), ask(second.url, key)])).toBe(2);
  await service.database.owner.query("update app_private.rate_limits set expire = 1");
  // A process that remembers the old window waits for its end; another begins the new one.
  expect(await admitted([ask(second.url, key)])).toBe(0);
  expect(await admitted([ask(service.url, key), ask(service.url, key), ask(service.url, key)])).toBe(2);
});

test("the limit of a key can be changed while it is in use", async () => {
  const key = await keyWith(1);
  expect(await admitted([ask(service.url, key), ask(service.url, key)])).toBe(1);
  await service.database.owner.query(
    "update app_private.api_keys set rate_per_minute = 5 where key_hash = sha256(convert_to($1, 'utf8'))",
    [key],
  );
  const deadline = Date.now() + 20_000;
  while ((await ask(service.url, key)).status === 429) expect(Date.now()).toBeLessThan(deadline);
  expect(await admitted(Array.from({ length: 9 }, () => ask(service.url, key)))).toBeLessThan(5);
});

describe("a GraphQL request", () => {
  const AGGREGATES = "needs { aggregates { count } }";
  const GROUPS = "needs { groupedAggregates(groupBy: STATUS) { keys } }";
  const of = (...fields: string[]) => `{ ${fields.map((field, i) => `a${i}: ${field}`).join(" ")} }`;
  const send = (key: string, query: string, body: object = {}) =>
    call(`${service.url}/graphql`, "POST", key, { query, ...body });
  const codes = ({ body }: Answer) =>
    (body as { errors?: { extensions: { code: string } }[] }).errors?.map(
      ({ extensions }) => extensions.code,
    );

  test.each([
    ["without any", of("needs { totalCount }", "needs { nodes { id } }"), 1],
    ["with one", of("needs { nodes { id } }", GROUPS), 1],
    ["with two, under one name", of(AGGREGATES, "needs { totalCount }", GROUPS), 2],
    ["with both for one list", of(`needs { aggregates { count } ${GROUPS.slice(8, -1)} }`), 2],
    [
      "with three, in a fragment",
      `query ($no: Boolean = false) { ...a one: needs @include(if: $no) ${GROUPS.slice(6)} } fragment a on Query { needs { aggregates { count } } two: ${GROUPS} }`,
      3,
    ],
    [
      "with one for each record of a list",
      of(`organizations { nodes { needs { aggregates { count } } } }`),
      1,
    ],
  ])("counts as what it has aggregates and groups: %s", async (_, query, count) => {
    const key = await keyWith(20);
    // The same text is measured once.
    for (const left of [20 - count, 20 - 2 * count]) {
      const answer = await send(key, query);
      expect([answer.status, codes(answer)]).toEqual([200, undefined]);
      expect(answer.headers.get("ratelimit")).toContain(`r=${left};`);
    }
  });

  describe("keeps the database for longer than a request does, and", () => {
    const MS_PER_REQUEST = 100;
    // How many there are would be known without a look at the table.
    const SLOW = "needs { nodes { id } }";
    let brisk: RunningServer;
    beforeAll(async () => {
      const environment = { GRAPHQL_MS_PER_REQUEST: String(MS_PER_REQUEST) };
      // What is in a database cannot be read while a table of it is locked.
      brisk = await startAnotherServer(service, environment, { graphql: "at the start" });
    });
    afterAll(() => brisk.stop());

    /** Sends a request whose first statement takes at least a second, and does something before that ends. */
    const sendSlow = async (
      url: string,
      key: string,
      query: string,
      { signal, meanwhile }: { signal?: AbortSignal; meanwhile?: () => Promise<void> } = {},
    ) => {
      const client = await service.database.owner.connect();
      const began = performance.now();
      let answer: Promise<Response>;
      try {
        await client.query("begin; lock table app_public.needs in access exclusive mode");
        answer = fetch(`${url}/graphql`, {
          ...{ method: "POST", body: JSON.stringify({ query }), signal: signal ?? null },
          headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        });
        answer.catch(() => undefined);
        await eventually(async () => {
          const { rows } = await service.database.owner.query(
            `select from pg_stat_activity
             where datname = current_database() and usename = 'engagement_server' and wait_event_type = 'Lock'
               and clock_timestamp() - query_start > interval '1 second'`,
          );
          expect(rows).toHaveLength(1);
        });
        await meanwhile?.();
      } finally {
        await client.query("rollback");
        client.release();
      }
      const { headers } = await answer;
      return { left: leftIn(headers), tookMs: performance.now() - began };
    };
    const leftIn = (headers: Headers) => Number(/r=(\d+);/.exec(headers.get("ratelimit")!)![1]);

    test.each([
      ["with two statements", of(SLOW, "accelerators { totalCount }")],
      [
        "with five aggregates, which it was counted as before",
        of(SLOW, ...Array<string>(5).fill(AGGREGATES)),
      ],
    ])("counts as one for each part of it that a request may take: %s", async (_, query) => {
      const { left, tookMs } = await sendSlow(brisk.url, await keyWith(1000), query);
      expect(1000 - left).toBeGreaterThanOrEqual(1000 / MS_PER_REQUEST);
      expect(1000 - left).toBeLessThanOrEqual(Math.ceil(tookMs / MS_PER_REQUEST));
    });

    test("counts as one where a request may take longer", async () => {
      const { left } = await sendSlow(service.url, await keyWith(20), of(SLOW));
      expect(left).toBe(19);
    });

    test("leaves nothing to what comes next, at no process", async () => {
      const key = await keyWith(8);
      const { left } = await sendSlow(brisk.url, key, of(SLOW));
      expect(left).toBe(0);
      await eventually(async () => expect(await counted(key)).toBeGreaterThanOrEqual(10));
      for (const { url } of [brisk, service]) {
        const next = await ask(url, key);
        expect([next.status, leftIn(next.headers)]).toEqual([429, 0]);
      }
    });

    test("counts for who hung up", async () => {
      const key = await keyWith(8);
      const hungUp = new AbortController();
      const answer = sendSlow(brisk.url, key, of(SLOW), {
        signal: hungUp.signal,
        meanwhile: async () => {
          hungUp.abort();
          await eventually(async () => expect(await counted(key)).toBeGreaterThanOrEqual(10));
        },
      });
      await expect(answer).rejects.toThrow("aborted");
      expect((await ask(service.url, key)).status).toBe(429);
    });
  });

  test("for which too little is left is 429 like any other, and only the request itself has counted", async () => {
    const key = await keyWith(5);
    expect((await send(key, of(GROUPS, AGGREGATES, GROUPS))).status).toBe(200);
    const refused = await send(key, of(GROUPS, AGGREGATES, GROUPS));
    expect([refused.status, codes(refused)]).toEqual([429, ["rate_limited"]]);
    expect(refused.headers.get("ratelimit")).toContain("r=1;");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await send(key, of(GROUPS))).status).toBe(200);
    expect((await send(key, of(GROUPS))).status).toBe(429);
  });

  test("that asks for more than a minute allows is refused for good", async () => {
    const refused = await send(await keyWith(2), of(GROUPS, AGGREGATES, GROUPS));
    expect([refused.status, codes(refused)]).toEqual([400, ["validation_failed"]]);
    expect(JSON.stringify(refused.body)).toContain(
      "counts as 3 requests, and the caller may send 2 in a minute",
    );
    expect(refused.headers.get("retry-after")).toBeNull();
  });
});

describe("a batch to the tool endpoint", () => {
  const batch = (length: number) => Array.from({ length }, (_, id) => ({ ...toolCall({ limit: 1 }), id }));
  const send = (key: string, body: unknown) => call(`${service.url}/v0/mcp`, "POST", key, body);

  test("that is larger than the limit is refused for good, and counts as one", async () => {
    const key = await keyWith(9);
    const { status, headers, body } = await send(key, batch(10));
    expect({ status, body }).toMatchObject({ status: 400, body: { error: "validation_failed" } });
    expect(headers.get("retry-after")).toBeNull();
    expect((await send(key, batch(8))).status).toBe(200);
  });

  test("counts as what it holds", async () => {
    const key = await keyWith(13);
    const { status, headers } = await send(key, batch(10));
    expect([status, headers.get("ratelimit")]).toEqual([200, expect.stringContaining("r=3;")]);
    const refused = await send(key, batch(4));
    expect([refused.status, refused.body.error]).toEqual([429, "rate_limited"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    // Of a batch that is refused only the request itself has counted.
    expect((await send(key, batch(2))).status).toBe(200);
    expect((await send(key, batch(1))).status).toBe(429);
  });

  test("that is not one counts as a request", async () => {
    const key = await keyWith(12);
    const { headers } = await send(key, batch(11));
    expect(headers.get("ratelimit")).toContain("r=11;");
  });

  test("of a key that may do more is answered", async () => {
    expect((await post(service, batch(10))).status).toBe(200);
  });
});

test("while the database does not count, each process goes on by itself from what it knows", async () => {
  const { owner } = service.database;
  const key = await keyWith(20);
  const other = await keyWith(2);
  expect(await admitted(Array.from({ length: 10 }, () => ask(service.url, key)))).toBe(10);
  await owner.query("revoke all on app_private.rate_limits from engagement_server");
  try {
    expect(await admitted(Array.from({ length: 30 }, () => ask(service.url, key)))).toBe(10);
    expect(await admitted(Array.from({ length: 5 }, () => ask(service.url, other)))).toBe(2);
    expect(await counted(key)).toBe(10);
  } finally {
    await owner.query("grant select, insert, update, delete on app_private.rate_limits to engagement_server");
    // It goes on by itself for a while.
    await eventually(async () => {
      const next = await keyWith(20);
      await ask(service.url, next);
      expect(await counted(next)).toBeGreaterThan(0);
    });
  }
});
