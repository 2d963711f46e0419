// Commands as an operator runs them: real processes, their output and exit codes.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SECRETS, VARIABLES } from "../../config.ts";
import { eventually } from "./eventually.ts";

export const ROOT = resolve(import.meta.dirname, "../..");

/** What a finished command left. */
export type Outcome = { code: number | null; stdout: string; stderr: string };

/** An environment for a command: this one's, without its configuration of the service, which must not reach a test. */
function environment(settings: Record<string, string>): NodeJS.ProcessEnv {
  return {
    ...process.env,
    NODE_OPTIONS: "",
    ...Object.fromEntries([...VARIABLES, ...SECRETS.map((name) => `${name}_FILE`)].map((name) => [name, ""])),
    HOST: "127.0.0.1",
    ...settings,
  };
}

/** Runs a command in the project's folder to its end. */
export async function run(
  command: string,
  args: readonly string[],
  settings: Record<string, string> = {},
): Promise<Outcome> {
  const child = spawn(command, args, { cwd: ROOT, env: environment(settings), stdio: "pipe" });
  const output = collect(child);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output() };
}

/** The operator's tool: `npm run admin -- <args>`. */
export function admin(args: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  return run(process.execPath, ["admin/main.ts", ...args], settings);
}

/** A command that runs until it is told to stop. */
export type Running = {
  child: ChildProcess;
  output: () => { stdout: string; stderr: string };
  /** Resolves when a text has been printed on standard output; fails when the command ends before. */
  prints: (text: string) => Promise<void>;
  /** Sends a signal to the command and all that it has started, as a terminal does, and waits for it to end. */
  end: (signal: NodeJS.Signals) => Promise<number | null>;
  ended: Promise<number | null>;
};

/** Starts a command in its own process group. */
export function launch(
  command: string,
  args: readonly string[],
  settings: Record<string, string> = {},
): Running {
  const env = environment(settings);
  const child = spawn(command, args, { cwd: ROOT, env, stdio: "pipe", detached: true });
  const output = collect(child);
  const ended = once(child, "close").then(([code]) => code as number | null);
  return {
    child,
    output,
    ended,
    prints: async (text) => {
      while (!output().stdout.includes(text)) {
        if (child.exitCode !== null || child.signalCode !== null) {
          throw new Error(`The command ended early: ${output().stdout}${output().stderr}`);
        }
        await sleep(20);
      }
    },
    end: (signal) => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal);
      return ended;
    },
  };
}

/**
 * Runs a program that is to refuse, to its end.
 * @param begun what it prints if it goes to work after all: then it is told to stop
 */
export async function refusal(
  program: string,
  settings: Record<string, string>,
  begun = /./,
): Promise<Outcome> {
  const running = launch(process.execPath, [program], settings);
  running.child.stdout!.on("data", () => {
    if (begun.test(running.output().stdout)) void running.end("SIGTERM");
  });
  return { code: await running.ended, ...running.output() };
}

function collect(child: ChildProcess): () => { stdout: string; stderr: string } {
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (chunk: string) => (texts[name] += chunk));
  }
  return () => ({ ...texts });
}

/** Below those that systems give to whoever asks for any: nobody is given one of these before it is used. */
const PORTS = { first: 15_000, count: 16_000 };
// Test files that run side by side draw from different ones: what is drawn is free until it is used, seconds later.
const DRAWERS = 16;
const drawer = Number(process.env["JEST_WORKER_ID"] ?? 0) % DRAWERS;
const given = new Set<number>();

/** A port of loopback that is free now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + randomInt(PORTS.count / DRAWERS) * DRAWERS + drawer;
    if (given.has(port)) continue;
    given.add(port);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}

/** A data directory for one test, and a function that removes it. */
export async function temporaryDataDir(): Promise<{ dir: string; remove: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-data-"));
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}

/** Ids of the processes whose command line names a text, as Linux reports them. */
export async function processesNaming(text: string): Promise<number[]> {
  const ids = (await readdir("/proc")).map(Number).filter((id) => id > 0 && id !== process.pid);
  const named = await Promise.all(
    ids.map(async (id) => {
      const commandLine = await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
      return commandLine.includes(text) ? [id] : [];
    }),
  );
  return named.flat();
}

/** Waits until there is none: PostgreSQL takes away the file by which it is known to run before the last of it has ended. */
export function nothingNames(text: string): Promise<void> {
  return eventually(async () => {
    const left = await processesNaming(text);
    if (left.length > 0) throw new Error(`Processes that name ${text} are left: ${left.join(", ")}.`);
  });
}
