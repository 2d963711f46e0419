// What a plan compares by: each single change of a database is told as what it is, and as nothing else.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type pg from "pg";
import { SCHEMAS } from "../db/ownership.ts";
import { snapshot } from "../db/snapshot.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { holdRoles } from "./support/roles.ts";

let database: TestDatabase;
let client: pg.PoolClient;
let letGo: () => Promise<void>;
beforeAll(async () => {
  letGo = await holdRoles();
  database = await createTestDatabase();
  client = await database.owner.connect();
});
afterAll(async () => {
  await letGo();
  client.release();
  await database.drop();
});

const lines = async () =>
  new Set(
    (await snapshot(client, SCHEMAS)).map(({ kind, name, definition }) => `${kind} ${name}: ${definition}`),
  );

/** What statements make of the database, line by line; all of it is undone. */
async function changes(sql: string, ...prepared: string[]): Promise<string[]> {
  // Who has which role is the whole cluster's, and other tests give roles meanwhile.
  await client.query("begin isolation level repeatable read");
  try {
    for (const each of prepared) await client.query(each);
    const before = await lines();
    await client.query(sql);
    const after = await lines();
    return [
      ...[...before].filter((line) => !after.has(line)).map((line) => `- ${line}`),
      ...[...after].filter((line) => !before.has(line)).map((line) => `+ ${line}`),
    ].toSorted();
  } finally {
    await client.query("rollback");
  }
}

/** Roles are the whole cluster's. */
const someone = `someone_${randomBytes(6).toString("hex")}`;
const table = "create table app_public.x (a integer, b text)";
const routine = "create function app_private.f(app_public.need_status) returns text";

