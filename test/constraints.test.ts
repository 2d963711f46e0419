// What the tables themselves refuse, whoever writes to them and by whatever rule: the last word, also against a rule that forgot.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { choices } from "../db/catalog.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

let database: TestDatabase;
let client: pg.PoolClient;
beforeAll(async () => {
  database = await createTestDatabase();
  client = await database.owner.connect();
  await client.query("begin");
  // Triggers are rules as well, and would refuse some of it before.
  await client.query("set local session_replication_role = replica");
  await client.query(`
    insert into app_public.organizations (org_uri, name) values ('https://a.example', 'A');
    insert into app_public.users (user_id, email) values ('${"0".repeat(8)}-0000-4000-8000-000000000001', 'a@a.example')`);
});
afterAll(async () => {
  client.release(true);
  await database.drop();
});

const ID = "00000000-0000-4000-8000-000000000001";
const hash = (digit: string, length = 32) => `'\\x${digit.repeat(2 * length)}'`;

const key = (columns: Record<string, string> = {}) =>
  insert("app_private.api_keys", {
    ...{ label: "'k'", key_hash: "sha256(uuid_send(gen_random_uuid()))", scope: "'api_read'" },
    ...columns,
  });
const answer = (idempotencyKey: string) =>
  insert("app_private.idempotent_answers", {
    ...{ key_id: `'${ID}'`, idempotency_key: idempotencyKey, fingerprint: hash("0") },
  });
const claim = (columns: Record<string, string> = {}) =>
  insert("app_public.organization_claims", {
    ...{ user_id: `'${ID}'`, org_uri: "'https://a.example'", org_name: "'A'", email_domain: "'a.example'" },
    ...columns,
  });
const church = (columns: Record<string, string>) =>
  insert("app_public.churches", { church_id: "'c-1'", name: "'C'", ...columns });
const session = (columns: Record<string, string> = {}) =>
  insert("app_private.sessions", { secret_hash: hash("1"), email: "'a@a.example'", ...columns });
const signIn = (columns: Record<string, string> = {}) =>
  insert("app_private.sign_ins", {
    ...{ secret_hash: hash("1"), browser_hash: hash("2"), return_to: "'/'" },
    ...columns,
  });
const mail = (columns: Record<string, string> = {}) =>
  insert("app_private.mails", {
    ...{ unique_key: "gen_random_uuid()::text", kind: "'sign_in'", recipient: "'a@a.example'", data: "'{}'" },
    ...columns,
  });
const change = (columns: Record<string, string>) => insert("app_private.changes", columns);
const country = (alpha2: string, alpha3: string) =>
  insert("app_public.countries", { alpha2, alpha3, name: "'Nowhere'" });
const history = (columns: Record<string, string>) =>
  insert("app_public.status_history", { to_status: "'open'", ...columns });
const claimStep = (columns: Record<string, string>) =>
  insert("app_public.organization_claim_history", {
    ...{ claim_id: `'${ID}'`, to_status: "'pending_review'" },
    ...columns,
  });
const administration = (subject: string) =>
  insert("app_private.administration_history", { subject, name: "'n'", change: "'{}'" });

function insert(table: string, columns: Record<string, string>): string {
  if (Object.keys(columns).length === 0) return `insert into ${table} default values`;
  return `insert into ${table} (${Object.keys(columns).join(", ")}) values (${Object.values(columns).join(", ")})`;
}

type Columns = Record<string, string>;
const ofOrganization = { org_uri: "'https://a.example'", org_name: "'A'" };
const need = (columns: Columns) =>
  insert("app_public.needs", {
    ...{
      ...ofOrganization,
      declared_by_email: "'a@a.example'",
      need_description: "'N'",
      accelerators: "'{A}'",
    },
    ...columns,
  });
const commitment = (columns: Columns) =>
  insert("app_public.commitments", {
    ...{ ...ofOrganization, declared_by_email: "'a@a.example'", commitment_description: "'C'" },
    ...{ accelerator_scope: "'{A}'", ...columns },
  });
