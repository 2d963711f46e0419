// Invariants of the catalog, so that a future table or function cannot forget them.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const OURS = "('app_public', 'app_private', 'rest')";

async function column(sql: string): Promise<string[]> {
  const { rows } = await database.owner.query<{ found: string }>(sql);
  return rows.map((row) => row.found);
}

test("every table has row-level security", async () => {
  expect(
    await column(`
      select c.oid::regclass::text as found from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname in ${OURS} and not c.relrowsecurity`),
  ).toEqual([]);
});

test("every view runs with its caller's rights", async () => {
  expect(
    await column(`
      select c.oid::regclass::text as found from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'v' and n.nspname in ${OURS}
        and coalesce(c.reloptions @> array['security_invoker=true'], false) is false`),
  ).toEqual([]);
});

test("no view reads PostgreSQL's own tables, which a migration would lock with it", async () => {
  expect(
    await column(`
      select distinct c.oid::regclass::text as found
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_rewrite r on r.ev_class = c.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
      join pg_class read on read.oid = d.refobjid
      where c.relkind = 'v' and n.nspname in ${OURS} and read.relnamespace = 'pg_catalog'::regnamespace`),
  ).toEqual([]);
});

test("every function, table and view has a comment", async () => {
  expect(
    await column(`
      select p.oid::regprocedure::text as found from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in ${OURS} and obj_description(p.oid, 'pg_proc') is null
      union all
      select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'v') and n.nspname in ${OURS} and obj_description(c.oid, 'pg_class') is null`),
  ).toEqual([]);
});

test("every security-definer function fixes a search_path that ends in pg_temp", async () => {
  expect(
    await column(`
      select p.oid::regprocedure::text as found from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in ${OURS} and p.prosecdef
        and not exists (select from unnest(p.proconfig) as setting where setting ~ '^search_path=.*\\mpg_temp$')`),
  ).toEqual([]);
});

test("every foreign key is indexed", async () => {
  expect(
    await column(`
      select format('%s (%s)', k.conrelid::regclass, k.conname) as found
      from pg_constraint k join pg_namespace n on n.oid = k.connamespace
      where k.contype = 'f' and n.nspname in ${OURS}
        and not exists (
          select from pg_index i
          where i.indrelid = k.conrelid
            and (i.indkey::smallint[])[0:cardinality(k.conkey) - 1] @> k.conkey)`),
  ).toEqual([]);
});

test("no policy calls a function that is not wrapped in a select", async () => {
  const conditions = () =>
    column(`
      select format('%s on %s: %s', policyname, tablename, condition) as found
      from pg_policies, unnest(array[qual, with_check]) as condition
      where schemaname in ${OURS} and condition is not null`);
  const unwrapped = async () =>
    (await conditions()).filter((told) => /app_(private|public)\.\w+</.test(outsideSelects(told)));
  expect(await unwrapped()).toEqual([]);
  await database.owner.query(`
    create policy half_wrapped on app_public.needs for delete to api_write
    using ((select app_private.authorize(org_uri, lower(org_name), 'needs:write')) and app_private.is_email(org_name))`);
  try {
    expect(await unwrapped()).toEqual([expect.stringMatching(/^half_wrapped on needs: /)]);
  } finally {
    await database.owner.query("drop policy half_wrapped on app_public.needs");
  }
});

/** A condition without what is within ( SELECT … ), and with all other parentheses as < and >. */
function outsideSelects(condition: string): string {
  const outside = condition
    .replaceAll(/\( SELECT\b[^()]*\)/g, "")
    .replaceAll(/\((?! SELECT\b)([^()]*)\)/g, "<$1>");
  return outside === condition ? outside : outsideSelects(outside);
}

test("PUBLIC may do nothing", async () => {
  expect(
    await column(`
      select p.oid::regprocedure::text as found
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace,
        lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as acl
      where n.nspname in ${OURS} and acl.grantee = 0
      union all
      select c.oid::regclass::text
      from pg_class c join pg_namespace n on n.oid = c.relnamespace, lateral aclexplode(c.relacl) as acl
      where n.nspname in ${OURS} and acl.grantee = 0`),
  ).toEqual([]);
});

