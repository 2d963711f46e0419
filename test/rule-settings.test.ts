// What an operator may set in app_private.settings, and what the rules make of what was set before that was looked at.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { run } from "./support/process.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const set = (name: string, value: string) =>
  database.owner.query("update app_private.settings set value = $2::jsonb where name = $1", [name, value]);

const SWITCHES = ["auto_approval_needs_verified_email", "expire_commitments"];
const LIMITS = [
  ...["claim_mails_per_person_per_day", "claims_per_key_per_day", "claims_per_person_per_day"],
  ...["sign_in_links_per_address", "sign_in_links_per_address_everywhere", "sign_ins_per_network"],
];
const DAYS = ["changes_kept_days"];
const TEXTS = ["graph_data_url", "namespace_url", "person_digest_key"];

test("every setting is of one of these kinds", async () => {
  const { rows } = await database.owner.query<{ name: string }>("select name from app_private.settings");
  expect(rows.map(({ name }) => name).toSorted()).toEqual(
    [...SWITCHES, ...LIMITS, ...DAYS, ...TEXTS].toSorted(),
  );
});

describe.each([
  [
    "switch",
    SWITCHES,
    ["true", "false"],
    ['"true"', "1", '"yes"', "null", "[]"],
    "must be true or false, without quotes",
  ],
  [
    "limit",
    LIMITS,
    ["0", "20", "20.0", "1000000000"],
    ["null", '"5"', "[]", "{}", "true", "1e12", "1000000001", "-1", "2.5"],
    "must be a whole number from 0 to 1000000000, without quotes",
  ],
  [
    "number of days",
    DAYS,
    ["1", "36500"],
    ["0", "36501", '"30"'],
    "must be a whole number from 1 to 36500, without quotes",
  ],
  [
    "text",
    TEXTS,
    ['"https://river.example"'],
    ["null", "5", '""', "true"],
    "must be a text, in double quotes",
  ],
])("a %s", (_, names, good, bad, problem) => {
  test.each(names)(
    "%s takes what the rules can read, and whoever sets something else is told what it must be",
    async (name) => {
      const { rows } = await database.owner.query<{ value: string }>(
        "select value::text as value from app_private.settings where name = $1",
        [name],
      );
      for (const value of bad)
        await expect(set(name, value).then(() => `${value} is taken`)).rejects.toThrow(
          `The setting ${name} ${problem}.`,
        );
      for (const value of [...good, rows[0]!.value]) await set(name, value);
    },
  );
});

test("a setting that the rules need is neither deleted nor called otherwise; one that they do not know may be anything", async () => {
  const { owner } = database;
  const needed = "The rules need the setting expire_commitments: set its value instead.";
  const where = "where name = 'expire_commitments'";
  await expect(owner.query(`delete from app_private.settings ${where}`)).rejects.toThrow(needed);
  await expect(owner.query(`update app_private.settings set name = 'expire' ${where}`)).rejects.toThrow(
    needed,
  );
  await owner.query(
    `insert into app_private.settings (name, value, description) values ('own', '[null]', '')`,
  );
  await owner.query("update app_private.settings set name = 'ours', value = '1' where name = 'own'");
  const { rowCount } = await owner.query("delete from app_private.settings where name = 'ours'");
  expect(rowCount).toBe(1);
  await expect(
    owner.query(
      `insert into app_private.settings (name, value, description) values ('expire_commitments', '"no"', '')`,
    ),
  ).rejects.toThrow("must be true or false");
});

test("what was set before that was looked at does not keep a migration from running, which tells of it without its value", async () => {
  await database.owner.query(`
    alter table app_private.settings disable trigger validate;
    update app_private.settings set value = '"5"' where name = 'claims_per_person_per_day';
    update app_private.settings set value = '17' where name = 'person_digest_key';`);
  const migrating = () => run(process.execPath, ["admin/migrate.ts"], { DATABASE_URL: database.url });
  const { code, stderr } = await migrating();
  expect([code, stderr]).toEqual([
    0,
    "migrate: The setting claims_per_person_per_day must be a whole number from 0 to 1000000000, without quotes. Set it: requests that depend on it may fail.\n" +
      "migrate: The setting person_digest_key must be a text, in double quotes. Set it: requests that depend on it may fail.\n",
  ]);
  await set("claims_per_person_per_day", "100");
  await set("person_digest_key", '"a key"');
  expect(await migrating()).toMatchObject({ code: 0, stderr: "" });
});
