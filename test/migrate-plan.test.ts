// npm run migrate -- --plan: what a migration would change, and that nothing of it has happened.
import { randomBytes } from "node:crypto";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { planReport } from "../admin/plan-report.ts";
import { migrate } from "../db/migrate.ts";
import { SCHEMAS } from "../db/ownership.ts";
import { MigrationError } from "../db/sql-files.ts";
import { OutOfPatience } from "../db/patience.ts";
import { changesAnything, planMigration } from "../db/plan.ts";
import { snapshot } from "../db/snapshot.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { run } from "./support/process.ts";
import { holdRoles } from "./support/roles.ts";

jest.setTimeout(600_000);

let database: TestDatabase;
let directory: string;
let letGo: () => Promise<void>;
beforeEach(async () => {
  letGo = await holdRoles();
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "engagement-graph-plan-"));
  for (const folder of ["migrations", "rules"]) {
    await cp(join(import.meta.dirname, "../db", folder), join(directory, folder), { recursive: true });
  }
});
afterEach(async () => {
  await letGo();
  await database.drop();
  await rm(directory, { recursive: true });
});

const plan = () => planMigration(database.url, { directory });

async function edit(file: string, from: string, to: string): Promise<void> {
  const path = join(directory, file);
  const written = await readFile(path, "utf8");
  expect(written).toContain(from);
  await writeFile(path, written.replace(from, to));
}

/** All that a plan could have changed. */
async function state(): Promise<unknown> {
  const client = await database.owner.connect();
  try {
    await client.query("begin");
    const items = await snapshot(client, SCHEMAS);
    const { rows: earlier } = await client.query("select oid, nspname from pg_namespace order by 1");
    const { rows: permissions } = await client.query("select * from app_public.organization_permissions");
    const { rows: applied } = await client.query("select * from app_migrations.applied order by 1");
    const { rows: functions } = await client.query("select oid from pg_proc order by 1");
    const made = items.map((item) => JSON.stringify(item)).toSorted();
    return { made, earlier, permissions, applied, functions };
  } finally {
    await client.query("rollback");
    client.release();
  }
}

test("a database that is as the tree has it would not change, and an empty one would get it all", async () => {
  const nothing = await plan();
  expect(nothing).toMatchObject({ pending: [], changes: [], rows: [], untried: [] });
  expect(changesAnything(nothing)).toBe(false);
  expect(planReport(nothing, "text")).toEqual(["Migrating would change nothing."]);

  const empty = await createTestDatabase({ template: false });
  try {
    const all = await planMigration(empty.url, { directory });
    expect(all.untried).toEqual([]);
    expect(all.pending).toContain("0001_foundation");
    expect(all.changes.map(({ name }) => name)).toContain("declare on app_public.needs");
    const { rows } = await empty.owner.query("select from pg_namespace where nspname ~ '^app_'");
    expect(rows).toEqual([]);
  } finally {
    await empty.drop();
  }
});

