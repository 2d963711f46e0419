// Who is calling, and how often they may.
import type { Mistake } from "../mistake.ts";

const WINDOW = { tests: ["rate-window"] };

export const IDENTITY: readonly Mistake[] = [
  {
    ...WINDOW,
    rule: "a batch takes no more of the limit than it lacks",
    file: "server/identity/rate-limit.ts",
    before: "Math.max(requests - share.left, Math.ceil",
    after: "Math.max(requests, Math.ceil",
    only: "no more of the limit",
  },
  {
    ...WINDOW,
    rule: "a clock that was set back makes a window no longer than a minute",
    file: "server/identity/rate-limit.ts",
    before: "Math.min(msBeforeNext, WINDOW_SECONDS * 1000)",
    after: "msBeforeNext",
    only: "set back",
  },
  {
    ...WINDOW,
    rule: "a process that begins to count by itself remembers what was taken",
    file: "server/identity/rate-limit.ts",
    before: "{ consumedPoints: share.taken + points, msBeforeNext: msLeft }",
    after: "{ consumedPoints: points, msBeforeNext: msLeft }",
    only: "goes on with the window",
  },
  {
    ...WINDOW,
    rule: "a process that begins to count by itself begins no new window",
    file: "server/identity/rate-limit.ts",
    before: "{ consumedPoints: share.taken + points, msBeforeNext: msLeft }",
    after: "{ consumedPoints: share.taken + points, msBeforeNext: WINDOW_SECONDS * 1000 }",
    only: "goes on with the window",
  },
  {
    ...WINDOW,
    rule: "a process that counts by itself begins a new window when one is over",
    file: "server/identity/rate-limit.ts",
    before: ": { consumedPoints: points, msBeforeNext: WINDOW_SECONDS * 1000 };",
    after: ": { consumedPoints: share.limit + points, msBeforeNext: WINDOW_SECONDS * 1000 };",
    only: "goes on with the window",
  },
  {
    ...WINDOW,
    rule: "a database that was down is asked as soon as it is back",
    file: "server/identity/rate-limit.ts",
    before: "Date.now() >= this.#aloneUntil && !this.#pulse.isDown",
    after: "Date.now() >= this.#aloneUntil",
    only: "as soon as it is back",
  },
  {
    ...WINDOW,
    rule: "a database that fails is not asked for a while",
    file: "server/identity/rate-limit.ts",
    before: "        this.#aloneUntil = Date.now() + ALONE_MS;\n",
    after: "",
    only: "as soon as it is back",
  },
  {
    ...WINDOW,
    rule: "a database that failed is asked again after two seconds",
    file: "server/identity/rate-limit.ts",
    before: "const ALONE_MS = 2_000;",
    after: "const ALONE_MS = 60_000;",
    only: "as soon as it is back",
  },
];
