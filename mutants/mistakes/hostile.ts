// What a caller, or a mail server, can do to everybody else.
import type { Mistake } from "../mistake.ts";

export const HOSTILE: readonly Mistake[] = [
  {
    rule: "a mail server that falls silent at one mail keeps mails to other domains waiting for nothing",
    file: "worker/outbox.ts",
    before: 'domainOf(row.recipient) : ""',
    after: '"" : ""',
    tests: ["outbox"],
    only: "only those of the same domain wait",
  },
  {
    rule: "somebody sees to the mails behind the one at which the server fell silent",
    file: "worker/outbox.ts",
    before: 'if (to !== "") await',
    after: 'if (to === "") await',
    tests: ["outbox"],
    only: "only those of the same domain wait",
  },
  {
    rule: "two claims at the same time count the mails of each other",
    file: "db/rules/mail.sql",
    before: "    perform pg_advisory_xact_lock(hashtextextended('app_private.claim_mails', 0));\n",
    after: "    null;\n",
    tests: ["membership-concurrency"],
    only: "no more mails than the limit",
  },
  {
    rule: "GraphQL survives an Accept that nobody can read",
    file: "server/graphql/http.ts",
    before: "    request.headers.accept = withoutOddities(request.headers.accept);\n",
    after: "",
    tests: ["graphql-http"],
    only: "an Accept that is not well-formed",
  },
];
