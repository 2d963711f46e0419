// A proxy answers in place of the store: updates are acknowledged but never reach it.
import { setTimeout as sleep } from "node:timers/promises";
import { countFalselySynced } from "../count.ts";
import { passAll } from "../proxy.ts";
import type { Treatment } from "../proxy.ts";
import { conclude, whileWriting } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";
import { newLog } from "../writer.ts";

const html = (body: string): Treatment => ({ status: 200, type: "text/html", body });

const ANSWERS: Record<string, Treatment> = {
  "login page": html("<!doctype html><title>Sign in</title><form><input name=user></form>"),
  "maintenance page": html("<!doctype html><title>Back soon</title><p>We are working on it."),
  "empty 200": { status: 200 },
  "empty 204": { status: 204 },
};

async function* run(trial: Trial): AsyncGenerator<Finding> {
  for (const [name, answer] of Object.entries(ANSWERS)) yield await swallow(trial, name, () => answer);
  let updates = 0;
  const [name, answer] = trial.random.pick(Object.entries(ANSWERS));
  yield await swallow(trial, `${name}, each third update`, () =>
    (updates += 1) % 3 === 0 ? answer : "pass",
  );
}

async function swallow(trial: Trial, variant: string, treat: () => Treatment): Promise<Finding> {
  const { service, seconds } = trial;
  const log = newLog();
  let falselySynced = 0;
  await whileWriting(trial, log, async () => {
    await sleep(500);
    service.proxy!.treat = (_, changes) => (changes ? treat() : "pass");
    await sleep(seconds * 1000);
    falselySynced = await countFalselySynced(service, service.graph(), log);
    service.proxy!.treat = passAll;
    await sleep(500);
  });
  return conclude(trial, variant, log, { falselySynced });
}

export const swallowedUpdates: Scenario = {
  name: "swallowed-updates",
  fault: "a proxy answers updates with success and does not pass them on",
  stores: ["fuseki"],
  run,
};
