// Who gets the next connection when several callers want it: how long others count, and what is known of the slow.
import type { Mistake } from "../mistake.ts";

export const SERVER_TURNS: readonly Mistake[] = [
  {
    rule: "others count as there for a second after they have come",
    file: "server/shares.ts",
    before: "const COMPANY_MS = 1_000;",
    after: "const COMPANY_MS = 900;",
    tests: ["turns"],
    only: "though they have nothing",
  },
  {
    rule: "others do not count as there for longer than a second",
    file: "server/shares.ts",
    before: "performance.now() - company.at <= COMPANY_MS",
    after: "performance.now() - company.at <= 2 * COMPANY_MS",
    tests: ["turns"],
    only: "though they have nothing",
  },
  {
    rule: "who waits is let in when others are no longer there",
    file: "server/shares.ts",
    before: "      const alone = setTimeout(() => this.#admitNext(), COMPANY_MS + 1);",
    after: "      const alone = undefined;",
    tests: ["turns"],
    only: "no longer",
  },
  {
    rule: "a key of which nothing is known begins with two at a time",
    file: "server/shares.ts",
    before: "?? Infinity) / slowMs",
    after: "?? 0) / slowMs",
    tests: ["turns"],
    only: "nothing is known",
  },
  {
    rule: "one slow request does not make its key slow",
    file: "server/shares.ts",
    before: "const NEWEST = 1 / 4;",
    after: "const NEWEST = 1;",
    tests: ["turns"],
    only: "the last few of them",
  },
  {
    rule: "a key whose requests become slow is soon known to be",
    file: "server/shares.ts",
    before: "const NEWEST = 1 / 4;",
    after: "const NEWEST = 1 / 8;",
    tests: ["turns"],
    only: "the last few of them",
  },
  {
    rule: "where there is one slot somebody may have it",
    file: "server/shares.ts",
    before: "return Math.ceil(slots / 2);",
    after: "return Math.floor(slots / 2);",
    tests: ["turns"],
    only: "half of what there is",
  },
  {
    rule: "slots that came back while the process stood still are lent before anybody is refused",
    file: "server/shares.ts",
    before: "setTimeout(() => setImmediate(giveUp), this.#limits.patienceMs)",
    after: "setTimeout(giveUp, this.#limits.patienceMs)",
    tests: ["turns"],
    only: "stood still",
  },
];
