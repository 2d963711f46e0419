// What HTTP itself requires of every route.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { startServer } from "../server/main.ts";
import { keyIdOf } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { call, startTestService, untilServed } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, ORG } from "./support/world.ts";

// Nobody asks for more of it than a preflight.
const graphql = "on demand";
let service: TestService;
let listed: TestService;
beforeAll(async () => {
  service = await startTestService({ graphql });
  listed = await startTestService({ graphql, config: { corsOrigins: ["https://app.example.org"] } });
});
afterAll(async () => {
  await service.stop();
  await listed.stop();
});

const need = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Audio Scriptures",
  accelerators: ["PRA-INT"],
};

describe("preflight", () => {
  test.each([
    "/v0/needs",
    "/v0/needs/status",
    "/v0/commitments",
    "/v0/commitments/status",
    "/v0/engagement-claims",
    "/v0/engagement-claims/submit",
    "/v0/sparql",
    "/v0/no-such-path",
    "/graphql",
  ])("OPTIONS %s", async (path) => {
    const answer = await call(`${service.url}${path}`, "OPTIONS", undefined, undefined, {
      origin: "https://app.example.org",
      "access-control-request-method": "POST",
    });
    expect(answer).toMatchObject({ status: 204, body: "" });
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-methods")).toContain("POST");
    expect(answer.headers.get("access-control-allow-headers")).toContain("authorization");
    expect(answer.headers.get("access-control-max-age")).toBe("86400");
  });

  test("only the configured origins are allowed", async () => {
    const from = async (origin: string) =>
      (await call(`${listed.url}/v0/needs`, "OPTIONS", undefined, undefined, { origin })).headers.get(
        "access-control-allow-origin",
      );
    expect(await from("https://app.example.org")).toBe("https://app.example.org");
    expect(await from("https://evil.example.org")).toBeNull();
  });
});

test("an error carries CORS headers too, so that a page can read it", async () => {
  const answer = await call(`${service.url}/v0/needs`, "GET", undefined, undefined, {
    origin: "https://app.example.org",
  });
  expect(answer.status).toBe(401);
  expect(answer.headers.get("access-control-allow-origin")).toBe("*");
});

test.each([
  ["DELETE", "/v0/needs", "GET, POST, HEAD, OPTIONS"],
  ["PUT", "/v0/needs/00000000-0000-4000-8000-000000000000", "GET, HEAD, OPTIONS"],
  ["GET", "/v0/needs/status", "POST, OPTIONS"],
  ["POST", "/v0/accelerators", "GET, HEAD, OPTIONS"],
])("%s %s is 405 and says what is allowed", async (method, path, allow) => {
  const answer = await call(`${service.url}${path}`, method, service.keys.review);
  expect(answer).toMatchObject({ status: 405, body: { error: "method_not_allowed", statusCode: 405 } });
  expect(answer.headers.get("allow")).toBe(allow);
});

test("an unknown path is 404, or 401 to a stranger where a key is required", async () => {
  expect((await call(`${service.url}/v0/nothing`, "GET", undefined)).status).toBe(401);
  expect(await call(`${service.url}/v0/nothing`, "GET", service.keys.read)).toMatchObject({
    status: 404,
    body: { error: "not_found" },
  });
  expect((await call(`${service.url}/nothing`, "GET", undefined)).status).toBe(404);
  expect(await call(`${service.url}/v0/needs/%ZZ`, "GET", service.keys.read)).toMatchObject({
    status: 400,
    body: { error: "validation_failed" },
  });
});

test("a caller that accepts no JSON gets 406", async () => {
  const answer = await call(`${service.url}/v0/needs`, "GET", service.keys.read, undefined, {
    accept: "text/html",
  });
  expect(answer).toMatchObject({ status: 406, body: { error: "not_acceptable" } });
});

test("a missing record is 404 with its own code", async () => {
  const nowhere = "00000000-0000-4000-8000-000000000000";
  const get = async (path: string) =>
    (await call(`${service.url}/v0/${path}/${nowhere}`, "GET", service.keys.read)).body;
  expect(await get("needs")).toMatchObject({ statusCode: 404, error: "need_not_found" });
  expect(await get("commitments")).toMatchObject({ statusCode: 404, error: "commitment_not_found" });
  expect(await get("engagement-claims")).toMatchObject({
    statusCode: 404,
    error: "engagement_claim_not_found",
  });
  // Of whatever version: some are made by hand.
  const byHand = "12345678-1234-0234-1234-123456789abc";
  expect((await call(`${service.url}/v0/needs/${byHand}`, "GET", service.keys.read)).status).toBe(404);
});

