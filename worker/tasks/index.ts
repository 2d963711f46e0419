// All kinds of jobs. A new one is a file in this folder and a line here.
import type { TaskList } from "graphile-worker";
import { expireCommitments } from "./expire-commitments.ts";
import { foldRecordTotals } from "./fold-record-totals.ts";
import { forgetAnswers } from "./forget-answers.ts";
import { sendWaitingMails } from "./mail.ts";
import { projectRecords } from "./project-records.ts";
import { recheckRecords } from "./recheck-records.ts";
import { tendChanges } from "./tend-changes.ts";
import type { TaskContext, TaskDefinition } from "./task.ts";

const TASKS: readonly TaskDefinition[] = [
  projectRecords,
  recheckRecords,
  foldRecordTotals,
  expireCommitments,
  forgetAnswers,
  sendWaitingMails,
  tendChanges,
];

/** The tasks in the form that graphile-worker takes. */
export function taskList(context: TaskContext): TaskList {
  return Object.fromEntries(TASKS.map((task) => [task.name, task.create(context)]));
}

/** The schedule in the form that graphile-worker takes; a run that is still queued is not queued again. */
export function crontab(): string {
  return TASKS.filter((task) => task.schedule !== undefined)
    .map((task) => `${task.schedule} ${task.name} ?jobKey=${task.name}&max=1\n`)
    .join("");
}
