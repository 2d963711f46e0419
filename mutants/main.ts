// npm run mutants [-- file …]: makes each mistake of mutants/mistakes by itself and looks whether a test notices.
import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { createCopy, ROOT } from "./copy.ts";
import type { Outcome } from "./copy.ts";
import type { Mistake } from "./mistake.ts";
import { MISTAKES } from "./mistakes/index.ts";

// Of those that nobody has explained.
const LEAST_NOTICED = 0.9;

const say = (line: string) => void process.stdout.write(`${line}\n`);

function usage(problem: string): never {
  process.stderr.write(
    `${problem}\nnpm run mutants -- [part of a file's name …] [--changed commit] [--seconds n] [--at-once n]\n` +
      "  --changed  only in files that differ from that commit\n  --seconds  begin no other after these\n",
  );
  process.exit(2);
}

function options() {
  const read = () =>
    parseArgs({
      allowPositionals: true,
      options: {
        changed: { type: "string" },
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
    changed: values.changed,
    parts: positionals,
    seconds: number("seconds"),
    atOnce: number("at-once"),
  };
}

function changedSince(commit: string): Set<string> {
  try {
    const names = execFileSync("git", ["diff", "--name-only", "-z", commit], { cwd: ROOT, encoding: "utf8" });
    return new Set(names.split("\0"));
  } catch {
    return usage(`--changed: git does not know ${commit}`);
  }
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

const { changed, parts, seconds, atOnce } = options();
const files = changed === undefined ? undefined : changedSince(changed);
const chosen = inTurns(
  MISTAKES.filter(
    ({ file }) =>
      (files?.has(file) ?? true) && (parts.length === 0 || parts.some((part) => file.includes(part))),
  ),
);
const end = performance.now() + seconds * 1_000;
const waiting: Mistake[] = [...chosen];
const outcomes: Outcome[] = [];

async function work(): Promise<void> {
  const copy = createCopy();
  try {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const outcome = await copy.try(next);
      outcomes.push(outcome);
      tell(outcome);
      if (performance.now() >= end) return;
    }
  } finally {
    copy.remove();
  }
}
await Promise.all(Array.from({ length: Math.min(atOnce, chosen.length) }, work));

const noticed = outcomes.filter(({ result }) => result === "noticed").length;
const explained = outcomes.filter(({ result, mistake }) => result === "silent" && mistake.survives).length;
const broken = outcomes.filter(({ result }) => result === "broken").length;
const asked = outcomes.length - explained - broken;
say(
  `\n${noticed} of ${asked} mistakes were noticed; ${explained} need not be, ${broken} say nothing` +
    (waiting.length > 0 ? `; ${waiting.length} were left for want of time.` : "."),
);
if (noticed < asked * LEAST_NOTICED || broken > 0) process.exitCode = 1;
