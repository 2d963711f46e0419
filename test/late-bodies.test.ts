// Whoever has been let in may take half a minute to send the rest: what they may do by then is what counts.
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { LoopTurns } from "../server/loop-turns.ts";
import { issueTestKey, keyIdOf } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { toolCall } from "./support/mcp.ts";
import type { Document } from "./support/openapi.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";
import { addPlatformPeople, platformAdmin } from "./support/membership.ts";
import { contributor, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ graphql: "at the start" });
  await addPlatformPeople(service.database.owner);
});
afterAll(() => service.stop());

type Sent = { path: string; body: string; headers: Record<string, string> };

/** Sends all of a request but the last byte of its body; returns what sends that, and what is answered. */
async function begin({
  path,
  body,
  headers,
}: Sent): Promise<() => Promise<{ status: number; body: string }>> {
  const sending = request(`${service.url}${path}`, {
    method: "POST",
    headers: { ...headers, "content-length": Buffer.byteLength(body), expect: "100-continue" },
  });
  const answered = once(sending, "response") as Promise<[IncomingMessage]>;
  // What is refused by then is told as such.
  sending.on("error", () => undefined);
  // Comes when the request has been taken, and its caller is still to be found out.
  await Promise.race([once(sending, "continue"), answered]);
  sending.write(body.slice(0, -1));
  return async () => {
    sending.end(body.slice(-1));
    const [response] = await answered;
    return { status: response.statusCode!, body: await text(response) };
  };
}

const JSON_TYPE = { "content-type": "application/json" };
const NEED = {
  ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: contributor },
  ...{ needDescription: "Bibles for the river", accelerators: ["PRA"] },
};
const graphql = (query: string) => JSON.stringify({ query });
const needs = async () =>
  (await service.database.owner.query<{ count: string }>("select count(*) from app_public.needs")).rows[0]!
    .count;

const STREAM: Sent = {
  path: "/graphql/stream",
  body: graphql("subscription { changes { cursor } }"),
  headers: { ...JSON_TYPE, accept: "text/event-stream" },
};
const QUERY: Sent = { path: "/graphql", body: graphql("{ needs { totalCount } }"), headers: JSON_TYPE };
const DECLARE: Sent = { path: "/v0/needs", body: JSON.stringify(NEED), headers: JSON_TYPE };

/** All that takes a body with a key: what the service describes, and GraphQL, whose description is its schema. */
async function doors(): Promise<Sent[]> {
  const { paths } = (await (await fetch(`${service.url}/docs/openapi.json`)).json()) as Document;
  const described = Object.entries(paths).flatMap(([path, { post }]) =>
    Object.keys(post?.requestBody?.content ?? {}).map((type) => ({
      path: path.replaceAll(/\{\w+\}/g, () => randomUUID()),
      body: type.includes("json") ? "{}" : "ask {}",
      headers: { "content-type": type },
    })),
  );
  return [...described, QUERY, STREAM];
}

/** A key that the server knows, so that it is known whose the request is as soon as it has been taken. */
async function knownKey(scope: "api_read" | "api_write" | "api_review") {
  const key = await issueTestKey(service.database.owner, scope);
  const headers = { authorization: `Bearer ${key}` };
  const ask = async () => (await fetch(`${service.url}/v0/changes?limit=1`, { headers })).status;
  expect(await ask()).toBe(200);
  const change = async (set: string) =>
    service.database.owner.query(`update app_private.api_keys set ${set} where key_id = $1`, [
      await keyIdOf(service.database.owner, key),
    ]);
  const begun = async (sent: Sent) => {
    const end = await begin({ ...sent, headers: { ...sent.headers, ...headers } });
    // By then it is known whose the one before is.
    await eventually(async () => expect(await ask()).toBe(200));
    return end;
  };
  return { headers, ask, change, begun };
}

test("a key that is revoked while a body is on its way is refused, at every door that takes one", async () => {
  const before = await needs();
  const all = await doors();
  for (const path of ["/v0/needs", "/v0/mcp", "/v0/sparql"])
    expect(all.map((each) => each.path)).toContain(path);
  const key = await knownKey("api_review");
  const ends = await Promise.all(
    [DECLARE, ...all].map(async (sent) => ({ sent, end: await key.begun(sent) })),
  );
  await key.change("revoked_at = now()");
  await eventually(async () => expect(await key.ask()).toBe(401));
  for (const { sent, end } of ends) {
    const { status, body } = await end();
    expect([sent.path, status, body]).toEqual([sent.path, 401, expect.stringContaining("invalid_api_key")]);
  }
  expect(await needs()).toBe(before);
});

test.each([
  ["REST", DECLARE],
  ["GraphQL", QUERY],
])("%s: who is still let in is answered, however long they took", async (_, sent) => {
  const key = await knownKey("api_write");
  const end = await key.begun(sent);
  expect((await end()).status).toBeLessThan(300);
});

const query = ({ headers }: { headers: Record<string, string> }) =>
  fetch(`${service.url}/graphql`, {
    method: "POST",
    body: QUERY.body,
    headers: { ...JSON_TYPE, ...headers },
  });

