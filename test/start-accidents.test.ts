// What happens to npm start when its embedded parts die, or cannot live where they are to be.
import { access, mkdir, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DEMO_KEY } from "../db/demo/load.ts";
import { takeLock } from "../process/lock.ts";
import { eventually } from "./support/eventually.ts";
import { freePort, launch, nothingNames, refusal, temporaryDataDir } from "./support/process.ts";
import type { Running } from "./support/process.ts";
import { call } from "./support/service.ts";

const READY = "Ctrl-C stops it";
const NEED = {
  ...{ orgUri: "https://data.example.org/org/northern-light", orgName: "Northern Light Fellowship" },
  ...{
    declaredByEmail: "contributor@northern-light.example",
    needDescription: "Wells",
    accelerators: ["PRA"],
  },
};

/** What graphile-worker prints of a job that it was just asking for, and nobody can have it leave out. */
const TRACE = /^Trace: .*\n(?:(?: +at | {2}\w|\}).*\n?)*/gm;
/** What a service has said that is no event in its log. */
const complaints = (service: Running) =>
  service
    .output()
    .stderr.replaceAll(TRACE, "")
    .split("\n")
    .filter((line) => line && !line.startsWith("{"));

describe("the embedded PostgreSQL of npm start", () => {
  let data: Awaited<ReturnType<typeof temporaryDataDir>>;
  let settings: Record<string, string>;
  let service: Running;
  const cluster = () => join(data.dir, "postgres/cluster");
  const start = async () => {
    service = launch(process.execPath, ["start.ts"], settings);
    await service.prints(READY);
  };
  const postmaster = async () =>
    Number((await readFile(join(cluster(), "postmaster.pid"), "utf8")).split("\n")[0]);
  const declare = () => call(`http://127.0.0.1:${settings["PORT"]}/v0/needs`, "POST", DEMO_KEY, NEED);

  beforeAll(async () => {
    data = await temporaryDataDir();
    settings = { DATA_DIR: data.dir, PORT: String(await freePort()) };
    // Each test begins with files that are there already, and nobody who serves them.
    await start();
    expect(await service.end("SIGINT")).toBe(0);
  });
  afterAll(async () => {
    await service.end("SIGKILL");
    await data.remove();
  });

  test("is started again when it is killed, and everything goes on; nothing is left in the end", async () => {
    await start();
    expect((await declare()).status).toBe(201);
    for (const times of [1, 2]) {
      const killed = await postmaster();
      process.kill(killed, "SIGKILL");
      await eventually(async () => {
        const { exitCode, signalCode } = service.child;
        if ((await postmaster()) === killed) {
          throw new Error(`not started again (${exitCode ?? signalCode}): ${service.output().stderr}`);
        }
        expect((await declare()).status).toBe(201);
        expect(service.output().stderr.match(/was started again/g)).toHaveLength(times);
      });
    }
    const health = () => call(`http://127.0.0.1:${settings["PORT"]}/v0/health`, "GET", DEMO_KEY);
    await eventually(async () => expect((await health()).body).toMatchObject({ status: "ok", pending: 0 }));
    expect(await service.end("SIGINT")).toBe(0);
    expect(complaints(service)).toEqual([]);
    await nothingNames(data.dir);
  });

  test("is started again where it was when it was told to stop, and has left no word of that", async () => {
    await start();
    // Nobody starts it before it has gone.
    const turn = await takeLock(join(data.dir, "postgres.turn.lock"), "exclusive", 10_000);
    process.kill(await postmaster(), "SIGINT");
    await eventually(() => expect(postmaster()).rejects.toMatchObject({ code: "ENOENT" }));
    turn!.release();
    await eventually(async () => expect((await declare()).status).toBe(201));
    expect(await service.end("SIGINT")).toBe(0);
  });

  test("that comes up after an order to stop is left as it is", async () => {
    const turn = await takeLock(join(data.dir, "postgres.turn.lock"), "exclusive", 10_000);
    service = launch(process.execPath, ["start.ts"], settings);
    const files = `/proc/${service.child.pid}/fd`;
    // It waits for its turn.
    await eventually(async () => {
      const open = await Promise.all(
        (await readdir(files)).map((file) => readlink(join(files, file)).catch(() => "")),
      );
      expect(open).toContain(join(data.dir, "postgres.turn.lock"));
    });
    service.child.kill("SIGINT");
    turn!.release();
    expect(await service.ended).toBe(0);
    expect(service.output().stdout).toContain("Stopped.");
    expect(service.output().stdout).not.toContain("tables and rules");
    await nothingNames(data.dir);
  });

  test("is waited for by whoever is told to stop at once", async () => {
    // Under npm a second signal within a second would be npm's copy of the first.
    service = launch(process.execPath, ["start.ts"], { ...settings, npm_lifecycle_event: "" });
    await service.prints(READY);
    // Nobody stops it before this has gone.
    const turn = await takeLock(join(data.dir, "postgres.turn.lock"), "exclusive", 10_000);
    service.child.kill("SIGINT");
    await service.prints("Stopping");
    service.child.kill("SIGINT");
    await eventually(() =>
      expect(access(join(data.dir, "graph/server.json"))).rejects.toMatchObject({ code: "ENOENT" }),
    );
    turn!.release();
    expect(await service.ended).toBe(0);
    await nothingNames(data.dir);
  });

  test("that can not be started again ends npm start with one line that says why", async () => {
    await start();
    await writeFile(join(cluster(), "postgresql.auto.conf"), "no_such_setting = on\n");
    process.kill(await postmaster(), "SIGKILL");
    expect(await service.ended).toBe(1);
    expect(complaints(service)).toEqual([
      expect.stringMatching(
        /^npm start: The embedded PostgreSQL does not start: .*configuration file .*errors/,
      ),
    ]);
    await nothingNames(data.dir);
    await writeFile(join(cluster(), "postgresql.auto.conf"), "");
  });

  test("of another release's files is refused in one line that names both releases", async () => {
    const path = join(cluster(), "PG_VERSION");
    const version = await readFile(path, "utf8");
    await writeFile(path, "15\n");
    const refused = await refusal("start.ts", settings);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^npm start: The embedded PostgreSQL does not start: .*version 15.*version 18.*\n$/,
    );
    await nothingNames(data.dir);
    await writeFile(path, version);
    await start();
    expect(await service.end("SIGINT")).toBe(0);
  });
});

