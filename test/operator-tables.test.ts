// What the operator's tool shows to a person: the same as it tells programs with --json, cell by cell.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { DEMO_KEY_ID, loadDemo } from "../db/demo/load.ts";
import { createNames } from "../graph/namespaces.ts";
import { readStarterVocabulary } from "../graph/skos.ts";
import { loadConfig } from "../config.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { admin } from "./support/process.ts";
import { importVocabulary } from "../worker/imports.ts";

const ORG = "https://data.example.org/org/northern-light";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const config = loadConfig({});
  await importVocabulary(database.owner, readStarterVocabulary(), createNames(config));
  await loadDemo(database.owner, config.graphDataUrl);
  await database.owner.query(
    `insert into app_private.api_keys
       (label, key_hash, scope, expires_at, revoked_at, rate_per_minute, organizations, persons, networks)
     values ('bounded', sha256('a'), 'api_review', now() + interval '9 days', null, 17, array[$1], array['a@b.example', 'c@d.example'],
         array['192.0.2.0/24']::cidr[]),
       ('revoked', sha256('b'), 'api_read', now() + interval '8 days', now() - interval '3 days', null, null, null, null)`,
    [ORG],
  );
  await database.owner.query(
    `update app_private.api_keys set replaced_by = (select key_id from app_private.api_keys where label = 'bounded')
     where label = 'revoked'`,
  );
  await database.owner.query(
    `insert into app_private.key_uses (key_id, last_used_at)
     select key_id, now() - interval '2 hours' from app_private.api_keys where label = 'bounded'`,
  );
  // Times on days of their own: tables show no more than the day of some.
  await database.owner.query(
    "update app_public.memberships set created_at = '2020-06-15Z' where org_uri = $1",
    [ORG],
  );
  await database.owner.query("update app_public.users set created_at = '2020-06-14Z'");
  await database.owner.query(
    `insert into app_private.sessions (secret_hash, email, issuer, subject, created_at, last_used_at)
     values (sha256('c'), 'a@b.example', null, null, now() - interval '1 day', now() - interval '1 hour'),
       (sha256('d'), 'a@b.example', 'https://login.example', 'a', now() - interval '2 days', now() - interval '2 hours')`,
  );
});
afterAll(() => database.drop());

const ask = (...args: string[]) => admin(args, { DATABASE_URL: database.url });
type Cell = string | number | boolean | null | string[];
type Row = Record<string, Cell>;

async function told(...args: string[]): Promise<Row[]> {
  return JSON.parse((await ask(...args, "--json")).stdout) as Row[];
}

/** The cells of a table by its headings; columns begin where their headings do. */
async function shown(...args: string[]): Promise<Record<string, string>[]> {
  const [headings = "", ...lines] = (await ask(...args)).stdout.trimEnd().split("\n");
  const starts = [...headings.matchAll(/(?:^|(?<= {2}))\S/g)].map(({ index }) => index);
  const cells = (line: string) => starts.map((start, at) => line.slice(start, starts[at + 1]).trim());
  const names = cells(headings);
  return lines.map((line) => Object.fromEntries(cells(line).map((cell, at) => [names[at]!, cell])));
}

const text = (value: Cell | undefined, none: string) => (value === null ? none : String(value));
const named = ({ firstName, lastName }: Row) => [firstName, lastName].filter(Boolean).join(" ");
const day = (at: Cell | undefined) => String(at).slice(0, 10);
const count = (items: unknown, one: string) => {
  const number = Array.isArray(items) ? items.length : 0;
  return number === 0 ? [] : [`${number} ${one}${number === 1 ? "" : "s"}`];
};

test("keys: each with its limit, end, last use and bounds, and the demo's is called so", async () => {
  const keys = await told("keys", "list");
  expect(keys).toHaveLength(3);
  expect(await shown("keys", "list")).toEqual(
    keys.map((key) => ({
      ...{ "key id": key["keyId"], scope: key["scope"], state: key["state"] },
      "per minute": text(key["ratePerMinute"], "default"),
      expires: text(key["expiresAt"], "never"),
      "last used": text(key["lastUsedAt"], "never"),
      bounds:
        [
          ...count(key["organizations"], "organization"),
          ...count(key["persons"], "person"),
          ...count(key["networks"], "network"),
        ].join(", ") || "none",
      label: key["keyId"] === DEMO_KEY_ID ? `${String(key["label"])} (demo)` : key["label"],
    })),
  );
  expect(keys.filter(({ isDemo }) => isDemo).map(({ keyId }) => keyId)).toEqual([DEMO_KEY_ID]);
});

