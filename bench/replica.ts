// What a replica takes off the primary: the processor time of the same requests, with it and without.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import autocannon from "autocannon";
import { processesOf } from "../test/support/sick-postgres.ts";
import { startStandby } from "../test/support/standby.ts";
import { contributor, ORG } from "../test/support/world.ts";
import { fill, inTurns, median, round, startBenchDatabase, startChild } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const NEEDS = 10_000;
const REQUESTS = 2_000;
const ROUNDS = 5;
/** The unit of times in /proc: hundredths of a second. */
const TICK_MS = 10;

const NEED = {
  ...{ orgUri: ORG, orgName: "River Mission", declaredByEmail: contributor },
  ...{ needDescription: "Audio Scriptures", accelerators: ["PRA"] },
};

const post = (path: string, body: unknown): autocannon.Request => ({
  ...{ method: "POST", path, body: JSON.stringify(body) },
});
const READS: autocannon.Request[] = [
  { method: "GET", path: "/v0/needs" },
  { method: "GET", path: "/v0/needs?accelerator=PRA&limit=20" },
  post("/graphql", { query: "{ needs(first: 20) { nodes { needId status organization { name } } } }" }),
];
const MIXES: [subject: string, requests: autocannon.Request[]][] = [
  ["Reads alone", READS],
  ["Nine reads to a write", [...READS, ...READS, ...READS, post("/v0/needs", NEED)]],
];

export async function benchReplica(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  const dir = join(database.dir, "replica");
  const replica = await startStandby({ url: database.url, dir: join(database.dir, "postgres") }, dir);
  const [alone, beside] = await Promise.all([
    startChild("served.ts", { DATABASE_URL: database.serverUrl }),
    startChild("served.ts", {
      ...{ DATABASE_URL: database.serverUrl, DATABASE_READ_MAX_LAG_MS: "10000" },
      DATABASE_READ_URL: Object.assign(new URL(database.serverUrl), { port: new URL(replica.url).port }).href,
    }),
  ]);
  try {
    await fill(database, NEEDS);
    await database.owner.query("vacuum analyze");
    const figures: Figure[] = [];
    for (const [subject, requests] of MIXES) {
      const primaryMs = { alone: [] as number[], beside: [] as number[] };
      const serverMs = { alone: [] as number[], beside: [] as number[] };
      const of =
        (name: "alone" | "beside", { url, pid }: { url: string; pid: number }) =>
        async () => {
          const before = [await clusterMs(join(database.dir, "postgres")), await processMs(pid)] as const;
          const perSecond = await ask(url, database, requests);
          primaryMs[name].push((await clusterMs(join(database.dir, "postgres"))) - before[0]);
          serverMs[name].push((await processMs(pid)) - before[1]);
          return perSecond;
        };
      const perSecond = await inTurns(ROUNDS, { alone: of("alone", alone), beside: of("beside", beside) });
      const shares = (ms: typeof primaryMs) => {
        const [without, with_] = [median(ms.alone), median(ms.beside)].map((each) => each / REQUESTS);
        return { ratio: with_! / without!, told: `${round(with_!)} against ${round(without!)} ms a request` };
      };
      const primary = shares(primaryMs);
      const server = shares(serverMs);
      figures.push(
        {
          subject: `${subject}: what leaves the primary of its processor time`,
          measured: `${round(100 * (1 - primary.ratio))} % (${primary.told})`,
          aim: "≥ 33 %, which is 1.5 times as many",
        },
        { subject: `${subject}: the server's own, with a replica against without`, measured: told(server) },
        {
          subject: `${subject}: requests on this one machine, the same`,
          measured: `${round(perSecond.beside / perSecond.alone)} (${round(perSecond.beside)} against ${round(perSecond.alone)} requests/s)`,
        },
      );
    }
    return figures;
  } finally {
    await Promise.all([alone.stop(), beside.stop()]);
    await replica.stop();
    await database.stop();
  }
}

function told({ ratio, told: both }: { ratio: number; told: string }): string {
  return `${round(ratio)} (${both})`;
}

async function ask(url: string, { key }: BenchDatabase, requests: autocannon.Request[]): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const result = await autocannon({ url, headers, requests, connections: 16, amount: REQUESTS });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${url}: ${result.non2xx} refusals, ${result.errors} errors`);
  }
  return REQUESTS / result.duration;
}

/** The processor time of all processes of a cluster, those that have ended included. */
async function clusterMs(dir: string): Promise<number> {
  const times = await Promise.all((await processesOf(join(dir, "cluster"))).map(processMs));
  return times.reduce((sum, each) => sum + each, 0);
}

/** The processor time of a process, and of those of its children that have ended. */
async function processMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // utime, stime, cutime and cstime; proc(5) has their positions.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}
