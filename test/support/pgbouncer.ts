// A real PgBouncer in transaction mode, where there is one (Debian's package pgbouncer).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "@jest/globals";
import { eventually } from "./eventually.ts";
import { freePort } from "./process.ts";

const PROGRAM = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"].find((path) =>
  existsSync(path),
);

const missing = PROGRAM === undefined && process.env["REQUIRE_PGBOUNCER"] !== "1";

/** Tests behind PgBouncer; skipped if there is none, unless REQUIRE_PGBOUNCER=1. */
export const describeWithPgbouncer = missing ? describe.skip : describe;

export type Pgbouncer = {
  /** The URL of a database through it. */
  through: (url: string) => string;
  stop: () => Promise<void>;
};

// PgBouncer refuses to run as root.
const NOBODY = 65_534;

/** @param url of the server behind it, with the login that is let through */
export async function startPgbouncer(url: string, settings: Record<string, string> = {}): Promise<Pgbouncer> {
  if (!PROGRAM) throw new Error("There is no pgbouncer, and REQUIRE_PGBOUNCER=1");
  const { hostname, port, username, password } = new URL(url);
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-pgbouncer-"));
  const ownPort = await freePort();
  await writeFile(join(dir, "users.txt"), `"${username}" "${decodeURIComponent(password)}"\n`);
  const lines = {
    ...{ listen_addr: "127.0.0.1", listen_port: String(ownPort), unix_socket_dir: "" },
    ...{ auth_type: "plain", auth_file: join(dir, "users.txt"), pool_mode: "transaction" },
    ...settings,
  };
  const ini = Object.entries(lines).map(([name, value]) => `${name} = ${value}`);
  const database = `* = host=${hostname} port=${port}`;
  await writeFile(join(dir, "pgbouncer.ini"), `[databases]\n${database}\n[pgbouncer]\n${ini.join("\n")}\n`);
  const ids = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (ids.uid !== undefined) {
    await chmod(dir, 0o755);
    await chown(join(dir, "users.txt"), ids.uid, ids.gid);
  }
  const child = spawn(PROGRAM, [join(dir, "pgbouncer.ini")], { ...ids, stdio: "ignore" });
  const ended = once(child, "close");
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
    const socket = connect(ownPort, "127.0.0.1");
    await once(socket, "connect");
    socket.destroy();
  });
  return {
    through: (target) => {
      const through = new URL(target);
      [through.hostname, through.port] = ["127.0.0.1", String(ownPort)];
      return through.href;
    },
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
}
