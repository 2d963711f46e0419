// What the processes of the service have in common: locks, signals, and what is said of what went wrong.
import { mkdir, mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as soon } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { DatabaseError } from "pg";
import type pg from "pg";
import { pino } from "pino";
import { closeBeforeTheEnd } from "../admin/interrupt.ts";
import { ConfigError, loadConfig } from "../config.ts";
import { GraphUnavailable } from "../graph/store.ts";
import { DEMO_KEY } from "../db/demo/load.ts";
import { explain, refusalCode } from "../process/explain.ts";
import { greeting } from "../process/greeting.ts";
import { takeLock } from "../process/lock.ts";
import { requireSameNames } from "../db/settings.ts";
import { discreet } from "../process/log.ts";
import {
  aborted,
  complain,
  demoKeyExposed,
  endAnyway,
  runPart,
  sessionUrl,
  signalOrders,
} from "../process/part.ts";
import { sinceStart, step } from "../process/steps.ts";
import { createTestDatabase } from "./support/database.ts";

afterEach(() => void jest.restoreAllMocks());

const databaseError = (code: string, more: object = {}) =>
  Object.assign(new DatabaseError("what it says", 0, "error"), { code, ...more });

describe("a lock", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "engagement-lock-"));
  });
  afterAll(() => rm(dir, { recursive: true }));

  test("that is exclusive is nobody else's, one that is shared is everybody's who shares it", async () => {
    const path = join(dir, "a.lock");
    const first = await takeLock(path, "exclusive", 0);
    expect(first).toBeDefined();
    expect(await takeLock(path, "exclusive", 0)).toBeUndefined();
    expect(await takeLock(path, "shared", 0)).toBeUndefined();
    first!.release();
    first!.release();
    const [one, two] = [await takeLock(path, "shared", 0), await takeLock(path, "shared", 0)];
    expect([one, two]).not.toContain(undefined);
    expect(await takeLock(path, "exclusive", 0)).toBeUndefined();
    one!.release();
    expect(await takeLock(path, "exclusive", 0)).toBeUndefined();
    two!.release();
    const last = await takeLock(path, "exclusive", 0);
    expect(last).toBeDefined();
    last!.release();
  });

  test("that is not to be had leaves no file open", async () => {
    const path = join(dir, "open.lock");
    // As Linux tells it; other systems are asked nothing.
    const open = async () => {
      const files = await readdir("/proc/self/fd").catch(() => []);
      const paths = await Promise.all(files.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
      return paths.filter((each) => each === path).length;
    };
    const held = await takeLock(path, "exclusive", 0);
    for (const mode of ["shared", "exclusive"] as const)
      expect(await takeLock(path, mode, 0)).toBeUndefined();
    // SQLite closes a file only when no lock of this process is on it any more.
    held!.release();
    expect(await open()).toBe(0);
  });

  test.each(["shared", "exclusive"] as const)("is waited for: %s", async (mode) => {
    const path = join(dir, `${mode}.lock`);
    const held = await takeLock(path, "exclusive", 0);
    // Long enough for more than one attempt.
    setTimeout(() => held!.release(), 80);
    const taken = await takeLock(path, mode, 30_000);
    expect(taken).toBeDefined();
    taken!.release();
  });

  test("can be in folders that are not there yet, also when two make them at once", async () => {
    const path = join(dir, "x/y/z/a.lock");
    const locks = await Promise.all([takeLock(path, "shared", 0), takeLock(path, "shared", 0)]);
    expect(locks).not.toContain(undefined);
    for (const lock of locks) lock!.release();
  });

  test.each([
    ["below a file", "file/a.lock", "there is a file in its place"],
    ["far below a file", "file/x/y/a.lock", "there is a file in its place"],
    ["where a folder is", "folder.lock", "this user may not write there"],
  ])("%s is refused, and why is said", async (_, name, reason) => {
    await writeFile(join(dir, "file"), "");
    await mkdir(join(dir, "folder.lock"), { recursive: true });
    await expect(takeLock(join(dir, name), "shared", 0)).rejects.toThrow(
      new RegExp(`^DATA_DIR: .+ cannot be used: ${reason}$`),
    );
  });

  test("where nothing can be made is refused, and why is said", async () => {
    await expect(takeLock("/proc/x/y.lock", "shared", 0)).rejects.toThrow("no folder can be made there");
  });
});

