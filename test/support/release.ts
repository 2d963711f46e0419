// What a database holds, table by table, and a database of an earlier release.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import pg from "pg";

const FIXTURE = join(import.meta.dirname, "../fixtures/release-0.1.0.sql.gz");

/** Rows of each table as JSON, in an order of their own. */
export type Rows = Record<string, Record<string, unknown>[]>;
/** Columns of each table: type, default, whether null is let in; and the table's checks. */
export type Columns = Record<string, Record<string, string>>;

/** Restores the dump of release 0.1.0 into an empty database. */
export async function restoreRelease(url: string): Promise<void> {
  const dump = (await promisify(gunzip)(await readFile(FIXTURE))).toString();
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(dump);
  } finally {
    await client.end();
  }
}

/** Makes the schema of graphile-worker as it was at one of its own migrations. */
export async function installJobQueue(db: pg.Pool, upTo: number): Promise<void> {
  const folder = join(fileURLToPath(import.meta.resolve("graphile-worker")), "../../sql");
  await db.query(`create schema graphile_worker;
    create table graphile_worker.migrations (id int primary key, ts timestamptz default now() not null)`);
  for (let id = 1; id <= upTo; id += 1) {
    const sql = await readFile(join(folder, `${String(id).padStart(6, "0")}.sql`), "utf8");
    await db.query(sql.replaceAll(":GRAPHILE_WORKER_SCHEMA", "graphile_worker"));
    await db.query("insert into graphile_worker.migrations (id) values ($1)", [id]);
  }
}

/**
 * All rows of all tables that are not PostgreSQL's own.
 * @param only leaves out tables and columns that are not among these
 */
export async function rowsOf(db: pg.Pool, only?: Columns): Promise<Rows> {
  const found: Rows = {};
  const columns = await columnsOf(db);
  for (const [table, kinds] of Object.entries(columns)) {
    const names = Object.keys(only ? (only[table] ?? {}) : kinds).filter(
      (name) => name in kinds && name !== CHECKS,
    );
    if (names.length === 0) continue;
    const { rows } = await db.query<{ row: Record<string, unknown> }>(
      `select to_jsonb(t) as row from (select ${names.map(pg.escapeIdentifier).join(", ")} from ${table}) as t
       order by to_jsonb(t)::text`,
    );
    found[table] = rows.map(({ row }) => row);
  }
  return found;
}

const CHECKS = "(checks)";

/** The columns of all tables that are not PostgreSQL's own. A dump adds parentheses to a check, so they are left out. */
export async function columnsOf(db: pg.Pool): Promise<Columns> {
  const { rows } = await db.query<{ table: string; columns: Record<string, string> }>(`
    select c.oid::regclass::text as table,
      jsonb_object_agg(a.attname, format('%s %s %s', format_type(a.atttypid, a.atttypmod),
        case when a.attnotnull then 'not null' end, pg_get_expr(d.adbin, d.adrelid)))
      || jsonb_build_object('${CHECKS}', (
        select string_agg(k.text, ' ' order by k.text)
        from (select *, translate(pg_get_constraintdef(oid), '()', '') as text from pg_constraint) as k
        where k.conrelid = c.oid and k.contype in ('c', 'f', 'p', 'u'))) as columns
    from pg_class as c
    join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef as d on (d.adrelid, d.adnum) = (c.oid, a.attnum)
    where c.relkind = 'r' and c.relnamespace::regnamespace::text ~ '^(app_|graphile_)'
    group by c.oid`);
  return Object.fromEntries(rows.map(({ table, columns }) => [table, columns]));
}
