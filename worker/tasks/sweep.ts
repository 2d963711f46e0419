import type { TaskDefinition } from "./task.ts";

/** Sweeps up every minute what no wake-up has announced. */
export const sweep: TaskDefinition = {
  name: "sweep",
  schedule: "* * * * *",
  create:
    ({ drainer }) =>
    () =>
      drainer.wake(),
};