describe("what went wrong is told in one line", () => {
  test.each<[string, unknown, string]>([
    ["lines", new Error(" two\n  lines "), "two lines"],
    ["an error without a message", new TypeError(""), "TypeError"],
    ["what is no error", "a text", "a text"],
    ["nothing", "", "something failed without saying why"],
    ["each address of a name", new AggregateError([new Error("one"), new Error("two")], ""), "one; two"],
    ["several with one message", new AggregateError([new Error("one")], "all of it"), "all of it"],
    ["the database's own words", databaseError("23505"), "what it says"],
    ...["3F000", "42P01", "42883"].map((code): [string, unknown, string] => [
      `a database without the schema (${code})`,
      databaseError(code),
      "The database does not have this program's schema (what it says); run npm run migrate.",
    ]),
    [
      "a role without rights",
      databaseError("42501"),
      "The database role of DATABASE_URL may not do this: what it says",
    ],
  ])("%s", (_, error, line) => expect(explain(error)).toBe(line));

  test("a refusal of a rule has its code, and nothing else has one", () => {
    expect(refusalCode(databaseError("PT409", { detail: "last_admin" }))).toBe("last_admin");
    expect(refusalCode(databaseError("23505", { detail: "Key (a)=(1)" }))).toBeUndefined();
    expect(refusalCode(new Error("PT409"))).toBeUndefined();
  });

  const config = { ...loadConfig({ PORT: "4000", METRICS_PORT: "4001", HOST: "10.0.0.1" }) };
  const listening = (code: string, port?: number, syscall = "listen") =>
    Object.assign(new Error("no"), { code, syscall, ...(port && { port }) });
  test.each<[string, unknown, string]>([
    ["a port in use", listening("EADDRINUSE", 4000), "npm start: PORT: 4000 is in use on 10.0.0.1; stop "],
    ["a port of metrics in use", listening("EADDRINUSE", 4001), "npm start: METRICS_PORT: 4001 is in use"],
    ["a port for administrators", listening("EACCES", 4000), "npm start: PORT: 4000 may not be opened"],
    ["an address of others", listening("EADDRNOTAVAIL", 4000), "npm start: HOST: 10.0.0.1 is not an address"],
    [
      "a name of nobody",
      listening("ENOTFOUND", undefined, "getaddrinfo"),
      "npm start: HOST: 10.0.0.1 is not",
    ],
    ["a connection", listening("ECONNREFUSED", 4000, "connect"), "npm start: no\n"],
    ["a bad value", new ConfigError("PORT: must be a number"), "PORT: must be a number\n"],
  ])("%s: which setting to change", (_, error, line) => {
    const written: string[] = [];
    jest.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
    complain("npm start", error, config);
    expect(written).toEqual([expect.stringMatching(/^[^\n]+\n$/)]);
    expect(written[0]!.startsWith(line)).toBe(true);
  });

  test("a demo key that a network could use: which one to revoke", () => {
    expect(demoKeyExposed("0.0.0.0").message).toMatch(/^HOST: 0\.0\.0\.0 .* keys revoke [0-9a-f-]{36}$/);
  });

  test("a database for sessions is the one for LISTEN, where there is one, and no other database", async () => {
    const nobody = (port: number) => `postgres://nobody@127.0.0.1:${port}/x`;
    const both = loadConfig({ DATABASE_URL: nobody(7), DATABASE_LISTEN_URL: nobody(9) });
    await expect(sessionUrl(both, nobody(7))).rejects.toThrow(/^DATABASE_LISTEN_URL: .*:9/);
    await expect(sessionUrl(loadConfig({}), nobody(7))).rejects.toThrow(/^DATABASE_URL: .*:7/);
    const [one, other] = [
      await createTestDatabase({ template: false }),
      await createTestDatabase({ template: false }),
    ];
    // A notification is waited for no longer than it takes.
    const timeout = jest.spyOn(AbortSignal, "timeout").mockImplementation(() => {
      const soon = new AbortController();
      setTimeout(() => soon.abort(), 300);
      return soon.signal;
    });
    try {
      const listens = (url: string) => loadConfig({ DATABASE_URL: one.url, DATABASE_LISTEN_URL: url });
      expect(await sessionUrl(listens(one.url), one.url)).toBe(one.url);
      await expect(sessionUrl(listens(other.url), one.url)).rejects.toThrow(
        /^DATABASE_LISTEN_URL: .* or it is another database than /,
      );
    } finally {
      timeout.mockRestore();
      await Promise.all([one.drop(), other.drop()]);
    }
  });

  test("a step of the start is told when it is done, and not when it has failed", async () => {
    const written: string[] = [];
    jest.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
    expect(
      await step("first", () => {
        expect(written).toEqual([]);
        return Promise.resolve(7);
      }),
    ).toBe(7);
    await expect(step("second", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(written).toEqual([expect.stringMatching(/^ *\d+\.\d s {2}first\n$/)]);
  });

  test("how long a start has taken is told in seconds since the process began, to a tenth", () => {
    jest.spyOn(process, "uptime").mockReturnValue(72.04);
    expect(sinceStart()).toBe("72.0 s");
  });
});

describe("a log", () => {
  const logged = (error: unknown) => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]);
    discreet(pino({}, { write }), () => ({ also: "this" })).info({ err: error }, "something");
    expect(lines).toEqual([expect.objectContaining({ also: "this", msg: "something" })]);
    const { at, ...shown } = lines[0]!["err"] as Record<string, unknown>;
    places = at as string[] | undefined;
    return shown;
  };
  let places: string[] | undefined;

  test("has no texts of errors that may quote somebody", () => {
    for (const code of ["22P02", "P0001", "42601", "XX000"]) {
      const shown = logged(databaseError(code, { detail: "x", table: "needs" }));
      expect(shown).toEqual({
        ...{ type: "DatabaseError", code },
        database: { table: "needs" },
      });
    }
    expect(logged(new Error("what it says"))).toEqual({ type: "Error" });
    expect(logged("a text")).toEqual({ type: "string" });
    expect(logged(new GraphUnavailable("The store answered 500: what it says"))).toEqual({
      ...{ type: "GraphUnavailable", message: "The store answered 500" },
    });
    expect(logged(Object.assign(new Error("x"), { code: "a code with spaces" }))).toEqual({ type: "Error" });
    expect(logged(Object.assign(new Error("x"), { code: "x".repeat(51) }))).toEqual({ type: "Error" });
  });

  test("names the variable that a process has otherwise than the others", async () => {
    const names = { graphDataUrl: "https://a.example", namespaceUrl: "https://a.example/#" };
    const db = {
      query: () => Promise.resolve({ rows: [{ name: "graph_data_url", value: "https://b.example" }] }),
    };
    const error = await requireSameNames(db as never, names).catch((thrown: unknown) => thrown);
    expect(logged(error)).toEqual({
      type: "OtherNames",
      message: expect.stringMatching(/^GRAPH_DATA_URL is https:\/\/a\.example here/),
    });
  });

  test("has what the database and the system say of themselves, and all codes", () => {
    for (const code of [
      "08006",
      "23505",
      "25006",
      "28P01",
      "40001",
      "42501",
      "53300",
      "55P03",
      "57014",
      "58030",
    ]) {
      expect(logged(databaseError(code))).toMatchObject({ code, message: "what it says" });
    }
    const connect = Object.assign(new Error("connect ECONNREFUSED"), {
      code: "ECONNREFUSED",
      syscall: "connect",
    });
    expect(logged(connect)).toEqual({
      ...{ type: "Error", code: "ECONNREFUSED", message: "connect ECONNREFUSED" },
    });
    const client = Object.assign(new Error("Headers Timeout"), { code: "UND_ERR_HEADERS_TIMEOUT" });
    expect(logged(client)["message"]).toBe("Headers Timeout");
    expect(logged(Object.assign(new Error(""), { code: "EENVELOPE", responseCode: 550 }))["code"]).toBe(
      "EENVELOPE 550",
    );
    expect(logged(Object.assign(new Error(""), { status: 400 }))["code"]).toBe("400");
  });

  test("says of a line what the line itself says, and only then what all of them do", () => {
    const lines: unknown[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line));
    const logger = discreet(pino({}, { write }), () => ({ requestId: "of all", traceId: "of all" }));
    logger.info({ requestId: "its own" }, "something");
    expect(lines).toEqual([expect.objectContaining({ requestId: "its own", traceId: "of all" })]);
  });

  test("says where it happened, and of the words that came with it not even those that look like a place", () => {
    logged(new Error("no\n    at Quendelwurz\nat all\n    at Quendelwurz"));
    expect(places!.length).toBeGreaterThan(1);
    expect(places!.every((place) => place.startsWith("at "))).toBe(true);
    expect(places!.join()).not.toMatch(/Quendelwurz|at all/);
    // One that was given other words since, or none.
    const changed = new Error("Quendelwurz");
    for (const message of ["something else", ""]) {
      changed.message = message;
      logged(changed);
      expect(places!.join()).not.toContain("Quendelwurz");
    }
  });

  test("goes five errors deep, and no deeper", () => {
    let error = new Error("innermost");
    for (let depth = 0; depth < 9; depth++) error = new Error("x", { cause: error });
    let depth = 0;
    for (let shown = logged(error); shown; shown = shown["cause"] as typeof shown) depth += 1;
    expect(depth).toBe(5);
  });
});

