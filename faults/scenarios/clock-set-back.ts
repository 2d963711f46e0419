// The worker's clock is set back an hour while the store is down.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { passAll } from "../proxy.ts";
import { conclude, fill, whileWriting } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";

const HOUR_MS = 3_600_000;

async function* run(trial: Trial): AsyncGenerator<Finding> {
  const { service, seconds } = trial;
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-faults-clock-"));
  const offset = join(dir, "offset");
  const preload = pathToFileURL(join(import.meta.dirname, "../clock.ts"));
  preload.searchParams.set("file", offset);
  try {
    await writeFile(offset, "0");
    // Set through npm, which itself runs on another Node than the command that it starts.
    await service.configure({ npm_config_node_options: `--import=${preload.href}` });
    // By now the worker with the adjustable clock is running.
    const log = await fill(trial, 1_000);
    await whileWriting(trial, log, async () => {
      service.proxy!.treat = () => "reset";
      await sleep((seconds * 1000) / 2);
      await writeFile(offset, String(-HOUR_MS));
      await sleep((seconds * 1000) / 2);
    });
    service.proxy!.treat = passAll;
    yield await conclude(trial, "back an hour", log);
  } finally {
    await service.configure({});
    await rm(dir, { recursive: true, force: true });
  }
}

export const clockSetBack: Scenario = {
  name: "clock-set-back",
  fault: "the worker's clock is set back an hour while the store is down",
  stores: ["fuseki"],
  run,
};
