import type { Scenario } from "../trial.ts";
import { cachedAnswers } from "./cached-answers.ts";
import { clockSetBack } from "./clock-set-back.ts";
import { damagedFiles } from "./damaged-files.ts";
import { drift } from "./drift.ts";
import { exchangedStore } from "./exchanged-store.ts";
import { faultyStore } from "./faulty-store.ts";
import { killedProcesses } from "./killed-processes.ts";
import { killedRebuild } from "./killed-rebuild.ts";
import { swallowedUpdates } from "./swallowed-updates.ts";
import { wholeGraphs } from "./whole-graphs.ts";

/** Ordered so that one installation serves as many as possible, one after another. */
export const SCENARIOS: readonly Scenario[] = [
  swallowedUpdates,
  wholeGraphs,
  faultyStore,
  cachedAnswers,
  clockSetBack,
  exchangedStore,
  killedRebuild,
  killedProcesses,
  damagedFiles,
  drift,
];