test("no answer reveals the server's internals", async () => {
  const answer = await call(`${service.url}/v0/needs`, "POST", service.keys.write, "{");
  expect(JSON.stringify(answer.body)).not.toMatch(/at |node_modules|select|position/i);
  expect(answer.headers.get("x-powered-by")).toBeNull();
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
});

describe("an Idempotency-Key", () => {
  const declare = (body: object, key: string, apiKey = service.keys.write) =>
    call(`${service.url}/v0/needs`, "POST", apiKey, body, { "idempotency-key": key });
  const count = async () =>
    (await call(`${service.url}/v0/needs?limit=1`, "GET", service.keys.read)).body.total;

  test("replays the first answer to the same request", async () => {
    const first = await declare(need, "one");
    const before = await count();
    const again = await declare(need, "one");
    expect(first.status).toBe(201);
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(await count()).toBe(before);
  });

  test("replays it however its path is spelled", async () => {
    const headers = { "idempotency-key": "spelled" };
    const send = (path: string) => call(`${service.url}${path}`, "POST", service.keys.write, need, headers);
    const first = await send("/v0/needs/");
    expect(first.status).toBe(201);
    for (const path of ["/v0/needs", "/v0/Needs", "/V0/NEEDS/"]) {
      expect(await send(path)).toMatchObject({ status: 201, body: first.body });
    }
  });

  test("is refused with a different request", async () => {
    await declare(need, "two");
    const other = await declare({ ...need, needDescription: "Other" }, "two");
    expect(other).toMatchObject({ status: 409, body: { error: "idempotency_key_reused" } });
  });

  test("replays it however the same body is written", async () => {
    const send = async (body: string) => {
      const headers = { authorization: `Bearer ${service.keys.write}`, "content-type": "application/json" };
      const answer = await fetch(`${service.url}/v0/needs`, {
        ...{ method: "POST", body, headers: { ...headers, "idempotency-key": "written" } },
      });
      return [answer.status, ((await answer.json()) as { needId?: string }).needId];
    };
    const first = await send(JSON.stringify(need));
    expect(first[0]).toBe(201);
    const turned = Object.fromEntries(Object.entries(need).toReversed());
    expect(await send(JSON.stringify(turned, null, 2))).toEqual(first);
    expect(await send(JSON.stringify({ ...need, concernsCountryCode: null }))).toEqual(first);
    expect(await send(JSON.stringify({ ...need, concernsCountryCode: ["UA"] }))).toEqual([409, undefined]);
  });

  describe("during an upgrade", () => {
    /** As a server of another version asks, which has SQL of its own, and may not say what was sent. */
    const asked = async (key: string, request: object | null, statement = "select 'another version'") => {
      const { rows } = await service.database.owner.query<{ answer: string }>(
        `select app_private.run_as('api_write', $1, '{}', $2, $3, request => $4) as answer`,
        [statement, await keyIdOf(service.database.owner, service.keys.write), key, request],
      );
      return rows[0]!.answer;
    };
    const sent = { method: "POST", path: "/v0/needs", body: need };

    test("is for what was sent, whatever a version of the service makes of it", async () => {
      const first = await declare(need, "versions");
      expect(JSON.parse(await asked("versions", sent))).toEqual(first.body);
      for (const other of [
        { ...sent, path: "/v0/commitments" },
        { ...sent, method: "PUT" },
        { ...sent, body: { ...need, needDescription: "Other" } },
      ]) {
        await expect(asked("versions", other)).rejects.toMatchObject({ detail: "idempotency_key_reused" });
      }
    });

    test("replays what the version before has answered, which did not keep what was sent", async () => {
      await asked("kept before", null, `select '{"needId": "as it was answered"}'`);
      const before = await count();
      expect((await declare(need, "kept before")).body).toEqual({ needId: "as it was answered" });
      expect(await count()).toBe(before);
    });

    test("replays to the version before what this one has answered", async () => {
      const first = await declare(need, "kept since");
      expect(JSON.parse(await asked("kept since", null))).toEqual(first.body);
    });
  });

  test("belongs to one API key", async () => {
    const first = await declare(need, "three");
    const other = await declare(need, "three", service.keys.review);
    expect(other.status).toBe(201);
    expect(other.body.needId).not.toBe(first.body.needId);
    expect((await declare(need, "three")).body).toEqual(first.body);
    expect((await declare(need, "three", service.keys.review)).body).toEqual(other.body);
  });

  test("is refused with the same body for something else", async () => {
    const run = (statement: string) =>
      service.database.owner.query(
        `select app_private.run_as('api_read', $1, '{}', (select min(key_id::text)::uuid from app_private.api_keys), 'six')
           as answer`,
        [statement],
      );
    await run("select 'one'");
    await expect(run("select 'two'")).rejects.toMatchObject({
      ...{ code: "PT409", detail: "idempotency_key_reused" },
    });
    expect((await run("select 'one'")).rows).toEqual([{ answer: "one" }]);
  });

  test("has 1 to 255 characters", async () => {
    expect((await declare(need, "x".repeat(255))).status).toBe(201);
    for (const key of ["", "x".repeat(256)]) {
      expect(await declare(need, key)).toMatchObject({
        ...{ status: 400, body: { error: "validation_failed", details: [{ path: "Idempotency-Key" }] } },
      });
    }
  });

  test("is remembered for a day", async () => {
    const answers: string[] = [];
    for (const [key, age] of Object.entries({ young: "23 hours 59 minutes", old: "24 hours 1 second" })) {
      answers.push((await declare(need, key)).body.needId);
      await service.database.owner.query(
        "update app_private.idempotent_answers set created_at = now() - $2::interval where idempotency_key = $1",
        [key, age],
      );
    }
    await service.database.owner.query("select app_private.forget_old_answers()");
    expect((await declare(need, "young")).body.needId).toBe(answers[0]);
    const again = await declare(need, "old");
    expect(again.status).toBe(201);
    expect(again.body.needId).not.toBe(answers[1]);
  });

  test("ten at once make one record", async () => {
    const before = await count();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => untilServed(() => declare(need, "four"))),
    );
    expect(new Set(answers.map((answer) => answer.body.needId)).size).toBe(1);
    expect(await count()).toBe(before + 1);
  });

  test("a refused request can be corrected and sent again with it", async () => {
    expect((await declare({ ...need, accelerators: ["NO-SUCH"] }, "five")).status).toBe(422);
    expect((await declare(need, "five")).status).toBe(201);
  });
});

