import type { TaskDefinition } from "./task.ts";

/** Deletes answers that were kept for Idempotency-Keys, after a day, and expired sessions and links. */
export const forgetAnswers: TaskDefinition = {
  name: "forget_answers",
  schedule: "17 * * * *",
  create:
    ({ pool }) =>
    async () => {
      await pool.query("select app_private.forget_old_answers()");
      await pool.query("select app_private.forget_old_sessions()");
    },
};
