import { showsMails, urlAt } from "../../config.ts";
import { createMailer } from "../mailer.ts";
import { Reached, sendMails } from "../outbox.ts";
import type { TaskDefinition } from "./task.ts";

/** Sends waiting mails; each mail adds its own job, and the schedule covers mails whose job was lost. */
export const sendWaitingMails: TaskDefinition = {
  name: "send_mails",
  schedule: "* * * * *",
  create: ({ pool, config, logger }) => {
    const platformUrl = config.platformUrl ?? urlAt(config.host, config.port);
    const mailer = config.smtpUrl === undefined ? undefined : createMailer(config.smtpUrl, config.mailFrom);
    const reached = new Reached();
    const options = { pool, mailer, showKept: showsMails(config), platformUrl, logger, reached };
    // Two of the four jobs that run at a time, so that a silent mail server does not keep all other jobs
    // waiting. The second sends only to domains where mails are known to get through, so that mails to other
    // domains hold up only each other.
    let isLeaving = false;
    let isHeldUp = false;
    const looks = [
      whoeverAsks(async (stopping) => {
        const { left, heldUp } = await sendMails({ ...options, stopping });
        // It comes back every few seconds as long as it lasts.
        if (left > 0 && !isLeaving)
          logger.warn(
            { mails: left },
            "mails left to another worker, which has a mail server: SMTP_URL is not set here",
          );
        isLeaving = left > 0;
        if (heldUp > 0 && !isHeldUp)
          logger.warn(
            { mails: heldUp },
            "mails wait: the database is being migrated, or the lock of its migrations is held",
          );
        isHeldUp = heldUp > 0;
      }),
      whoeverAsks((stopping) => sendMails({ ...options, stopping, isForReached: true })),
    ];
    return async (_payload, { abortSignal }) => {
      await Promise.all(looks.map((look) => look(abortSignal)));
    };
  },
};

/**
 * Does some work for all callers. A call while the work is running returns at once,
 * and the work is done once more.
 */
function whoeverAsks(work: (stopping: AbortSignal) => Promise<unknown>): typeof work {
  let isWorking = false;
  let isAsked = false;
  return async (stopping) => {
    isAsked = true;
    if (isWorking) return;
    isWorking = true;
    try {
      while (isAsked) {
        isAsked = false;
        await work(stopping);
      }
    } finally {
      isWorking = false;
    }
  };
}
