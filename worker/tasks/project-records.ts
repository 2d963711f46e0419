import type { TaskDefinition } from "./task.ts";

/** Writes dirty records to the graph; writers add this job, in the transaction of the write. */
export const projectRecords: TaskDefinition = {
  name: "project_records",
  create:
    ({ drainer }) =>
    () => {
      // Not awaited: under a steady stream of writes a drain never ends, and other jobs need their turn.
      void drainer.wake();
    },
};
