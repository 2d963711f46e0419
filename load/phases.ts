// The three things that are tried: a long day, three times too much, and one caller who wants everything.
import { spawn } from "node:child_process";
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile, round, timed } from "../bench/support.ts";
import { countWrong } from "../faults/count.ts";
import { ATTACKS, attack } from "./hostile.ts";
import { drive } from "./drive.ts";
import { residentMemory, watchMemory } from "./memory.ts";
import { written } from "./service.ts";
import type { LoadedService } from "./service.ts";

/** One line of the table; `kept` says whether the aim was reached. */
export type Outcome = { subject: string; measured: string; aim: string; kept: boolean };

export type Size = { warmUp: number; steady: number; overload: number; attack: number };

const CONNECTIONS = 32;
const CROWD = 400;
const PROBE_EVERY_MS = 25;
/** A p99 of a few milliseconds doubles when anything at all happens on the machine. */
const NOISE_MS = 20;

/** As fast as the service answers, and at its best: what everything else is a share of. */
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

/** What an ordinary caller sees while another one does its worst. */
export async function hostile(service: LoadedService, { attack: seconds }: Size): Promise<Outcome[]> {
  const victim = service.keys[0]!;
  const outcomes: Outcome[] = [await besideBusyProcessors(service, victim, seconds)];
  for (const each of ATTACKS) {
    const idle = await probe(service, victim, seconds);
    const end = await attack(each, service.url, await service.issueKey("api_read"));
    await sleep(500);
    const attacked = await probe(service, victim, seconds);
    const memory = await residentMemory(service.metricsUrl);
    const became = await end();
    const ratio = attacked.p99 / idle.p99;
    outcomes.push({
      subject: `Others' p99 during: ${each.name}`,
      measured: `${round(ratio)} (${round(attacked.p99)} against ${round(idle.p99)} ms), ${attacked.failed} failed; server at ${round(memory)} MB; the attacker's became ${said(became)}`,
      aim: "≤ 2, none failed",
      kept: attacked.failed === 0 && (ratio <= 2 || attacked.p99 <= NOISE_MS),
    });
    // What was under way may end before the next one is measured.
    await sleep(1_000);
  }
  return outcomes;
}

/**
 * The yardstick for the others: what anybody waits for where something keeps the processors busy that has nothing to do with
 * the service and asks nothing of it.
 */
async function besideBusyProcessors(service: LoadedService, key: string, seconds: number): Promise<Outcome> {
  const idle = await probe(service, key, seconds);
  // It ends by itself, should nobody be left to end it.
  const loop = `const end = Date.now() + ${(seconds + 10) * 1_000}; while (Date.now() < end);`;
  const busy = cpus().map(() => spawn(process.execPath, ["--eval", loop], { stdio: "ignore" }));
  try {
    await sleep(500);
    const { p99, failed } = await probe(service, key, seconds);
    return {
      subject: `p99 beside ${busy.length} processes that keep the processors busy and ask nothing`,
      measured: `${round(p99 / idle.p99)} (${round(p99)} against ${round(idle.p99)} ms), ${failed} failed`,
      aim: "–",
      kept: true,
    };
  } finally {
    for (const each of busy) each.kill("SIGKILL");
  }
}

const ASKED = [
  "/v0/needs?limit=20",
  "/v0/orgs/search?center_lat=40&center_lng=-75&radius_km=25&limit=20",
  "/v0/sparql?query=ask%7B%7D",
  "/readyz",
];

/** Asks at a steady pace, whether or not answers come. */
async function probe(
  { url }: LoadedService,
  key: string,
  seconds: number,
): Promise<{ p99: number; failed: number }> {
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

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, n) => total + n, 0);
const said = (counts: Record<string, number>) =>
  Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([status, n]) => `${n} × ${status}`)
    .join(", ");
