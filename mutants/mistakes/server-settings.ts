// What a server makes of its settings, and what it leaves when it ends.
import type { Mistake } from "../mistake.ts";

export const SERVER_SETTINGS: readonly Mistake[] = [
  {
    rule: "as many SPARQL queries run at a time as are configured",
    file: "server/main.ts",
    before: "    concurrency: config.sparqlConcurrency,",
    after: "    concurrency: 3,",
    tests: ["settings-in-effect"],
    only: "SPARQL queries",
  },
  {
    rule: "a SPARQL query has the time that is configured for it",
    file: "server/main.ts",
    before: "timeoutMs: config.sparqlTimeoutMs",
    after: "timeoutMs: config.statementTimeoutMs",
    tests: ["settings-in-effect"],
    only: "SPARQL queries",
  },
  {
    rule: "a server that cannot start keeps no connection",
    file: "server/main.ts",
    before: "  up.defer(() => postgres.end());\n",
    after: "",
    tests: ["settings-in-effect"],
    only: "cannot start",
  },
  {
    rule: "a server that has stopped has no connection left",
    file: "server/main.ts",
    before: "      await listener.drain(config.shutdown);\n      await up.disposeAsync();",
    after: "      await listener.drain(config.shutdown);",
    tests: ["settings-in-effect"],
    only: "is told of in the log",
  },
  {
    rule: "a connection that the database breaks off is told of",
    file: "server/main.ts",
    before:
      'onError: (error: Error) => apart(() => logger.warn({ err: error }, "lost a database connection")),',
    after: "onError: () => undefined,",
    tests: ["settings-in-effect"],
    only: "is told of in the log",
  },
  {
    rule: "a database that is frozen is asked once, and not with every scrape",
    file: "process/metrics.ts",
    before: "asking ??= read()",
    after: "asking = read()",
    tests: ["metrics-parts"],
    only: "is asked once",
  },
  {
    rule: "a replica that is behind is waited for as long as is configured",
    file: "server/main.ts",
    before: "{ url: readUrl, maxLagMs, logger, ...connecting }",
    after: "{ url: readUrl, maxLagMs: 500, logger, ...connecting }",
    tests: ["replica"],
    only: "waited for as long",
  },
  {
    rule: "twice the longest answer may be unread",
    file: "server/app.ts",
    before: "UNDELIVERED_ANSWERS * config.answerMaxBytes",
    after: "config.answerMaxBytes",
    tests: ["answer-size"],
    only: "are few",
  },
];
