// How a worker begins and ends.
import type { Mistake } from "../mistake.ts";

export const WORKER_MAIN: readonly Mistake[] = [
  {
    rule: "a worker that cannot start gives its connections back",
    file: "worker/main.ts",
    before: "    await closePool(pool);\n    throw error;",
    after: "    throw error;",
    tests: ["worker-main"],
  },
  {
    rule: "what the last worker left behind does not wait for the next write",
    file: "worker/main.ts",
    before: "  void drainer.wake();\n",
    after: "",
    tests: ["worker-main"],
  },
  {
    rule: "metrics that another part serves are not served by the worker too",
    file: "worker/main.ts",
    before: "if (!givenMetrics && metricsPort !== undefined)",
    after: "if (metricsPort !== undefined)",
    tests: ["metrics"],
    only: "one process",
  },
  {
    rule: "jobs are in the metrics",
    file: "worker/main.ts",
    before: "metrics ? addWorkerMetrics(metrics, pool, traced) : traced",
    after: "metricsPort === undefined && metrics ? addWorkerMetrics(metrics, pool, traced) : traced",
    tests: ["metrics"],
    only: "one process|times jobs",
  },
  {
    rule: "a worker does not wait without end for a database that says nothing",
    file: "worker/main.ts",
    before: "    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,\n",
    after: "",
    tests: ["worker-main"],
    only: "says nothing is given up",
  },
];
