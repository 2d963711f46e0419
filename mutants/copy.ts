// A copy of the project in which mistakes are made, so that nobody's files are touched.
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
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
  /** @returns undefined if it was broken off */
  try: (mistake: Mistake, signal: AbortSignal) => Promise<Outcome | undefined>;
  remove: () => void;
}

interface Report {
  numFailedTests: number;
  numPassedTests: number;
  testResults: { assertionResults: { status: string; fullName: string }[] }[];
}

/** Copies what git knows of, and what is new, as it is in the folder. */
export function createCopy(): Copy {
  const base = mkdtempSync(join(tmpdir(), "engagement-mutants-"));
  // PostgreSQL runs as a user of its own, and has its data in there.
  chmodSync(base, 0o755);
  const dirs = { project: join(base, "project"), temporary: join(base, "tmp") };
  for (const dir of Object.values(dirs)) mkdirSync(dir);
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
    if (file && !deleted.has(file)) cpSync(join(ROOT, file), join(dirs.project, file), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(dirs.project, "node_modules"));
  return {
    async try(mistake, signal) {
      const path = join(dirs.project, mistake.file);
      const text = readFileSync(path, "utf8");
      const start = performance.now();
      writeFileSync(path, mistaken(mistake, text));
      try {
        const found = await runTests(dirs, mistake, signal);
        return found && { mistake, seconds: (performance.now() - start) / 1_000, ...found };
      } finally {
        writeFileSync(path, text);
      }
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

async function runTests(
  { project, temporary }: { project: string; temporary: string },
  { tests, only }: Mistake,
  signal: AbortSignal,
): Promise<Pick<Outcome, "result" | "tests"> | undefined> {
  const output = join(temporary, "jest-report.json");
  rmSync(output, { force: true });
  const args = [
    ...["--experimental-vm-modules", join(ROOT, "node_modules/jest/bin/jest.js")],
    // Not --bail, with which Jest ends without a report.
    ...["--runInBand", "--silent", "--json", `--outputFile=${output}`],
    // The same order each time: what notices a mistake today notices it tomorrow.
    "--seed=1",
    ...(only ? [`--testNamePattern=${only}`] : []),
    ...["--runTestsByPath", ...tests.map((name) => `test/${name}.test.ts`)],
  ];
  const child = spawn(process.execPath, args, {
    cwd: project,
    stdio: "ignore",
    detached: true,
    env: { ...process.env, TMPDIR: temporary },
  });
  const isOver = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const end = () => kill(-child.pid!, "SIGKILL");
  if (isOver.aborted) end();
  else isOver.addEventListener("abort", end);
  await new Promise((resolve) => child.once("close", resolve));
  isOver.removeEventListener("abort", end);
  if (isOver.aborted) stopPostgres(temporary);
  if (signal.aborted) return undefined;
  if (isOver.aborted) return { result: "late", tests: [] };
  const report = readReport(output);
  if (!report || report.numFailedTests + report.numPassedTests === 0) return { result: "broken", tests: [] };
  const failed = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "failed")
    .map(({ fullName }) => fullName);
  return { result: failed.length > 0 ? "noticed" : "silent", tests: failed };
}

/** What the tests have started is not in their process group, and outlives them if they are killed. */
function stopPostgres(temporary: string): void {
  for (const file of globSync("*/cluster/postmaster.pid", { cwd: temporary })) {
    kill(Number.parseInt(readFileSync(join(temporary, file), "utf8"), 10), "SIGQUIT");
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
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
