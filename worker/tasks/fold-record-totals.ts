import type { TaskDefinition } from "./task.ts";

/**
 * Adds up the changes that writes have made to the totals; writers add this job now and then, and
 * the schedule covers the rest.
 */
export const foldRecordTotals: TaskDefinition = {
  name: "fold_record_totals",
  schedule: "* * * * *",
  create:
    ({ pool }) =>
    async () => {
      for (;;) {
        const { rows } = await pool.query<{ folded: string }>(
          "select app_private.fold_record_totals() as folded",
        );
        if (rows[0]?.folded === "0") return;
      }
    },
};