test("a graph store that cannot start has npm start end, and nobody is cut off in PostgreSQL who was preparing it", async () => {
  const data = await temporaryDataDir();
  try {
    await writeFile(join(data.dir, "graph"), "in the way");
    const settings = { DATA_DIR: data.dir, PORT: String(await freePort()) };
    const refused = await refusal("start.ts", settings, /Ready/);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^npm start: .*(EEXIST|ENOTDIR)/);
    await nothingNames(data.dir);
    const log = await readFile(join(data.dir, "postgres/postgres.log"), "utf8");
    expect(log).toContain("shut down");
    expect(log).not.toContain("terminating connection");
  } finally {
    await data.remove();
  }
});

describe("a DATA_DIR that cannot be used ends npm start with one line", () => {
  test.each([
    ["where nobody can make a folder", () => Promise.resolve("/proc/x")],
    ["deep in such a place", () => Promise.resolve("/proc/x/y/z")],
    [
      "where there is a file",
      async (dir: string) => {
        await writeFile(join(dir, "file"), "");
        return join(dir, "file");
      },
    ],
    [
      "below a file",
      async (dir: string) => {
        await writeFile(join(dir, "file"), "");
        return join(dir, "file/data");
      },
    ],
    [
      "whose lock is a folder",
      async (dir: string) => {
        await mkdir(join(dir, "data/service.lock"), { recursive: true });
        return join(dir, "data");
      },
    ],
  ])("%s", async (_, place) => {
    const data = await temporaryDataDir();
    try {
      const refused = await refusal("start.ts", {
        ...{ DATA_DIR: await place(data.dir), PORT: String(await freePort()) },
      });
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toMatch(/^npm start: DATA_DIR: .+ cannot be used: .+\n$/);
    } finally {
      await data.remove();
    }
  });
});