const engagementClaim = (columns: Columns) =>
  insert("app_public.engagement_claims", {
    ...{ ...ofOrganization, claimed_by_email: "'a@a.example'", engagement_accelerators: "'{A}'" },
    ...columns,
  });

const CHECK = "23514";
const TWICE = "23505";

/** What a constraint is there for, what it refuses, and what is the nearest to that which it takes. */
type Rule = { rule: string; refuses: readonly string[]; takes: readonly string[] };

const isOfATime = (make: (columns: Columns) => string, column = "created_at"): Rule => ({
  rule: `a record's ${column} is a time that JSON, XSD and the cursors of lists have`,
  refuses: ["infinity", "-infinity", "0001-12-31 23:59:59+00 BC", "2200-01-01 00:00:00+00"].map((time) =>
    make({ [column]: `'${time}'` }),
  ),
  takes: ["0001-01-01 00:00:00+00", "2199-12-31 23:59:59.999999+00"].map((time) =>
    make({ [column]: `'${time}'` }),
  ),
});

const CHECKS: Readonly<Record<string, Rule>> = {
  needs_created_at_check: isOfATime(need),
  commitments_created_at_check: isOfATime(commitment),
  engagement_claims_created_at_check: isOfATime(engagementClaim),
  organization_claims_created_at_check: isOfATime(claim),
  needs_updated_at_check: isOfATime(need, "updated_at"),
  commitments_updated_at_check: isOfATime(commitment, "updated_at"),
  engagement_claims_updated_at_check: isOfATime(engagementClaim, "updated_at"),
  organization_claims_updated_at_check: isOfATime(claim, "updated_at"),
  organization_claims_reviewed_at_check: isOfATime(claim, "reviewed_at"),
  status_history_changed_at_check: isOfATime(
    (columns) => history({ need_id: `'${ID}'`, ...columns }),
    "changed_at",
  ),
  organization_claim_history_changed_at_check: isOfATime(claimStep, "changed_at"),
  changes_changed_at_check: isOfATime((columns) => insert("app_private.changes", columns), "changed_at"),
  commitments_target_completion_date_check: {
    rule: "something is promised until a day that a calendar has",
    refuses: ["infinity", "-infinity", "0001-12-31 BC", "10000-01-01"].map((day) =>
      commitment({ target_completion_date: `'${day}'` }),
    ),
    takes: ["'0001-01-01'", "'9999-12-31'", "null"].map((day) => commitment({ target_completion_date: day })),
  },
  api_keys_key_hash_check: {
    rule: "of a key the SHA-256 is stored, and not its text",
    refuses: [
      key({ key_hash: hash("a", 31) }),
      key({ key_hash: hash("a", 33) }),
      key({ key_hash: "'ek_text'" }),
    ],
    takes: [key({ key_hash: hash("a", 32) })],
  },
  api_keys_scope_check: {
    rule: "no key has the role of a person, or of the server",
    refuses: [key({ scope: "'api_person'" }), key({ scope: "'engagement_server'" })],
    takes: [key({ scope: "'api_review'" })],
  },
  api_keys_rate_per_minute_check: {
    rule: "a key may be used at least once a minute",
    refuses: [key({ rate_per_minute: "0" })],
    takes: [key({ rate_per_minute: "1" })],
  },
  api_keys_organizations_check: {
    rule: "a key for certain organizations is for one at least, and each is one",
    refuses: [key({ organizations: "'{}'" }), key({ organizations: "array['https://a.example', null]" })],
    takes: [key({ organizations: "array['https://a.example']" }), key()],
  },
  api_keys_persons_check: {
    rule: "a key for certain persons is for one at least, and each is one",
    refuses: [key({ persons: "'{}'" }), key({ persons: "array['a@a.example', null]" })],
    takes: [key({ persons: "array['a@a.example']" })],
  },
  api_keys_networks_check: {
    rule: "a key for certain networks is for one at least, and each is one",
    refuses: [key({ networks: "'{}'" }), key({ networks: "array['192.0.2.0/24', null]::cidr[]" })],
    takes: [key({ networks: "'{192.0.2.0/24}'" })],
  },
  idempotent_answers_idempotency_key_check: {
    rule: "an idempotency key has 1 to 255 characters",
    refuses: [answer("''"), answer("repeat('k', 256)")],
    takes: [answer("'k'"), answer("repeat('k', 255)")],
  },
  organization_claims_routed_to_check: {
    rule: "a claim is sent to the organization or to the platform",
    refuses: [claim({ routed_to: "'nobody'" })],
    takes: [claim({ routed_to: "'organization'" }), claim({ routed_to: "'platform'" })],
  },
  organization_claims_result_variant_check: {
    rule: "what becomes of a claim at once is one of four",
    refuses: [claim({ result_variant: "'lost'" })],
    takes: ["claimed", "request-sent", "manual-review", "new-org"].map((variant) =>
      claim({ result_variant: `'${variant}'` }),
    ),
  },
  organization_claims_check: {
    rule: "nobody is rejected without being told why",
    refuses: [claim({ status: "'rejected'" })],
    takes: [claim({ status: "'rejected'", review_notes: "'No.'" }), claim({ status: "'approved'" })],
  },
  countries_alpha2_check: {
    rule: "a country has a code of two capitals",
    refuses: [country("'Xx'", "'XXX'"), country("'XXX'", "'XXX'"), country("'X'", "'XXX'")],
    takes: [country("'XX'", "'XXX'")],
  },
  countries_alpha3_check: {
    rule: "a country has a code of three capitals",
    refuses: [country("'XX'", "'XXx'"), country("'XX'", "'XX'"), country("'XX'", "'XXXX'")],
    takes: [country("'XX'", "'XXX'")],
  },
  status_history_check: {
    rule: "a status is that of one record",
    refuses: [history({}), history({ need_id: `'${ID}'`, commitment_id: `'${ID}'` })],
    takes: ["need_id", "commitment_id", "engagement_claim_id"].map((id) => history({ [id]: `'${ID}'` })),
  },
  graph_references_name_check: {
    rule: "the lists of the graph are those that are written",
    refuses: [insert("app_private.graph_references", { name: "'churches'" })],
    takes: ["update app_private.graph_references set name = name where name = 'ontology'"],
  },
  churches_church_id_check: {
    rule: "a church's id has 1 to 128 characters and no space",
    refuses: ["''", "repeat('c', 129)", "'c 1'", "E'c\\n'"].map((id) => church({ church_id: id })),
    takes: ["'c'", "repeat('c', 128)"].map((id) => church({ church_id: id })),
  },
  churches_name_check: {
    rule: "a church has a name",
    refuses: [church({ name: "''" })],
    takes: [church({ name: "'x'" })],
  },
  churches_latitude_check: {
    rule: "a latitude is from pole to pole",
    refuses: ["-90.1", "90.1"].map((latitude) => church({ latitude, longitude: "0" })),
    takes: ["-90", "90"].map((latitude) => church({ latitude, longitude: "0" })),
  },
  churches_longitude_check: {
    rule: "a longitude is from -180 to 180",
    refuses: ["-180.1", "180.1"].map((longitude) => church({ latitude: "0", longitude })),
    takes: ["-180", "180"].map((longitude) => church({ latitude: "0", longitude })),
  },
  churches_check: {
    rule: "a church is at a latitude and a longitude, or nowhere",
    refuses: [church({ latitude: "1" }), church({ longitude: "1" })],
    takes: [church({ latitude: "1", longitude: "1" }), church({})],
  },
  churches_extraction_confidence_check: {
    rule: "the source is sure of a church from 0 to 1",
    refuses: ["-0.1", "1.1"].map((sure) => church({ extraction_confidence: sure })),
    takes: ["0", "1"].map((sure) => church({ extraction_confidence: sure })),
  },
  churches_service_times_check: {
    rule: "a service begins within the week",
    refuses: ["{-1}", "{10080}", "{0,10080}"].map((times) => church({ service_times: `'${times}'` })),
    takes: [church({ service_times: "'{0,10079}'" })],
  },
  ...Object.fromEntries(
    ["logo", "banner"].flatMap((picture) =>
      ["width", "height", "aspect_ratio"].map((size): [string, Rule] => [
        `churches_${picture}_${size}_check`,
        {
          rule: `the ${size.replace("_", " ")} of a ${picture} is more than nothing`,
          refuses: [church({ [`${picture}_${size}`]: "0" })],
          takes: [church({ [`${picture}_${size}`]: "1" })],
        },
      ]),
    ),
  ),
  mails_kind_check: {
    rule: "a mail is of a kind for which there is a text",
    refuses: [mail({ kind: "'greeting'" })],
    takes: choices["mails.kind"].map((kind) => mail({ kind: `'${kind}'` })),
  },
  mails_check: {
    rule: "a mail is sent, kept or failed, and not two of these",
    refuses: [mail({ sent_at: "now()", failed_at: "now()" }), mail({ kept_at: "now()", sent_at: "now()" })],
    takes: [mail(), mail({ failed_at: "now()" })],
  },
  graph_records_state: {
    rule: "a record is pending exactly while the graph does not hold its revision",
    refuses: [
      insert("app_private.graph_records", {
        ...{ kind: "'need'", record_id: `'${ID}'`, revision: "1", synced_revision: "0", state: "'synced'" },
      }),
      insert("app_private.graph_records", {
        ...{ kind: "'need'", record_id: `'${ID}'`, revision: "1", synced_revision: "1", state: "'pending'" },
      }),
    ],
    takes: [
      insert("app_private.graph_records", {
        ...{ kind: "'need'", record_id: `'${ID}'`, revision: "1", synced_revision: "0", state: "'pending'" },
      }),
    ],
  },
  graph_store_only_row_check: {
    rule: "there is one graph",
    refuses: [insert("app_private.graph_store", { only_row: "false" })],
    takes: ["update app_private.graph_store set only_row = true"],
  },
  graph_verification_only_row_check: {
    rule: "there is one round of verification",
    refuses: [insert("app_private.graph_verification", { only_row: "false" })],
    takes: ["update app_private.graph_verification set only_row = true"],
  },
  administration_history_subject_check: {
    rule: "what the trail tells of is one of what it knows",
    refuses: [administration("'weather'")],
    takes: ["organization", "api_key", "list", "churches", "person", "organization_claim"].map((subject) =>
      administration(`'${subject}'`),
    ),
  },
  sessions_secret_hash_check: {
    rule: "of a session's secret the SHA-256 is stored, and not its text",
    refuses: [session({ secret_hash: hash("a", 31) }), session({ secret_hash: hash("a", 33) })],
    takes: [session()],
  },
  sessions_check: {
    rule: "a session has issuer and subject, or neither",
    refuses: [session({ issuer: "'i'" }), session({ subject: "'s'" })],
    takes: [session({ issuer: "'i'", subject: "'s'" }), session()],
  },
  sign_ins_secret_hash_check: {
    rule: "of a link's secret the SHA-256 is stored, and not its text",
    refuses: [signIn({ secret_hash: hash("a", 31) }), signIn({ secret_hash: hash("a", 33) })],
    takes: [signIn()],
  },
  sign_ins_browser_hash_check: {
    rule: "of a browser's secret the SHA-256 is stored, and not its text",
    refuses: [signIn({ browser_hash: hash("a", 31) }), signIn({ browser_hash: hash("a", 33) })],
    takes: [signIn()],
  },
  sign_ins_check: {
    rule: "a browser that signs in has somewhere to go, and a link for any browser has not",
    refuses: [signIn({ return_to: "null" }), signIn({ browser_hash: "null", email: "'a@a.example'" })],
    takes: [signIn({ browser_hash: "null", return_to: "null", email: "'a@a.example'" })],
  },
  sign_ins_proof_check: {
    rule: "a link for any browser proves somebody's address",
    refuses: [signIn({ browser_hash: "null", return_to: "null" })],
    takes: [signIn({ browser_hash: "null", return_to: "null", email: "'a@a.example'" })],
  },
  changes_kind_check: {
    rule: "the feed tells of what has readers",
    refuses: [change({ kind: "'church'" })],
    takes: ["need", "commitment", "engagement_claim", "organization_claim"].map((kind) =>
      change({ kind: `'${kind}'` }),
    ),
  },
  changes_change_check: {
    rule: "what happens to a record is one of three",
    refuses: [change({ change: "'renamed'" })],
    takes: ["created", "updated", "deleted"].map((what) => change({ change: `'${what}'` })),
  },
  changes_check: {
    rule: "a change has a place and the time when it got it, or neither",
    refuses: [change({ position: "900" }), change({ numbered_at: "now()" })],
    takes: [change({ position: "900", numbered_at: "now()" }), change({})],
  },
};

