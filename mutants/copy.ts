// A copy of the project in which mistakes are made, so that nobody's files are touched.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mistaken } from "./mistake.ts";
import type { Mistake } from "./mistake.ts";

export const ROOT = join(import.meta.dirname, "..");
// Tests that wait for what a mistake keeps from happening wait in vain, each up to its own limit.
const TIMEOUT_MS = 300_000;

/** What became of a mistake. */
export interface Outcome {
  mistake: Mistake;
  /** silent: all tests pass; broken: none could be run; late: they did not end in time */
  result: "noticed" | "silent" | "broken" | "late";
  /** the names of the tests that failed */
  tests: string[];
  seconds: number;
}

export interface Copy {
  try: (mistake: Mistake) => Promise<Outcome>;
  remove: () => void;
}

interface Report {
  numFailedTests: number;
  numPassedTests: number;
  testResults: { assertionResults: { status: string; fullName: string }[] }[];
}

/** Copies what git knows of, and what is new, as it is in the folder. */
export function createCopy(): Copy {
  const dir = mkdtempSync(join(tmpdir(), "engagement-mutants-"));
  const listed = execFileSync(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  const deleted = new Set(
    execFileSync("git", ["ls-files", "-z", "--deleted"], { cwd: ROOT, encoding: "utf8" }).split("\0"),
  );
  for (const file of listed.split("\0")) {
    if (file && !deleted.has(file)) cpSync(join(ROOT, file), join(dir, file), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  return {
    async try(mistake) {
      const path = join(dir, mistake.file);
      const text = readFileSync(path, "utf8");
      const start = performance.now();
      writeFileSync(path, mistaken(mistake, text));
      try {
        const found = await runTests(dir, mistake);
        return { mistake, seconds: (performance.now() - start) / 1_000, ...found };
      } finally {
        writeFileSync(path, text);
      }
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

async function runTests(dir: string, { tests, only }: Mistake): Promise<Pick<Outcome, "result" | "tests">> {
  const output = join(dir, "jest-report.json");
  rmSync(output, { force: true });
  const args = [
    ...["--experimental-vm-modules", join(ROOT, "node_modules/jest/bin/jest.js")],
    // Not --bail, with which Jest ends without a report.
    ...["--runInBand", "--silent", "--json", `--outputFile=${output}`],
    ...(only ? ["--testNamePattern", only] : []),
    ...["--runTestsByPath", ...tests.map((name) => `test/${name}.test.ts`)],
  ];
  const child = spawn(process.execPath, args, { cwd: dir, stdio: "ignore", detached: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    // With the database and the store that the tests have started.
    process.kill(-child.pid!, "SIGKILL");
  }, TIMEOUT_MS);
  await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  if (isLate) return { result: "late", tests: [] };
  const report = readReport(output);
  if (!report || report.numFailedTests + report.numPassedTests === 0) return { result: "broken", tests: [] };
  const failed = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "failed")
    .map(({ fullName }) => fullName);
  return { result: failed.length > 0 ? "noticed" : "silent", tests: failed };
}

function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Report;
  } catch (error) {
    // Jest ended before it had run anything: what every test needs does not start.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
