import { createHash } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { migrate } from "../db/migrate.ts";
import { planMigration } from "../db/plan.ts";
import { createPool } from "../db/pool.ts";
import { lackingIn } from "../db/release.ts";
import { MigrationError, rulesIn } from "../db/sql-files.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { buildWorld, member, ORG } from "./support/world.ts";

let database: TestDatabase;
let directory: string;

beforeEach(async () => {
  database = await createTestDatabase({ template: false });
  directory = await mkdtemp(join(tmpdir(), "engagement-graph-migrate-"));
  for (const folder of ["migrations", "rules"]) {
    await cp(join(import.meta.dirname, "../db", folder), join(directory, folder), { recursive: true });
  }
});
afterEach(async () => {
  await database.drop();
  await rm(directory, { recursive: true });
});

/** Has a database that was migrated before take the place of the empty one: that is sooner there. */
async function beginMigrated(): Promise<void> {
  await database.drop();
  database = await createTestDatabase();
}

/** Everything in the catalog that the migrations and the rules create, and the rows they write. */
async function catalog(): Promise<unknown[]> {
  const { rows } = await database.owner.query(`
    select 'column' as kind, format('%s.%s %s %s %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
      a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) as made
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on (d.adrelid, d.adnum) = (c.oid, a.attnum)
    where c.relnamespace in (select oid from pg_namespace where nspname in ('app_public', 'app_private', 'rest'))
    union all select 'index', pg_get_indexdef(i.indexrelid) from pg_index i
    join pg_class c on c.oid = i.indrelid and c.relnamespace::regnamespace::text ~ '^app_'
    union all select 'constraint', format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace::regnamespace::text ~ '^app_'
    union all select 'function', pg_get_functiondef(oid) || obj_description(oid, 'pg_proc') || proacl::text from pg_proc
    where pronamespace::regnamespace::text in ('app_public', 'app_private', 'rest') and prokind = 'f'
    union all select 'policy', p::text from pg_policies p
    union all select 'trigger', pg_get_triggerdef(t.oid) from pg_trigger t
    join pg_class c on c.oid = t.tgrelid and c.relnamespace::regnamespace::text ~ '^app_' where not tgisinternal
    union all select 'view', format('%s %s', viewname, definition) from pg_views where schemaname = 'rest'
    union all select 'grant', format('%s %s', oid::regclass, relacl) from pg_class
    where relnamespace::regnamespace::text in ('app_public', 'app_private', 'rest')
    union all select 'grant', format('%s %s', nspname, nspacl) from pg_namespace
    where nspname in ('app_public', 'app_private', 'rest')
    union all select 'permission', p::text from app_public.organization_permissions p
    union all select 'permission', p::text from app_public.platform_permissions p
    union all select 'mail providers', format('%s %s', count(*), md5(string_agg(domain, ' ' order by domain)))
    from app_private.free_mail_domains
    union all select 'setting', format('%s %s', name, description) from app_private.settings
    union all select 'migration', m::text from app_migrations.applied m
    order by 1, 2`);
  return rows;
}

test("migrating twice changes nothing", async () => {
  expect((await migrate(database.url)).length).toBeGreaterThan(0);
  const first = await catalog();
  expect(first.length).toBeGreaterThan(200);
  expect(await migrate(database.url)).toEqual([]);
  expect(await catalog()).toEqual(first);
});

test("what an operator has set stays so when the rules are applied again", async () => {
  await beginMigrated();
  const name = "auto_approval_needs_verified_email";
  await database.owner.query(
    "update app_private.settings set value = 'true', description = 'old' where name = $1",
    [name],
  );
  await migrate(database.url);
  const { rows } = await database.owner.query(
    "select value, description <> 'old' as is_described from app_private.settings where name = $1",
    [name],
  );
  expect(rows).toEqual([{ value: true, is_described: true }]);
});

test("the feed of changes begins with the database, and goes on when the rules are applied again", async () => {
  await beginMigrated();
  const { owner } = database;
  const page = async (after: string) => {
    const { rows } = await owner.query<{ page: { changes: object[]; next: string } }>(
      "select app_private.change_page($1) as page",
      [after],
    );
    return rows[0]!.page;
  };
  const { next } = await page("now");
  expect(next).toMatch(/^\d+-\d+$/);
  await buildWorld(owner);
  await owner.query("select app_private.number_changes()");
  const told = await page(next);
  expect(told.changes.length).toBeGreaterThan(0);
  await migrate(database.url);
  expect(await page(next)).toEqual(told);
});

