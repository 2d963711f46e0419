// Church search: what it costs at 10,000 and at 1,000,000 churches, over HTTP and through the tool endpoint,
// and how fast churches are imported.
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { importChurches } from "../db/churches/import.ts";
import { createPool } from "../db/pool.ts";
import { churchCsv } from "./church-data.ts";
import {
  inTurns,
  percentile,
  requestsPerSecond,
  round,
  startBenchDatabase,
  startChild,
  timed,
} from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const SMALL = 10_000;
const IMPORTED = 100_000;
const LARGE = 1_000_000;
const ASKED = 300;

type Sample = { name: string; locality: string; region: string; belief: string; lat: number; lng: number };
type Times = { p50: number; p95: number };

const SEARCHES: Record<string, (at: Sample) => object> = {
  "radius of 25 km": ({ lat, lng }) => ({ center_lat: lat, center_lng: lng, radius_km: 25 }),
  "box of half a degree": ({ lat, lng }) => ({
    min_lat: lat - 0.25,
    max_lat: lat + 0.25,
    min_lng: Math.max(-180, lng - 0.25),
    max_lng: Math.min(180, lng + 0.25),
  }),
  "belief, locality and region": ({ belief, locality, region }) => ({ belief: [belief], locality, region }),
  "free text: name and place": ({ name, locality }) => ({
    q: `${name.split(" ").slice(0, 2).join(" ")} ${locality}`,
  }),
  "free text, misspelt": ({ name, locality }) => ({
    q: `${misspelt(name.split(" ")[1]!)} ${misspelt(locality)}`,
  }),
};

/** The figures of church search; takes about three minutes. */
export async function benchChurches(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  try {
    await bringIn(database.owner, SMALL);
    const small = await timesOf(database);
    await database.owner.query(
      "truncate app_public.churches, app_private.church_words, app_private.church_tags",
    );
    const rate = await bringIn(database.owner, IMPORTED);
    const limit = await copyRate(database.owner);
    await multiply(database.owner, LARGE / IMPORTED);
    const large = await timesOf(database);
    return [
      {
        subject: `import of ${round(IMPORTED)} churches, 17 columns of CSV, against COPY of the same rows into a table with the same indexes`,
        measured: `${round(rate / limit)} (${round(rate)} against ${round(limit)} rows/s)`,
        aim: "≥ 0.8",
      },
      ...Object.keys(SEARCHES).map((name) => compared(name, small[name]!, large[name]!)),
      ...(await overHttp(database)),
    ];
  } finally {
    await database.stop();
  }
}

function compared(name: string, small: Times, large: Times): Figure {
  const ratio = round(large.p50 / small.p50);
  return {
    subject: `${name}, 20 of 1,000,000 churches against 10,000, in SQL`,
    measured: `${ratio} (p50 ${round(large.p50)} against ${round(small.p50)} ms; p95 ${round(large.p95)} against ${round(small.p95)} ms)`,
    aim: name.startsWith("radius") ? "≤ 2, p95 < 15 ms" : "≤ 2",
  };
}

/** Imports churches into an empty table; returns how many per second. */
async function bringIn(pool: pg.Pool, count: number): Promise<number> {
  // Generated beforehand, so that only the import is measured.
  const csv = [...churchCsv(count)];
  const started = performance.now();
  await importChurches(pool, Readable.from(csv), { format: "csv" });
  const rate = count / ((performance.now() - started) / 1000);
  await pool.query("vacuum analyze");
  return rate;
}

/**
 * The rows per second of COPY alone, with the churches that are there, on one
 * connection and without triggers.
 */
async function copyRate(pool: pg.Pool): Promise<number> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ columns: string }>(
      `select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
       where (table_schema, table_name, is_generated) = ('app_public', 'churches', 'NEVER')`,
    );
    const { columns } = rows[0]!;
    const copied = await buffer(client.query(copyTo(`copy app_public.churches (${columns}) to stdout`)));
    await client.query("create table public.copied (like app_public.churches including all)");
    const ms = await timed(() =>
      pipeline(Readable.from([copied]), client.query(copyFrom(`copy public.copied (${columns}) from stdin`))),
    );
    const count = await client.query<{ count: number }>(
      "select count(*)::integer as count from public.copied",
    );
    await client.query("drop table public.copied");
    return (count.rows[0]!.count * 1_000) / ms;
  } finally {
    client.release();
  }
}