describe("the greeting", () => {
  const URL = "http://127.0.0.1:3000";
  const chain = { need_id: "the need", commitment_id: "the commitment" };
  const greet = (settings: NodeJS.ProcessEnv, { isLive = true, rows = [chain] as object[] } = {}) => {
    const query = (text: string) =>
      Promise.resolve({ rows: text.includes("is_demo") ? [{ live: isLive }] : rows });
    return greeting(loadConfig(settings), URL, { query } as unknown as pg.Pool);
  };

  test("says that a mail is shown where it is, and nowhere else", async () => {
    const isSaid = async (settings: NodeJS.ProcessEnv) => (await greet(settings)).includes("is shown here");
    expect(await isSaid({})).toBe(true);
    expect(await isSaid({ SMTP_URL: "smtp://127.0.0.1" })).toBe(false);
    expect(await isSaid({ DATABASE_URL: "postgres://127.0.0.1/x" })).toBe(false);
    expect(await isSaid({ HOST: "0.0.0.0" })).toBe(false);
    expect(await isSaid({ LOG_LEVEL: "warn" })).toBe(true);
    // Whoever signs in elsewhere gets no mail.
    const elsewhere = { OIDC_ISSUER: "https://id.example", OIDC_AUDIENCE: "a", OIDC_CLIENT_ID: "pages" };
    expect(await isSaid(elsewhere)).toBe(false);
  });

  test("has a command for each step of the lifecycle, of which each follows from the one before it", async () => {
    const commands = (await greet({})).split("\n").filter((line) => line.startsWith("curl "));
    const bodies = commands.map((command) => / -d '(\{.*\})'$/.exec(command)?.[1]);
    const [need, commitment, attestation] = bodies.map((body) => JSON.parse(body ?? "{}") as object);
    expect(need).not.toHaveProperty("concernsNeedId");
    expect(commitment).toMatchObject({ concernsNeedId: "the need" });
    expect(attestation).toMatchObject({ fulfillsCommitmentId: "the commitment" });
    expect(commands[3]).toContain(`authorization: Bearer ${DEMO_KEY}`);
    // Whoever has removed the demo's records can still declare what is new.
    const alone = await greet({}, { rows: [] });
    expect(alone).toContain("/v0/commitments");
    expect(alone).not.toMatch(/concernsNeedId|fulfillsCommitmentId/);
  });

  test("tells nobody a key that opens nothing", async () => {
    const text = await greet({}, { isLive: false });
    expect(text).not.toContain(DEMO_KEY);
    expect(text).toContain("npm run admin -- keys issue");
  });
});