describe("lists", () => {
  test("page without gaps or repetitions, newest first, with the total of all matches", async () => {
    const made: string[] = [];
    for (let i = 0; i < 7; i++) {
      const declared = await call(`${listed.url}/v0/needs`, "POST", listed.keys.write, {
        ...need,
        concernsCountryCode: i % 2 ? ["KE"] : ["UG", "KE"],
        concernsPeopleGroupRop3: ["104425"],
      });
      made.unshift(declared.body.needId);
    }
    const seen: string[] = [];
    for (let offset = 0; offset < 7; offset += 3) {
      const page = await call(`${listed.url}/v0/needs?limit=3&offset=${offset}`, "GET", listed.keys.read);
      expect(page.body.total).toBe(7);
      seen.push(...page.body.needs.map((item: { needId: string }) => item.needId));
    }
    expect(seen).toEqual(made);

    const total = async (query: string) => {
      const { body } = await call(`${listed.url}/v0/needs?${query}`, "GET", listed.keys.read);
      // What is kept as a total, and what is found.
      expect([query, body.needs.length]).toEqual([query, body.total]);
      return body.total;
    };
    expect(await total("countryCode=UG")).toBe(4);
    expect(await total("countryCode=KE&rop3=104425")).toBe(7);
    expect(await total("rop3=999999")).toBe(0);
    expect(await total("accelerator=PRA-INT")).toBe(7);
    expect(await total("accelerator=PRA")).toBe(0);
    expect(await total(`orgUri=${encodeURIComponent(ORG)}&status=open`)).toBe(7);
    expect(await total("status=met")).toBe(0);
    expect(await total("noSuchParameter=1")).toBe(7);
    expect((await call(`${listed.url}/v0/needs?offset=100`, "GET", listed.keys.read)).body).toEqual({
      needs: [],
      total: 7,
    });
  });

  test("records of the same moment are ordered by id", async () => {
    await listed.database.owner.query("update app_public.needs set created_at = '2026-01-01'");
    const { needs } = (await call(`${listed.url}/v0/needs`, "GET", listed.keys.read)).body;
    const ids = needs.map((item: { needId: string }) => item.needId);
    expect(ids).toEqual(ids.toSorted().toReversed());
  });

  test("engagement claims are the active ones by default", async () => {
    const submit = {
      orgUri: ORG,
      orgName: "River Mission",
      claimedByEmail: contributor,
      engagementAccelerators: ["PRA"],
      peopleGroupRop3: "104425",
      countryCode: "KE",
    };
    const post = (path: string, body: object) =>
      call(`${listed.url}${path}`, "POST", listed.keys.write, body);
    const first = await post("/v0/engagement-claims/submit", submit);
    await post("/v0/engagement-claims/submit", submit);
    await post("/v0/engagement-claims/status", {
      claimId: first.body.claimId,
      status: "completed",
      actorEmail: contributor,
    });
    const get = async (query: string) =>
      (await call(`${listed.url}/v0/engagement-claims?${query}`, "GET", listed.keys.read)).body;
    expect((await get("")).total).toBe(1);
    expect((await get("status=completed")).claims[0].claimId).toBe(first.body.claimId);
    expect((await get("status=paused")).total).toBe(0);
    expect((await get("rop3=104425&countryCode=KE")).total).toBe(1);
    for (const other of ["rop3=104426", "countryCode=UG"])
      expect(await get(other)).toEqual({ claims: [], total: 0 });
  });
});

