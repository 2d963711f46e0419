import { isLoopback } from "../../config.ts";
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
    // A database of its own, which nobody else reaches: a laptop, whose owner wants to see what would be sent.
    const showKept = config.databaseUrl === undefined && isLoopback(config.host);
    return async () => {
      await sendMails({ pool, mailer, showKept, platformUrl, logger });
    };
  },
};
