// What the database does for two who come at the same moment: with what each of them saw when they began, one would go wrong.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createTestDatabase, issueTestKey, keyIdOf } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import * as m from "./support/membership.ts";
import { gateAfterInsert, onConnections, waiting, whenWaitedFor } from "./support/overlap.ts";
import { admin } from "./support/process.ts";
import type { Deed } from "./support/overlap.ts";
import { buildWorld, contributor, ORG, OTHER_ORG } from "./support/world.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await buildWorld(database.owner);
  await m.addPlatformPeople(database.owner);
});
afterAll(() => database.drop());

const db = () => database.owner;

async function declareNeeds(count: number): Promise<string[]> {
  const { rows } = await db().query<{ id: string }>(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     select $1, 'River', $2, 'Wells', '{PRA}' from generate_series(1, $3) returning need_id as id`,
    [ORG, contributor, count],
  );
  return rows.map(({ id }) => id).toSorted();
}

test("an answer that is forgotten while its request is repeated is given anew", async () => {
  const caller = "00000000-0000-4000-8000-000000000001";
  const request = [caller, "again", "the same"];
  await db().query(
    `insert into app_private.idempotent_answers (key_id, idempotency_key, fingerprint, answer, created_at)
     values ($1, $2, sha256(convert_to($3, 'utf8')), 'the first', now() - interval '25 hours')`,
    request,
  );
  const repeat: Deed = async (client) =>
    (
      await client.query(
        "select app_private.recall_answer($1, $2, sha256(convert_to($3, 'utf8'))) as answer",
        request,
      )
    ).rows;
  const outcome = await gateAfterInsert(database, "app_private.idempotent_answers", (gate) =>
    onConnections(database, 1, async (client) => {
      await gate.shut();
      const repeated = await waiting(database, client, repeat);
      await db().query("select app_private.forget_old_answers()");
      await gate.open();
      return repeated.outcome;
    }),
  );
  expect(outcome).toEqual([{ answer: null }]);
  // It was taken for this request: the next one waits for its answer.
  const { rows } = await db().query(
    "select answer from app_private.idempotent_answers where key_id = $1 and idempotency_key = $2",
    [caller, "again"],
  );
  expect(rows).toEqual([{ answer: null }]);
});

test("an edition that comes beside another one marks the records whose codes the other has moved", async () => {
  const edition =
    (uri: string): Deed =>
    (client) =>
      client.query("select app_private.import_accelerators($1)", [
        JSON.stringify([{ code: "PRA", conceptUri: uri, kind: "accelerator", prefLabel: "Prayer" }]),
      ]);
  /** As a drain does. */
  const writeAll = () =>
    db().query(
      "update app_private.graph_records set synced_revision = revision, state = 'synced', dirty_since = null",
    );
  await edition("https://one.example/PRA")(db());
  const [id] = await declareNeeds(1);
  await writeAll();
  await gateAfterInsert(database, "app_public.accelerators", (gate) =>
    onConnections(database, 2, async (ahead, behind) => {
      await ahead.query("begin");
      await edition("https://two.example/PRA")(ahead);
      await gate.shut();
      const second = await waiting(database, behind, edition("https://one.example/PRA"));
      await ahead.query("commit");
      await writeAll();
      await gate.open();
      await second.outcome;
    }),
  );
  const { rows } = await db().query(
    `select a.concept_uri as uri, r.state from app_public.accelerators as a, app_private.graph_records as r
     where a.code = 'PRA' and r.record_id = $1`,
    [id],
  );
  expect(rows).toEqual([{ uri: "https://one.example/PRA", state: "pending" }]);
});

test("records that are marked many at a time, in whatever order, are never waited for in a circle", async () => {
  const [first, second, third, fourth] = await declareNeeds(4);
  const mark =
    (ids: readonly unknown[]): Deed =>
    async (client) =>
      (await client.query("select app_private.mark_records('need', $1) as marked", [ids])).rows;
  const outcomes = await onConnections(database, 4, async (one, two, three, four) => {
    await one.query("begin");
    await mark([second])(one);
    await two.query("begin");
    await mark([third])(two);
    const forwards = await waiting(database, three, mark([first, second, fourth]));
    const backwards = await waiting(database, four, mark([fourth, third, first]));
    await one.query("commit");
    await two.query("commit");
    return [await forwards.outcome, await backwards.outcome];
  });
  expect(outcomes).toEqual([[{ marked: "3" }], [{ marked: "3" }]]);
});

test("a key that is rotated while its bounds are being narrowed is followed by one with the narrow bounds", async () => {
  const key = await issueTestKey(db(), "api_write", { organizations: [ORG, OTHER_ORG] });
  const keyId = await keyIdOf(db(), key);
  const narrow = { organizations: [ORG], persons: [contributor], networks: ["192.0.2.0/24"] };
  await onConnections(database, 1, async (client) => {
    await client.query("begin");
    await client.query(
      `update app_private.api_keys set organizations = $2, persons = $3, networks = $4, rate_per_minute = 7, label = 'Narrow'
       where key_id = $1`,
      [keyId, ...Object.values(narrow)],
    );
    const rotated = admin(["keys", "rotate", keyId, "--json"], { DATABASE_URL: database.url });
    await whenWaitedFor(database, client);
    await client.query("commit");
    expect(JSON.parse((await rotated).stdout)).toMatchObject({
      ...narrow,
      ratePerMinute: 7,
      label: "Narrow",
    });
  });
});

test("a key that two operators rotate at once is followed by one key, of which the other is told", async () => {
  const keyId = await keyIdOf(db(), await issueTestKey(db(), "api_write"));
  await onConnections(database, 1, async (client) => {
    await client.query("begin");
    await client.query("select from app_private.api_keys where key_id = $1 for update", [keyId]);
    const both = [1, 2].map(() => admin(["keys", "rotate", keyId, "--json"], { DATABASE_URL: database.url }));
    // The second waits for the first, and no longer for this.
    await eventually(async () => {
      const { rowCount } = await db().query(
        "select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0",
      );
      expect(rowCount).toBe(2);
    });
    await client.query("commit");
    const [made, refused] = (await Promise.all(both)).toSorted((a, b) => (a.code ?? 0) - (b.code ?? 0));
    const next = JSON.parse(made!.stdout) as { keyId: string; expiresAt: string | null };
    expect(next.expiresAt).toBe(null);
    expect(refused).toMatchObject({
      code: 2,
      stdout: expect.stringContaining(`already been replaced by key ${next.keyId}.`),
    });
  });
});

test("a key that is being revoked is followed by no other", async () => {
  const keyId = await keyIdOf(db(), await issueTestKey(db(), "api_write"));
  await onConnections(database, 1, async (client) => {
    await client.query("begin");
    await client.query("update app_private.api_keys set revoked_at = now() where key_id = $1", [keyId]);
    const rotated = admin(["keys", "rotate", keyId], { DATABASE_URL: database.url });
    await whenWaitedFor(database, client);
    await client.query("commit");
    expect((await rotated).stderr).toContain(`There is no live key with the id ${keyId}.`);
  });
});

describe.each(["repeatable read", "serializable"])(
  "a transaction of %s, which sees what was before,",
  (level) => {
    const at =
      (deed: Deed): Deed =>
      async (client) => {
        await client.query(`set default_transaction_isolation = '${level}'`);
        return deed(client);
      };
    const refused = { code: "25000", message: expect.stringContaining("READ COMMITTED") as unknown };

    test("claims an organization for nobody: it might be the second to be the first", async () => {
      const org = await m.addOrganization(db());
      const claim =
        (person: string): Deed =>
        (client) =>
          client.query("select app_public.claim_organization($1, 'Ana', 'Silva', '{}', $2, false, $3)", [
            `${person}@${org.domain}`,
            org.name,
            org.uri,
          ]);
      // Otherwise graphile-worker learns of the job in both.
      await db().query("select graphile_worker.add_job('send_mails')");
      await onConnections(database, 2, async (ahead, behind) => {
        await behind.query(`begin isolation level ${level}; select from app_public.memberships`);
        await claim("one")(ahead);
        await expect(claim("two")(behind)).rejects.toMatchObject(refused);
        await behind.query("rollback");
      });
      expect(await m.membershipOf(db(), org.uri, `one@${org.domain}`)).toBe("org_admin active");
      expect(await m.membershipOf(db(), org.uri, `two@${org.domain}`)).toBeUndefined();
    });

    test("gives a role on the platform to nobody: who gives it may have lost their own", async () => {
      const give: Deed = (client) =>
        client.query("select app_public.set_platform_role($1, 'support', $2)", [
          contributor,
          m.platformAdmin,
        ]);
      await onConnections(database, 1, async (client) => {
        await expect(at(give)(client)).rejects.toMatchObject(refused);
      });
    });
  },
);
