// The three phases: a long day, three times the maximum rate, and one caller who wants everything.
import { spawn } from "node:child_process";
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { median, percentile, round, timed } from "../bench/support.ts";
import { countWrong } from "../faults/count.ts";
import { ATTACKS, attack } from "./hostile.ts";
import type { Became } from "./hostile.ts";
import { drive } from "./drive.ts";
import { queriesAreOver, residentMemory, watchMemory } from "./metrics.ts";
import { written } from "./service.ts";
import type { LoadedService } from "./service.ts";

/** One line of the table; `kept` says whether the aim was reached. */
export type Outcome = { subject: string; measured: string; aim: string; kept: boolean };

export type Size = { warmUp: number; steady: number; overload: number; attack: number; rounds: number };

const CONNECTIONS = 32;
const CROWD = 400;
const PROBE_EVERY_MS = 25;
/** A p99 up to this passes: one of a few milliseconds doubles when anything at all happens on the machine. */
const NOISE_MS = 20;

/** The maximum rate of answers, after warming up; other rates are a share of it. */
export async function maximum(service: LoadedService, { warmUp }: Size): Promise<number> {
  await drive(service, { seconds: warmUp, connections: CONNECTIONS });
  const { perSecond } = await drive(service, { seconds: warmUp, connections: CONNECTIONS });
  return perSecond.answered;
}

export async function steady(
  service: LoadedService,
  most: number,
  { steady: seconds }: Size,
): Promise<Outcome[]> {
  const memory = watchMemory(service.metricsUrl);
  const driven = await drive(service, { seconds, connections: CONNECTIONS, rate: Math.floor(most * 0.8) });
  const { first, last, most: peak } = memory();
  await written(service);
  const wrong = await countWrong(service, service.lists);
  const inGraph = wrong.missing + wrong.stale + wrong.altered + wrong.foreign;
  const failed = { ...driven.wrong, ...driven.refused, "no answer": driven.errors };
  const failures = sum(failed);
  return [
    {
      subject: `${seconds} s at 80 % of ${round(most)} requests/s`,
      measured: `${round(driven.perSecond.answered)}/s, p50 ${round(driven.p50)}, p99 ${round(driven.p99)} ms; ${failures} failures${failures === 0 ? "" : `: ${said(failed)}`}`,
      aim: "no error",
      kept: failures === 0,
    },
    {
      subject: "Memory of the server, first and last fifth of that, and the most",
      measured: `${round(first)}, ${round(last)}, ${round(peak)} MB`,
      aim: "last ≤ 1.2 × first",
      kept: last <= first * 1.2,
    },
    {
      subject: "Records wrong in the graph afterwards",
      measured: [String(inGraph), ...wrong.examples].join("; "),
      aim: "0",
      kept: inGraph === 0,
    },
  ];
}

export async function overload(
  service: LoadedService,
  most: number,
  { overload: seconds }: Size,
): Promise<Outcome[]> {
  const idle = await probe(service, service.keys[0]!, 3);
  const driven = await drive(service, { seconds, connections: CROWD, rate: Math.floor(most * 3) });
  const recovered = await timed(async () => {
    for (;;) {
      const { p99, failed } = await probe(service, service.keys[0]!, 0.5);
      if (failed === 0 && p99 <= Math.max(2 * idle.p99, NOISE_MS)) return;
    }
  });
  const failures = driven.errors + sum(driven.wrong);
  return [
    {
      subject: `${seconds} s at three times the maximum, ${CROWD} connections`,
      measured: `${round(driven.perSecond.answered)}/s answered, ${round(driven.perSecond.refused)}/s refused with 429 or 503; ${failures} otherwise ${said(driven.wrong)}`,
      aim: "nothing otherwise",
      kept: failures === 0,
    },
    {
      subject: "p99 of those that were answered",
      measured: `${round(driven.p99)} ms`,
      aim: "< 1,000 ms",
      kept: driven.p99 < 1_000,
    },
    {
      subject: "As quick as before, after",
      measured: `${round(recovered / 1_000)} s`,
      aim: "≤ 5 s",
      kept: recovered <= 5_000,
    },
  ];
}