const UNIQUE: Readonly<Record<string, Rule>> = {
  api_keys_key_hash_key: {
    rule: "a text is that of one key",
    refuses: [`${key({ key_hash: hash("b") })}; ${key({ key_hash: hash("b") })}`],
    takes: [`${key()}; ${key()}`],
  },
  users_email_key: {
    rule: "addresses that differ in case alone are one person's",
    refuses: [insert("app_public.users", { email: "'A@A.example'" })],
    takes: [insert("app_public.users", { email: "'b@a.example'" })],
  },
  countries_alpha3_key: {
    rule: "a code of three letters is that of one country",
    refuses: [`${country("'XX'", "'XXX'")}; ${country("'XY'", "'XXX'")}`],
    takes: [`${country("'XX'", "'XXX'")}; ${country("'XY'", "'XXY'")}`],
  },
  organization_claims_open: {
    rule: "of a person's claims to an organization one is open",
    refuses: [
      `${claim()}; ${claim({ status: "'pending_review'" })}`,
      `${claim({ status: "'reviewed'" })}; ${claim()}`,
    ],
    takes: [
      `${claim({ status: "'rejected'", review_notes: "'No.'" })}; ${claim({ status: "'withdrawn'" })}; ${claim()}`,
    ],
  },
  mails_unique_key_key: {
    rule: "nobody is told twice of one event",
    refuses: [`${mail({ unique_key: "'u'" })}; ${mail({ unique_key: "'u'" })}`],
    takes: [`${mail({ unique_key: "'u'" })}; ${mail({ unique_key: "'v'" })}`],
  },
  sessions_secret_hash_key: {
    rule: "a secret is that of one session",
    refuses: [`${session()}; ${session()}`],
    takes: [`${session()}; ${session({ secret_hash: hash("2") })}`],
  },
  changes_in_order: {
    rule: "a place in the feed is that of one change",
    refuses: [
      `${change({ position: "900", numbered_at: "now()" })}; ${change({ position: "900", numbered_at: "now()" })}`,
    ],
    takes: [`${change({})}; ${change({})}`],
  },
};

