// SIGKILL of each process, and of all at once, at random moments under writes; and
// clean restarts of PostgreSQL.
import { setTimeout as sleep } from "node:timers/promises";
import { conclude, whileWriting } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";
import { newLog } from "../writer.ts";

async function* run(trial: Trial): AsyncGenerator<Finding> {
  const { service, random, seconds } = trial;
  const log = newLog();
  const pause = () => random.between(0, 1_000);
  const blows: (() => Promise<unknown>)[] = [
    ...service.parts.map((part) => () => service.kill(part, pause())),
    () => Promise.all(service.parts.map((part) => service.kill(part, pause()))),
    () => service.restartPostgres(pause()),
  ];
  let struck = 0;
  await whileWriting(trial, log, async () => {
    const end = Date.now() + seconds * 1000;
    // Each of them at least once, and then as often as time allows.
    do {
      for (const blow of random.shuffle(blows)) {
        await service.ready();
        await sleep(random.between(100, 1_500));
        await blow();
        struck += 1;
      }
    } while (Date.now() < end);
    await service.ready();
  });
  yield await conclude(trial, `${struck} blows`, log);
}

export const killedProcesses: Scenario = {
  name: "killed-processes",
  fault: "SIGKILL of each process and of all, restarts of PostgreSQL, under 100 writes/s",
  stores: ["fuseki", "embedded"],
  run,
};
