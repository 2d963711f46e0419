// The port of the embedded PostgreSQL: the one it had, whether its server answers there, and a free one.
import { randomInt, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { closeClient } from "./close.ts";

/** How long a server may take to answer: it may be busy, or be another program that never does. */
const PATIENCE_MS = 10_000;

/** The server is running but not accepting connections yet, or has none left: 57P03, 53300. */
const NOT_NOW = /^(57P|53)/;
const BROKEN_OFF = /ECONNRESET|EPIPE|terminated/;
const ATTEMPTS = 8;

/** The port of the server that runs on a cluster, or was killed: a server that stops removes this file. */
export async function lastPort(data: string): Promise<number | undefined> {
  const lines = await readFile(join(data, "postmaster.pid"), "utf8").then(
    (text) => text.split("\n"),
    () => [],
  );
  return Number(lines[3]) || undefined;
}

/** Whether anything listens on a local port. */
export function answers(port: number): Promise<boolean> {
  return new Promise((found) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const finish = (answer: boolean) => () => {
      socket.destroy();
      found(answer);
    };
    socket.once("connect", finish(true));
    socket.once("error", finish(false));
  });
}

/**
 * Whether the server of a cluster answers at a URL. After a crash another program may have the port; and a
 * copy of a folder made while its server ran names the port of the original server, which accepts the same
 * password.
 * @throws DatabaseError when a server is running there but cannot answer now
 */
export async function serves(url: string, data: string): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await seesFileIn(url, data);
    } catch (error) {
      if (error instanceof pg.DatabaseError) {
        if (NOT_NOW.test(error.code ?? "")) throw error;
        return false;
      }
      // A server that has lost one of its processes drops connections for a moment.
      if (attempt === ATTEMPTS || !BROKEN_OFF.test((error as Error).message)) return false;
      await sleep(250);
    }
  }
}

/** Whether the server at a URL sees a file that is put into a folder, which may have several paths. */
async function seesFileIn(url: string, data: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: PATIENCE_MS });
  client.on("error", () => undefined);
  const name = `asking-${randomUUID()}`;
  try {
    await client.connect();
    await writeFile(join(data, name), "");
    const { rows } = await client.query<{ found: boolean }>(
      "select (pg_stat_file($1, true)).size is not null as found",
      [name],
    );
    return rows[0]?.found === true;
  } finally {
    await rm(join(data, name), { force: true });
    await closeClient(client);
  }
}

/** Below the ephemeral ports, one of which could be taken by a client while its server restarts. */
const PORTS = { first: 10_000, count: 5_000 };
const DRAWS = 20;

/** A free port: the wanted one if it is free. */
export async function freePort(wanted = 0): Promise<number> {
  for (let draw = 0; ; draw += 1) {
    const port = draw === 0 && wanted > 0 ? wanted : PORTS.first + randomInt(PORTS.count);
    const probe = createServer().listen(port, "127.0.0.1");
    try {
      await once(probe, "listening");
      await probe[Symbol.asyncDispose]();
      return port;
    } catch (error) {
      if (draw === DRAWS) throw error;
    }
  }
}
