// What a task is: one file in this folder, entered in index.ts.
import type { Task } from "graphile-worker";
import type { Pool } from "pg";
import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import type { Drainer } from "../drainer.ts";

/** What tasks work with. */
export interface TaskContext {
  /** of the role that owns the schema */
  pool: Pool;
  config: Config;
  drainer: Drainer;
  logger: Logger;
}

/** A kind of job. */
export interface TaskDefinition {
  /** the name that `add_job` is called with */
  name: string;
  /** when it runs by itself, as five fields of cron in UTC */
  schedule?: string;
  /** prepares what runs a job */
  create: (context: TaskContext) => Task;
}
