// The metrics of the worker: its jobs and its mails, and how far the graph is behind.
import type { TaskList } from "graphile-worker";
import type { Pool } from "pg";
import { Gauge, Histogram } from "prom-client";
import type { GraphHealth, Metrics } from "../process/metrics.ts";

type JobCounts = { task: string; due: number; failed: number; oldest: number };
type MailCounts = { waiting: number; oldest: number; failed: number };

/**
 * Adds the worker's metrics to those of its process.
 * @param pool connected as the role that owns the schema
 * @param tasks the kinds of jobs there are
 * @returns the same tasks, timed
 */
export function addWorkerMetrics(metrics: Metrics, pool: Pool, tasks: TaskList): TaskList {
  const registers = [metrics.registry];
  metrics.watchPool("worker", pool);
  metrics.watchGraph(async () => {
    const { rows } = await pool.query<{ health: GraphHealth }>(
      "select row_to_json(health) as health from rest.health",
    );
    return rows[0]!.health;
  });

  const perTask = (name: string, help: string) => new Gauge({ name, help, labelNames: ["task"], registers });
  const due = perTask("jobs_due", "Jobs that could run by now, by task.");
  const failed = perTask("jobs_failed", "Jobs that have used up their attempts, by task.");
  const oldestJob = perTask("jobs_oldest_due_seconds", "How long the oldest of them has been due, by task.");
  const showJobs = (found: readonly JobCounts[]) => {
    for (const task of Object.keys(tasks)) {
      const counts = found.find((each) => each.task === task);
      due.set({ task }, counts?.due ?? 0);
      failed.set({ task }, counts?.failed ?? 0);
      oldestJob.set({ task }, counts?.oldest ?? 0);
    }
  };
  metrics.watchDatabase(() => countJobs(pool), showJobs, [due, failed, oldestJob]);

  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const waiting = gauge("mails_waiting", "Mails that are to be sent.");
  const oldestMail = gauge("mails_oldest_waiting_seconds", "How long ago the oldest of them was written.");
  const refused = gauge("mails_failed", "Mails that the mail server refused for good.");
  const showMails = (found: MailCounts) => {
    waiting.set(found.waiting);
    oldestMail.set(found.oldest);
    refused.set(found.failed);
  };
  metrics.watchDatabase(() => countMails(pool), showMails, [waiting, oldestMail, refused]);

  const seconds = new Histogram({
    name: "job_duration_seconds",
    help: "How long jobs took, by task and outcome: done or failed.",
    labelNames: ["task", "outcome"],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  return Object.fromEntries(
    Object.entries(tasks).map(([task, run]) => [
      task,
      async (payload, helpers) => {
        const stop = seconds.startTimer({ task });
        try {
          const outcome = await run!(payload, helpers);
          stop({ outcome: "done" });
          return outcome;
        } catch (error) {
          stop({ outcome: "failed" });
          throw error;
        }
      },
    ]),
  ) as TaskList;
}

async function countJobs(pool: Pool): Promise<JobCounts[]> {
  const { rows } = await pool.query<JobCounts>(
    `select task_identifier as task,
       count(*) filter (where is_due)::integer as due,
       count(*) filter (where attempts >= max_attempts and locked_at is null)::integer as failed,
       coalesce(extract(epoch from now() - min(run_at) filter (where is_due)), 0)::float8 as oldest
     from graphile_worker.jobs,
       lateral (select run_at <= now() and attempts < max_attempts as is_due) as state
     group by task_identifier`,
  );
  return rows;
}

/** Uses two small indexes, since most mails have been sent. */
async function countMails(pool: Pool): Promise<MailCounts> {
  const { rows } = await pool.query<MailCounts>(
    `select waiting.*, (select count(*) from app_private.mails where failed_at is not null)::integer as failed
     from (
       select count(*)::integer as waiting,
         coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest
       from app_private.mails as m where app_private.is_waiting_mail(m)
     ) as waiting`,
  );
  return rows[0]!;
}
