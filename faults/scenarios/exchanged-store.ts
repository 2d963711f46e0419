// Another store answers at the same address: an empty one, or an older state of this one.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { conclude, fill, whileWriting } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";
import { newLog } from "../writer.ts";

const NOTICED_WITHIN_S = 30;

async function* run(trial: Trial): AsyncGenerator<Finding> {
  const { service, seconds } = trial;
  const noticedWithin = NOTICED_WITHIN_S;
  const backup = await mkdtemp(join(tmpdir(), "engagement-graph-faults-backup-"));
  try {
    const idle = await fill(trial, seconds * 1000);
    await service.exchangeStore(undefined);
    yield await conclude(trial, "empty, nobody writes", idle, { noticedWithin });

    await service.whileStoreIsDown((folder) => cp(folder, backup, { recursive: true }));
    const later = await fill(trial, seconds * 1000);
    await service.exchangeStore(backup);
    yield await conclude(trial, "older backup, nobody writes", later, { noticedWithin });

    for (const [variant, from] of [
      ["empty, under writes", undefined],
      ["older backup, under writes", backup],
    ] as const) {
      const log = newLog();
      await whileWriting(trial, log, async () => {
        await sleep(seconds * 500);
        await service.exchangeStore(from);
        await sleep(seconds * 500);
      });
      yield await conclude(trial, variant, log, { noticedWithin });
    }
  } finally {
    await rm(backup, { recursive: true, force: true });
  }
}

export const exchangedStore: Scenario = {
  name: "exchanged-store",
  fault: "the store is exchanged for an empty one or an older backup",
  stores: ["fuseki", "embedded"],
  run,
};
