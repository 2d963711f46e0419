// Long pages of the church search, which are made in parts.
import type { Mistake } from "../mistake.ts";

const FILE = "server/resources/church-pages.ts";
const SQL = "db/rules/church-answers.sql";
const parts = "a page of three parts";

const mistakes: [rule: string, file: string, before: string, after: string, only: string][] = [
  [
    "a page of more than a thousand churches is long, and none of fewer",
    FILE,
    "> LONG_PAGE",
    "> 999",
    "no second long one",
  ],
  ["a caller makes one long page at a time", FILE, "perCaller: 1,", "perCaller: 2,", "no second long one"],
  [
    "a page gives its turn back, however it ends",
    FILE,
    "    } finally {\n      giveBack?.();\n    }",
    "    } catch (error) {\n      giveBack?.();\n      throw error;\n    }",
    "reads no further",
  ],
  [
    "there is a rest after each part",
    FILE,
    "await sleep(restMs,",
    "await sleep(0,",
    "it rests after each part",
  ],
  [
    "who hangs up while a page rests has gone",
    FILE,
    "{ signal: identity.gone }).catch",
    "{}).catch",
    "it rests after each part",
  ],
  ["callers share no turns", FILE, "slots: 100", "slots: 4", "share no turns"],
  [
    "a rest has an end",
    FILE,
    "Math.min(performance.now() - began, LONGEST_REST_MS)",
    "performance.now() - began",
    "rests no longer",
  ],
  ["twenty wait and no more", FILE, "queuePerCaller: 20,", "queuePerCaller: 19,", "twenty of a caller"],
  ["the next part begins where the last ended", FILE, "place = last;", "", "each part begins"],
  [
    "a part that was slow is followed by one of twice as many",
    SQL,
    "then 2 * most_of_part",
    "then most_of_part",
    "twice as many",
  ],
  ["a part that was not slow is followed by one as large", SQL, "'100 ms'", "'0 ms'", "twice as many"],
  [
    "a part ends after so many of its own",
    SQL,
    "least(size, listed + most_of_part)",
    "least(size, most_of_part)",
    parts,
  ],
  ["a page has no more than its limit in all of its parts", SQL, "listed < size then", "true then", parts],
  [
    "the bytes of earlier parts count",
    SQL,
    "coalesce((place ->> 'bytes')::bigint, 500)",
    "500",
    "as many bytes as it may",
  ],
  [
    "a place goes before the cursor that was given",
    SQL,
    "coalesce(place ->> 'cursor', search.cursor)",
    "coalesce(search.cursor, place ->> 'cursor')",
    "same text",
  ],
  [
    "whoever gives no place has all of a page at once",
    SQL,
    "when place is null then size",
    "when false then size",
    parts,
  ],
];

export const CHURCH_PAGES: readonly Mistake[] = mistakes.map(([rule, file, before, after, only]) => ({
  ...{ rule, file, before, after, only },
  tests: ["church-pages"],
}));
