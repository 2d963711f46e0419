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
import { givenUpAfterTenSeconds } from "./support/silent-database.ts";

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

/** Asks a server that lets everybody in and says of itself that it is of some version, and how its transactions begin. */
async function asked(version: string, isolation = "read committed"): Promise<void> {
  const ready = message("Z", "I");
  const answer = Buffer.concat([
    message(
      "T",
      [0, 2],
      ...["version\0", "isolation\0"].flatMap((name) => [name, Array<number>(18).fill(0)]),
    ),
    message("D", [0, 2], ...[version, isolation].flatMap((value) => [[0, 0, 0, value.length], value])),
    ...[message("C", "SELECT 1\0"), ready],
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

test("transactions that do not see what was committed while they waited are refused", async () => {
  await expect(asked("180001", "repeatable read")).rejects.toThrow(
    /has the default_transaction_isolation "repeatable read"; "read committed" is needed$/,
  );
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
  expect(await givenUpAfterTenSeconds(ask)).toMatch(/127\.0\.0\.1:\d+\/engagement: timeout expired$/);
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
