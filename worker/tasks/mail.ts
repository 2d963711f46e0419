import { createMailer } from "../mailer.ts";
import { sendMails } from "../outbox.ts";
import type { TaskDefinition } from "./task.ts";

/** Sends waiting mails; each mail brings its own job, and the schedule takes care of those whose job was lost. */
export const sendWaitingMails: TaskDefinition = {
  name: "send_mails",
  schedule: "* * * * *",
  create: ({ pool, config, logger }) => {
    const host = config.host.includes(":") ? `[${config.host}]` : config.host;
    const platformUrl = config.platformUrl ?? `http://${host}:${config.port}`;
    const mailer = config.smtpUrl === undefined ? undefined : createMailer(config.smtpUrl, config.mailFrom);
    return async () => {
      await sendMails({ pool, mailer, platformUrl, logger });
    };
  },
};
