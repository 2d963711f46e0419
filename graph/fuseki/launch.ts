// Runs a Fuseki with our own configuration on this machine, for tests and benchmarks.
import { spawn, type ChildProcess } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { fetchFuseki } from "./fetch.ts";

export interface FusekiOptions {
  /** holds the database; created if it does not exist, reused if it does */
  dir: string;
  /** any free one by default */
  port?: number;
  queryTimeoutMs?: number;
  password?: string;
  javaOptions?: string;
}

export interface Fuseki {
  /** the dataset's URL, as in FUSEKI_URL */
  url: string;
  port: number;
  user: string;
  password: string;
  pid: number;
  /** Shuts the server down cleanly. */
  stop(): Promise<void>;
  /** Ends the server with SIGKILL. */
  kill(): Promise<void>;
}

const START_SCRIPT = fileURLToPath(new URL("./start.sh", import.meta.url));
const USER = "engagement";
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

/**
 * Resolves when the server answers.
 * @throws FusekiNotAvailable; Error with the server's last words if it does not start
 */
export async function launchFuseki(options: FusekiOptions): Promise<Fuseki> {
  const jar = await fetchFuseki();
  const port = options.port ?? (await freePort());
  const password = options.password ?? "engagement";
  const server = spawn("sh", [START_SCRIPT], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      FUSEKI_JAR: jar,
      FUSEKI_DATA: options.dir,
      FUSEKI_PASSWORD: password,
      FUSEKI_PORT: String(port),
      FUSEKI_HOST: "loopback",
      SPARQL_TIMEOUT_MS: String(options.queryTimeoutMs ?? 30_000),
      JAVA_OPTS: options.javaOptions ?? "-Xmx1g",
    },
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
  if (!(await comesUp(server, port, password))) {
    await end("SIGKILL");
    throw new Error(`Fuseki did not start:\n${lastWords}`);
  }
  return {
    url: `http://localhost:${port}/engagement`,
    port,
    user: USER,
    password,
    pid: server.pid as number,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
}

async function comesUp(server: ChildProcess, port: number, password: string): Promise<boolean> {
  const authorization = `Basic ${Buffer.from(`${USER}:${password}`).toString("base64")}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline && server.exitCode === null && server.signalCode === null) {
    try {
      const answer = await fetch(`http://localhost:${port}/$/ping`, { headers: { authorization } });
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

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => void probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => void probe.close(() => resolve()));
  return port;
}
