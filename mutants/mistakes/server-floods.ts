// Callers who send as much as they can.
import type { Mistake } from "../mistake.ts";

const HELD = { file: "server/identity/hold-back.ts", tests: ["hold-back"] };
const TALK = { file: "server/graphql/conversation.ts", tests: ["graphql-subscriptions"] };
const TURNS = { file: "server/loop-turns.ts", tests: ["loop-turns"] };

export const FLOODS: readonly Mistake[] = [
  {
    ...HELD,
    rule: "a hundred of a caller wait for half a second, and others for longer",
    before: "const HELD_AT_A_TIME = 100;",
    after: "const HELD_AT_A_TIME = 10_000;",
    only: "waits for longer",
  },
  {
    ...HELD,
    rule: "nobody waits for longer than ten seconds",
    before: "Math.min(LONGEST_MS, HELD_MS * Math.ceil(held / HELD_AT_A_TIME))",
    after: "HELD_MS * Math.ceil(held / HELD_AT_A_TIME)",
    only: "ten seconds at most",
  },
  {
    ...HELD,
    rule: "who hangs up has its next ones wait as if it had stayed",
    before: 'gone.addEventListener("abort", end);',
    after: 'gone.addEventListener("abort", () => (this.#leave(caller), end()));',
    only: "hangs up is over at once",
  },
  {
    ...HELD,
    rule: "who hangs up is not kept",
    before: '      gone.addEventListener("abort", end);\n',
    after: "",
    only: "hangs up is over at once",
  },
  {
    ...HELD,
    rule: "nobody waits once the service ends",
    before: "for (const answer of this.#waiting) answer();",
    after: "",
    only: "once the service ends",
  },
  {
    rule: "to come to a page without a session is no refusal",
    file: "server/app.ts",
    before: 'holdBack.slowly(orNobody(identified("session of a page")))',
    after: 'orNobody(holdBack.slowly(identified("session of a page")))',
    tests: ["hold-back"],
    only: "who is not known",
  },
  {
    rule: "who signs in too often waits",
    file: "server/pages/sign-in/door.ts",
    before: "parts.holdBack.slowly(limitNetwork(REQUESTS_PER_MINUTE)),",
    after: "limitNetwork(REQUESTS_PER_MINUTE),",
    tests: ["hold-back"],
    only: "who is not known",
  },
  {
    ...TALK,
    rule: "what is said over a WebSocket counts",
    before: "else if (this.#count) this.#inTurn().catch(this.#tooMuch);",
    after: "else if (this.#count) return;",
    only: "no more than a key may ask",
  },
  {
    ...TALK,
    rule: "who has not said who they are may say little",
    before: "else this.#socket.terminate();",
    after: "else return;",
    only: "before it is known",
  },
  {
    ...TALK,
    rule: "the end of a subscription is free",
    before: "const FREE_WITH_SUBSCRIPTION = 2;",
    after: "const FREE_WITH_SUBSCRIPTION = 1;",
    only: "the end of each subscription",
  },
  {
    ...TURNS,
    rule: "whose turn was long rests",
    before: "if (tookMs > LONG_MS) this.#rest(caller, tookMs);",
    after: "",
    only: "that were long",
  },
  {
    ...TURNS,
    rule: "twenty milliseconds are not long",
    before: "tookMs > LONG_MS",
    after: "tookMs >= LONG_MS",
    only: "twenty milliseconds",
  },
  {
    ...TURNS,
    rule: "whoever has had a turn comes last",
    before: "    this.#waiting.delete(caller);\n    const {",
    after: "    if (own.length === 1) this.#waiting.delete(caller);\n    const {",
    only: "by caller",
  },
  {
    ...TURNS,
    rule: "who has waited for half a minute is refused",
    before: "began - since > PATIENCE_MS",
    after: "began - since > 2 * PATIENCE_MS",
    only: "half a minute",
  },
  {
    rule: "GraphQL texts wait for their turns",
    file: "server/graphql/door.ts",
    before: "readRequest(documents), inTurn);",
    after: "readRequest(documents));",
    tests: ["loop-turns"],
    only: "texts of GraphQL",
  },
  {
    rule: "SPARQL texts wait for their turns",
    file: "server/sparql/endpoint.ts",
    before: "    await this.#turns.take(caller, gone);\n",
    after: "",
    tests: ["loop-turns"],
    only: "texts of SPARQL",
  },
  {
    rule: "what was cut short and answered is no failure of the service",
    file: "server/errors.ts",
    before: "if (response.writableEnded) return;",
    after: "",
    tests: ["slow-callers"],
    only: "turns out not to be HTTP",
  },
];
