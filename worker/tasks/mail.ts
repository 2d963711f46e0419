import { createMailer } from "../mailer.ts";
import { sendMails } from "../outbox.ts";
import type { TaskDefinition } from "./task.ts";

/** Sends the mails that wait; each mail brings its job, and the schedule comes for those whose job was lost. */
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
