// A PostgreSQL of one test's own, which can be stopped, frozen and cut off, and keeps its address all the while.
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../../db/embedded.ts";
import { eventually } from "./eventually.ts";

export type SickPostgres = {
  /** as the role that owns the schema */
  url: string;
  /** Stops it; connections are closed in good order. */
  down: () => Promise<void>;
  up: () => Promise<void>;
  /** Stops all of its processes where they are, as a machine does that is out of memory or loses its disk. */
  freeze: () => Promise<void>;
  thaw: () => Promise<void>;
  /** Keeps the connections that are open, and lets nothing through them any more. */
  muffle: () => void;
  /** Breaks all connections. */
  sever: () => void;
  /** Undoes whatever a test that failed has left. */
  mend: () => Promise<void>;
  remove: () => Promise<void>;
};

export async function startSickPostgres(settings: Record<string, string> = {}): Promise<SickPostgres> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-sick-"));
  const begin = () => startEmbeddedPostgres(dir, { fsync: "off", ...settings });
  let postgres = await begin();
  const line = await forwardTo(() => Number(new URL(postgres.url).port));
  const url = new URL(postgres.url);
  url.port = String(line.port);
  let frozen: number[] = [];
  const signal = (name: NodeJS.Signals) => {
    for (const pid of frozen) {
      try {
        process.kill(pid, name);
      } catch (error) {
        // The one before it may have ended it.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  };
  const thaw = async () => {
    signal("SIGCONT");
    frozen = [];
    await Promise.resolve();
  };
  const up = async () => {
    postgres = await eventually(begin);
  };
  return {
    url: url.href,
    down: () => postgres.stop(),
    up,
    freeze: async () => {
      frozen = await processesOf(join(dir, "cluster"));
      signal("SIGSTOP");
    },
    thaw,
    muffle: line.muffle,
    sever: line.sever,
    mend: async () => {
      await thaw();
      await up();
    },
    remove: async () => {
      await thaw();
      line.close();
      await postgres.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The first process of a cluster and all that it has started. */
export async function processesOf(cluster: string): Promise<number[]> {
  const [first] = (await readFile(join(cluster, "postmaster.pid"), "utf8")).split("\n");
  const all = (await readdir("/proc")).map(Number).filter((pid) => pid > 0);
  const children = await Promise.all(
    all.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
      // pid (name) state ppid
      const parent = /\) \S (\d+) /.exec(stat)?.[1];
      return parent === first ? [pid] : [];
    }),
  );
  return [Number(first), ...children.flat()];
}

/** Passes connections on to a port that may change. */
export async function forwardTo(port: () => number): Promise<{
  port: number;
  muffle: () => void;
  /** Takes connections from now on, and passes nothing on; those that are open go on. */
  deafen: () => void;
  sever: () => void;
  close: () => void;
}> {
  const open = new Set<Socket>();
  let isDeaf = false;
  const server = createServer((caller) => {
    if (isDeaf) {
      open.add(caller.on("error", () => undefined));
      return;
    }
    const target = connect(port(), "127.0.0.1");
    for (const [socket, other] of [
      [caller, target],
      [target, caller],
    ] as const) {
      open.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
      socket.setNoDelay().pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sever = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    muffle: () => {
      for (const socket of open) socket.unpipe().pause();
    },
    deafen: () => (isDeaf = true),
    sever,
    close: () => {
      server.close();
      sever();
    },
  };
}
