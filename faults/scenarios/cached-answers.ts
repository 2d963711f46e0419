// A cache in front of the store repeats its earlier answers, whatever has happened to the store since.
import { setTimeout as sleep } from "node:timers/promises";
import { passAll } from "../proxy.ts";
import { conclude, fill, whileWriting } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";
import { newLog } from "../writer.ts";

const NOTICED_WITHIN_S = 30;

async function* run(trial: Trial): AsyncGenerator<Finding> {
  const { service, seconds } = trial;
  service.proxy!.treat = (door) => (door === "data" ? "pass" : "cache");
  try {
    const writing = newLog();
    await whileWriting(trial, writing, () => sleep(seconds * 1000));
    yield await conclude(trial, "records are written", writing);
    const log = await fill(trial, seconds * 1000);
    await service.alter("DROP ALL");
    yield await conclude(trial, "the store is emptied, nobody writes", log, {
      noticedWithin: NOTICED_WITHIN_S,
    });
  } finally {
    service.proxy!.treat = passAll;
  }
}

export const cachedAnswers: Scenario = {
  name: "cached-answers",
  fault: "a cache keyed on what is posted stands before the store",
  stores: ["fuseki"],
  run,
};