test("a changed rule is told by what it means, and nothing has happened", async () => {
  const before = await state();
  await edit(
    "rules/permissions.sql",
    "('org_contributor', 'needs:write'),",
    "('org_contributor', 'needs:write'),\n    ('org_contributor', 'members:manage'),",
  );
  await edit("rules/permissions.sql", "    ('support', 'claims:review'),\n", "");
  await edit(
    "rules/grants.sql",
    "  app_public.check_user\nto api_write;",
    "  app_public.check_user\nto api_read;",
  );
  await edit(
    "rules/needs.sql",
    "for select to api_read using (true)",
    "for select to api_read using (status = 'open')",
  );
  await edit(
    "rules/membership.sql",
    "if acting is null then",
    "if acting is null or permission is null then",
  );
  await edit(
    "rules/needs.sql",
    "create trigger validate before insert on app_public.needs",
    "create trigger validate before insert or update on app_public.needs",
  );
  const found = await plan();
  const text = planReport(found, "text").join("\n");
  expect(text).toContain(
    "+ org_contributor in an organization gains members:manage, asked for by keep_a_manager, ",
  );
  expect(text).toContain("- support on the platform loses claims:review, asked for by claim_change_page, ");
  expect(text).toContain("+ api_read: execute app_public.check_user(text)");
  expect(text).toContain("- api_write: execute app_public.check_user(text)");
  expect(text).toMatch(/~ read on app_public\.needs\n.*\n +-using true\n +\+using \(status = 'open'::/);
  expect(text).toMatch(
    /~ app_private\.authority\(text,text,text\)\n[^~]*\n +- *if acting is null then\n +\+ *if acting is null or/,
  );
  expect(text).toMatch(
    /~ validate on app_public\.needs\n[^~]*\+CREATE TRIGGER validate BEFORE INSERT OR UPDATE/,
  );
  // The statement grants a second function as well.
  expect(found.changes.map(({ kind }) => kind).toSorted()).toEqual([
    ...["function", "grant", "grant", "grant", "grant"],
    ...["permission", "permission", "policy", "trigger"],
  ]);
  expect(planReport(found, "markdown")).toContain("### Who may do what");
  expect(await state()).toEqual(before);
  // What was told is what comes.
  await migrate(database.url, { directory });
  expect(changesAnything(await plan())).toBe(false);
});

test("rights that roles have through each other, and policies that bind the owner too, are planned", async () => {
  const before = await state();
  await edit("rules/roles.sql", "('api_write', 'api_person')", "('api_read', 'api_person')");
  await edit("rules/needs.sql", "", "alter table app_public.needs force row level security;\n");
  const text = planReport(await plan(), "text");
  expect(text).toEqual([
    "Migrating would change this; nothing has been changed.",
    "",
    "Roles with the rights of others",
    "  + api_read is held by api_person",
    "  - api_write is held by api_person",
    "",
    "Tables",
    "  ~ app_public.needs",
    "      -row level security",
    "      +row level security, forced",
  ]);
  expect(await state()).toEqual(before);
});

test("what was switched off by hand since is planned to be switched on again, and is", async () => {
  const { rows } = await database.owner.query<{ release: number }>(
    "select current_setting('server_version_num')::integer / 10000 as release",
  );
  const before = (await state()) as { made: string[] };
  await database.owner.query(
    `alter table app_public.needs disable row level security;
     alter table app_public.users force row level security;
     alter table app_public.commitments disable trigger user;
     alter table app_private.role_history disable trigger all;
     alter table app_private.graph_runs owner to api_write;
     alter schema rest owner to engagement_server`,
  );
  const constraint = "status_history_need_id_fkey on app_public.status_history";
  if (rows[0]!.release >= 18)
    await database.owner.query(
      "alter table app_public.status_history alter constraint status_history_need_id_fkey not enforced",
    );
  const planned = (await plan()).changes.map(({ kind, name, after }) => `${kind} ${name}: ${after}`);
  expect(planned).toEqual(
    expect.arrayContaining([
      "table app_public.needs: row level security",
      "table app_public.users: row level security",
      "table app_private.role_history: row level security",
      "table app_private.graph_runs: row level security",
      expect.stringMatching(/^trigger \w+ on app_public\.commitments: CREATE TRIGGER .*\)$/),
      ...(rows[0]!.release >= 18 ? [expect.stringContaining(`constraint ${constraint}: FOREIGN KEY`)] : []),
    ]),
  );
  await migrate(database.url, { directory });
  expect(((await state()) as { made: string[] }).made).toEqual(before.made);
  expect(changesAnything(await plan())).toBe(false);
});

