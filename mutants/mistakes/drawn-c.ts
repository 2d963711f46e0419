// What was drawn at random from all of the code, and went unnoticed, or was noticed by a test of something else; and what is
// like it.
import type { Mistake } from "../mistake.ts";

/** An alert that looks back for so long that it never sees two scrapes, or forgets too soon what it has seen. */
const lookingBack = (alert: string, before: string, after: string): Mistake => ({
  rule: `${alert} looks back over as long as it needs to`,
  file: "deploy/prometheus/alerts.yml",
  before,
  after,
  tests: ["deployment"],
  only: "each looks back",
});

export const DRAWN_BY_SEED: readonly Mistake[] = [
  {
    rule: "an address in JSON that only contains an erased person's stays another's",
    file: "db/rules/mentions.sql",
    before: "app_private.substituted(t.value, app_private.pattern_in(t.key, pattern), substitute)",
    after: "app_private.substituted(t.value, pattern, substitute)",
    tests: ["people"],
    only: "answers that are kept",
  },
  lookingBack("the alert of mails", "mails_failed[1h]", "mails_failed[1m]"),
  lookingBack(
    "the alert of waiting",
    "database_pool_wait_seconds_bucket[5m]",
    "database_pool_wait_seconds_bucket[1m]",
  ),
  lookingBack(
    "the alert of failures",
    "http_request_duration_seconds_count[5m]",
    "http_request_duration_seconds_count[1m]",
  ),
  lookingBack("the alert of slowness", '{route!="/v0/sparql"}[5m]', '{route!="/v0/sparql"}[1m]'),
  lookingBack("the alert of refusals", 'status=~"401|403|429"}[5m]', 'status=~"401|403|429"}[1m]'),
  {
    rule: "a round of the verification that stands in a part of an earlier version is over",
    file: "worker/verify.ts",
    before: "await PARTS[part]?.(",
    after: "await PARTS[part]!(",
    tests: ["graph-upkeep"],
    only: "that there is no more is over",
  },
  {
    rule: "a code leads to its own list, whatever characters it has",
    file: "server/pages/overview/links.ts",
    before: "const query = new URLSearchParams(filters).toString();",
    after:
      'const query = Object.entries(filters)\n    .map(([name, value]) => `${name}=${value}`)\n    .join("&");',
    tests: ["page-parts"],
    only: "leads to what was counted",
  },
  {
    rule: "a query is opened in the explorer, whatever characters it has",
    file: "server/pages/overview/links.ts",
    before: "?${new URLSearchParams({ query }).toString()}`",
    after: "?query=${encodeURI(query)}`",
    tests: ["page-parts"],
    only: "leads to what was counted",
  },
  {
    rule: "at a desk the explorer has all the room below the header",
    file: "server/graphql/explorer.ts",
    before: "flex-direction: column; height: 100vh;",
    after: "flex-direction: column; height: 100%;",
    tests: ["graphql-explorer"],
    only: "all the room that there is",
  },
  {
    rule: "the explorer fills the main part of its page",
    file: "server/graphql/explorer.ts",
    before: "  #ruru-root { height: 100%; }\n",
    after: "",
    tests: ["graphql-explorer"],
    only: "all the room that there is",
  },
  {
    rule: "the main part of the explorer's page takes what the header leaves",
    file: "server/graphql/explorer.ts",
    before: "main { flex: 1; min-height: 0; }",
    after: "main { flex: none; }",
    tests: ["graphql-explorer"],
    only: "all the room that there is",
  },
  {
    rule: "on a phone the explorer has the whole screen",
    file: "server/graphql/explorer.ts",
    before: "    main { flex: none; height: 100vh; }\n",
    after: "",
    tests: ["graphql-explorer"],
    only: "all the room that there is",
  },
  {
    rule: "a record that the load check refuses is told its own faults",
    file: "worker/projection.ts",
    before: "errors: errors.get(triples.iri) ?? []",
    after: "errors: [...errors.values()].flat()",
    tests: ["graph-upkeep"],
    only: "its own faults",
  },
  {
    rule: "a slow caller's answer is not made whole in advance",
    file: "graph/embedded/tasks.ts",
    before: "PIECES_IN_FLIGHT = 16;",
    after: "PIECES_IN_FLIGHT = 16_384;",
    tests: ["embedded-store-pool"],
    only: "sixteen pieces",
  },
  {
    rule: "texts of GraphQL over HTTP have the bounds that they have everywhere",
    file: "server/graphql/execution.ts",
    before: "              parseAndValidate: execution.parserOf(config.schema),\n",
    after: "",
    tests: ["graphql-bounds"],
    only: "^(characters|depth)$",
  },
];
