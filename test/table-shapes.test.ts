// What the migrations have made of tables, types and settings, and how PostgreSQL may treat the functions. A difference belongs to the
// change that it comes with: `npm test -- test/table-shapes -u` writes the lists anew.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const OURS = "('app_public', 'app_private', 'rest')";

async function list(sql: string): Promise<string> {
  const { rows } = await database.owner.query<{ found: string }>(sql);
  expect(rows.length).toBeGreaterThan(5);
  return rows.map(({ found }) => found).join("\n");
}

test("columns are of the listed types, begin with the listed values, and are missing only where the list has it", async () => {
  const columns = await list(`
    select concat_ws(' ', format('%s.%s', c.oid::regclass, a.attname), format_type(a.atttypid, a.atttypmod),
      case when a.attcollation <> t.typcollation then format('collate %s', a.attcollation::regcollation) end,
      case when a.attnotnull then 'not null' end, case when a.attidentity <> '' then 'generated as identity' end,
      case when a.attgenerated <> '' then 'always' when d.oid is not null then 'default' end,
      pg_get_expr(d.adbin, d.adrelid)) as found
    from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type as t on t.oid = a.atttypid
    left join pg_attrdef as d on d.adrelid = c.oid and d.adnum = a.attnum
    where n.nspname in ${OURS} and c.relkind in ('r', 'p')
    order by c.oid::regclass::text collate "C", a.attnum`);
  expect(columns).toMatchSnapshot();
});

test("tables refuse, and delete along with something else, exactly what is listed", async () => {
  const constraints = await list(`
    select format('%s %s', k.conrelid::regclass, pg_get_constraintdef(k.oid)) as found
    from pg_constraint as k join pg_namespace as n on n.oid = k.connamespace
    where n.nspname in ${OURS} and k.contype in ('c', 'f', 'p', 'u', 'x')
    order by k.conrelid::regclass::text collate "C", pg_get_constraintdef(k.oid) collate "C"`);
  expect(constraints).toMatchSnapshot();
});

test("indexes and sequences are exactly the listed ones", async () => {
  const indexes = await list(`
    select replace(pg_get_indexdef(i.indexrelid), 'CREATE ', '') as found
    from pg_index as i join pg_class as c on c.oid = i.indrelid join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname in ${OURS} and c.relkind in ('r', 'p')
    union all
    select format('SEQUENCE %s.%s from %s by %s', s.schemaname, s.sequencename, s.start_value, s.increment_by)
    from pg_sequences as s where s.schemaname in ${OURS}
    order by 1`);
  expect(indexes).toMatchSnapshot();
});

test("the values of lists, and the fields of answers, come in the listed order", async () => {
  const types = await list(`
    select format('%s: %s', t.oid::regtype, coalesce(
        (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum as e where e.enumtypid = t.oid),
        (select string_agg(format('%s %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum)
         from pg_attribute as a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped))) as found
    from pg_type as t join pg_namespace as n on n.oid = t.typnamespace left join pg_class as c on c.oid = t.typrelid
    where n.nspname in ${OURS} and (t.typtype = 'e' or c.relkind = 'c')
    order by t.oid::regtype::text collate "C"`);
  expect(types).toMatchSnapshot();
});

test("an installation begins with the listed settings", async () => {
  // The addresses of the graph are what migrate was told, and in graph_references is what is in files. What is drawn is another each time.
  const settings = await list(`
    select format('%s = %s: %s', s.name, case when s.value::text ~ '^"[0-9a-f]{8}-[-0-9a-f]{27}"$' then 'drawn' else s.value::text end,
      s.description) as found from app_private.settings as s
    where s.name not in ('graph_data_url', 'namespace_url') order by s.name collate "C"`);
  expect(settings).toMatchSnapshot();
});

test("functions are kept for a statement, called without values, and run with other settings exactly as listed", async () => {
  const functions = await list(`
    select concat_ws(' ', p.oid::regprocedure, (array['immutable', 'stable', 'volatile'])[strpos('isv', p.provolatile)],
      case when p.proisstrict then 'strict' end, case when p.proparallel = 's' then 'parallel safe' end,
      case when p.proretset then format('rows %s', p.prorows) end,
      (select string_agg(setting, ' ' order by setting) from unnest(p.proconfig) as setting
       where setting !~ '^search_path=')) as found
    from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ${OURS} and p.prokind = 'f'
    order by p.oid::regprocedure::text collate "C"`);
  expect(functions).toMatchSnapshot();
});

test("countries are known by the listed codes and names", async () => {
  const countries = await list(`
    select concat_ws(' ', c.alpha2, c.alpha3, c.name, '(' || string_agg(n.name, '; ' order by n.name collate "C") || ')') as found
    from app_public.countries as c left join app_public.country_names as n on n.alpha2 = c.alpha2
    group by c.alpha2 order by c.alpha2 collate "C"`);
  expect(countries).toMatchSnapshot();
});
