// Scenarios, and what they find.
import { setTimeout as sleep } from "node:timers/promises";
import { countLost, countWrong, readLists } from "./count.ts";
import type { Lists, Wrong } from "./count.ts";
import type { Random } from "./random.ts";
import type { Service, StoreKind } from "./service.ts";
import { newLog, startWriter } from "./writer.ts";
import type { Log } from "./writer.ts";

export type Scenario = {
  name: string;
  /** the fault in one line */
  fault: string;
  /** the stores on which it can happen; the short form tries the first */
  stores: readonly StoreKind[];
  run: (trial: Trial) => AsyncGenerator<Finding>;
};

export type Installation = {
  service: Service;
  /** as they were before the first fault */
  lists: Lists;
};

export type Trial = Installation & {
  random: Random;
  /** how long a lasting fault lasts, and how long writes go on */
  seconds: number;
  /** how often a momentary fault is tried */
  rounds: number;
};

/** One line of the table. */
export type Finding = {
  variant: string;
  acknowledged: number;
  unanswered: number;
  lost: number;
  wrong: Wrong;
  falselySynced: number;
  /** from the end of the fault until all was right; undefined: not within the limit */
  seconds: number | undefined;
  /** anything else that is wrong */
  complaints: string[];
};

const LOOK_EVERY_MS = 500;
/** The longest time for which an exchanged store may go unnoticed, and some more to write it. */
const CONVERGENCE_LIMIT_MS = 60_000;

/** Writes while something else goes on. */
export async function whileWriting<T>(
  trial: Trial,
  log: Log,
  during: () => Promise<T>,
  perSecond?: number,
): Promise<T> {
  // A source of its own: how much the writer draws depends on speed, and the faults must be reproducible.
  const random = trial.random.fork(String(trial.random.next()));
  const writer = await startWriter(trial.service, log, random, perSecond);
  try {
    return await during();
  } finally {
    await writer.stop();
  }
}

/** Writes so that there is something to lose, and waits until the graph has it. */
export async function fill(trial: Trial, forMs: number): Promise<Log> {
  const log = newLog();
  await whileWriting(trial, log, () => sleep(forMs));
  const { seconds, wrong } = await converge(trial.service, trial.lists);
  if (seconds === undefined) throw new Error(`wrong before the fault: ${JSON.stringify(wrong)}`);
  return log;
}

/** Counts until nothing is wrong, or until the limit. */
async function converge(
  service: Service,
  lists: Lists | undefined,
): Promise<{ seconds: number | undefined; wrong: Wrong; noticed: number | undefined }> {
  const start = Date.now();
  const passed = () => (Date.now() - start) / 1000;
  let noticed: number | undefined;
  let most = 0;
  let failure: unknown;
  let wrong: Wrong | undefined;
  do {
    try {
      wrong = await countWrong(service, lists);
      const total = totalOf(wrong);
      if (total < most) noticed ??= passed();
      most = Math.max(most, total);
      if (total + wrong.pending === 0) return { seconds: passed(), wrong, noticed: noticed ?? passed() };
    } catch (error) {
      // Parts that were killed may not be back yet.
      failure = error;
    }
    await sleep(LOOK_EVERY_MS);
  } while (passed() * 1000 < CONVERGENCE_LIMIT_MS);
  if (!wrong) throw new Error("Nothing could be counted.", { cause: failure });
  return { seconds: undefined, wrong, noticed };
}

export const totalOf = ({ missing, stale, altered, foreign }: Wrong): number =>
  missing + stale + altered + foreign;

/** Waits for convergence and counts. */
export async function conclude(
  trial: Trial,
  variant: string,
  log: Log,
  more: { falselySynced?: number; complaints?: string[]; noticedWithin?: number } = {},
): Promise<Finding> {
  const { seconds, wrong, noticed } = await converge(trial.service, trial.lists);
  const complaints = [...(more.complaints ?? [])];
  if (more.noticedWithin !== undefined && (noticed === undefined || noticed > more.noticedWithin)) {
    complaints.push(noticed === undefined ? "not noticed" : `noticed only after ${noticed.toFixed(0)} s`);
  }
  return {
    variant,
    acknowledged: log.writes,
    unanswered: log.unanswered,
    lost: await countLost(trial.service, log),
    wrong,
    falselySynced: more.falselySynced ?? 0,
    seconds,
    complaints,
  };
}

/** Repairs the graph of a service by the operator's own means; false when that does not help. */
export async function putRight({ service, lists }: Installation): Promise<boolean> {
  await service.ready();
  await service.admin("graph", "rebuild").ended;
  return totalOf(await countWrong(service, lists)) === 0;
}

/** Waits until a service that was just started has all its lists in the graph, and returns them. */
export async function listsOf(service: Service): Promise<Lists> {
  await service.ready();
  let before: Lists = [];
  for (;;) {
    await converge(service, undefined);
    const [row] = await service.sql<{ dirty: string }>(
      "select count(*) as dirty from app_private.dirty_references",
    );
    const lists = await readLists(service);
    if (row!.dirty === "0" && lists.length > 0 && lists.length === before.length) return lists;
    before = lists;
    await sleep(LOOK_EVERY_MS);
  }
}
