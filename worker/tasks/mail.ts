import { isLoopback } from "../../config.ts";
import { createMailer } from "../mailer.ts";
import { sendMails } from "../outbox.ts";
import type { TaskDefinition } from "./task.ts";

/** So many look for mails at the same time: a mail server that is silent must not keep all other jobs waiting. */
const AT_A_TIME = 2;

/** Sends waiting mails; each mail brings its own job, and the schedule takes care of those whose job was lost. */
export const sendWaitingMails: TaskDefinition = {
  name: "send_mails",
  schedule: "* * * * *",
  create: ({ pool, config, logger }) => {
    const host = config.host.includes(":") ? `[${config.host}]` : config.host;
    const platformUrl = config.platformUrl ?? `http://${host}:${config.port}`;
    const mailer = config.smtpUrl === undefined ? undefined : createMailer(config.smtpUrl, config.mailFrom);
    // A database of its own, which nobody else reaches: a laptop, whose owner wants to see what would be sent.
    const showKept = config.databaseUrl === undefined && isLoopback(config.host);
    let looking = 0;
    let isAskedAgain = false;
    return async () => {
      if (looking === AT_A_TIME) {
        isAskedAgain = true;
        return;
      }
      looking += 1;
      try {
        do {
          isAskedAgain = false;
          await sendMails({ pool, mailer, showKept, platformUrl, logger });
        } while (isAskedAgain);
      } finally {
        looking -= 1;
      }
    };
  },
};
