// A replica of a running PostgreSQL, as pg_basebackup makes one. npm's packages of PostgreSQL lack that program; what it does
// is to copy the files between pg_backup_start and pg_backup_stop.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { startEmbeddedPostgres } from "../../db/embedded.ts";
import type { EmbeddedPostgres, PostgresPrograms } from "../../db/embedded.ts";

const run = promisify(execFile);

/** What a copy has no use for, or must not have. */
const LEFT_OUT = new Set(["pg_wal", "postmaster.pid", "postmaster.opts", "pg_replslot"]);

/**
 * Starts a replica, and makes it the first time.
 * @param primary its URL as a superuser, and the folder that startEmbeddedPostgres was given
 * @param programs of the primary, if they are not the embedded ones, with pg_basebackup in their folder
 */
export async function startStandby(
  primary: { url: string; dir: string },
  dir: string,
  programs?: PostgresPrograms & { folder: string },
): Promise<EmbeddedPostgres> {
  const from = new URL(primary.url);
  const cluster = join(dir, "cluster");
  const started = () => startEmbeddedPostgres(dir, following(from), programs);
  if (existsSync(cluster)) return started();
  await mkdir(dir, { recursive: true });
  await run("cp", ["-p", join(primary.dir, "password"), join(dir, "password")]);
  if (programs) {
    await run(join(programs.folder, "pg_basebackup"), [
      "--checkpoint=fast",
      "--dbname",
      from.href,
      "--pgdata",
      cluster,
    ]);
  } else await copy(from.href, join(primary.dir, "cluster"), cluster);
  await writeFile(join(cluster, "standby.signal"), "");
  // As the account that the primary runs as.
  await run("chown", ["-R", `--reference=${join(primary.dir, "cluster")}`, cluster]);
  return started();
}

function following({ hostname, port, username, password }: URL): Record<string, string> {
  return {
    primary_conninfo: `host=${hostname} port=${port} user=${username} password=${password}`,
    fsync: "off",
  };
}

async function copy(url: string, from: string, to: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("select pg_backup_start('replica', true)");
    await mkdir(join(to, "pg_wal"), { recursive: true, mode: 0o700 });
    await mkdir(join(to, "pg_replslot"));
    const names = (await readdir(from)).filter((name) => !LEFT_OUT.has(name));
    await run("cp", ["-a", ...names.map((name) => join(from, name)), to]);
    const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
    await writeFile(join(to, "backup_label"), rows[0]!.labelfile);
    await run("chmod", ["700", to]);
  } catch (error) {
    await rm(to, { recursive: true, force: true });
    throw error;
  } finally {
    await client.end();
  }
}