describe("signals", () => {
  let now: number;
  let heard: Map<string, (signal: string) => void>;
  let intervals: (() => void)[];
  const npm = process.env["npm_lifecycle_event"];
  beforeEach(() => {
    now = 1_000;
    heard = new Map();
    intervals = [];
    jest.spyOn(performance, "now").mockImplementation(() => now);
    jest.spyOn(process, "on").mockImplementation(((name: string, listener: (signal: string) => void) => {
      heard.set(name, listener);
      return process;
    }) as unknown as typeof process.on);
    jest.spyOn(globalThis, "setInterval").mockImplementation(((work: () => void) => {
      intervals.push(work);
      return { unref: () => undefined };
    }) as unknown as typeof setInterval);
  });
  afterEach(() => {
    if (npm === undefined) delete process.env["npm_lifecycle_event"];
    else process.env["npm_lifecycle_event"] = npm;
  });
  const send = (name: string) => heard.get(name)!(name);
  const began = (underNpm: boolean) => {
    if (underNpm) process.env["npm_lifecycle_event"] = "start";
    else delete process.env["npm_lifecycle_event"];
    const orders = signalOrders();
    return () => [orders.stop.aborted, orders.hurry.aborted];
  };

  test.each(["SIGINT", "SIGTERM", "SIGHUP"])("%s is an order to stop, and one more to hurry", (name) => {
    const told = began(false);
    expect(told()).toEqual([false, false]);
    send(name);
    expect(told()).toEqual([true, false]);
    now += 1;
    // A terminal that is gone orders nothing.
    send("SIGHUP");
    expect(told()).toEqual([true, false]);
    send("SIGTERM");
    expect(told()).toEqual([true, true]);
  });

  test("what npm passes on within a second is the same order", () => {
    const told = began(true);
    send("SIGINT");
    now += 1_000;
    send("SIGINT");
    expect(told()).toEqual([true, false]);
    now += 1;
    send("SIGINT");
    expect(told()).toEqual([true, true]);
  });

  test("a process whose npm is gone stops", () => {
    const told = began(true);
    intervals.forEach((work) => work());
    expect(told()).toEqual([false, false]);
    const parent = process.ppid;
    Object.defineProperty(process, "ppid", { value: parent + 1, configurable: true });
    try {
      intervals.forEach((work) => work());
      expect(told()).toEqual([true, false]);
    } finally {
      Object.defineProperty(process, "ppid", { value: parent, configurable: true });
    }
    intervals.length = 0;
    began(false);
    expect(intervals).toEqual([]);
  });

  test.each(["SIGINT", "SIGTERM"])(
    "a command that gets %s alone gives back what it has opened before it ends",
    async (name) => {
      jest.spyOn(process, "removeAllListeners").mockReturnValue(process);
      const kill = jest.spyOn(process, "kill").mockReturnValue(true);
      const closed = Promise.withResolvers<void>();
      const close = jest.fn(() => closed.promise);
      closeBeforeTheEnd(close);
      expect(heard.has(name)).toBe(true);
      send(name);
      await soon();
      expect([close.mock.calls.length, kill.mock.calls]).toEqual([1, []]);
      closed.resolve();
      await soon();
      expect(kill.mock.calls).toEqual([[process.pid, name]]);
    },
  );

  test("a command gives back what it has opened, however often it is told to end, and is then ended by the first", async () => {
    const ended: unknown[] = [];
    jest.spyOn(process, "removeAllListeners").mockImplementation((name) => {
      ended.push(name);
      return process;
    });
    jest.spyOn(process, "kill").mockImplementation((id, name) => {
      ended.push(id, name);
      return true;
    });
    const deafened = jest.spyOn(process, "removeListener");
    const closed = Promise.withResolvers<void>();
    let closings = 0;
    closeBeforeTheEnd(() => {
      closings += 1;
      return closed.promise;
    });
    for (const name of ["SIGTERM", "SIGINT", "SIGINT"]) send(name);
    await soon();
    expect([closings, ended]).toEqual([1, []]);
    // One that nobody hears would end it at once.
    expect(deafened.mock.calls.filter(([name]) => String(name).startsWith("SIG"))).toEqual([]);
    closed.resolve();
    await soon();
    expect([closings, ended]).toEqual([1, ["SIGTERM", process.pid, "SIGTERM"]]);
  });

  test("an order that has come already is not waited for, and one that comes is", async () => {
    const order = new AbortController();
    const heard: string[] = [];
    void aborted(AbortSignal.abort()).then(() => heard.push("before"));
    void aborted(order.signal).then(() => heard.push("then"));
    await soon();
    expect(heard).toEqual(["before"]);
    order.abort();
    await soon();
    expect(heard).toEqual(["before", "then"]);
  });

  test("what does not stop has twenty seconds beyond what requests may take, and then ends", () => {
    const timers: { work: () => void; ms: number }[] = [];
    jest
      .spyOn(globalThis, "setTimeout")
      .mockImplementation(((work: () => void, ms: number) =>
        timers.push({ work, ms })) as unknown as typeof setTimeout);
    const ended: unknown[] = [];
    jest.spyOn(process, "exit").mockImplementation(((code: number) => ended.push(code)) as never);
    endAnyway(loadConfig({ SHUTDOWN_DELAY_MS: "300", SHUTDOWN_TIMEOUT_MS: "7000" }), () =>
      ended.push("told"),
    );
    endAnyway(undefined, () => undefined);
    expect(timers.map(({ ms }) => ms)).toEqual([27_300, 20_000]);
    timers[0]!.work();
    expect(ended).toEqual(["told", 1]);
  });

  test("a part that is told to stop and does not in time is named, and its process ends", async () => {
    const database = await createTestDatabase();
    const env = process.env;
    process.env = {
      ...{ ...env, DATABASE_URL: database.url, FUSEKI_URL: "http://127.0.0.1:9/graph" },
      ...{ SHUTDOWN_DELAY_MS: "300", SHUTDOWN_TIMEOUT_MS: "7000" },
    };
    const late: (() => void)[] = [];
    const begin = globalThis.setTimeout;
    jest.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms: number) => {
      if (ms !== 27_300) return begin(work, ms);
      late.push(work);
      return { unref: () => undefined };
    }) as unknown as typeof setTimeout);
    const said: unknown[] = [];
    jest.spyOn(process, "exit").mockImplementation(((code: number) => said.push(code)) as never);
    jest.spyOn(process.stderr, "write").mockImplementation((text) => Boolean(said.push(text)));
    const [started, stopping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    try {
      const running = runPart("npm run part", () => {
        started.resolve();
        return Promise.resolve({ stop: () => stopping.promise });
      });
      await Promise.race([started.promise, running]);
      expect(late).toEqual([]);
      send("SIGTERM");
      await soon();
      expect(late).toHaveLength(1);
      late[0]!();
      expect(said).toEqual(["npm run part: did not stop in time\n", 1]);
      stopping.resolve();
      await running;
    } finally {
      process.env = env;
      await database.drop();
    }
  });
});