test("a connection without a request stays open for as long as is configured, and callers are told", async () => {
  const config = { ...loadConfig({ PORT: "0", KEEP_ALIVE_TIMEOUT_MS: "620000" }) };
  const { store, database } = service;
  const logger = pino({ level: "silent" });
  const common = { databaseUrl: database.serverUrl, store, logger, graphql } as const;
  const patient = await startServer({ config, ...common });
  try {
    const answer = await call(`${patient.url}/healthz`, "GET", undefined);
    expect(answer.headers.get("keep-alive")).toBe("timeout=620");
  } finally {
    await patient.stop();
  }
});

test("a server warns where PLATFORM_URL is https and no proxy is trusted that could end it", async () => {
  const warnings = async (settings: Record<string, string>) => {
    const told: string[] = [];
    const server = await startServer({
      config: loadConfig({ PORT: "0", ...settings }),
      ...{ databaseUrl: service.database.serverUrl, store: service.store, graphql },
      logger: pino({ level: "warn" }, { write: (line) => void told.push(line) }),
    });
    await server.stop();
    return told.filter((line) => line.includes("TRUST_PROXY"));
  };
  expect(await warnings({ PLATFORM_URL: "https://app.example.org" })).toHaveLength(1);
  expect(await warnings({ PLATFORM_URL: "https://app.example.org", TRUST_PROXY: "1" })).toEqual([]);
  expect(await warnings({ PLATFORM_URL: "http://app.example.org" })).toEqual([]);
});

test("the probes answer without a key", async () => {
  expect(await call(`${service.url}/healthz`, "GET", undefined)).toMatchObject({ status: 200 });
  expect(await call(`${service.url}/readyz`, "GET", undefined)).toMatchObject({ status: 200 });
});

test("commitments are listed from the table while the graph cannot be reached", async () => {
  const commitment = {
    orgUri: ORG,
    orgName: "River Mission",
    declaredByEmail: contributor,
    commitmentDescription: "We record them",
    acceleratorScope: ["PRA-INT"],
  };
  const made = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, commitment);
  const listed = await call(`${service.url}/v0/commitments`, "GET", service.keys.read);
  expect(listed.status).toBe(200);
  expect(listed.headers.get("x-data-source")).toBe("database");
  expect(listed.body).toMatchObject({
    total: 1,
    commitments: [{ commitmentId: made.body.commitmentId, ...commitment }],
  });
});

