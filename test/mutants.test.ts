// Mistakes are data that go stale with the code: each must still be one that can be made.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { mistaken } from "../mutants/mistake.ts";
import { MISTAKES } from "../mutants/mistakes/index.ts";

const root = join(import.meta.dirname, "..");

test.each(MISTAKES)("$file: $rule", (mistake) => {
  const text = readFileSync(join(root, mistake.file), "utf8");
  expect(mistaken(mistake, text)).not.toBe(text);
  expect(mistake.tests.filter((name) => !existsSync(join(root, `test/${name}.test.ts`)))).toEqual([]);
});

test("there are enough of them, and few are given up", () => {
  expect(MISTAKES.length).toBeGreaterThanOrEqual(150);
  expect(MISTAKES.filter(({ survives }) => survives).length).toBeLessThan(MISTAKES.length / 10);
});

test("no rule is named twice", () => {
  const names = MISTAKES.map(({ file, rule }) => `${file}: ${rule}`);
  expect(new Set(names).size).toBe(names.length);
});

describe("of a change", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "engagement-changed-"));
    mkdirSync(join(dir, "project"));
    cpSync(join(root, "mutants"), join(dir, "project/mutants"), { recursive: true });
    git("init", "--quiet", "--initial-branch=main");
    git("add", ".");
    commit("first");
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: join(dir, "project"), encoding: "utf8" }).trim();
  const commit = (message: string) =>
    git(
      "-c",
      "user.name=A",
      "-c",
      "user.email=a@b.example",
      "commit",
      "--quiet",
      "--allow-empty",
      "-m",
      message,
    );
  const run = (...args: string[]) => {
    const { status, stdout } = spawnSync(process.execPath, ["mutants/main.ts", ...args], {
      cwd: join(dir, "project"),
      encoding: "utf8",
    });
    return { status, stdout };
  };

  test("in a clone without a history none are made, and that is said", () => {
    expect(run("--changed")).toEqual({
      status: 0,
      stdout: "No mistakes made: this clone does not know what was there before.\n",
    });
  });

  test("what has landed is compared with the commit before, a branch with where it began", () => {
    const since = () => /since (\w+)\./.exec(run("--changed").stdout)?.[1];
    const first = git("rev-parse", "HEAD");
    commit("second");
    expect(since()).toBe(first);
    const second = git("rev-parse", "HEAD");
    git("checkout", "--quiet", "-b", "branch");
    commit("third");
    commit("fourth");
    expect(since()).toBe(second);
    expect(run("--changed").stdout).toContain("\n0 of 0 mistakes were noticed");
  });

  test("a commit that there is not is no way to pass", () => {
    expect(run("--since", "nothing").status).toBe(2);
  });
});
