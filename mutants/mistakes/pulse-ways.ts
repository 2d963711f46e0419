// Which way is lost where others are answered, and what the graph store is asked for a sign of life.
import type { Mistake } from "../mistake.ts";

const WAYS = {
  file: "process/pulse.ts",
  tests: ["pulse"],
  only: "a question from before has no answer still",
};
const STORE = { file: "process/store-pulse.ts", tests: ["pulse"], only: "a graph store" };

export const PULSE_OF_WAYS: readonly Mistake[] = [
  {
    ...WAYS,
    rule: "one clock is enough for all who wait",
    before: "this.#tick ??= setInterval",
    after: "this.#tick = setInterval",
    only: "goes by whoever has waited longest",
  },
  {
    ...WAYS,
    rule: "an answer that comes late tells of the question from before as well",
    before: "[this.#question, this.#unanswered]",
    after: "[this.#question]",
  },
  {
    ...WAYS,
    rule: "an answer tells of the question that is being asked",
    before: "[this.#question, this.#unanswered]",
    after: "[this.#unanswered]",
  },
  {
    ...WAYS,
    rule: "a way that was made at the moment of the question is one from before",
    before: "madeAt <= question.at",
    after: "madeAt < question.at",
  },
  {
    ...WAYS,
    rule: "nobody has been answered yet when a question is asked",
    before: "question = { at: performance.now(), isAnsweredElsewhere: false }",
    after: "question = { at: performance.now(), isAnsweredElsewhere: true }",
  },
  {
    ...WAYS,
    rule: "a question is known while it is asked",
    before: "    this.#question = question;\n",
    after: "",
  },
  {
    ...WAYS,
    rule: "after a sign of life no question is without an answer",
    before: "      this.#unanswered = undefined;\n",
    after: "",
  },
  {
    ...WAYS,
    rule: "a question that had no answer is remembered",
    before: "this.#unanswered = isSilent ? undefined : question;",
    after: "this.#unanswered = undefined;",
  },
  {
    ...WAYS,
    rule: "once a way was given up the question on it is over",
    before: "this.#unanswered = isSilent ? undefined : question;",
    after: "this.#unanswered = question;",
  },
  {
    ...WAYS,
    rule: "whoever is asked anew and answers is back",
    before: "this.#isDown || isThatWay",
    after: "isThatWay",
  },
  {
    ...STORE,
    rule: "a store is asked for a sign of life after a fifth of a second",
    before: "askAfterMs: 200",
    after: "askAfterMs: 2_000",
  },
  {
    ...STORE,
    rule: "a store that is frozen is not left with questions that nobody waits for",
    before: "{ signal: late, timeoutMs",
    after: "{ timeoutMs",
  },
  {
    ...STORE,
    rule: "no time limit of a query ends the question for a sign of life",
    before: "timeoutMs: NO_LIMIT_MS",
    after: "timeoutMs: RHYTHM.patienceMs",
  },
  {
    ...STORE,
    rule: "what is no answer of a store is no sign of life",
    before: "isSilent || !(error instanceof GraphUnavailable || error instanceof GraphRejected)",
    after: "isSilent",
  },
  {
    ...STORE,
    rule: "what is under way with a signal of its own is broken off as well when the store is lost",
    before: "AbortSignal.any([call.signal, lost.signal])",
    after: "call.signal",
  },
  {
    ...STORE,
    rule: "an answer of the store is a sign of life",
    before: "      attendance.answered();\n      body = ",
    after: "      body = ",
  },
  {
    ...STORE,
    rule: "an answer that has been read is no longer attended",
    before: "attendance.answered();\n  attendance.end();",
    after: "attendance.answered();",
  },
  {
    ...STORE,
    rule: "a store is available only if it gives a sign of life",
    before: "!pulse.isDown && (await pulse.beat())",
    after: "!pulse.isDown",
  },
  {
    ...STORE,
    rule: "a store that is known to be away is not asked whether it is there",
    before: "!pulse.isDown && (await pulse.beat())",
    after: "pulse.beat()",
  },
];
