// How Fuseki is run where it is the service's store, without a Java: what its scripts give to the programs that they call.
import { execFile } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Parser } from "n3";
import { eventually } from "./support/eventually.ts";
import { ROOT } from "./support/process.ts";

const FOLDER = join(ROOT, "graph/fuseki");
const PASSWORD = `a "b" \\ $c: 'd'`;

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "engagement-fuseki-scripts-"));
  await mkdir(join(dir, "bin"));
  await writeFile(join(dir, "password"), PASSWORD);
  // Stand in for what the scripts call, and say what they were given, a line each.
  for (const name of ["java", "curl"]) {
    const program = join(dir, "bin", name);
    const input = name === "curl" ? "cat" : ":";
    await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$@"\n${input}\n`);
    await chmod(program, 0o755);
  }
});
afterEach(() => rm(dir, { recursive: true }));

async function run(script: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const { stdout } = await promisify(execFile)("sh", [join(FOLDER, script)], {
    cwd: dir,
    env: { PATH: `${join(dir, "bin")}:${process.env["PATH"]}`, FUSEKI_DATA: join(dir, "data"), ...env },
  });
  return stdout.trimEnd().split("\n");
}
const data = (name: string) => join(dir, "data", name);

test("Fuseki is for who has the password, which no process list and no other user of the machine shows", async () => {
  for (const env of [{ FUSEKI_PASSWORD: PASSWORD }, { FUSEKI_PASSWORD_FILE: join(dir, "password") }]) {
    const given = await run("start.sh", env);
    expect(given).toEqual(expect.arrayContaining(["--passwd=passwd", "--auth=basic"]));
    expect(given.join("\n")).not.toContain(PASSWORD);
    const hash = createHash("md5").update(PASSWORD).digest("hex");
    expect(await readFile(data("passwd"), "utf8")).toBe(`engagement: MD5:${hash}\n`);
    expect((await stat(data("passwd"))).mode & 0o777).toBe(0o600);
    await rm(data("passwd"));
  }
  await expect(run("start.sh", {})).rejects.toThrow("FUSEKI_PASSWORD or FUSEKI_PASSWORD_FILE must be set");
});

test("Fuseki listens where it is told to, with the memory and the time limit that it is given", async () => {
  const env = { FUSEKI_PASSWORD: "x" };
  const usual = await run("start.sh", env);
  const server = "org.apache.jena.fuseki.main.cmds.FusekiMainCmd";
  const temporary = `-Djava.io.tmpdir=${data("sorting")}`;
  const fixed = ["-Xss16m", "-XX:+ExitOnOutOfMemoryError"];
  const log = `-Dlog4j2.configurationFile=${FOLDER}/log4j2.properties`;
  expect(usual.slice(0, 8)).toEqual([
    ...fixed,
    temporary,
    log,
    "-Xmx2g",
    "-cp",
    "/opt/fuseki/fuseki-server.jar",
    server,
  ]);
  expect(usual).toEqual(
    expect.arrayContaining([
      "--port=3030",
      "--timeout=3600000",
      "--no-cors",
      // What ping.sh asks.
      "--ping",
      `--config=${FOLDER}/config.ttl`,
    ]),
  );
  expect(usual).not.toContain("--localhost");
  const more = { FUSEKI_PORT: "3131", FUSEKI_HOST: "loopback", FUSEKI_TIMEOUT_MS: "7", FUSEKI_JAR: "/x.jar" };
  const asked = await run("start.sh", { ...env, ...more, JAVA_OPTS: "-Xmx4g -Xss8m" });
  expect(asked.slice(0, 8)).toEqual([...fixed, temporary, log, "-Xmx4g", "-Xss8m", "-cp", "/x.jar"]);
  expect(asked).toEqual(expect.arrayContaining(["--port=3131", "--timeout=7", "--localhost"]));
  for (const limit of ["10,60000", "0", "-1"])
    expect(await run("start.sh", { ...env, FUSEKI_TIMEOUT_MS: limit })).toContain(`--timeout=${limit}`);
});

test("the folder of the database may be named from where Fuseki is started", async () => {
  const given = await run("start.sh", { FUSEKI_PASSWORD: "x", FUSEKI_DATA: "data" });
  expect(given).toContain(`-Djava.io.tmpdir=${data("sorting")}`);
  expect(await readdir(data("sorting"))).toEqual([]);
});

test("the indexes of a database are those that it was made with, and what a killed server left does not stop the next", async () => {
  const env = { FUSEKI_PASSWORD: "x" };
  await run("start.sh", env);
  const indexes = { "tdb.quad_indexes": ["GSPO", "SPOG", "POSG", "OSPG"] };
  // No database remembers what it does not have, also none that was made before.
  const forgetful = { "tdb.node_miss_cache_size": 0 };
  const said = async () => JSON.parse(await readFile(data("tdb2/tdb.cfg"), "utf8")) as unknown;
  expect(await said()).toEqual({ ...indexes, ...forgetful });
  await writeFile(data("tdb2/tdb.cfg"), JSON.stringify(indexes));
  for (let start = 0; start < 2; start++) {
    await run("start.sh", env);
    expect(await said()).toEqual({ ...indexes, ...forgetful });
  }
  await rm(data("tdb2/tdb.cfg"));
  await writeFile(data("tdb2/tdb.lock"), "1");
  await writeFile(data("sorting/some"), "1");
  await run("start.sh", env);
  expect(await readdir(data("sorting"))).toEqual([]);
  expect(await said()).toEqual(forgetful);
  await expect(stat(data("tdb2/tdb.lock"))).rejects.toThrow("ENOENT");
});

