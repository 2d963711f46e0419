// How often a feed of changes is read, in whose name, and how much is kept of it.
import type { Mistake } from "../mistake.ts";

export const LIVE_FEEDS: readonly Mistake[] = [
  {
    rule: "a database that is away is left alone for a second",
    file: "server/live/channel.ts",
    before: "        await sleep(RETRY_MS, undefined, { ref: false });\n",
    after: "",
    tests: ["live-parts"],
    only: "a second later",
  },
  {
    rule: "what is read for all is read in nobody's name",
    file: "server/live/channel.ts",
    before: "void forAll(() => this.#goOn(position));",
    after: "void this.#goOn(position);",
    tests: ["live-parts"],
    only: "in nobody's name",
  },
  {
    rule: "claims are looked for less often than records",
    file: "server/live/feed.ts",
    before: "claims ? CLAIMS_TICK_MS : TICK_MS",
    after: "claims ? TICK_MS : CLAIMS_TICK_MS",
    tests: ["live-parts"],
    only: "and no more often",
  },
  {
    rule: "records are looked for ten times a second",
    file: "server/live/feed.ts",
    before: "const TICK_MS = 100;",
    after: "const TICK_MS = 10;",
    tests: ["live-parts"],
    only: "and no more often",
  },
  {
    rule: "5 MB are kept for a subscriber who does not read",
    file: "server/live/feed.ts",
    before: "unreadBytes: 5_000_000",
    after: "unreadBytes: 500_000",
    tests: ["live-parts"],
    only: "keeps 5 MB",
  },
  {
    rule: "no more than 5 MB are kept for a subscriber who does not read",
    file: "server/live/feed.ts",
    before: "unreadBytes: 5_000_000",
    after: "unreadBytes: 50_000_000",
    tests: ["live-parts"],
    only: "keeps 5 MB",
  },
  {
    rule: "a key has a thousand subscriptions at most",
    file: "server/live/feed.ts",
    before: "ofKey: 1_000,",
    after: "ofKey: 10_000,",
    tests: ["live-parts"],
    only: "no more than 1,000",
  },
];