const CASES: [what: string, sql: string, told: unknown[], ...prepared: string[]][] = [
  ["a table", "create table rest.x (a integer)", ["+ column rest.x.a: integer", "+ table rest.x: "]],
  [
    "a table that a crash empties",
    "create unlogged table app_public.x ()",
    ["+ table app_public.x: unlogged"],
  ],
  [
    "a table in parts",
    "create table app_public.x (a integer) partition by range (a)",
    ["+ column app_public.x.a: integer", "+ table app_public.x: "],
  ],
  ["a sequence", "create sequence app_private.s", ["+ table app_private.s: "]],
  ["a table of others", "create table public.x (a integer primary key)", []],
  ["a function of others", "create function public.f() returns integer language sql as 'select 1'", []],
  [
    "how a table is kept, and for whom its policies are",
    "alter table app_public.x set (fillfactor = 50), enable row level security, force row level security",
    ["+ table app_public.x: row level security, forced, fillfactor=50", "- table app_public.x: "],
    table,
  ],
  [
    "columns: what they are, whether they may be empty, and what they are by themselves",
    `alter table app_public.x alter a set not null, alter b set default 'it''s',
       add c app_public.need_status, add "D e" varchar(7)[]`,
    [
      '+ column app_public.x."D e": character varying(7)[]',
      "+ column app_public.x.a: integer not null",
      "+ column app_public.x.b: text default 'it''s'::text",
      "+ column app_public.x.c: app_public.need_status",
      "- column app_public.x.a: integer",
      "- column app_public.x.b: text",
    ],
    table,
  ],
  [
    "a column that numbers itself",
    "alter table app_public.x alter a set not null, alter a add generated always as identity",
    [
      "+ column app_public.x.a: integer not null a",
      "+ table app_public.x_a_seq: ",
      "- column app_public.x.a: integer",
    ],
    table,
  ],
  ["a column that is gone", "alter table app_public.x drop b", ["- column app_public.x.b: text"], table],
  ["the parts of a value", "create type app_private.pair as (a text)", ["+ column app_private.pair.a: text"]],
  [
    "a list, in its order",
    "create type app_private.l as enum ('b', 'a')",
    ["+ type app_private.l: 'b'\n'a'"],
  ],
  [
    "a value in the middle of a list",
    "alter type app_private.l add value 'c' before 'a'",
    ["+ type app_private.l: 'b'\n'c'\n'a'", "- type app_private.l: 'b'\n'a'"],
    "create type app_private.l as enum ('b', 'a')",
  ],
  [
    "constraints of a table, and of a type",
    `alter table app_public.x add constraint small check (a < 7);
     create domain app_public.short as text constraint brief check (value < 'x')`,
    [
      "+ constraint brief on app_public.short: CHECK ((VALUE < 'x'::text))",
      "+ constraint small on app_public.x: CHECK ((a < 7))",
    ],
    table,
  ],
  [
    "an index",
    "create unique index one on app_public.x (b) where a > 0",
    ["+ index app_public.one: CREATE UNIQUE INDEX one ON app_public.x USING btree (b) WHERE (a > 0)"],
    table,
  ],
  [
    "a policy, which lets in",
    "create policy p on app_public.x for update to api_write, api_read using (true) with check (a > 1)",
    ["+ policy p on app_public.x: for update to api_read, api_write\nusing true\nwith check (a > 1)"],
    table,
  ],
  [
    "a policy that lets in less, where it let in more",
    "drop policy p on app_public.x; create policy p on app_public.x as restrictive using (a > 1)",
    [
      "+ policy p on app_public.x: restrictive, for all to public\nusing (a > 1)",
      "- policy p on app_public.x: for all to public\nusing (a > 1)",
    ],
    `${table}; create policy p on app_public.x using (a > 1)`,
  ],
  [
    "who may do what with a table and its columns, except its owner",
    `grant select on app_public.x to api_read; grant insert on app_public.x to api_write with grant option;
     grant update (b) on app_public.x to public; grant all on app_public.x to current_user`,
    [
      "+ grant api_read: select app_public.x: ",
      "+ grant api_write: insert app_public.x: with grant option",
      "+ grant public: update app_public.x (b): ",
    ],
    table,
  ],
  [
    "who may look into a schema",
    `create role ${someone}; grant usage on schema app_private to ${someone}`,
    [`+ grant ${someone}: usage schema app_private: `],
  ],
  [
    "who may call a function: everybody, unless it is said",
    `${routine} language sql as 'select $1::text'; create function app_private.g() returns text language sql as 'select null';
     revoke execute on function app_private.g() from public`,
    [
      expect.stringMatching(/^\+ function app_private\.f\(app_public\.need_status\): CREATE .*\$1::text/s),
      expect.stringMatching(/^\+ function app_private\.g\(\): CREATE .*select null/s),
      "+ grant public: execute app_private.f(app_public.need_status): ",
    ],
  ],
  [
    "with whose rights a function acts",
    "alter function app_private.f(app_public.need_status) security definer",
    [
      expect.stringMatching(/^\+ function app_private\.f\(app_public\.need_status\): .* SECURITY DEFINER/s),
      expect.stringMatching(/^- function app_private\.f\(app_public\.need_status\): /),
    ],
    `${routine} language sql as 'select null'`,
  ],
  [
    "an aggregate",
    "create aggregate app_private.most(integer) (sfunc = int4larger, stype = integer)",
    [
      "+ function app_private.most(integer): aggregate",
      "+ grant public: execute app_private.most(integer): ",
    ],
  ],
  [
    "a role with the rights of another, and whether it may pass them on",
    `create role ${someone}; grant api_read to ${someone} with admin option`,
    [`+ membership api_read is held by ${someone}: with admin option`],
  ],
  [
    "what a role of the service may do by itself",
    "alter role engagement_server inherit bypassrls createrole; alter role api_write noinherit createdb replication superuser",
    [
      "+ role api_write: superuser, makes databases, replicates",
      "+ role engagement_server: inherits, bypasses row level security, makes roles",
      "- role api_write: inherits",
      "- role engagement_server: ",
    ],
  ],
  [
    "a trigger that is switched off, or on for more than it was made for",
    `alter table app_public.x disable trigger a; alter table app_public.x enable replica trigger b;
     alter table app_public.x enable always trigger c`,
    ["disabled", "on replicas only", "on replicas too"]
      .flatMap((state, at) => {
        const name = "abc".charAt(at);
        const made = `trigger ${name} on app_public.x: CREATE TRIGGER ${name} BEFORE DELETE ON app_public.x FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`;
        return [`+ ${made}\n${state}`, `- ${made}`];
      })
      .toSorted(),
    table,
    ...["a", "b", "c"].map(
      (name) =>
        `create trigger ${name} before delete on app_public.x for each row execute function suppress_redundant_updates_trigger()`,
    ),
  ],
  [
    "foreign keys that are not checked, from either end",
    "alter table app_public.x disable trigger all; alter table app_public.y disable trigger all",
    ["x", "y"]
      .flatMap((name) => [
        `+ table app_public.${name}: foreign keys not checked`,
        `- table app_public.${name}: `,
      ])
      .toSorted(),
    table,
    "create table app_public.y (a integer primary key); alter table app_public.x add foreign key (a) references app_public.y",
  ],
  [
    "a table of another owner than its schema",
    `alter table app_public.x owner to ${someone}`,
    [`+ table app_public.x: of ${someone}`, "- table app_public.x: "],
    `${table}; create role ${someone}`,
  ],
  [
    "a function of another owner than its schema",
    `alter function app_public.f() owner to ${someone}`,
    [
      expect.stringMatching(`^\\+ function app_public\\.f\\(\\): [^]*\\nof ${someone}$`),
      expect.stringMatching(/^- function app_public\.f\(\): /),
    ],
    `create role ${someone}; create function app_public.f() returns integer language sql return 1`,
  ],
  [
    "a trigger, and none of those that a constraint brings",
    `create trigger t before delete on app_public.x for each row execute function suppress_redundant_updates_trigger();
     create constraint trigger c after insert on app_public.x for each row execute function app_private.tg();
     alter table app_public.x add constraint k foreign key (a) references app_public.y`,
    [
      "+ constraint k on app_public.x: FOREIGN KEY (a) REFERENCES app_public.y(a)",
      "+ trigger c on app_public.x: CREATE CONSTRAINT TRIGGER c AFTER INSERT ON app_public.x NOT DEFERRABLE INITIALLY IMMEDIATE FOR EACH ROW EXECUTE FUNCTION app_private.tg()",
      "+ trigger t on app_public.x: CREATE TRIGGER t BEFORE DELETE ON app_public.x FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    ],
    `${table}; create table app_public.y (a integer primary key);
     create function app_private.tg() returns trigger language plpgsql as 'begin return old; end'`,
  ],
  [
    "a view, and with whose rights it reads",
    "create or replace view rest.v with (security_invoker = true) as select a from app_public.x where a > 1",
    [
      expect.stringMatching(/^\+ view rest\.v: with \(security_invoker=true\)\nSELECT .*\(a > 1\);$/s),
      expect.stringMatching(/^- view rest\.v: SELECT a\s+FROM app_public\.x;$/),
    ],
    `${table}; create view rest.v as select a from app_public.x`,
  ],
  [
    "comments",
    `comment on table app_public.x is 'A table.'; comment on column app_public.x.b is 'A column.';
     comment on type app_public.need_status is 'A list.'; comment on view rest.needs is 'A view.';
     comment on aggregate app_private.most(integer) is 'A function.'; comment on schema rest is 'A schema.'`,
    [
      "+ comment on app_public.x: A table.",
      "+ comment on column app_public.x.b: A column.",
      "+ comment on function app_private.most(integer): A function.",
      "+ comment on rest.needs: A view.",
      "+ comment on type app_public.need_status: A list.",
    ],
    `${table}; create aggregate app_private.most(integer) (sfunc = int4larger, stype = integer);
     comment on type app_public.need_status is null; comment on view rest.needs is null`,
  ],
  [
    "what a role may do in an organization, and on the platform",
    `insert into app_public.organization_permissions values ('org_member', 'needs:dream');
     delete from app_public.platform_permissions where (role, permission) = ('support', 'claims:review')`,
    ["+ permission organization org_member needs:dream: ", "- permission platform support claims:review: "],
  ],
];

test.each(CASES)("of what changes it is told: %s", async (_, sql, told, ...prepared) => {
  expect(await changes(sql, ...prepared)).toEqual(told);
});

test("whoever is told looks names up as before", async () => {
  await client.query("begin; set local search_path to app_public, pg_temp");
  try {
    await snapshot(client, SCHEMAS);
    expect((await client.query("show search_path")).rows).toEqual([{ search_path: "app_public, pg_temp" }]);
  } finally {
    await client.query("rollback");
  }
});