test("eight simultaneous migrations end as one", async () => {
  const applied = await Promise.all(Array.from({ length: 8 }, () => migrate(database.url)));
  expect(applied.filter((versions) => versions.length > 0)).toHaveLength(1);
  const together = await catalog();
  await migrate(database.url);
  expect(await catalog()).toEqual(together);
});

test("a database newer than the program is refused and left alone", async () => {
  await beginMigrated();
  await database.owner.query(
    "insert into app_migrations.applied (version, checksum) values ('9999_later', 'x')",
  );
  const before = await catalog();
  await expect(migrate(database.url)).rejects.toThrow(MigrationError);
  await expect(migrate(database.url)).rejects.toThrow("9999_later");
  expect(await catalog()).toEqual(before);
});

test("an applied migration that was edited is refused", async () => {
  await beginMigrated();
  const file = join(directory, "migrations/0003_vocabulary.sql");
  await writeFile(file, `${await readFile(file, "utf8")}\nselect 1;`);
  await expect(migrate(database.url, { directory })).rejects.toThrow("0003_vocabulary.sql was edited");
});

test("a rule that fails names its file and line, and leaves all rules as they were", async () => {
  await beginMigrated();
  const before = await catalog();
  await writeFile(join(directory, "rules/needs.sql"), "select 1;\nselect nonsense;\n");
  await expect(migrate(database.url, { directory })).rejects.toThrow("db/rules/needs.sql:2");
  expect(await catalog()).toEqual(before);
});

