import type { TaskDefinition } from "./task.ts";

const AT_MOST = 1_000;

/** Expires commitments whose target date has passed; the database decides which. */
export const expireCommitments: TaskDefinition = {
  name: "expire_commitments",
  schedule: "*/10 * * * *",
  create:
    ({ pool, logger }) =>
    async () => {
      let expired: number;
      do {
        const { rows } = await pool.query<{ expired: string }>(
          "select app_private.expire_commitments($1) as expired",
          [AT_MOST],
        );
        expired = Number(rows[0]!.expired);
        if (expired > 0) logger.info({ expired }, "commitments expired");
      } while (expired === AT_MOST);
    },
};
