// Runs a graph store that is a Java program as a child of this process, for tests and benchmarks.
import { spawn, type ChildProcess } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface JavaServer {
  pid: number;
  /** Shuts the server down cleanly. */
  stop(): Promise<void>;
  /** Ends the server with SIGKILL. */
  kill(): Promise<void>;
  /** The end of what it has written, at most 4,000 characters. */
  lastWords(): string;
}

interface Launch {
  /** its name in the error if it does not start */
  name: string;
  command: string;
  args: readonly string[];
  /** in addition to this process's environment */
  env?: Record<string, string>;
  /** a request that succeeds as soon as the server can be used */
  probe: Request;
}

/** Ends a start that hangs. On a machine that runs ten things at once, a start takes minutes. */
const START_TIMEOUT_MS = 240_000;
const STOP_TIMEOUT_MS = 15_000;

/**
 * Resolves when the server answers.
 * @throws Error with the server's last words if it does not start
 */
export async function startJavaServer({ name, command, args, env, probe }: Launch): Promise<JavaServer> {
  const server = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let lastWords = "";
  const listen = (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString()).slice(-4_000);
  };
  server.stdout.on("data", listen);
  server.stderr.on("data", listen);
  // Whatever ends this process also ends the server, which would otherwise be left running unnoticed.
  const orphan = () => server.kill("SIGKILL");
  process.once("exit", orphan);
  server.once("exit", () => process.off("exit", orphan));
  const exited = new Promise<void>((resolve) => void server.once("exit", () => resolve()));
  const end = (signal: NodeJS.Signals) => endProcess(server, exited, signal);
  if (!(await comesUp(server, probe))) {
    await end("SIGKILL");
    throw new Error(`${name} did not start:\n${lastWords}`);
  }
  return {
    pid: server.pid as number,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    lastWords: () => lastWords,
  };
}

async function comesUp(server: ChildProcess, probe: Request): Promise<boolean> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline && server.exitCode === null && server.signalCode === null) {
    try {
      const answer = await fetch(probe.clone());
      await answer.arrayBuffer();
      if (answer.ok) return true;
    } catch {
      // not listening yet
    }
    await sleep(100);
  }
  return false;
}

async function endProcess(
  server: ChildProcess,
  exited: Promise<void>,
  signal: NodeJS.Signals,
): Promise<void> {
  server.kill(signal);
  const timer = setTimeout(() => server.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => void probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => void probe.close(() => resolve()));
  return port;
}