test("what a role may do by itself, and what it was given in another way, is put back", async () => {
  const { rows } = await database.owner.query<{ release: number }>(
    "select current_setting('server_version_num')::integer / 10000 as release",
  );
  const roles = await readFile(join(directory, "rules/roles.sql"), "utf8");
  const client = await database.owner.connect();
  // Roles are the whole cluster's: all of this is undone.
  await client.query("begin");
  const found = async () =>
    (await snapshot(client, SCHEMAS))
      .filter(({ kind }) => kind === "role" || kind === "membership")
      .map(({ kind, name, definition }) => `${kind} ${name}: ${definition}`)
      .toSorted();
  try {
    await client.query(roles);
    const before = await found();
    await client.query(
      `alter role engagement_server inherit bypassrls createdb createrole replication;
       alter role api_write superuser noinherit; alter role api_read bypassrls;
       grant api_review to engagement_server with admin option`,
    );
    if (rows[0]!.release >= 16)
      await client.query(
        `grant api_write to engagement_server with inherit true; grant api_person to engagement_server with set false;
         grant api_read to api_write with inherit false`,
      );
    expect(await found()).not.toEqual(before);
    await client.query(roles);
    expect(await found()).toEqual(before);

    // Whoever may act as an owner is bound by no policy; as anybody else it may act.
    const enforcement = await readFile(join(directory, "rules/enforcement.sql"), "utf8");
    const [owner, other, another, giver] = ["owner", "other", "another", "giver"].map(
      (name) => `${name}_${randomBytes(6).toString("hex")}`,
    );
    await client.query(
      `create role ${owner}; create role ${other}; create role ${another}; create role ${giver};
       alter table app_public.needs owner to ${owner};
       grant ${owner} to api_read; grant ${another} to api_read; grant ${owner} to ${other};
       grant ${owner}, ${other} to ${giver} with admin option;
       set local role ${giver}; grant ${other} to api_person; grant ${owner} to api_review; reset role`,
    );
    const holders = async () =>
      (await found()).filter((each) => /(owner|other)_.*(api|other)_/.test(each)).toSorted();
    const stays = [
      `membership ${another} is held by api_read: `,
      `membership ${owner} is held by ${other}: `,
    ];
    expect(await holders()).toEqual(
      [
        ...stays,
        `membership ${owner} is held by api_read: `,
        `membership ${owner} is held by api_review: `,
        `membership ${other} is held by api_person: `,
      ].toSorted(),
    );
    await client.query(enforcement);
    expect(await holders()).toEqual(stays.toSorted());
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test.each([
  ["roles", "alter role api_write bypassrls", "alter role api_write nobypassrls"],
  [
    "enforcement",
    "alter table app_public.needs disable trigger all",
    "alter table app_public.needs enable trigger all",
  ],
  ["enforcement", "grant OWNER to api_read", "revoke owner_[0-9a-f]+ from api_read granted by \\w+"],
])("what only a superuser may put back stops the migration, and is told: %s", async (file, done, needed) => {
  const name = `owner_${randomBytes(6).toString("hex")}`;
  const client = await database.owner.connect();
  try {
    await client.query(
      `begin; create role ${name} createrole; alter table app_public.needs owner to ${name}; ${done.replace("OWNER", name)};
       set local role ${name}`,
    );
    const sql = await readFile(join(directory, `rules/${file}.sql`), "utf8");
    const { rows } = await client.query<{ release: number }>(
      "select current_setting('server_version_num')::integer / 10000 as release",
    );
    // Up to release 15, who may make roles may take whatever roles were given.
    if (done.startsWith("grant") && rows[0]!.release < 16) await client.query(sql);
    else await expect(client.query(sql)).rejects.toThrow(new RegExp(`; a superuser has to: ${needed}$`));
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("what the operator's own roles were given, and the service's roles of others, stays theirs", async () => {
  const name = `reports_${randomBytes(6).toString("hex")}`;
  const client = await database.owner.connect();
  try {
    await client.query(`begin; create role ${name}; grant api_read to ${name}; grant ${name} to api_person`);
    await client.query(await readFile(join(directory, "rules/roles.sql"), "utf8"));
    const { rows } = await client.query(
      `select roleid::regrole::text as role, member::regrole::text as holder from pg_auth_members
       where (roleid = $1::regrole or member = $1::regrole) and member <> current_user::regrole order by 1`,
      [name],
    );
    expect(rows).toEqual([
      { role: "api_read", holder: name },
      { role: name, holder: "api_person" },
    ]);
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("what the owner may not take from a role stops the migration, and is told", async () => {
  // The rights of roles are the whole cluster's: all of this is undone.
  const { rows } = await database.owner.query<{ name: string; release: number }>(
    `select 'owner_' || md5(random()::text) as name,
       current_setting('server_version_num')::integer / 10000 as release`,
  );
  const { name, release } = rows[0]!;
  const client = await database.owner.connect();
  try {
    await client.query(
      `begin; create role ${name} createrole; grant api_review to api_person; set local role ${name}`,
    );
    const applied = client.query(await readFile(join(directory, "rules/roles.sql"), "utf8"));
    // Up to release 15, who may make roles may take whatever roles were given.
    if (release < 16) await applied;
    else
      await expect(applied).rejects.toThrow(
        /; a superuser has to: revoke api_review from api_person granted by \w+$/,
      );
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("what the owner may not give to a role stops the migration, and is told", async () => {
  // Undone as well.
  const name = `owner_${randomBytes(6).toString("hex")}`;
  const client = await database.owner.connect();
  try {
    await client.query(
      `begin; create role ${name} nocreaterole; revoke api_read from api_write; set local role ${name}`,
    );
    const sql = await readFile(join(directory, "rules/roles.sql"), "utf8");
    await expect(client.query(sql)).rejects.toThrow(
      /\((permission denied|must have admin option).*\); a superuser has to: grant api_read to api_write/,
    );
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("a migration is tried together with the rules that need it", async () => {
  const before = await state();
  await writeFile(
    join(directory, "migrations/9000_budget.sql"),
    "alter table app_public.needs add column budget numeric not null default 0; insert into app_public.users (email) values ('a@b.example')",
  );
  await edit("rules/needs.sql", "n.accelerators, n.concerns", "n.accelerators, n.budget, n.concerns");
  const found = await plan();
  expect(found).toMatchObject({ pending: ["9000_budget"], untried: [] });
  const text = planReport(found, "text").join("\n");
  expect(text).toMatch(/\+ app_public\.needs\.budget\n +\+numeric not null default 0/);
  expect(text).toMatch(/~ rest\.needs\n/);
  expect(text).toContain("~ app_public.users: 1 added");
  expect(await state()).toEqual(before);
});

test("of everything that changes it is told what it is", async () => {
  await database.owner.query("insert into app_public.users (email) values ('gone@b.example')");
  const before = await state();
  await writeFile(
    join(directory, "migrations/9000_grades.sql"),
    `create table later ();
     drop table later;
     alter table app_public.needs add column grade integer default 7;
     create table app_public.grades (grade integer primary key);
     alter table app_public.needs add constraint graded foreign key (grade) references app_public.grades;
     alter type app_public.need_status add value 'abandoned';
     delete from app_public.users where email = 'gone@b.example'`,
  );
  const grants = join(directory, "rules/grants.sql");
  await writeFile(
    grants,
    `${await readFile(grants, "utf8")}
    create policy graded on app_public.needs for insert to api_write with check (org_name <> 'x');
    grant update (org_name) on app_public.needs to api_read;
    create function app_private.graded() returns trigger language plpgsql as 'begin return old; end';
    create trigger graded before delete on app_public.needs for each row execute function app_private.graded();
    create view rest.graded with (security_barrier) as select 1 as one;
    comment on column app_public.needs.org_name is 'Named otherwise.';
    comment on function app_private.graded() is 'What it is for.';`,
  );
  const found = await plan();
  const told = planReport(found, "text").join("\n");
  for (const line of [
    "+ graded on app_public.needs\n      +for insert to api_write\n      +with check ",
    "+ api_read: update app_public.needs (org_name)\n",
    "+ public: execute app_private.graded()\n",
    "Triggers\n  + graded on app_public.needs\n",
    "+ rest.graded\n",
    "+ app_public.needs.grade\n      +integer default 7\n",
    "+ graded on app_public.needs\n      +FOREIGN KEY (grade) REFERENCES app_public.grades(grade)\n",
    "+ app_public.grades_pkey\n",
    "~ app_public.users: 1 deleted",
  ]) {
    expect(told).toContain(line);
  }
  const after = (name: string) => found.changes.find((change) => change.name === name)?.after;
  expect(after("app_public.need_status")).toMatch(/\n'abandoned'$/);
  expect(after("on column app_public.needs.org_name")).toBe("Named otherwise.");
  expect(after("on function app_private.graded()")).toBe("What it is for.");
  expect(after("rest.graded")).toMatch(/^with \(security_barrier=true\)\n/);
  expect(await state()).toEqual(before);
});

test("a permission that goes with what asks for it is told with its name", async () => {
  await database.owner.query(`
    create function app_private.left_over() returns text language sql as $$ select 'needs:dream' $$;
    insert into app_public.organization_permissions values ('org_member', 'needs:dream')`);
  expect(planReport(await plan(), "text")).toContain(
    "  - org_member in an organization loses needs:dream, asked for by left_over",
  );
});

test("what cannot be tried before a new value of a list is committed is named", async () => {
  await writeFile(
    join(directory, "migrations/9000_role.sql"),
    "alter type app_public.organization_role add value 'coordinator'",
  );
  await edit(
    "rules/permissions.sql",
    "('org_contributor', 'needs:write'),",
    "('org_contributor', 'needs:write'),\n    ('coordinator', 'needs:write'),",
  );
  const found = await plan();
  expect(found.pending).toEqual(["9000_role"]);
  expect(found.untried.map(({ what }) => what)).toEqual(["db/rules", "settings and documents"]);
  expect(found.changes.map(({ name }) => name)).toEqual(["app_public.organization_role"]);
  expect(changesAnything(found)).toBe(true);
});

test("a rule that fails is an error, with its place", async () => {
  const before = await state();
  await writeFile(join(directory, "rules/needs.sql"), "select 1;\nselect nonsense;\n");
  await expect(plan()).rejects.toThrow(MigrationError);
  await expect(plan()).rejects.toThrow("db/rules/needs.sql:2");
  expect(await state()).toEqual(before);
});

test.each([
  ["rules/needs.sql", (rule: string) => `begin;\n${rule}\ncommit;\n`],
  ["rules/needs.sql", (rule: string) => `${rule}\nsavepoint half;\n`],
  ["rules/needs.sql", (rule: string) => `${rule}\ndo $$ begin commit; end $$;\n`],
  ["migrations/9000_table.sql", () => "create table app_public.half ();\ncommit;\nselect 1 / 0;\n"],
])("a transaction that %s would begin or end is refused, and nothing has happened", async (file, written) => {
  // What is applied before it must not stay either.
  await edit("rules/validation.sql", "when 'text' then 10000", "when 'text' then 12000");
  const path = join(directory, file);
  await writeFile(path, written(await readFile(path, "utf8").catch(() => "")));
  const before = await state();
  await expect(plan()).rejects.toThrow(`db/${file}`);
  expect(await state()).toEqual(before);
  await expect(migrate(database.url, { directory })).rejects.toThrow(MigrationError);
  expect(await state()).toEqual(before);
});

test("who would begin a transaction in a file of rules is told why they cannot", async () => {
  await writeFile(join(directory, "rules/needs.sql"), "begin; select 1; commit;");
  await expect(plan()).rejects.toThrow("whole or not at all, so it must not contain begin, commit");
  // That alone is what it tells so.
  await writeFile(join(directory, "rules/needs.sql"), "create table half () inherits (pg_catalog.pg_class);");
  await expect(plan()).rejects.not.toThrow("whole or not at all");
});

test.each<[string, (index: string) => string, string]>([
  ["with a word more", (index) => index.replace("\\ir needs.sql", "\\ir needs.sql too"), "index.sql:"],
  [
    "with a comment behind it",
    (index) => index.replace("\\ir needs.sql", "\\ir needs.sql -- ours"),
    "-- ours",
  ],
  ["that is written otherwise", (index) => index.replace("\\ir needs.sql", "\\i needs.sql"), "\\i needs.sql"],
  ["twice", (index) => `${index}\\ir needs.sql\n`, "names needs.sql, which is not there or was named before"],
  ["that is not there", (index) => `${index}\\ir others.sql\n`, "names others.sql"],
  ["too few", (index) => index.replace("\\ir needs.sql", "-- needs"), "does not name needs.sql"],
])(
  "an index of rules that names a file %s is an error, and nothing is left out without a word",
  async (_, changed, why) => {
    const path = join(directory, "rules/index.sql");
    const index = await readFile(path, "utf8");
    await writeFile(path, changed(index));
    await expect(plan()).rejects.toThrow(MigrationError);
    await expect(plan()).rejects.toThrow(why);
  },
);

test("an index of rules may have blanks, and lines that end as on other systems", async () => {
  const path = join(directory, "rules/index.sql");
  const index = await readFile(path, "utf8");
  await writeFile(
    path,
    `${index.replace("\\ir needs.sql", "\\ir  needs.sql ").replaceAll("\n", "\r\n")}  \n`,
  );
  expect(changesAnything(await plan())).toBe(false);
  await writeFile(join(directory, "rules/zz-ours.sql"), "nonsense");
  await expect(plan()).rejects.toThrow("does not name zz-ours.sql");
});

test("a function that is renamed where it is made alone, and a table that is misspelt, are told with what names them", async () => {
  const made = (word: string) => `${word} function app_private.require_review`;
  for (const word of ["create", "comment on"])
    await edit("rules/claim-review.sql", made(word), `${made(word)}s`);
  await expect(plan()).rejects.toThrow(
    /^db\/rules\/names\.sql: .*app_public\.review_organization_claim names app_private\.require_review, which is not there/,
  );
  for (const word of ["create", "comment on"])
    await edit("rules/claim-review.sql", `${made(word)}s`, made(word));
  await edit("rules/needs.sql", "update app_public.needs as n", "update app_public.neds as n");
  await expect(plan()).rejects.toThrow(
    "db/rules/names.sql: app_public.update_need_status names app_public.neds, which is not there",
  );
});

/** A function of an operator, with this in its body. */
const added = (body: string) =>
  edit(
    "rules/names.sql",
    "\ndo $$\n",
    `\ncreate function app_private.ours() returns void language plpgsql as $body$ begin ${body} end $body$;\ndo $$$$\n`,
  );

test("what a function only writes of, or makes itself, does not have to be there", async () => {
  await added(`
    /* was app_private.old_one * until ** then */ -- as app_private.older it isn't
    perform App_Private.Refuse('it''s -- not app_private.gone') from APP_PUBLIC.needs;
    raise notice 'no -- ask'; raise notice 'app_private.gone'; raise notice E'the owner\\'s app_private.gone';
    execute format($q$ select app_private.gone_%s() $q$, 'x');
    create table if not exists app_private."snap" ();`);
  expect(changesAnything(await plan())).toBe(true);
});

test.each([
  "raise notice 'a -- b'; perform app_private.gone('x');",
  "/* all */ perform app_private.gone('x'); /* of it */",
  "perform APP_PRIVATE.Gone('x');",
  "raise notice 'it''s'; perform app_private.gone('x');",
])("what a function calls has to be there, whatever is written beside it: %s", async (body) => {
  await added(body);
  await expect(plan()).rejects.toThrow("app_private.ours names app_private.gone, which is not there");
});

test.each(["rules/Ours.SQL", "migrations/9000_later.Sql"])(
  "%s, which no other file would be taken for, is not left out without a word",
  async (path) => {
    await writeFile(join(directory, path), "select 1");
    await expect(plan()).rejects.toThrow(`db/${path}: its name must end in .sql, in lower case`);
  },
);

test("a mistake within what a function or a statement of a file does is told with the file, and with its line where there is one", async () => {
  const file = join(directory, "rules/needs.sql");
  const told = async (sql: string) => {
    await writeFile(file, sql);
    return plan().catch((error: Error) => error.message);
  };
  const body =
    "\n\ncreate function app_private.x() returns int language plpgsql as $$\nbegin\nretur 1; end $$;";
  expect(await told(`${body}${"\n".repeat(200)}`)).toMatch(/^db\/rules\/needs\.sql:5: syntax error/);
  expect(await told("\ndo $$ begin perform nonsense; end $$;")).toMatch(
    /^db\/rules\/needs\.sql: column "nonsense"/,
  );
});

test("a table that somebody keeps is not waited for longer than migrate does", async () => {
  const holder = new pg.Client(database.url);
  await holder.connect();
  try {
    await holder.query("begin; lock table app_public.needs in access share mode");
    await expect(planMigration(database.url, { directory, patienceMs: 1 })).rejects.toThrow(OutOfPatience);
  } finally {
    await holder.end();
  }
});

test("the command ends with 0 for no change, 1 for one, and 2 for what cannot be", async () => {
  const settings = { DATABASE_URL: database.url };
  const command = (...args: string[]) => run(process.execPath, ["admin/migrate.ts", ...args], settings);
  expect(await command("--plan")).toMatchObject({ code: 0, stdout: "Migrating would change nothing.\n" });
  // What a migration does besides is planned as well.
  expect(
    await run(process.execPath, ["admin/migrate.ts", "--plan"], {
      ...settings,
      GRAPH_DATA_URL: "https://graph.example",
    }),
  ).toMatchObject({ code: 1, stdout: expect.stringContaining("~ app_private.settings: 1 changed") });
  await database.owner.query(
    "insert into app_public.organization_permissions values ('org_member', 'needs:write')",
  );
  expect(await command("--plan", "--markdown")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("`org_member in an organization loses needs:write, asked for by "),
  });
  expect(await command("--markdown")).toMatchObject({ code: 2 });
  expect(await command("--help")).toMatchObject({ code: 0, stdout: expect.stringContaining("--roles") });
  const empty = await createTestDatabase({ template: false });
  try {
    const settingUp = { ...settings, DATABASE_URL: empty.url };
    expect(await run(process.execPath, ["admin/migrate.ts", "--plan"], settingUp)).toMatchObject({
      ...{ code: 1, stdout: expect.stringContaining("+ db/migrations/0001_foundation.sql") },
    });
  } finally {
    await empty.drop();
  }
  await database.owner.query("insert into app_migrations.applied values ('9999_later', 'x')");
  expect(await command("--plan")).toMatchObject({ code: 2, stderr: expect.stringContaining("9999_later") });
});
