// The pages of the desk at 10,000 claims and organizations and 100,000 records of each kind: how long they
// take, and how many bytes they have.
import { AS_A_BROWSER, bytesOf } from "../test/support/desk.ts";
import { fillClaims } from "../test/support/filling-claims.ts";
import { fillRecords } from "../test/support/filling.ts";
import { Visitor } from "../test/support/visitor.ts";
import { ORG } from "../test/support/world.ts";
import { median, percentile, round, startBenchDatabase, startChild, timed } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const ADMIN = "admin@platform.example";
const CLAIMS = 10_000;
const RECORDS = 100_000;
const TIMES = 30;

export async function benchPages(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  try {
    await database.owner.query(
      `with person as (insert into app_public.users (email) values ($1) returning user_id)
       insert into app_public.platform_roles (user_id, role) select user_id, 'admin' from person`,
      [ADMIN],
    );
    await fillRecords(database.owner, RECORDS);
    await fillClaims(database.owner, CLAIMS);
    await database.owner.query("vacuum analyze");
    const served = await startChild("served.ts", { DATABASE_URL: database.serverUrl });
    try {
      const visitor = await new Visitor({ url: served.url, database }).signIn(ADMIN);
      const figures: Figure[] = [];
      for (const [subject, path] of Object.entries(await pages(database)))
        figures.push(await page(subject, served.url, path, visitor));
      return figures;
    } finally {
      await served.stop();
    }
  } finally {
    await database.stop();
  }
}

async function pages({ owner }: BenchDatabase): Promise<Record<string, string>> {
  const { rows } = await owner.query<{ claim: string; need: string }>(
    `select (select claim_id from app_public.organization_claims order by created_at limit 1) as claim,
       (select concerns_need_id from app_public.commitments limit 1) as need`,
  );
  const { claim, need } = rows[0]!;
  return {
    "The overview": "/",
    "The queue of claims": "/admin/claims",
    "The queue, searched for a name": "/admin/claims?q=Family%2077",
    "A claim beside it, with the organizations like it": `/admin/claims/${claim}`,
    Organizations: "/organizations",
    "Organizations, searched": "/organizations?q=filled-77",
    "One with a tenth of all records": `/organizations/${encodeURIComponent(ORG)}`,
    "A need and its chain": `/needs/${need}`,
    "A search for a rare word": "/search?q=77777",
    "A search for a word that all needs have": "/search?q=audio",
    People: "/admin/users?q=Family%2077",
  };
}

async function page(subject: string, url: string, path: string, visitor: Visitor): Promise<Figure> {
  const load = async () => {
    const { status } = await visitor.open(path, AS_A_BROWSER);
    if (status !== 200) throw new Error(`${path}: ${status}`);
  };
  await load();
  const times: number[] = [];
  for (let i = 0; i < TIMES; i++) times.push(await timed(load));
  const bytes = await bytesOf(`${url}${path}`, visitor);
  return {
    subject,
    measured: `p50 ${round(median(times))}, p95 ${round(percentile(times, 0.95))} ms; ${round(bytes / 1_000)} kB`,
    aim: "< 300 ms; < 100 kB",
  };
}