/** What an ordinary caller sees while another one attacks. */
export async function hostile(service: LoadedService, size: Size): Promise<Outcome[]> {
  const victim = service.keys[0]!;
  const beside = (begin: () => Promise<() => Promise<void>>) =>
    compare(service, size, () => probe(service, victim, size.attack), begin);
  const busy = await beside(() => Promise.resolve(keepProcessorsBusy(size.attack)));
  const outcomes: Outcome[] = [
    {
      subject: `p99 beside ${cpus().length} processes that keep the processors busy and ask nothing`,
      measured: busy.measured,
      aim: "–",
      kept: true,
    },
  ];
  for (const each of ATTACKS) {
    const became: Became[] = [];
    let memory = 0;
    const { measured, ratio, p99, failed } = await beside(async () => {
      const end = await attack(each, service.url, await service.issueKey("api_read"));
      return async () => {
        memory = Math.max(memory, await residentMemory(service.metricsUrl));
        became.push(await end());
      };
    });
    outcomes.push({
      subject: `Others' p99 during: ${each.name}`,
      measured: `${measured}; server at ${round(memory)} MB; the attacker's became ${became.map(said).join("; ")}`,
      aim: "≤ 2, none failed",
      kept: failed === 0 && (ratio <= 2 || p99 <= NOISE_MS),
    });
  }
  return outcomes;
}

/**
 * Measures alone and beside something else, in turns, and takes the median: what else the machine does comes
 * and goes, and can make the p99 of a quarter of a minute twice that of the next one.
 * @param begin starts the other thing; returns a function that ends it
 */
async function compare(
  { metricsUrl }: LoadedService,
  { rounds }: Size,
  ask: () => Promise<Probed>,
  begin: () => Promise<() => Promise<void>>,
): Promise<{ measured: string; ratio: number; p99: number; failed: number }> {
  const turns: { idle: number; beside: number; failed: number }[] = [];
  for (let turn = 0; turn < rounds; turn += 1) {
    const idle = await ask();
    const end = await begin();
    await sleep(500);
    const beside = await ask();
    await end();
    turns.push({ idle: idle.p99, beside: beside.p99, failed: beside.failed });
    await sleep(1_000);
    await queriesAreOver(metricsUrl);
  }
  const ratio = median(turns.map(({ idle, beside }) => beside / idle));
  const p99 = median(turns.map(({ beside }) => beside));
  const failed = sum(turns.map((turn) => turn.failed));
  const each = turns.map(({ idle, beside }) => `${round(beside)} against ${round(idle)} ms`).join("; ");
  return { measured: `${round(ratio)} (${each}), ${failed} failed`, ratio, p99, failed };
}

/**
 * The baseline for the attacks: how long a caller waits while processes keep the processors busy that have
 * nothing to do with the service.
 */
function keepProcessorsBusy(seconds: number): () => Promise<void> {
  // It ends by itself, in case this process is killed.
  const loop = `const end = Date.now() + ${(seconds + 10) * 1_000}; while (Date.now() < end);`;
  const busy = cpus().map(() => spawn(process.execPath, ["--eval", loop], { stdio: "ignore" }));
  return async () => {
    for (const each of busy) each.kill("SIGKILL");
    return Promise.resolve();
  };
}

const ASKED = [
  "/v0/needs?limit=20",
  "/v0/orgs/search?center_lat=40&center_lng=-75&radius_km=25&limit=20",
  "/v0/sparql?query=ask%7B%7D",
  "/readyz",
];

type Probed = { p99: number; failed: number };

/** Sends requests at a steady pace, whether or not answers come. */
async function probe({ url }: LoadedService, key: string, seconds: number): Promise<Probed> {
  const waited: number[] = [];
  let failed = 0;
  const ask = async (path: string) => {
    const start = performance.now();
    try {
      const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
      await answer.arrayBuffer();
      waited.push(performance.now() - start);
      if (!answer.ok) failed += 1;
    } catch {
      failed += 1;
    }
  };
  const asking: Promise<void>[] = [];
  const count = Math.round((seconds * 1_000) / PROBE_EVERY_MS);
  for (let i = 0; i < count; i += 1) {
    asking.push(ask(ASKED[i % ASKED.length]!));
    await sleep(PROBE_EVERY_MS);
  }
  await Promise.all(asking);
  return { p99: percentile(waited, 0.99), failed };
}

const sum = (counts: Record<string, number> | number[]) =>
  Object.values(counts).reduce((total, n) => total + n, 0);
const said = (counts: Record<string, number>) =>
  Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([status, n]) => `${n} × ${status}`)
    .join(", ");