async function outcome(statement: string): Promise<string> {
  await client.query("savepoint before");
  try {
    await client.query(statement);
    return "taken";
  } catch (error) {
    const { code, constraint, message } = error as pg.DatabaseError;
    return constraint === undefined ? message : `${code} ${constraint}`;
  } finally {
    await client.query("rollback to savepoint before");
  }
}

describe.each([
  [CHECK, CHECKS],
  [TWICE, UNIQUE],
])("refused with %s:", (code, rules) => {
  test.each(Object.entries(rules).map(([name, rule]) => ({ name, ...rule })))(
    "$rule",
    async ({ name, refuses, takes }) => {
      for (const statement of refuses)
        expect([statement, await outcome(statement)]).toEqual([statement, `${code} ${name}`]);
      for (const statement of takes)
        expect([statement, await outcome(statement)]).toEqual([statement, "taken"]);
    },
  );
});

test("a record of a time that it cannot have any more gets the nearest with the migration", async () => {
  const migration = join(import.meta.dirname, "../db/migrations/0079_times_of_records.sql");
  const other = await createTestDatabase();
  try {
    const { owner } = other;
    await owner.query(`
      alter table app_public.needs drop constraint needs_created_at_check;
      alter table app_public.commitments drop constraint commitments_created_at_check;
      alter table app_public.engagement_claims drop constraint engagement_claims_created_at_check;
      alter table app_public.organization_claims drop constraint organization_claims_created_at_check;
      begin; set local session_replication_role = replica;
      insert into app_public.organizations (org_uri, name) values ('https://a.example', 'A');
      ${["infinity", "-infinity", "2026-01-01 00:00:00+00"].map((time) => need({ created_at: `'${time}'` })).join(";")};
      commit`);
    await owner.query(await readFile(migration, "utf8"));
    const { rows } = await owner.query<{ at: string }>(
      "select (created_at at time zone 'utc')::text as at from app_public.needs order by created_at",
    );
    expect(rows.map(({ at }) => at)).toEqual([
      "0001-01-01 00:00:00",
      "2026-01-01 00:00:00",
      "2199-12-31 23:59:59",
    ]);
  } finally {
    await other.drop();
  }
});

