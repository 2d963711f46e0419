// The longest first: what begins last is waited for while the other cores have nothing left to do. Jest remembers how long
// each file took, but not from one machine to the next. So, where it does not know, by what a file has to start.
import { readFileSync } from "node:fs";
import TestSequencer from "@jest/test-sequencer";

/** What files say that start a store of each kind, or a browser or processes; between equals Jest goes by their length. */
const LONGEST_FIRST = [/\bonEachStore\b/, /\btestStores\b|\blaunchBrowser\b|support\/process\.ts"/];

export default class extends TestSequencer {
  /** @param {{ path: string, duration?: number }[]} tests */
  sort(tests) {
    const sorted = super.sort(tests); // oxlint-disable-line unicorn/no-array-sort -- not an array's
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const ranked = sorted.map((test) => {
      const text = readFileSync(test.path, "utf8");
      const rank = LONGEST_FIRST.findIndex((sign) => sign.test(text));
      return { test, rank: rank < 0 ? LONGEST_FIRST.length : rank };
    });
    return ranked.toSorted((a, b) => a.rank - b.rank).map(({ test }) => test);
  }
}