test("the server's login can only become an API role", async () => {
  const { rows } = await database.owner.query(`
    select rolinherit, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls,
      array(select roleid::regrole::text from pg_auth_members where member = 'engagement_server'::regrole order by 1) as of
    from pg_roles where rolname = 'engagement_server'`);
  expect(rows).toEqual([
    {
      rolinherit: false,
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolbypassrls: false,
      of: ["api_person", "api_read", "api_review", "api_write"],
    },
  ]);
});

test("privileges are exactly the listed ones", async () => {
  // A grant that is added or lost shows up as a difference here; it must be intended in db/rules/grants.sql.
  const granted = await column(`
    select format('%s %s %s', acl.grantee::regrole, lower(acl.privilege_type), c.oid::regclass) as found
    from pg_class c join pg_namespace n on n.oid = c.relnamespace, lateral aclexplode(c.relacl) as acl
    where n.nspname in ${OURS} and acl.grantee <> c.relowner
    union all
    select format('%s %s %s (%s)', acl.grantee::regrole, lower(acl.privilege_type), c.oid::regclass,
      string_agg(a.attname, ', ' order by a.attnum))
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid, lateral aclexplode(a.attacl) as acl
    where n.nspname in ${OURS} and acl.grantee <> c.relowner
    group by acl.grantee, acl.privilege_type, c.oid
    union all
    select format('%s %s %s', acl.grantee::regrole, lower(acl.privilege_type), p.oid::regprocedure)
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace, lateral aclexplode(p.proacl) as acl
    where n.nspname in ${OURS} and acl.grantee <> p.proowner
    order by 1`);
  expect(granted.join("\n")).toMatchSnapshot();
});

test("row-level policies are exactly the listed ones", async () => {
  // Whoever sees or writes more rows, or fewer, shows up as a difference here; it must be intended in db/rules.
  const policies = await column(`
    select concat_ws(' ', p.schemaname || '.' || p.tablename, lower(p.cmd), 'to', array_to_string(p.roles, ', '),
      nullif(lower(p.permissive), 'permissive'), 'using ' || p.qual, 'check ' || p.with_check) as found
    from pg_policies as p where p.schemaname in ${OURS} order by 1`);
  expect(policies.join("\n")).toMatchSnapshot();
});

test("functions that act with their owner's rights are exactly the listed ones", async () => {
  const definers = await column(`
    select p.oid::regprocedure::text as found from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ${OURS} and p.prosecdef order by p.oid::regprocedure::text collate "C"`);
  expect(definers.join("\n")).toMatchSnapshot();
});

test("triggers stand exactly where the listed ones do, and for the same occasions", async () => {
  const triggers = await column(`
    select replace(substring(pg_get_triggerdef(t.oid) from 'TRIGGER (.*)'), ' EXECUTE FUNCTION ', ': ') as found
    from pg_trigger as t join pg_class as c on c.oid = t.tgrelid join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname in ${OURS} and not t.tgisinternal and t.tgenabled = 'O'
    order by c.oid::regclass::text collate "C", t.tgname`);
  expect(triggers.join("\n")).toMatchSnapshot();
});

test("what an argument is when nobody gives it is exactly as listed", async () => {
  const defaults = await column(`
    select format('%s: %s', p.proname, (
        select string_agg(substring(argument from '^(.*) DEFAULT') || ' = ' || substring(argument from 'DEFAULT (.*)$'), ', ')
        from regexp_split_to_table(pg_get_function_arguments(p.oid), ', (?=\\S+ [^,]*( DEFAULT |$|,))') as argument
        where argument ~ ' DEFAULT ')) as found
    from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ${OURS} and p.pronargdefaults > 0 order by p.oid::regprocedure::text collate "C"`);
  expect(defaults.join("\n")).toMatchSnapshot();
});

test("functions that look for names along their caller's search_path are exactly the listed ones", async () => {
  // Only of those whose text is read when they are called: in the others each name was found when they were made.
  const open = await column(`
    select p.oid::regprocedure::text as found from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ${OURS} and p.prosqlbody is null and p.prokind = 'f'
      and not exists (select from unnest(p.proconfig) as setting where setting ~ '^search_path=.*\\mpg_temp$')
    order by p.oid::regprocedure::text collate "C"`);
  expect(open.join("\n")).toMatchSnapshot();
});

