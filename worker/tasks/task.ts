// What a task is: one file in this folder, listed in index.ts.
import type { Task } from "graphile-worker";
import type { Pool } from "pg";
import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import type { Drainer } from "../drainer.ts";

/** What tasks work with. */
export interface TaskContext {
  /** connects as the role that owns the schema */
  pool: Pool;
  config: Config;
  drainer: Drainer;
  logger: Logger;
}

/** A kind of job. */
export interface TaskDefinition {
  /** the name that `add_job` is called with */
  name: string;
  /** when it runs on its own, as five cron fields in UTC */
  schedule?: string;
  /** makes the function that runs a job */
  create: (context: TaskContext) => Task;
}
