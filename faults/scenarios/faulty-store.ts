// The store is there but does not do what it should, or its queries are answered
// from a copy that lags behind.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startFuseki } from "../../test/support/fuseki.ts";
import { countFalselySynced } from "../count.ts";
import { passAll } from "../proxy.ts";
import type { Treatment } from "../proxy.ts";
import { conclude, whileWriting } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";
import { upstreamOf } from "../with-fuseki.ts";
import { newLog } from "../writer.ts";

const TREATMENTS: Record<string, Treatment> = {
  hangs: "hang",
  resets: "reset",
  "answers 500": { status: 500, type: "text/plain", body: "Internal Server Error" },
  "answers 503": { status: 503, type: "text/html", body: "<h1>Service Unavailable</h1>" },
};
const LAG_MS = 3_000;

async function* run(trial: Trial): AsyncGenerator<Finding> {
  const { service, seconds } = trial;
  for (const [variant, treatment] of Object.entries(TREATMENTS)) {
    const log = newLog();
    let falselySynced = 0;
    await whileWriting(trial, log, async () => {
      await sleep(500);
      service.proxy!.treat = () => treatment;
      await sleep(seconds * 1000);
      falselySynced = await countFalselySynced(service, service.graph(), log);
      service.proxy!.treat = passAll;
      await sleep(500);
    });
    yield await conclude(trial, variant, log, { falselySynced });
  }
  yield await lagging(trial);
}

async function lagging(trial: Trial): Promise<Finding> {
  const { service, seconds } = trial;
  const proxy = service.proxy!;
  const folder = await mkdtemp(join(tmpdir(), "engagement-graph-faults-replica-"));
  await service.whileStoreIsDown((primary) => cp(primary, folder, { recursive: true }));
  const replica = await startFuseki({ dir: folder });
  const upstream = upstreamOf(replica);
  try {
    proxy.replica = { upstream, lagMs: LAG_MS };
    const log = newLog();
    let falselySynced = 0;
    await whileWriting(trial, log, async () => {
      for (const end = Date.now() + (seconds * 1000 + LAG_MS); Date.now() < end;) {
        await sleep(1_000);
        falselySynced = Math.max(falselySynced, await countFalselySynced(service, upstream, log));
      }
    });
    // The lag stays: such a store always lags.
    return await conclude(trial, `queries see changes ${LAG_MS / 1000} s late`, log, { falselySynced });
  } finally {
    proxy.replica = undefined;
    await proxy.caughtUp();
    await replica.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

export const faultyStore: Scenario = {
  name: "faulty-store",
  fault: "the store hangs, resets, answers 500 or 503, or shows changes late",
  stores: ["fuseki"],
  run,
};