test("metrics are on a port of their own, by route and not by path", async () => {
  const measured = await startServer({
    config: { ...loadConfig({ PORT: "0" }), metricsPort: 0 },
    databaseUrl: service.database.serverUrl,
    store: service.store,
    graphql,
    logger: pino({ level: "silent" }),
  });
  try {
    await call(`${service.url}/v0/needs`, "POST", service.keys.write, need);
    await call(`${measured.url}/v0/needs/00000000-0000-4000-8000-000000000000`, "GET", service.keys.read);
    // Some of it is left out where the database takes longer than a scrape waits.
    await eventually(async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${measured.metricsPort}/metrics`)).text();
      expect(metrics).toContain(
        'http_request_duration_seconds_count{method="GET",route="/v0/needs/:needId",status="404"} 1',
      );
      expect(metrics).toMatch(/^graph_records_pending [1-9]/m);
    });
    expect((await call(`${measured.url}/metrics`, "GET", undefined)).status).toBe(404);
  } finally {
    await measured.stop();
  }
});

test("health says that the graph is down and that writes wait for it", async () => {
  await call(`${service.url}/v0/needs`, "POST", service.keys.write, need);
  const health = await call(`${service.url}/v0/health`, "GET", service.keys.read);
  expect(health.body).toMatchObject({ status: "degraded", tripleCount: null, rejected: 0 });
  expect(health.body.pending).toBeGreaterThan(0);
  expect(health.body.oldestPendingSeconds).toBeGreaterThan(0);
});

describe("health, of a graph that somebody looks at", () => {
  const owner = () => service.database.owner;
  const health = async () => (await call(`${service.url}/v0/health`, "GET", service.keys.read)).body;
  const HOUR = 3_600;

  test("counts what waits from the first of its changes", async () => {
    const { body } = await call(`${service.url}/v0/needs`, "POST", service.keys.write, need);
    await owner().query(
      "update app_private.graph_records set dirty_since = now() - interval '2 hours' where record_id = $1",
      [body.needId],
    );
    await owner().query("update app_public.needs set org_name = 'Renamed' where need_id = $1", [body.needId]);
    expect((await health()).oldestPendingSeconds).toBeGreaterThanOrEqual(2 * HOUR);
  });

  test("says since when its state is what it is", async () => {
    const since = async () => Date.parse((await health()).graphStateSince as string);
    const note = (state: string) => owner().query("select app_private.note_graph_state($1)", [state]);
    await note("unavailable");
    await owner().query("update app_private.graph_store set since = since - interval '1 hour'");
    const before = await since();
    await note("unavailable");
    expect(await since()).toBe(before);
    await note("unconfirmed");
    expect(await since()).toBeGreaterThan(before);
  });

  test.each([
    ["30 seconds", "unavailable"],
    ["31 seconds", "unwatched"],
    ["-30 seconds", "unavailable"],
    ["-31 seconds", "unwatched"],
  ])("is known for half a minute: one that was looked at %s ago is %s", async (ago, state) => {
    const client = await owner().connect();
    try {
      // In which no time passes.
      await client.query("begin");
      await client.query("select app_private.note_graph_state('unavailable')");
      await client.query("update app_private.graph_store set looked_at = now() - $1::interval", [ago]);
      const { rows } = await client.query('select "graphState" as state from rest.health');
      expect(rows).toEqual([{ state }]);
    } finally {
      await client.query("rollback");
      client.release();
    }
  });

  test("names the lists that wait by their names' order, and has an empty list where none does", async () => {
    const waits = async (list: string) => {
      await owner().query(
        "update app_private.graph_references set synced_revision = case when position(name in $1) > 0 then revision - 1 else revision end",
        [list],
      );
      return (await health()).pendingLists;
    };
    expect(await waits("")).toEqual([]);
    expect(await waits("people_groups accelerators")).toEqual(["accelerators", "people_groups"]);
  });

  test("says what a verification found and did not repair, and nothing of one that was begun anew meanwhile", async () => {
    const note = (part: number, next: number | null, found: number, repaired: number) =>
      owner().query("select app_private.note_verification($1, null, $2, null, $3, $4)", [
        part,
        next,
        found,
        repaired,
      ]);
    await owner().query("select app_private.request_verification()");
    await note(0, 1, 5, 2);
    await note(1, null, 1, 0);
    const { drift, verifiedAt } = await health();
    expect([Number(drift), verifiedAt]).toEqual([4, expect.any(String)]);
    await note(0, 1, 5, 2);
    await owner().query("select app_private.request_verification()");
    await note(1, null, 1, 0);
    expect(await health()).toMatchObject({ drift, verifiedAt });
  });
});