test("and so do its other times, however they came about, and a day that no calendar has", async () => {
  const migration = join(import.meta.dirname, "../db/migrations/0080_other_times_of_records.sql");
  const other = await createTestDatabase();
  const columns = [
    ...["needs", "commitments", "engagement_claims", "organization_claims"].map((table) => [
      table,
      "updated_at",
    ]),
    ["organization_claims", "reviewed_at"],
    ["status_history", "changed_at"],
    ["organization_claim_history", "changed_at"],
  ] as const;
  const records = ["infinity", "-infinity", "2026-01-01 00:00:00+00"].flatMap((time) => {
    const at = `'${time}'`;
    return [
      need({ updated_at: at }),
      commitment({ updated_at: at }),
      engagementClaim({ updated_at: at }),
      claim({ updated_at: at, reviewed_at: at, status: "'rejected'", review_notes: "'No.'" }),
      history({ need_id: `'${ID}'`, changed_at: at }),
      claimStep({ changed_at: at }),
    ];
  });
  const days = ["infinity", "0044-03-15 BC", "2026-01-01"];
  try {
    const { owner } = other;
    await owner.query(`
      alter table app_private.changes drop constraint changes_changed_at_check;
      ${[...columns, ["commitments", "target_completion_date"]].map(([table, column]) => `alter table app_public.${table} drop constraint ${table}_${column}_check`).join(";")};
      begin; set local session_replication_role = replica;
      insert into app_public.organizations (org_uri, name) values ('https://a.example', 'A');
      insert into app_public.users (user_id, email) values ('${ID}', 'a@a.example');
      ${records.join(";")};
      -- Most are of no time at all.
      ${claim({ updated_at: "'infinity'" })};
      ${need({ need_id: `'${ID}'` })};
      ${days.map((day) => commitment({ concerns_need_id: `'${ID}'`, target_completion_date: `'${day}'`, updated_at: "'infinity'" })).join(";")};
      insert into app_private.changes (changed_at) values ('infinity'), ('0044-03-15 BC');
      commit`);
    await owner.query(await readFile(migration, "utf8"));
    const { rows: told } = await owner.query<{ at: string }>(
      "select changed_at::text as at from app_private.changes where not (changed_at between '0001-01-01' and '2199-12-31 23:59:59+00')",
    );
    expect(told).toEqual([]);
    // The graph holds what they were, or nothing of them.
    const { rows: marked } = await owner.query(
      "select kind, count(*)::integer as n from app_private.graph_records where state = 'pending' group by kind order by kind",
    );
    expect(marked).toEqual([
      { kind: "need", n: 2 },
      { kind: "commitment", n: 5 },
      { kind: "engagement_claim", n: 2 },
    ]);
    const values = async (table: string, column: string) => {
      const { rows } = await owner.query<{ value: string }>(
        `select distinct (${column} at time zone 'utc')::text as value from app_public.${table} order by 1`,
      );
      return rows.map(({ value }) => value);
    };
    for (const [table, column] of columns) {
      const found = await values(table, column);
      // The records whose day was mended have been changed by that.
      const expected = ["0001-01-01 00:00:00", "2026-01-01 00:00:00", "2199-12-31 23:59:59"];
      expect([table, column, found]).toEqual([table, column, expect.arrayContaining(expected)]);
      expect(found.at(0)).toBe(expected[0]);
    }
    const { rows: dates } = await owner.query<{ day: string }>(
      "select target_completion_date::text as day from app_public.commitments where target_completion_date is not null order by 1",
    );
    expect(dates.map(({ day }) => day)).toEqual(["0001-01-01", "2026-01-01", "9999-12-31"]);
    const { rows: undecided } = await owner.query(
      "select from app_public.organization_claims where reviewed_at is null",
    );
    expect(undecided).toHaveLength(1);
    const { rows: off } = await owner.query("select from pg_trigger where tgenabled = 'D'");
    expect(off).toEqual([]);
  } finally {
    await other.drop();
  }
});