test.each([
  ["revoked", "revoked_at = now()", 401, 1],
  // Others have had theirs while that was asked.
  ["left as it is", "label = label", 200, 2],
])("of a key that is %s while a request waits for its turn", async (_, change, status, turns) => {
  const key = await knownKey("api_write");
  const [taken, turn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const take = jest.spyOn(LoopTurns.prototype, "take").mockImplementationOnce(() => {
    taken.resolve();
    return turn.promise;
  });
  try {
    const asked = query(key);
    await taken.promise;
    await key.change(change);
    if (status === 401) await eventually(async () => expect(await key.ask()).toBe(401));
    // Who was found out a moment ago is not asked again.
    await pause(1_100);
    turn.resolve();
    expect((await asked).status).toBe(status);
    expect(take).toHaveBeenCalledTimes(turns);
  } finally {
    take.mockRestore();
  }
});

test("of a key that is revoked while a request waits for its next turn", async () => {
  const key = await knownKey("api_write");
  const turns = Array.from({ length: 2 }, () => ({
    taken: Promise.withResolvers<void>(),
    comes: Promise.withResolvers<void>(),
  }));
  const take = jest.spyOn(LoopTurns.prototype, "take");
  for (const { taken, comes } of turns)
    take.mockImplementationOnce(() => {
      taken.resolve();
      return comes.promise;
    });
  try {
    const asked = query(key);
    for (const [number, { taken, comes }] of turns.entries()) {
      await taken.promise;
      if (number === 1) {
        await key.change("revoked_at = now()");
        await eventually(async () => expect(await key.ask()).toBe(401));
      }
      await pause(1_100);
      comes.resolve();
    }
    expect((await asked).status).toBe(401);
  } finally {
    take.mockRestore();
  }
});

test("of a batch of messages those are refused that are looked at when the key is revoked", async () => {
  const key = await knownKey("api_read");
  const locker = await service.database.owner.connect();
  try {
    await locker.query("begin; lock table app_public.churches in access exclusive mode");
    const asked = fetch(`${service.url}/v0/mcp`, {
      method: "POST",
      body: JSON.stringify([1, 2].map((id) => ({ ...toolCall({ q: "river" }), id }))),
      headers: { ...JSON_TYPE, ...key.headers, "mcp-protocol-version": "2025-03-26" },
    });
    await eventually(async () => {
      const waiting = `select from pg_locks where database = (select oid from pg_database where datname = current_database())
        and relation = 'app_public.churches'::regclass and not granted`;
      expect((await service.database.owner.query(waiting)).rowCount).toBe(1);
    });
    await key.change("revoked_at = now()");
    await eventually(async () => expect(await key.ask()).toBe(401));
    await pause(1_100);
    await locker.query("rollback");
    const [first, second] = (await (await asked).json()) as object[];
    expect([JSON.stringify(first), JSON.stringify(second)]).toEqual([
      expect.not.stringContaining("API key"),
      expect.stringContaining("API key"),
    ]);
  } finally {
    await locker.query("rollback");
    locker.release();
  }
});

test("a key that may do less by then does no more than that", async () => {
  const key = await knownKey("api_review");
  const body = { adminEmail: platformAdmin, userEmail: "boss@elsewhere.example", role: "admin" };
  const path = "/v0/admin/users/role";
  const end = await key.begun({ path, body: JSON.stringify(body), headers: JSON_TYPE });
  await key.change("scope = 'api_read'");
  await eventually(async () => {
    const { status } = await fetch(`${service.url}/v0/admin/claims`, { headers: key.headers });
    expect(status).toBe(403);
  });
  expect(await end()).toMatchObject({ status: 403, body: expect.stringContaining("insufficient_scope") });
});

test("a key that is for other networks by then is refused", async () => {
  const key = await knownKey("api_write");
  const end = await key.begun(DECLARE);
  await key.change("networks = '{10.1.2.0/24}'");
  await eventually(async () => expect(await key.ask()).toBe(403));
  expect(await end()).toMatchObject({ status: 403, body: expect.stringContaining("key_not_for_address") });
});

async function signedIn() {
  await service.database.owner.query(
    "update app_private.settings set value = '1000' where name like 'sign_in%'",
  );
  const visitor = await new Visitor(service).signIn(platformAdmin);
  const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ");
  const headers = { cookie, "sec-fetch-site": "same-origin", "x-session-request": "1" };
  const isOver = async () => {
    const { text: told } = await visitor.open("/sign-in/session");
    return told.includes("null");
  };
  return { visitor, headers, isOver };
}

const endAll = () => service.database.owner.query("delete from app_private.sessions");

test("a session that ends while its body is on its way is refused", async () => {
  const { headers, isOver } = await signedIn();
  const end = await begin({ ...QUERY, headers: { ...JSON_TYPE, ...headers } });
  // By then it is known whose the one before is.
  expect(await isOver()).toBe(false);
  await endAll();
  expect(await end()).toMatchObject({ status: 401, body: expect.stringContaining("invalid_session") });
});

test("a form of a page whose visitor's session ends meanwhile changes nothing, and they get back what they wrote", async () => {
  const { visitor, headers, isOver } = await signedIn();
  const page = await visitor.open("/admin/users");
  const proof = /name="form" type="hidden" value="([^"]*)"/.exec(page.text)?.[1] ?? "";
  const form = { form: proof, do: "grant", email: "words to keep", role: "admin" };
  const end = await begin({
    path: "/admin/users",
    body: new URLSearchParams(form).toString(),
    headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
  });
  expect(await isOver()).toBe(false);
  await endAll();
  const answer = await end();
  expect(answer.status).toBe(401);
  expect(answer.body).toContain("Nothing was changed");
  expect(answer.body).toContain("words to keep");
});