/**
 * Multiplies each church within its neighbourhood. Indexes are built afterwards, since
 * only the searches are timed.
 */
async function multiply(pool: pg.Pool, times: number): Promise<void> {
  const { rows: indexes } = await pool.query<{ name: string; definition: string }>(
    `select format('app_public.%I', indexname) as name, indexdef as definition from pg_indexes
     where schemaname = 'app_public' and tablename = 'churches' and indexname <> 'churches_pkey'`,
  );
  for (const { name } of indexes) await pool.query(`drop index ${name}`);
  await pool.query("alter table app_public.churches disable trigger user");
  await pool.query(
    `insert into app_public.churches (church_id, name, latitude, longitude, address, locality, region, postal_code, country,
       website, belief_type, denomination, church_summary, ministry_names, service_languages, service_times)
     select church_id || '-' || n, name, latitude + (random() - 0.5) / 10, longitude + (random() - 0.5) / 10, address,
       locality, region, postal_code, country, website, belief_type, denomination, church_summary, ministry_names,
       service_languages, service_times
     from app_public.churches, generate_series(2, $1::integer) as n`,
    [times],
  );
  const client = await pool.connect();
  await client.query("set maintenance_work_mem = '512MB'");
  for (const { definition } of indexes) await client.query(definition);
  client.release();
  await pool.query("vacuum analyze");
}

async function samples(pool: pg.Pool): Promise<Sample[]> {
  const { rows } = await pool.query<Sample>(
    `select name, locality, region, belief_type as belief, latitude as lat, longitude as lng
     from app_public.churches order by md5(church_id) limit $1`,
    [ASKED],
  );
  return rows;
}

async function timesOf(database: BenchDatabase): Promise<Record<string, Times>> {
  const asked = await samples(database.owner);
  const pool = createPool(database.url, { max: 1 });
  await pool.query("set role api_read");
  const result: Record<string, Times> = {};
  for (const [name, search] of Object.entries(SEARCHES)) {
    const ask = async (at: Sample) => {
      const started = performance.now();
      await pool.query({
        name: "page",
        text: "select app_private.church_page($1)",
        values: [JSON.stringify(search(at))],
      });
      return performance.now() - started;
    };
    for (const at of asked.slice(0, 50)) await ask(at);
    const times: number[] = [];
    for (const at of asked) times.push(await ask(at));
    result[name] = { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
  }
  await pool.end();
  return result;
}

async function overHttp(database: BenchDatabase): Promise<Figure[]> {
  const [served, handwritten] = await Promise.all([
    startChild("served.ts", { DATABASE_URL: database.serverUrl, RATE_LIMIT_PER_MINUTE: "100000000" }),
    startChild("churches-handwritten.ts", { DATABASE_URL: database.serverUrl }),
  ]);
  try {
    const [at] = await samples(database.owner);
    const query = SEARCHES["radius of 25 km"]!(at!);
    const path = `/v0/orgs/search?${new URLSearchParams(Object.entries(query).map(([k, v]): [string, string] => [k, String(v)])).toString()}`;
    const headers = { authorization: `Bearer ${database.key}`, "content-type": "application/json" };
    const call = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "churches_search_v1", arguments: { queryParams: query } },
    });
    const http = await inTurns(3, {
      served: () => requestsPerSecond({ url: served.url + path, headers }),
      handwritten: () => requestsPerSecond({ url: handwritten.url + path }),
      tool: () => requestsPerSecond({ url: `${served.url}/v0/mcp`, method: "POST", headers, body: call }),
    });
    const against = (a: number, b: number) => `${round(a / b)} (${round(a)} against ${round(b)} requests/s)`;
    return [
      {
        subject: "GET /v0/orgs/search, radius, against a hand-written route with the same SQL",
        measured: against(http.served, http.handwritten),
        aim: "≥ 0.85",
      },
      {
        subject: "the same through POST /v0/mcp against REST",
        measured: against(http.tool, http.served),
        aim: "≥ 0.9",
      },
    ];
  } finally {
    await Promise.all([served.stop(), handwritten.stop()]);
  }
}

function misspelt(word: string): string {
  return word.length > 3 ? word.slice(0, 2) + word.slice(3) : word;
}