test("there is an example of each", async () => {
  const { rows } = await database.owner.query<{ name: string }>(
    `select k.conname as name from pg_constraint as k
     where k.contype = 'c' and k.connamespace::regnamespace::text in ('app_public', 'app_private')
     union
     select c.relname from pg_index as i join pg_class as c on c.oid = i.indexrelid
     where i.indisunique and not i.indisprimary and c.relnamespace::regnamespace::text in ('app_public', 'app_private')`,
  );
  expect(rows.map(({ name }) => name).toSorted()).toEqual(
    [...Object.keys(CHECKS), ...Object.keys(UNIQUE)].toSorted(),
  );
});

test("what is part of something goes with it, a key's replacement is forgotten, and an organization's new URI is told to all that name it", async () => {
  const { rows } = await database.owner.query<{ part: string }>(
    `select format('%s: %s', k.conrelid::regclass, pg_get_constraintdef(k.oid)) as part from pg_constraint as k
     where k.contype = 'f' and (k.confdeltype <> 'a' or k.confupdtype <> 'a')
       and k.connamespace::regnamespace::text in ('app_public', 'app_private')`,
  );
  const renamed = (table: string) =>
    `${table}: FOREIGN KEY (org_uri) REFERENCES app_public.organizations(org_uri) ON UPDATE CASCADE`;
  const part = (table: string, column: string, whole: string, id = column) =>
    `${table}: FOREIGN KEY (${column}) REFERENCES ${whole}(${id}) ON DELETE CASCADE`;
  expect(rows.map((row) => row.part).toSorted()).toEqual(
    [
      ...["memberships", "organization_claims", "needs", "commitments", "engagement_claims"].map((table) =>
        renamed(`app_public.${table}`),
      ),
      renamed("app_private.role_history"),
      part("app_private.key_uses", "key_id", "app_private.api_keys"),
      "app_private.api_keys: FOREIGN KEY (replaced_by) REFERENCES app_private.api_keys(key_id) ON DELETE SET NULL",
      part("app_public.organization_claim_history", "claim_id", "app_public.organization_claims"),
      part("app_public.status_history", "need_id", "app_public.needs"),
      part("app_public.status_history", "commitment_id", "app_public.commitments"),
      part("app_public.status_history", "engagement_claim_id", "app_public.engagement_claims", "claim_id"),
    ].toSorted(),
  );
});