test("what queries that failed have left of sorting goes, the oldest first, and what is left from before any limit", async () => {
  const java = join(dir, "bin", "java");
  await writeFile(java, `#!/bin/sh\nexec sleep 600\n`);
  const server = execFile("sh", [join(FOLDER, "start.sh")], {
    cwd: dir,
    env: {
      PATH: `${join(dir, "bin")}:${process.env["PATH"]}`,
      ...{
        FUSEKI_DATA: join(dir, "data"),
        FUSEKI_PASSWORD: "x",
        FUSEKI_SORTING_MB: "2",
        FUSEKI_TIMEOUT_MS: "60000",
      },
    },
  });
  const ended = once(server, "exit");
  try {
    await eventually(async () => expect(await readdir(data("sorting"))).toEqual([]));
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const left = async (name: string, kilobytes: number, minutes: number) => {
      const path = join(dir, name);
      await writeFile(path, Buffer.alloc(kilobytes * 1_024));
      await utimes(path, minutesAgo(minutes), minutesAgo(minutes));
      // All at once, as a query does not write it.
      await rename(path, data(`sorting/${name}`));
    };
    const there = async () => (await readdir(data("sorting"))).toSorted();
    await left("under-way", 1, 5);
    await left("left-behind", 1, 7);
    await eventually(async () => expect(await there()).toEqual(["under-way"]));
    await left("new", 1_000, 0);
    await left("recent", 1_000, 1);
    expect(await there()).toContain("under-way");
    await left("older", 1_000, 2);
    // What does not fit goes, and all before it.
    await eventually(async () => expect(await there()).toEqual(["new", "recent"]));
  } finally {
    server.kill("SIGKILL");
  }
  await ended;
});

test.each([
  ["600000", 15],
  ["10,60000", 6],
  // Where there is no limit nothing is too old.
  ["0", 50_000_005],
  ["-1", 50_000_005],
])(
  "what is left of sorting is looked for by the time limit of a whole query (%s), and again though some of it vanished meanwhile",
  async (limit, minutes) => {
    const asked = join(dir, "asked");
    const stub = async (name: string, lines: string) => {
      await writeFile(join(dir, "bin", name), `#!/bin/sh\n${lines}\n`);
      await chmod(join(dir, "bin", name), 0o755);
    };
    await writeFile(asked, "");
    await stub("find", `echo "$@" >>'${asked}'; exit 1`);
    await stub("sleep", "exec /bin/sleep 0.1");
    // It runs until there was a second look, or there will be none.
    await stub(
      "java",
      `for _ in $(seq 300); do [ "$(grep -c . '${asked}')" -lt 2 ] || exit 0; /bin/sleep 0.1; done`,
    );
    await run("start.sh", { FUSEKI_PASSWORD: "x", FUSEKI_TIMEOUT_MS: limit });
    const looks = (await readFile(asked, "utf8")).trimEnd().split("\n");
    expect(looks.length).toBeGreaterThan(1);
    expect(new Set(looks)).toEqual(new Set([`sorting -type f -mmin +${minutes} -exec rm -f {} +`]));
  },
);

test("whether Fuseki answers is asked with the password, which stays out of the command line", async () => {
  const config = String.raw`user = "engagement:a \"b\" \\ $c: 'd'"`;
  for (const env of [{ FUSEKI_PASSWORD: PASSWORD }, { FUSEKI_PASSWORD_FILE: join(dir, "password") }]) {
    const given = await run("ping.sh", { ...env, FUSEKI_PORT: "3131" });
    expect(given).toEqual(
      expect.arrayContaining(["--config", "-", "--fail", "http://127.0.0.1:3131/$/ping"]),
    );
    expect(given.at(-1)).toBe(config);
    expect(given.filter((line) => line.includes("engagement:"))).toHaveLength(1);
  }
});

test("Fuseki requires its one user for everything, and calls no other server", async () => {
  const quads = new Parser({ baseIRI: "urn:config" }).parse(
    await readFile(join(FOLDER, "config.ttl"), "utf8"),
  );
  const said = (property: string) =>
    quads.filter(({ predicate }) => predicate.value.endsWith(property)).map(({ object }) => object.value);
  expect(said("#allowedUsers")).toEqual(["engagement"]);
  // And what one caller sorts does not take the memory of all: test/fuseki-memory.
  expect([said("#cxtName"), said("#cxtValue")]).toEqual([
    ["http://jena.apache.org/ARQ#httpServiceAllowed", "http://jena.apache.org/ARQ#spillToDiskThreshold"],
    ["false", "20000"],
  ]);
  const doors = said("fuseki#operation").map((operation) => operation.split("#")[1]);
  expect(doors).toEqual(["query", "update", "gsp-rw"]);
  expect(said("fuseki#name")).toEqual(["engagement", "query", "update", "data"]);
  // Where start.sh says which indexes it has, and that it remembers nothing that is not there.
  expect(said("#location")).toEqual(["tdb2"]);
});
