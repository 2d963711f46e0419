import { availableParallelism } from "node:os";

/** @type {import('jest').Config} */
export default {
  testEnvironment: "node",
  transform: {},
  extensionsToTreatAsEsm: [".ts"],
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  globalSetup: "<rootDir>/test/support/global-setup.ts",
  globalTeardown: "<rootDir>/test/support/global-teardown.ts",
  // No test may need what others leave behind. Another order: `SEED=7 npm test`.
  randomize: true,
  testSequencer: "<rootDir>/test/support/sequencer.js",
  // Ends what hangs. How long something may take is not tested: machines differ by a factor of ten.
  testTimeout: 300_000,
  // Much of a test's time is waiting, for processes of its own and for time limits: one file more than there are cores.
  maxWorkers: availableParallelism() + 1,
  // Every test file loads the whole service anew, and Node keeps what it has loaded: one process for all runs out of memory.
  workerIdleMemoryLimit: "1500MB",
};