test("functions take exactly the listed locks, in that order", async () => {
  // A lock that is lost is missed by nobody until two come at once, and of two in another order than elsewhere
  // (test/lock-order.test.ts) each waits for the other.
  const locks = await column(`
    select format('%s: %s', p.oid::regprocedure, string_agg(array_to_string(l.taken, ''), ', ' order by l.place)) as found
    from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace,
      regexp_matches(lower(pg_get_functiondef(p.oid)),
        $re$(for (?:no key update|update|key share|share)(?: of \\w+)?(?: skip locked)?)(?=[\\s;)])$re$
        || $re$|(pg_\\w*advisory\\w+\\((?:hashtextextended\\('[\\w.]+')?)|(lock table [\\w. ]+)|app_private\\.(lock_\\w+)\\($re$,
        'g') with ordinality as l (taken, place)
    where n.nspname in ${OURS} and p.prokind = 'f'
    group by p.oid order by p.oid::regprocedure::text collate "C"`);
  expect(locks.join("\n")).toMatchSnapshot();
});

describe("who acts", () => {
  // Of the functions that callers may call, the arguments that are addresses.
  const addresses = `
    select p.proname as name, argument, substring(obj_description(p.oid, 'pg_proc') from '@actor (\\w+)') as actor,
      p.prosrc as body
    from pg_proc as p, unnest(p.proargnames[1:p.pronargs]) as argument
    where p.pronamespace = 'app_public'::regnamespace and argument ~ 'email'
      and exists (select from unnest(array['api_read', 'api_write', 'api_review', 'api_person']) as role
                  where has_function_privilege(role, p.oid, 'execute'))`;

  test("every address that a function takes is of who acts (@actor), or one of these, which are of somebody else", async () => {
    expect(
      await column(`
        select format('%s(%s)', name, argument) as found from (${addresses}) as taken
        where argument is distinct from actor order by 1`),
    ).toEqual([
      "appoint_administrator(user_email)",
      "check_user(email)",
      "set_member_role(user_email)",
      "set_member_status(user_email)",
      "set_platform_role(user_email)",
    ]);
  });

  test("every function whose argument is who acts names them to name_actor, or to the policy of what it inserts", async () => {
    expect(
      await column(`
        select format('%s(%s)', name, argument) as found from (${addresses}) as taken
        where argument = actor
          and position(format('app_private.name_actor(%s)', argument) in body) = 0
          and not exists (
            select from pg_policies as p
            where p.cmd = 'INSERT' and body ~ format('insert into %s.%s\\M', p.schemaname, p.tablename)
              and with_check ~ format('authorize\\([^)]*\\m%s,', argument))`),
    ).toEqual([]);
    // Otherwise this would be a test of nothing.
    expect(
      (await column(`select name as found from (${addresses}) as taken where argument = actor`)).length,
    ).toBeGreaterThan(10);
  });

  test("whatever asks for a permission in somebody's name asks whether it is the caller's", async () => {
    expect(
      await column(`
        select p.proname::text as found from pg_proc as p
        where p.oid in ('app_private.authorize'::regproc, 'app_private.require_platform_permission'::regproc)
          and position('app_private.require_own_identity(email)' in p.prosrc) = 0`),
    ).toEqual([]);
  });
});

test("every role in an organization has a title and a description", async () => {
  expect(
    await column(`
      select format('db/rules/permissions.sql does not say what the role %s is called', role) as found
      from unnest(enum_range(null::app_public.organization_role)) as role
      where role not in (select role from app_public.organization_roles)`),
  ).toEqual([]);
});

/** The files of rules of which the text matches. */
async function rulesThat(match: RegExp): Promise<string[]> {
  const rules = join(import.meta.dirname, "../db/rules");
  const files = (await readdir(rules)).filter((name) => name.endsWith(".sql"));
  expect(files).toContain("validation.sql");
  const texts = await Promise.all(files.map((name) => readFile(join(rules, name), "utf8")));
  return files.filter((_, index) => match.test(texts[index]!));
}

test("no rule uses the escape \\v, which is the letter v before PostgreSQL 17", async () => {
  expect(await rulesThat(/\\v/)).toEqual([]);
});

test("no rule changes a table, an index or a type: rules are applied each time, and migrations once", async () => {
  expect(await rulesThat(/^\s*(create|alter|drop|truncate) (table|index|type|sequence)\b/im)).toEqual([]);
});
