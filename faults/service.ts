// The service as an operator runs it, with handles on each of its processes.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { launch } from "../test/support/process.ts";
import type { Running } from "../test/support/process.ts";
import type { StoreProxy } from "./proxy.ts";
import type { Settings } from "./supervisor.ts";

/**
 * `fuseki`: server, worker, PostgreSQL and Fuseki, each a process of its own. `embedded`: `npm start` alone.
 */
export type StoreKind = "fuseki" | "embedded";

/** The parts that can be killed. In `npm start`, the store and the worker die with the server. */
type Part = "server" | "worker" | "store" | "postgres";

/** Where the graph is read for counting, without the proxy that a scenario makes fail. */
export type GraphDoor = { url: string; authorization: string };

/** What is needed to count errors. */
export type Counted = {
  /** asks the database, as the role that owns the schema */
  sql: <T extends object>(text: string, values?: unknown[]) => Promise<T[]>;
  graph: () => GraphDoor;
};

export type Service = Counted & {
  store: StoreKind;
  /** the server's URL */
  url: string;
  key: string;
  parts: readonly Part[];
  /** in front of the store, if that is reached over a network */
  proxy: StoreProxy | undefined;
  /** Restarts the process that writes to the graph, with these settings besides the usual ones. */
  configure: (settings: Settings) => Promise<void>;
  /** SIGKILL; it comes back by itself after a while. */
  kill: (part: Part, pauseMs: number) => Promise<void>;
  /** Restarts PostgreSQL cleanly. */
  restartPostgres: (pauseMs: number) => Promise<void>;
  /** Stops the store cleanly, does some work on its folder, and starts it again. */
  whileStoreIsDown: (work: (folder: string) => Promise<void>) => Promise<void>;
  /** Puts another store in place of this one: a copy of a folder, or an empty one. */
  exchangeStore: (folder: string | undefined) => Promise<void>;
  /** Changes the graph behind the service's back. */
  alter: (update: string) => Promise<void>;
  /** `npm run admin -- …` */
  admin: (...args: string[]) => Running;
  /** Resolves when the server takes requests. */
  ready: () => Promise<void>;
};

/** Starts a service. `parts` stops all parts of it, even if the start fails half-way. */
export type Start = (parts: AsyncDisposableStack) => Promise<Service>;

/** All other settings have their defaults. */
export const USUAL: Settings = { LOG_LEVEL: "warn", SPARQL_TIMEOUT_MS: "5000", GRAPH_VERIFY_SHARE: "0" };

/** Settings with which the background verification goes through everything within seconds. */
export const WATCHFUL: Settings = { GRAPH_VERIFY_SHARE: "0.5", GRAPH_VERIFY_DAYS: "0.00005" };

/** Who writes, and for whom. */
export const WRITER = {
  orgUri: "https://data.example.org/org/fault-trial",
  orgName: "Fault Trial",
  email: "writer@fault-trial.example",
};

const READY_WITHIN_MS = 90_000;

/** Waits until a server is ready that a supervisor keeps running. */
export async function serverIsReady(url: string, lastWords: () => string): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.ok) return;
    if (Date.now() > deadline) throw new Error(`The service does not become ready.\n${lastWords()}`);
    await sleep(100);
  }
}

/**
 * One statement on a connection of its own, since a connection does not survive a restart of the database.
 */
export async function ask<T extends object>(url: string, text: string, values?: unknown[]): Promise<T[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query<T>(text, values)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

export function runAdmin(args: readonly string[], settings: Settings): Running {
  return launch("npm", ["run", "--silent", "admin", "--", ...args], settings);
}

/** Sets up a new installation as an operator does, up to the first key. */
export async function introduce(settings: Settings): Promise<string> {
  const { orgUri, orgName, email } = WRITER;
  await tool(settings, "vocabulary", "import", "graph/vocabulary/accelerators.ttl");
  await tool(settings, "orgs", "add", "--uri", orgUri, "--name", orgName);
  await tool(settings, "members", "add", "--org", orgUri, "--email", email, "--role", "org_contributor");
  const issue = ["keys", "issue", "--label", "faults", "--scope", "api_write", "--rate", "1000000", "--json"];
  return (JSON.parse(await tool(settings, ...issue)) as { key: string }).key;
}

async function tool(settings: Settings, ...args: string[]): Promise<string> {
  const command = runAdmin(args, settings);
  const code = await command.ended;
  const { stdout, stderr } = command.output();
  if (code !== 0) throw new Error(`npm run admin -- ${args.join(" ")}: ${stderr}`);
  return stdout;
}
