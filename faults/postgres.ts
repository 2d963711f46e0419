// A PostgreSQL that can be killed and comes back, always at the same address.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbeddedPostgres } from "../db/embedded.ts";

export type KillablePostgres = {
  /** as the role that owns the schema */
  url: string;
  /** SIGKILL, and a start after a while */
  kill: (pauseMs: number) => Promise<void>;
  /** A clean restart, as an operator does for an upgrade. */
  restart: (pauseMs: number) => Promise<void>;
  stop: () => Promise<void>;
};

/** Ends the server of a data directory with SIGKILL. */
export async function killPostgres(dir: string): Promise<void> {
  const [pid] = (await readFile(join(dir, "cluster", "postmaster.pid"), "utf8")).split("\n");
  process.kill(Number(pid), "SIGKILL");
}

export async function startKillablePostgres(dir: string): Promise<KillablePostgres> {
  let postgres = await startEmbeddedPostgres(dir);
  // The embedded PostgreSQL takes another port at every start, where production keeps its address.
  const forwarder = createServer((caller) => forward(caller, Number(new URL(postgres.url).port)));
  forwarder.listen(0, "127.0.0.1");
  await once(forwarder, "listening");
  const url = new URL(postgres.url);
  url.port = String((forwarder.address() as AddressInfo).port);

  const comeBack = async (pauseMs: number) => {
    await sleep(pauseMs);
    postgres = await startEmbeddedPostgres(dir);
  };
  return {
    url: url.href,
    kill: async (pauseMs) => {
      await killPostgres(dir);
      await comeBack(pauseMs);
    },
    restart: async (pauseMs) => {
      await postgres.stop();
      await comeBack(pauseMs);
    },
    stop: async () => {
      forwarder.close();
      await postgres.stop();
    },
  };
}

function forward(caller: Socket, port: number): void {
  const server = connect(port, "127.0.0.1");
  const end = () => {
    caller.destroy();
    server.destroy();
  };
  for (const socket of [caller, server]) socket.on("error", end).on("close", end).setNoDelay();
  caller.pipe(server).pipe(caller);
}
