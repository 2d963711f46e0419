// npm run mutants [-- file …]: makes each mistake of mutants/mistakes by itself and looks whether a test notices.
import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { createCopy, ROOT } from "./copy.ts";
import type { Outcome } from "./copy.ts";
import type { Mistake } from "./mistake.ts";
import { MISTAKES } from "./mistakes/index.ts";

const say = (line: string) => void process.stdout.write(`${line}\n`);

function usage(problem: string): never {
  process.stderr.write(
    `${problem}\nnpm run mutants -- [part of a file's name …] [--changed] [--since commit] [--seconds n] [--at-once n]\n` +
      "  --changed  only mistakes that concern files or tests changed since the base\n" +
      "  --since    the same, from that commit\n  --seconds  stop after this many seconds\n",
  );
  process.exit(2);
}

function options() {
  const read = () =>
    parseArgs({
      allowPositionals: true,
      options: {
        changed: { type: "boolean", default: false },
        since: { type: "string" },
        seconds: { type: "string", default: "86400" },
        "at-once": { type: "string", default: String(availableParallelism()) },
      },
    });
  let parsed: ReturnType<typeof read>;
  try {
    parsed = read();
  } catch (error) {
    return usage((error as Error).message);
  }
  const { values, positionals } = parsed;
  const number = (name: "seconds" | "at-once") => {
    const value = Number(values[name]);
    return Number.isInteger(value) && value > 0 ? value : usage(`--${name}: a whole number above 0`);
  };
  return {
    since: values.since ?? (values.changed ? landed() : undefined),
    parts: positionals,
    seconds: number("seconds"),
    atOnce: number("at-once"),
  };
}

// What has landed, by the first of these names that this clone knows.
const LANDED = ["origin/HEAD", "origin/main", "main"];

/** Where what is here went its own way from what has landed, or, if it has landed itself, what was there before it. */
function landed(): string {
  const head = git("rev-parse", "HEAD");
  const name = LANDED.find((each) => git("rev-parse", "--verify", "--quiet", each) !== undefined);
  const fork = name && git("merge-base", "HEAD", name);
  const before = fork === head && git("status", "--porcelain") === "" ? git("rev-parse", "HEAD^") : fork;
  if (!before) {
    say("No mistakes made: this clone does not know what was there before.");
    process.exit();
  }
  return before;
}

function changedSince(commit: string): Set<string> {
  const names = git("diff", "--name-only", commit);
  if (names === undefined) return usage(`--since: git does not know ${commit}`);
  return new Set(names.split("\n"));
}

function git(...args: string[]): string | undefined {
  try {
    return execFileSync("git", args, {
      cwd: ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return undefined;
  }
}

/** Those in changed files, and then those that changed tests have to notice. */
function touchedBy(files: ReadonlySet<string>, mistakes: readonly Mistake[]): Mistake[] {
  const isTested = ({ tests }: Mistake) => tests.some((name) => files.has(`test/${name}.test.ts`));
  return [
    ...inTurns(mistakes.filter(({ file }) => files.has(file))),
    ...inTurns(mistakes.filter((mistake) => !files.has(mistake.file) && isTested(mistake))),
  ];
}

/** One of each file, then another of each: what is left for want of time is not all of one file. */
function inTurns(mistakes: readonly Mistake[]): Mistake[] {
  const counts = new Map<string, number>();
  const turns = mistakes.map((mistake) => {
    const turn = counts.get(mistake.file) ?? 0;
    counts.set(mistake.file, turn + 1);
    return { mistake, turn };
  });
  return turns.toSorted((one, other) => one.turn - other.turn).map(({ mistake }) => mistake);
}

function tell({ mistake, result, tests, seconds }: Outcome): void {
  const said = {
    noticed: `noticed by "${tests[0]}"`,
    silent: mistake.survives ? `not noticed, as is known: ${mistake.survives}` : "NOT NOTICED",
    broken: "BROKEN: nothing starts with it, so no test can speak",
    late: "LATE: the tests did not end",
  }[result];
  say(`${mistake.file}: ${mistake.rule}\n    ${said} (${seconds.toFixed(0)} s)`);
}

const { since, parts, seconds, atOnce } = options();
const asked = MISTAKES.filter(({ file }) => parts.length === 0 || parts.some((part) => file.includes(part)));
const chosen = since === undefined ? inTurns(asked) : touchedBy(changedSince(since), asked);
if (since) say(`${chosen.length} mistakes have to do with what has changed since ${since}.`);
const isOver = AbortSignal.timeout(seconds * 1_000);
const waiting: Mistake[] = [...chosen];
const outcomes: Outcome[] = [];

async function work(): Promise<void> {
  const copy = createCopy();
  try {
    while (!isOver.aborted) {
      const next = waiting.shift();
      if (!next) return;
      const first = await copy.try(next, isOver);
      // A machine that is too busy to start anything looks the same.
      const outcome = first?.result === "broken" ? await copy.try(next, isOver) : first;
      if (!outcome) return;
      outcomes.push(outcome);
      tell(outcome);
    }
  } finally {
    copy.remove();
  }
}
await Promise.all(Array.from({ length: Math.min(atOnce, chosen.length) }, work));

const counted = (result: Outcome["result"]) => outcomes.filter((each) => each.result === result).length;
const explained = outcomes.filter(({ result, mistake }) => result === "silent" && mistake.survives).length;
const left = chosen.length - outcomes.length;
say(
  `\n${counted("noticed")} of ${outcomes.length - explained} mistakes were noticed; ` +
    `${explained} need not be${left > 0 ? `; ${left} were left for want of time.` : "."}`,
);
if (counted("noticed") + explained < outcomes.length) process.exitCode = 1;
