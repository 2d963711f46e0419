import type { TaskDefinition } from "./task.ts";

/** Marks the records that were checked against the old lists before an import was committed. */
export const recheckRecords: TaskDefinition = {
  name: "recheck_records",
  create:
    ({ pool }) =>
    async (payload) => {
      await pool.query("select app_private.recheck_records($1)", [(payload as { moved: string[] }).moved]);
    },
};
