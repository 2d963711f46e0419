import type { TaskDefinition } from "./task.ts";

/**
 * Numbers the changes in the feed that no reader has asked for yet, and deletes those
 * that have been kept long enough.
 */
export const tendChanges: TaskDefinition = {
  name: "tend_changes",
  schedule: "* * * * *",
  create:
    ({ pool }) =>
    async () => {
      for (const step of ["number_changes", "forget_changes"]) {
        let done: string | undefined;
        do {
          const { rows } = await pool.query<{ done: string }>(`select app_private.${step}() as done`);
          done = rows[0]?.done;
        } while (done !== "0");
      }
    },
};
