// What of the worker went unnoticed: what it does when two things fail at once, when it is told to stop, and when it has to wait.
import type { Mistake } from "../mistake.ts";

export const GAPS_OF_WORKER: readonly Mistake[] = [
  {
    rule: "who can note nothing of the store, as the database is away too, goes on",
    file: "worker/drainer.ts",
    before:
      '      .query("select app_private.note_graph_state($1, $2, $3)", [state, reason, self])\n      .catch((error: unknown) => logger.debug({ err: error }, "cannot note the state of the graph"));',
    after: '      .query("select app_private.note_graph_state($1, $2, $3)", [state, reason, self]);',
    tests: ["drainer"],
    only: "both the store and the database away",
  },
  {
    rule: "who is told to stop says no more of a store that fails then",
    file: "worker/drainer.ts",
    before: "        if (stopping.signal.aborted) return;\n",
    after: "",
    tests: ["drainer"],
    only: "told to stop while a store is failing",
  },
  {
    rule: "under a steady stream of writes the store is asked what it holds all the same",
    file: "worker/drainer.ts",
    before: "drain(options, stopping.signal, watchAt)",
    after: "drain(options, stopping.signal)",
    tests: ["drainer"],
    only: "steady stream of writes",
  },
  {
    rule: "whoever looks at the store while another writes says so",
    file: "worker/drainer.ts",
    before: "      await beat();\n      if (failing && seen",
    after: "      if (failing && seen",
    tests: ["drainer"],
    only: "whoever looks at the store says that somebody does",
  },
  {
    rule: "whoever may not verify asks again after a while",
    file: "worker/verifier.ts",
    before: "      await pause(lookMs);\n    }\n  }\n\n  const noteTrouble",
    after: "    }\n  }\n\n  const noteTrouble",
    tests: ["verifier"],
    only: "whoever may not verify asks again",
  },
  {
    rule: "a step of the verification may take longer than an idle session may last",
    file: "worker/verifier.ts",
    before: '    await client.query("set idle_session_timeout = 0");\n',
    after: "",
    tests: ["verifier"],
    only: "whoever may not verify asks again",
  },
  {
    rule: "a job that ends as its connection breaks does not end the process",
    file: "worker/jobs.ts",
    before: "        completeJobBatchDelay: 0,\n        failJobBatchDelay: 0,\n",
    after: "",
    tests: ["worker-jobs"],
    only: "ends as its connection breaks",
  },
  {
    rule: "a mail says that a program wrote it",
    file: "worker/mailer.ts",
    before: '          headers: { "Auto-Submitted": "auto-generated" },\n',
    after: "",
    tests: ["mailer"],
    only: "a program wrote it",
  },
  {
    rule: "the id of a mail is well-formed where its sender has a name",
    file: "worker/mailer.ts",
    before: '.replace(">", "")',
    after: "",
    tests: ["mailer"],
    only: "a program wrote it",
  },
  {
    rule: "one connection is enough to send with",
    file: "worker/outbox.ts",
    before: "  await options.reached?.list(options.pool);\n  const client",
    after: "  const client",
    tests: ["outbox"],
    only: "one connection is enough",
  },
  {
    rule: "a mail that was refused for good stays so when the server is away",
    file: "worker/outbox.ts",
    before:
      "       where sent_at is null and kept_at is null and failed_at is null and next_attempt_at <= now()\n         and right(",
    after:
      "       where sent_at is null and kept_at is null and next_attempt_at <= now()\n         and right(",
    tests: ["outbox"],
    only: "changes nothing of what was sent",
  },
  {
    rule: "a mail that was sent is not put off",
    file: "worker/outbox.ts",
    before:
      "       where sent_at is null and kept_at is null and failed_at is null and next_attempt_at <= now()\n         and right(",
    after:
      "       where kept_at is null and failed_at is null and next_attempt_at <= now()\n         and right(",
    tests: ["outbox"],
    only: "changes nothing of what was sent",
  },
  {
    rule: "a mail that is kept is not put off",
    file: "worker/outbox.ts",
    before:
      "       where sent_at is null and kept_at is null and failed_at is null and next_attempt_at <= now()\n         and right(",
    after:
      "       where sent_at is null and failed_at is null and next_attempt_at <= now()\n         and right(",
    tests: ["outbox"],
    only: "changes nothing of what was sent",
  },
  {
    rule: "what a large graph holds is counted for as long as a store may be at it",
    file: "worker/replace.ts",
    before: "    signal,\n    timeoutMs: STALLED_MS,\n",
    after: "    signal,\n",
    tests: ["worker-parts"],
    only: "as long as it takes while the store reads on",
  },
];
