// What the benchmarks share: their own database, child processes, and alternating rounds, because a machine's
// speed drifts and only ratios within one run mean anything.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import autocannon from "autocannon";
import type pg from "pg";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import { migrate } from "../db/migrate.ts";
import { createPool } from "../db/pool.ts";
import { issueTestKey } from "../test/support/database.ts";
import { buildWorld, contributor, ORG } from "../test/support/world.ts";

/** One line of docs/benchmarks.md. */
export type Figure = { subject: string; measured: string; aim?: string };

/** A migrated database with the people and organizations from the tests, as durable as in production. */
export type BenchDatabase = {
  dir: string;
  url: string;
  serverUrl: string;
  owner: pg.Pool;
  key: string;
  stop: () => Promise<void>;
};

export async function startBenchDatabase(): Promise<BenchDatabase> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-bench-"));
  const postgres = await startEmbeddedPostgres(join(dir, "postgres"), { shared_buffers: "512MB" });
  await migrate(postgres.url);
  const owner = createPool(postgres.url, { max: 4 });
  await owner.query("alter role engagement_server login password 'bench'");
  await buildWorld(owner);
  const serverUrl = new URL(postgres.url);
  serverUrl.username = "engagement_server";
  serverUrl.password = "bench";
  return {
    dir,
    url: postgres.url,
    serverUrl: serverUrl.href,
    owner,
    key: await issueTestKey(owner, "api_write"),
    stop: async () => {
      await owner.end();
      await postgres.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A child process that has reported that it is listening. */
export type Child = { url: string; pid: number; stop: () => Promise<void> };

/** Starts a script that prints a line with its URL once it is listening. */
export async function startChild(script: string, env: Record<string, string>): Promise<Child> {
  const child = spawn(process.execPath, [join(import.meta.dirname, script)], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((found, failed) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const match = /http:\/\/[\d.]+:\d+/.exec(text);
      if (match) found(match[0]);
    });
    child.once("exit", (code) => failed(new Error(`${script} ended with ${code}`)));
  });
  return { url, pid: child.pid!, stop: () => ended(child) };
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((done) => {
    child.once("exit", () => done());
    child.kill("SIGTERM");
  });
}

/** Runs contenders in turn for several rounds, and returns the median of each. */
export async function inTurns<Name extends string>(
  rounds: number,
  contenders: Record<Name, () => Promise<number>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(contenders) as Name[];
  const results = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (const name of names) await contenders[name]();
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 ? names.toReversed() : names)
      results.get(name)!.push(await contenders[name]());
  }
  return Object.fromEntries(names.map((name) => [name, median(results.get(name)!)])) as Record<Name, number>;
}

/** Requests per second that a URL answers successfully; anything else fails the benchmark. */
export async function requestsPerSecond(options: autocannon.Options): Promise<number> {
  const result = await autocannon({ connections: 16, duration: 3, ...options });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${options.url}: ${result.non2xx} refusals, ${result.errors} errors`);
  }
  return result.requests.average;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** @param share 0.99 for the 99th percentile */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** A number as docs/benchmarks.md shows it: three significant digits. */
export function round(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en");
}

/** How many times as fast one thing is as another, and how fast both are. */
export function against(a: number, b: number): string {
  return `${round(a / b)} (${round(a)} against ${round(b)} requests/s)`;
}

/** Inserts needs, each with commitments that answer it, in bulk; the triggers mark them for the graph. */
export async function fill(database: BenchDatabase, needs: number, commitmentsEach = 0): Promise<void> {
  await database.owner.query(
    `with made as (
       insert into app_public.needs
         (org_uri, org_name, declared_by_email, need_description, accelerators, concerns_country_code,
          created_at)
       select $1, 'River Mission', $2, 'Audio Scriptures for village ' || n, '{PRA,PRA-INT}', '{KE}',
         now() - n * interval '1 minute'
       from generate_series(1, $3::integer) as n returning need_id, created_at
     )
     insert into app_public.commitments
       (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope, concerns_need_id,
        concerns_country_code, target_completion_date, status, created_at)
     select $1, 'River Mission', $2, 'Recording ' || n, '{PRA-INT}', need_id, '{KE}', '2099-12-31',
       case when hashtext(need_id::text || n) % 100 = 0 then 'funded' else 'declared' end::app_public.commitment_status,
       created_at + n * interval '1 second'
     from made, generate_series(1, $4::integer) as n`,
    [ORG, contributor, needs, commitmentsEach],
  );
}

/** How many milliseconds something takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
