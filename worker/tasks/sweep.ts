import type { TaskDefinition } from "./task.ts";

/** Sweeps up every minute what no wake-up has announced. */
export const sweep: TaskDefinition = {
  name: "sweep",
  schedule: "* * * * *",
  create:
    ({ drainer }) =>
    () => {
      // Not waited for: under a steady stream of writes a drain has no end, and other jobs need their turn.
      void drainer.wake();
    },
};
