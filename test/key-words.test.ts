// What the operator's tool takes for a key, and what it says to a person of one.
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { Command } from "commander";
import type { AdminContext } from "../admin/context.ts";
import { registerKeys } from "../admin/keys.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { operatorOf } from "./support/operator.ts";
import { admin as tool } from "./support/process.ts";
import { admin, buildWorld, member, ORG } from "./support/world.ts";

// Each call of the tool is a process, which takes a while on a machine that is busy.
jest.setTimeout(600_000);

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await buildWorld(database.owner);
});
afterAll(() => database.drop());

const settings = () => ({ DATABASE_URL: database.url });
const { lines, value } = operatorOf(settings);
const time = (text: string) => new Date(text).toISOString();

test("a key: its text alone on the last line, what it is bound to, and until when it works", async () => {
  const [bounds, until, told, key, ...more] = await lines(
    ...[
      "keys",
      "issue",
      "--label",
      "Partner",
      "--scope",
      "api_write",
      "--expires",
      "2999-12-31T23:30:00+02:00",
    ],
    ...["--org", ORG, "--person", admin, "--person", member],
  );
  const { rows } = await database.owner.query<{ id: string }>(
    "select key_id::text as id from app_private.api_keys where key_hash = sha256(convert_to($1, 'utf8'))",
    [key],
  );
  const [{ id }] = rows as [{ id: string }];
  expect([bounds, told, more]).toEqual([
    "Bounds: 1 organization, 2 persons.",
    `Key ${id} (api_write) for Partner. It is not shown again:`,
    [],
  ]);
  expect(time(/^It works until (.*)\.$/.exec(until!)![1]!)).toBe("2999-12-31T21:30:00.000Z");

  const [replaced, , , anew, last] = await lines("keys", "rotate", id.toUpperCase(), "--overlap", "2");
  const [, named, ends] = /^Key (\S+) works until (\S+)\.$/.exec(replaced!)!;
  expect([named, ends]).toEqual([id, (await value("keys", "show", id))["expiresAt"]]);
  expect(anew).toMatch(/ \(api_write\) for Partner\. It is not shown again:$/);
  expect(last).toMatch(/^ek_/);

  expect(await lines("keys", "revoke", id.toUpperCase())).toEqual([`Key ${id} (Partner) is revoked.`]);
  expect(await value("keys", "show", id)).toMatchObject({ state: "revoked" });
  const plain = await lines("keys", "issue", "--label", "Unbound", "--scope", "api_read");
  expect(plain).toEqual([expect.stringMatching(/^Key \S+ \(api_read\) for Unbound\./), expect.any(String)]);
});

test.each(["show", "rotate", "revoke"])(
  "a key's text that is given to keys %s for its id is not said again",
  async (command) => {
    const { code, stdout, stderr } = await tool(["keys", command, "ek_s3cret", "--json"], settings());
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain("s3cret");
    expect(stderr).toContain("not by its text");
  },
);

const ACCEPTED = "accepted";
/** Whether the options of a command are what they may be, before anything is done. */
async function judged(...args: string[]): Promise<string> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  const pool = () => Promise.reject(new Error(ACCEPTED));
  registerKeys(program, { pool, inTransaction: pool } as unknown as AdminContext);
  return program.parseAsync(["keys", ...args], { from: "user" }).then(
    () => "done",
    (error: Error) => error.message,
  );
}

test.each<[string, readonly string[], readonly string[], string]>([
  [
    "--rate",
    ["1", "2147483647"],
    ["0", "-1", "1.5", "1e3", "2147483648", "", " 7"],
    "a whole number of at least 1",
  ],
  [
    "--expires",
    ["2999-12-31", "2999-12-31T12:00Z", "2999-12-31T12:00:00Z", "2999-12-31T12:00:00.5+02:00"],
    [
      // Which time that would be, the place where it is typed would say.
      ...["2999-12-31T23:59:59", "2999-12-31T23:59", "2999-12-31T23:59:59+02", "2999-12-31T23:59:59CET"],
      "2999",
      "2999-12",
      "2999-12-31 12:00:00Z",
      "2999-02-29",
      "2999-12-31T25:00:00Z",
      "31 Dec 2999",
      "tomorrow",
    ],
    "a date such as",
  ],
  [
    "--expires",
    [new Date(Date.now() + 600_000).toISOString()],
    ["2020-01-01", "2020-01-01T00:00:00Z", new Date(Date.now() - 1_000).toISOString()],
    "in the past",
  ],
  [
    "--cidr",
    ["192.0.2.0/24", "192.0.2.7", "192.0.2.7/32", "0.0.0.0/0", "2001:db8::/32", "2001:db8::1/128", "::/0"],
    [
      ...["10", "10/8", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/x", "192.0.2.0/+8", "192.0.2.0/24/24"],
      ...["2001:db8::/129", "fe80::1%eth0", "fe80::%1/64", "example.org", ""],
    ],
    "a network such as",
  ],
])("%s of a key is what it may be: %j, and not %j", async (option, good, bad, why) => {
  const issue = (text: string) => judged("issue", "--label", "x", "--scope", "api_read", `${option}=${text}`);
  for (const text of good) expect([text, await issue(text)]).toEqual([text, ACCEPTED]);
  for (const text of bad) expect([text, await issue(text)]).toEqual([text, expect.stringContaining(why)]);
});

test("an overlap of keys is a number of hours, none to a hundred thousand", async () => {
  const rotate = (text: string) => judged("rotate", "x", `--overlap=${text}`);
  for (const text of ["0", "24", "1.5", "100000"])
    expect([text, await rotate(text)]).toEqual([text, ACCEPTED]);
  for (const text of ["-1", "100000.1", "1e2", ".5", "24h", "0x10", "", "Infinity"])
    expect([text, await rotate(text)]).toEqual([text, expect.stringContaining("a number of hours")]);
});