test("a change in one rules file takes effect with a migrate and nothing else", async () => {
  await beginMigrated();
  await buildWorld(database.owner);
  const declare = async () => {
    const client = await database.owner.connect();
    try {
      await client.query("begin; set local role api_write");
      await client.query("select app_public.declare_need($1, 'River', $2, 'Prayer', '{PRA}')", [ORG, member]);
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  };
  await expect(declare()).rejects.toMatchObject({ code: "PT403", detail: "insufficient_role" });

  const file = join(directory, "rules/permissions.sql");
  const rule = await readFile(file, "utf8");
  await writeFile(
    file,
    rule.replace("('org_contributor', 'needs:write'),", "$&\n    ('org_member', 'needs:write'),"),
  );
  await migrate(database.url, { directory });
  await expect(declare()).resolves.toBeUndefined();

  await writeFile(file, rule.replace("'administrator', 'manages", "'manager', 'manages"));
  await migrate(database.url, { directory });
  await expect(declare()).rejects.toMatchObject({ detail: "insufficient_role" });
  const titles = async () => {
    const { rows } = await database.owner.query<{ title: string }>(
      "select title from app_public.organization_roles order by role",
    );
    return rows.map(({ title }) => title);
  };
  expect(await titles()).toEqual(["manager", "contributor", "member"]);
  // A role without words is offered to nobody.
  await writeFile(file, rule.replace(/^.*'org_contributor', 'contributor'.*\n/m, ""));
  await migrate(database.url, { directory });
  expect(await titles()).toEqual(["administrator", "member"]);
  await writeFile(file, rule);
  await migrate(database.url, { directory });
  expect(await titles()).toEqual(["administrator", "contributor", "member"]);
});

test("a job that the worker has no task for any more leaves the queue", async () => {
  // A database as 0.1.0 left it.
  for (const later of ["0030_one_place.sql", "0031_validate_state.sql"]) {
    await rm(join(directory, "migrations", later));
  }
  await Promise.all(
    (await rulesIn(join(directory, "rules"))).map((file) => rm(join(directory, "rules", file))),
  );
  await writeFile(join(directory, "rules/index.sql"), "");
  await migrate(database.url, { directory });
  await database.owner.query("select graphile_worker.add_job('sweep', job_key => 'sweep')");
  await migrate(database.url);
  const { rows } = await database.owner.query("select from graphile_worker.jobs");
  expect(rows).toEqual([]);
});

describe("what a server asks before it listens", () => {
  /** What the database lacks that this release relies on, as the server's login is told. */
  const lacking = async () => {
    const server = createPool(database.serverUrl, { max: 1 });
    try {
      return await lackingIn(server);
    } finally {
      await server.end();
    }
  };
  const sums = () => join(directory, "rules/SHA256SUMS");

  test("a rule that was changed and applied on purpose is no other version", async () => {
    await writeFile(join(directory, "rules/limits.sql"), "\n-- ours\n", { flag: "a" });
    await migrate(database.url, { directory });
    expect(await lacking()).toBeUndefined();
  });

  test("of several migrations that it lacks the first is told", async () => {
    await migrate(database.url);
    const { rows } = await database.owner.query(
      "select app_private.lacking('{9998_later,9997_first,9999_last}', 'any') as lacking",
    );
    expect(rows).toEqual([{ lacking: "db/migrations/9997_first.sql" }]);
  });

  test("rules of another release are, also without a migration", async () => {
    await writeFile(sums(), "of another release\n");
    await migrate(database.url, { directory });
    expect(await lacking()).toBe("db/rules");
  });

  test("rules of a later release serve as well, until those of an earlier one take their place", async () => {
    const release = async (name: string) => {
      await writeFile(sums(), name);
      await migrate(database.url, { directory });
    };
    await release("the one before");
    await migrate(database.url);
    await release("a later one");
    expect(await lacking()).toBeUndefined();
    await migrate(database.url);
    expect(await lacking()).toBeUndefined();
    await release("the one before");
    expect(await lacking()).toBe("db/rules");
    await migrate(database.url);
    expect(await lacking()).toBeUndefined();
  });

  test("a migration that the rules came without is named", async () => {
    await beginMigrated();
    await database.owner.query("delete from app_migrations.applied where version = '0076_mailboxes'");
    expect(await lacking()).toBe("db/migrations/0076_mailboxes.sql");
  });

  test("a database that nothing was ever done to lacks all", async () => {
    expect(await lacking()).toBe("db/rules");
  });

  test("a release that did not know the question has other rules", async () => {
    await beginMigrated();
    await database.owner.query("drop function app_private.lacking");
    expect(await lacking()).toBe("db/rules");
  });
});

test("what an earlier version of the rules created, allowed and said is gone", async () => {
  await beginMigrated();
  const before = await catalog();
  await database.owner.query(`
    create function app_private.left_over() returns trigger language plpgsql as 'begin return new; end';
    create trigger left_over before insert on app_public.needs for each row execute function app_private.left_over();
    create policy left_over on app_public.needs for select to api_read using (true);
    grant insert on app_public.needs to api_read;
    grant create on schema rest to api_read;
    -- One that an index is built on, which the rules leave where it is.
    grant execute on function app_private.fold(text) to engagement_server;
    insert into app_public.organization_permissions values ('org_member', 'needs:write');
    insert into app_public.platform_permissions values ('support', 'roles:assign');
    insert into app_private.free_mail_domains values ('gives-mailboxes-no-more.example');
    update app_private.settings set description = 'Of before.' where name = 'graph_data_url'`);
  await migrate(database.url);
  expect(await catalog()).toEqual(before);
});

test.each([
  ["a view", "create view reporting.v as select * from rest.needs", "reporting.v uses rest.needs"],
  [
    "a view that calls a function",
    "create view reporting.v as select app_private.trimmed(name) from app_public.organizations",
    "reporting.v uses app_private.trimmed(text)",
  ],
  [
    "a function",
    "create function reporting.f() returns bigint language sql begin atomic; select count(*) from rest.needs; end",
    "function reporting.f() uses rest.needs",
  ],
  [
    "a function that takes a row",
    "create function reporting.f(rest.needs) returns text language sql return 'x'",
    "function reporting.f(rest.needs) uses rest.needs",
  ],
  [
    "a check",
    "create table reporting.t (n text constraint c check (app_private.trimmed(n) <> ''))",
    "constraint c on table reporting.t uses app_private.trimmed(text)",
  ],
  [
    "a column",
    "create table reporting.t (n text, x text default app_private.trimmed(' a '))",
    "default value for column x of table reporting.t uses app_private.trimmed(text)",
  ],
  [
    "a check on a table of the service",
    "alter table app_public.users add constraint c check (app_private.mail_domain(email) <> 'x')",
    "constraint c on table app_public.users uses app_private.mail_domain(text)",
  ],
  [
    "an index on a table of the service",
    "create index own on app_private.mails (app_private.mail_domain(recipient))",
    "index app_private.own uses app_private.mail_domain(text)",
  ],
  [
    "a column of a table of the service",
    "alter table app_public.users add column x text default app_private.trimmed(' a ')",
    "default value for column x of table app_public.users uses app_private.trimmed(text)",
  ],
  [
    "a column with a row of a view",
    "create table app_public.own (x rest.needs)",
    "column x of table app_public.own uses rest.needs",
  ],
  [
    "a domain",
    "create domain app_public.own as text constraint c check (app_private.trimmed(value) <> '')",
    "constraint c uses app_private.trimmed(text)",
  ],
  [
    "a materialized view beside the service's tables",
    "create materialized view app_public.own as select app_private.trimmed(name) as x from app_public.organizations",
    "app_public.own uses app_private.trimmed(text)",
  ],
  [
    "an index on one",
    `create materialized view app_public.own as select name from app_public.organizations;
     create index on app_public.own (app_private.trimmed(name))`,
    "index app_public.own_trimmed_idx uses app_private.trimmed(text)",
  ],
])("what somebody has built on the rules is not dropped: %s", async (_, sql, said) => {
  await beginMigrated();
  await database.owner.query(`create schema reporting; ${sql}`);
  const before = await catalog();
  const why = `${said}: a migration makes functions and views anew, and would drop what uses them. Drop it`;
  await expect(migrate(database.url)).rejects.toThrow(why);
  await expect(planMigration(database.url)).rejects.toThrow(why);
  await writeFile(join(directory, "migrations/9000_later.sql"), "select 1");
  await expect(migrate(database.url, { directory })).rejects.toThrow(why);
  const { rows } = await database.owner.query(
    "select from app_migrations.applied where version = '9000_later'",
  );
  expect(rows).toEqual([]);
  expect(await catalog()).toEqual(before);
});

test("what somebody has built on tables stays, and so it does on functions that a migration has made", async () => {
  await beginMigrated();
  await database.owner.query(
    `create schema reporting;
     create view reporting.v as select app_private.fold(name) from app_public.organizations;
     alter table app_public.users add constraint own check (app_private.mailbox(email) <> '');
     create index own on app_public.users (app_private.mailbox(email))`,
  );
  const before = await catalog();
  await migrate(database.url);
  await migrate(database.url);
  await database.owner.query("select from reporting.v");
  expect(await catalog()).toEqual(before);
});

test("a rewrite rule on a table of the service is planned to be dropped, and is", async () => {
  await beginMigrated();
  const before = await catalog();
  await database.owner.query("create rule r as on delete to app_public.needs do instead nothing");
  const { changes } = await planMigration(database.url);
  expect(changes).toMatchObject([{ kind: "trigger", name: "rule r on app_public.needs", after: null }]);
  await migrate(database.url);
  expect(await catalog()).toEqual(before);
  const { rows } = await database.owner.query("select from pg_rewrite where rulename = 'r'");
  expect(rows).toEqual([]);
});

test("a migration may change a column that the rules before it use", async () => {
  await beginMigrated();
  await migrate(database.url, { directory });
  await writeFile(
    join(directory, "migrations/9000_later.sql"),
    "drop view rest.needs cascade; alter table app_public.needs alter column org_name type varchar;",
  );
  expect(await migrate(database.url, { directory })).toEqual(["9000_later"]);
});

/** What is wrong with the migrations in a folder, according to the list of checksums next to them. */
async function checksumProblems(folder: string): Promise<string[]> {
  const lines = (await readFile(join(folder, "SHA256SUMS"), "utf8")).trim().split("\n");
  const listed = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).toSorted();
  const missing = [...listed.keys()].filter((file) => !files.includes(file));
  const problems = missing.map((file) => `${file} is in SHA256SUMS, but not in db/migrations.`);
  for (const file of files) {
    const checksum = createHash("sha256")
      .update(await readFile(join(folder, file)))
      .digest("hex");
    if (!listed.has(file)) {
      problems.push(`${file} is new. Add it: npm run generate`);
    } else if (listed.get(file) !== checksum) {
      problems.push(`${file} was edited. Undo that and add a migration, unless no release has this one yet.`);
    }
  }
  return problems;
}

test("released migrations are unchanged", async () => {
  expect(await checksumProblems(join(import.meta.dirname, "../db/migrations"))).toEqual([]);
});

test("a migration that was edited, removed or not listed is named", async () => {
  const folder = join(directory, "migrations");
  await writeFile(join(folder, "0003_vocabulary.sql"), "select 1;");
  await rm(join(folder, "0006_graph_references.sql"));
  await writeFile(join(folder, "9000_later.sql"), "select 1;");
  expect(await checksumProblems(folder)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^0006_graph_references\.sql is in SHA256SUMS, but not in db/),
      expect.stringMatching(/^0003_vocabulary\.sql was edited/),
      expect.stringMatching(/^9000_later\.sql is new/),
    ]),
  );
});
