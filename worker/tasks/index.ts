// All kinds of job. A new one is a file in this folder and a line here.
import type { TaskList } from "graphile-worker";
import { expireCommitments } from "./expire-commitments.ts";
import { forgetAnswers } from "./forget-answers.ts";
import { sendWaitingMails } from "./mail.ts";
import { projectRecords } from "./project-records.ts";
import type { TaskContext, TaskDefinition } from "./task.ts";

const TASKS: readonly TaskDefinition[] = [projectRecords, expireCommitments, forgetAnswers, sendWaitingMails];

/** The tasks as graphile-worker takes them. */
export function taskList(context: TaskContext): TaskList {
  return Object.fromEntries(TASKS.map((task) => [task.name, task.create(context)]));
}

/** The schedule as graphile-worker takes it; a run that is still queued is not queued again. */
export function crontab(): string {
  return TASKS.filter((task) => task.schedule !== undefined)
    .map((task) => `${task.schedule} ${task.name} ?jobKey=${task.name}&max=1\n`)
    .join("");
}