test("a key: each of its times and bounds by its own name", async () => {
  for (const key of await told("keys", "list")) {
    const { stdout } = await ask("keys", "show", String(key["keyId"]));
    const [title, ...lines] = stdout.trimEnd().split("\n");
    expect(title).toBe(
      `${String(key["label"])}: a key of scope ${String(key["scope"])}, ${String(key["state"])}`,
    );
    const some = (items: unknown) => (items === null ? "any" : (items as string[]).join(", "));
    expect(Object.fromEntries(lines.map((line) => [line.slice(2, 20).trim(), line.slice(20)]))).toEqual({
      issued: key["createdAt"],
      expires: text(key["expiresAt"], "never"),
      revoked: text(key["revokedAt"], "no"),
      "replaced by": text(key["replacedBy"], "none"),
      "last used": text(key["lastUsedAt"], "never"),
      "per minute": text(key["ratePerMinute"], "default"),
      "for organizations": some(key["organizations"]),
      "for persons": some(key["persons"]),
      "from networks": some(key["networks"]),
    });
  }
});

test("programs are told each time and number as it is stored, under its own name", async () => {
  const { owner } = database;
  for (const [command, stored] of [
    [
      ["keys", "list"],
      `select k.key_id as "keyId", to_json(created_at) as "createdAt", to_json(expires_at) as "expiresAt",
         to_json(revoked_at) as "revokedAt", to_json(last_used_at) as "lastUsedAt"
       from app_private.api_keys as k left join app_private.key_uses as u on u.key_id = k.key_id`,
    ],
    [
      ["members", "list", "--org", ORG],
      `select email, to_json(m.created_at) as "createdAt", to_json(m.updated_at) as "updatedAt"
       from app_public.memberships as m join app_public.users as u on u.user_id = m.user_id where org_uri = '${ORG}'`,
    ],
    [
      ["sessions", "list"],
      `select session_id as "sessionId", to_json(created_at) as "createdAt", to_json(last_used_at) as "lastUsedAt"
       from app_private.sessions`,
    ],
    [
      ["users", "list"],
      `select email, to_json(created_at) as "createdAt", (
         select count(*)::integer from app_public.memberships as m where m.user_id = u.user_id) as organizations
       from app_public.users as u`,
    ],
  ] as const) {
    const { rows } = await owner.query<Row>(stored);
    expect(rows.length).toBeGreaterThan(0);
    const listed = await told(...command);
    expect([command, listed.length]).toEqual([command, rows.length]);
    expect(listed).toEqual(expect.arrayContaining(rows.map((row) => expect.objectContaining(row))));
  }
});

test("people: each with roles, organizations, since when and by name", async () => {
  const users = await told("users", "list");
  expect(users.length).toBeGreaterThan(3);
  expect(await shown("users", "list")).toEqual(
    users.map((user) => ({
      "e-mail": user["email"],
      platform: (user["platformRoles"] as string[]).join(", ") || "-",
      organizations: String(user["organizations"]),
      since: day(user["createdAt"]),
      name: named(user),
    })),
  );
});

test("members: each with role, status, since when and by name", async () => {
  const members = await told("members", "list", "--org", ORG);
  expect(members.length).toBeGreaterThan(0);
  expect(await shown("members", "list", "--org", ORG)).toEqual(
    members.map((member) => ({
      ...{ "e-mail": member["email"], role: member["role"], status: member["status"] },
      ...{ since: day(member["createdAt"]), name: named(member) },
    })),
  );
});

test("sessions: each with whose it is, who vouched for them, since when and when last used", async () => {
  const sessions = await told("sessions", "list");
  expect(new Set(sessions.map(({ issuer }) => issuer))).toEqual(new Set([null, "https://login.example"]));
  expect(await shown("sessions", "list")).toEqual(
    sessions.map((session) => ({
      ...{ id: session["sessionId"], email: session["email"], by: text(session["issuer"], "a link by mail") },
      ...{ since: session["createdAt"], "last used": session["lastUsedAt"] },
    })),
  );
});

test("who may do something: each by name and with the reason; and where nobody may, that is said", async () => {
  const asked = ["authorization", "who-can", "--org", ORG, "--permission"];
  const holders = await told(...asked, "needs:write");
  expect(holders.length).toBeGreaterThan(0);
  expect(await shown(...asked, "needs:write")).toEqual(
    holders.map((holder) => ({ "e-mail": holder["email"], name: named(holder), because: holder["reason"] })),
  );
  const empty = `${ORG}-without-anybody`;
  await ask("orgs", "add", "--uri", empty, "--name", "Nobody's");
  const ofNobody = ["authorization", "who-can", "--org", empty, "--permission", "needs:write"];
  expect(await told(...ofNobody)).toEqual([]);
  expect((await ask(...ofNobody)).stdout).toBe(`Nobody has needs:write for ${empty}.\n`);
});
