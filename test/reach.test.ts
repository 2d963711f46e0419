// Whether a URL leads to a database that the service can work with, and what is said where it does not.
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { requireDatabase, requireSession } from "../db/reach.ts";
import { requireRelease } from "../db/release.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { ROOT, run } from "./support/process.ts";
import { givenUpAfter } from "./support/silent-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ template: false });
});
afterAll(() => database.drop());

/** A message of PostgreSQL's protocol. */
function message(kind: string, ...parts: (string | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, body]);
}

const GOOD = {
  ...{
    server_version_num: "180001",
    server_encoding: "UTF8",
    "lower('I')": "i",
    "'É' ~* 'é'": "true",
    row_security: "on",
    lock_timeout: "0",
  },
  ...{ default_transaction_isolation: "read committed", session_replication_role: "origin" },
  ...{
    DateStyle: "ISO, DMY",
    standard_conforming_strings: "on",
    array_nulls: "on",
    quote_all_identifiers: "off",
  },
};

/** Asks a server that lets everybody in and says of itself that it is of some version, with some settings. */
async function asked(version: string, settings: Partial<typeof GOOD> = {}): Promise<void> {
  const ready = message("Z", "I");
  const columns = ["name\0", "setting\0"].flatMap((name) => [name, Array<number>(18).fill(0)]);
  const rows = Object.entries({ ...GOOD, server_version_num: version, ...settings }).map((row) =>
    message("D", [0, 2], ...row.flatMap((value) => [[0, 0, 0, Buffer.byteLength(value)], value])),
  );
  const answer = Buffer.concat([
    message("T", [0, 2], ...columns),
    ...rows,
    message("C", "SELECT 9\0"),
    ready,
  ]);
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(Buffer.concat([message("R", [0, 0, 0, 0]), ready]));
      socket.on("data", (asking) => void (asking.toString("latin1", 0, 1) === "Q" && socket.write(answer)));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    await requireDatabase(`postgres://owner:s3cret@127.0.0.1:${port}/engagement`);
  } finally {
    server.close();
  }
}

test("PostgreSQL 15 is new enough, 14 is not", async () => {
  await asked("150000");
  await asked("180001");
  await expect(asked("140019")).rejects.toThrow(
    /^the database at 127\.0\.0\.1:\d+\/engagement is PostgreSQL 14; 15 or newer is needed$/,
  );
  await requireDatabase(database.url);
});

test.each([
  ["default_transaction_isolation", "repeatable read", "read committed"],
  ["DateStyle", "SQL, DMY", "ISO"],
  ["lock_timeout", "5000", "0"],
  ["row_security", "off", "on"],
  ["session_replication_role", "replica", "origin"],
  ["standard_conforming_strings", "off", "on"],
  ["array_nulls", "off", "on"],
  ["quote_all_identifiers", "on", "off"],
])("a database whose %s is %s is refused", async (name, setting, needed) => {
  const owner = new pg.Client(database.url);
  await owner.connect();
  const alter = (what: string) =>
    owner.query(`do $$ begin execute format('alter database %I ${what}', current_database()); end $$`);
  try {
    await alter(`set ${name} = ''${setting}''`);
    await expect(requireDatabase(database.url)).rejects.toThrow(
      new RegExp(`^the database at .* has ${name} = ${setting}; it must be ${needed} for this login$`),
    );
    await alter(`reset ${name}`);
    await requireDatabase(database.url);
  } finally {
    await owner.end();
  }
});

test("a database of another encoding is refused, and one in which letters have another case", async () => {
  await expect(asked("180001", { server_encoding: "SQL_ASCII" })).rejects.toThrow(
    /has server_encoding = SQL_ASCII; it must be UTF8 for this login$/,
  );
  await expect(asked("180001", { "'É' ~* 'é'": "false" })).rejects.toThrow(
    /has 'É' ~\* 'é' = false; it must be true/,
  );
  await expect(asked("180001", { "lower('I')": "ı" })).rejects.toThrow(/has lower\('I'\) = ı; it must be i/);
});

test("who is not let in is told in one line, without the password", async () => {
  const wrong = Object.assign(new URL(database.url), { password: "s3cret" });
  const why = new RegExp(`^no database at ${wrong.host}${wrong.pathname}: password authentication failed.*$`);
  await expect(requireDatabase(wrong.href)).rejects.toThrow(why);
});

test("a connection that keeps its session is good for one, and what cannot be reached is named", async () => {
  await requireSession(database.url);
  const nobody = Object.assign(new URL(database.url), { port: "9" });
  await expect(requireSession(nobody.href)).rejects.toThrow(/^127\.0\.0\.1:9\/\w+: .*connect ECONNREFUSED/);
});

test.each([
  ["for its version", requireDatabase],
  ["for a session", requireSession],
])("whoever has asked %s has no connection any more", async (_, ask) => {
  await ask(database.url);
  await eventually(async () => {
    const { rowCount } = await database.owner.query(
      "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    expect(rowCount).toBe(0);
  }, 10_000);
});

test("a database that lacks something is waited for, which is told once, and is then left alone", async () => {
  const said: string[] = [];
  let looks = 0;
  // Each look at the clock is a second later.
  const ended = jest.spyOn(pg.Pool.prototype, "end");
  const clock = jest.spyOn(performance, "now").mockImplementation(() => 1_000 * looks++);
  try {
    const waiting = {
      waitMs: 3_000,
      onWait: (line: string) => void said.push(line),
      stop: new AbortController().signal,
    };
    await expect(requireRelease(database.url, waiting)).rejects.toThrow(
      "the database lacks db/rules of this version; run npm run migrate",
    );
  } finally {
    clock.mockRestore();
  }
  expect(looks).toBeGreaterThan(3);
  expect(said).toEqual(["waiting: the database lacks db/rules of this version; run npm run migrate"]);
  // What fails takes its connection with it, so the pool itself is looked at.
  expect(ended).toHaveBeenCalledTimes(1);
  ended.mockRestore();
});

test.each([
  ["for its version", requireDatabase],
  ["for a session", requireSession],
])("a database that is asked %s and says nothing is given up after ten seconds", async (_, ask) => {
  expect(await givenUpAfter(10, ask)).toMatch(/127\.0\.0\.1:\d+\/engagement: timeout expired$/);
});

test("of a host with several addresses it is told in one line what came of each", async () => {
  // In a process of its own: what Node throws is of another kind than what tests know by that name.
  const script = `
    import dns from "node:dns";
    dns.lookup = (host, options, told) =>
      told(null, ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 })));
    const { requireDatabase } = await import("${ROOT}/db/reach.ts");
    await requireDatabase("postgres://owner@db.example:9/engagement").catch(({ message }) => console.log(message));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script]);
  expect(stdout).toMatch(
    /^no database at db\.example:9\/engagement: .*ECONNREFUSED 127\.0\.0\.1:9; .*ECONNREFUSED 127\.0\.0\.2:9\n$/,
  );
});
