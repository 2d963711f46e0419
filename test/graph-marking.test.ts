// Which records and lists the database has written to the graph again, and which not.
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { onConnections } from "./support/overlap.ts";
import { buildWorld, contributor, ORG } from "./support/world.ts";

let database: TestDatabase;
let client: pg.PoolClient;
beforeAll(async () => {
  database = await createTestDatabase();
  await buildWorld(database.owner);
  const whose = `'${ORG}', 'River', '${contributor}'`;
  await database.owner.query(`
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
      values (${whose}, 'Wells', '{PRA-INT}');
    insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope)
      values (${whose}, 'Wells', '{PRA-INT}');
    insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators)
      values (${whose}, '{PRA-INT}')`);
  client = await database.owner.connect();
});
afterAll(async () => {
  client.release(true);
  await database.drop();
});
beforeEach(async () => {
  await client.query("begin");
  await settle();
});
afterEach(() => client.query("rollback"));

const KINDS = ["need", "commitment", "engagement_claim"];

/** As if the graph held everything. */
async function settle(): Promise<void> {
  await client.query(`
    update app_private.graph_records set synced_revision = revision, state = 'synced', dirty_since = null, retry_at = null;
    update app_private.graph_references set synced_revision = revision, retry_at = null;
    update app_private.graph_store set state = 'current', looked_at = now()`);
}

async function values(statement: string, input: unknown[] = []): Promise<unknown[]> {
  const { rows } = await client.query({ text: statement, values: input, rowMode: "array" });
  return (rows as unknown[][]).map(([value]) => value);
}

const marked = () => values("select kind::text from app_private.dirty_records as d order by d.kind");
const refuse = (kind: string, retryAt: string) =>
  client.query(
    `update app_private.graph_records set state = 'rejected', retry_at = ${retryAt} where kind = '${kind}'`,
  );

test("what the store refuses again and again is sent again after twice as long, at last each five minutes, however often", async () => {
  const seconds = "select extract(epoch from app_private.retry_after(n))::integer";
  const after = await values(`${seconds} from unnest($1::bigint[]) as n`, [[1, 2, 3, 9, 10, 100, 10_000]]);
  expect(after).toEqual([1, 2, 4, 256, 300, 300, 300]);
});

test("what the store refused is marked when it is due; what the load check refused waits for a change", async () => {
  await refuse("need", "now() - interval '1 second'");
  await refuse("commitment", "null");
  await refuse("engagement_claim", "now() + interval '1 minute'");
  await client.query("select app_private.mark_refused()");
  expect(await marked()).toEqual(["need"]);
});

test("what is to be tried further away than any wait is tried now: a clock was set back", async () => {
  await refuse("need", "now() + interval '5 minutes'");
  await refuse("commitment", "now() + interval '5 minutes 1 second'");
  await client.query("select app_private.mark_refused()");
  expect(await marked()).toEqual(["commitment"]);
});

test("an emptied table has its own records marked, and those of no other", async () => {
  await client.query("truncate app_public.engagement_claims cascade");
  expect(await marked()).toEqual(["engagement_claim"]);
  expect(await values("select count(*)::integer from app_private.graph_records")).toEqual([3]);
});

test("a record that was written or refused waits again once it has changed", async () => {
  await refuse("commitment", "null");
  await client.query(
    "update app_public.needs set status = 'met'; update app_public.commitments set status = 'funded'",
  );
  expect(await values("select state::text from app_private.graph_records as r order by r.kind")).toEqual([
    ...["pending", "pending", "synced"],
  ]);
});

describe("checked again", () => {
  const recheck = (codes = "{}") => values("select app_private.recheck_records($1)::integer", [codes]);

  test("are the records of each kind that carry a code that has moved", async () => {
    expect([await recheck("{PRA}"), await marked()]).toEqual([[0], []]);
    expect([await recheck("{PRA,PRA-INT}"), await marked()]).toEqual([[3], KINDS]);
  });

  test("is what was refused, and what is being written, since it may pass now or be checked against the old lists", async () => {
    await refuse("need", "null");
    await client.query("update app_public.commitments set status = 'funded'");
    expect([await recheck(), await marked()]).toEqual([[2], ["need", "commitment"]]);
  });

  test("are those that name a people group which the registry lacks, once there is one", async () => {
    await client.query(`
      update app_public.needs set concerns_people_group_rop3 = '{100001,100002}';
      update app_public.commitments set concerns_people_group_rop3 = '{100002}';
      update app_public.engagement_claims set people_group_rop3 = '100002'`);
    await settle();
    expect(await recheck()).toEqual([0]);
    await client.query("insert into app_public.people_groups (rop3, name) values ('100001', 'Somali')");
    expect([await recheck(), await marked()]).toEqual([[3], KINDS]);
    await client.query("insert into app_public.people_groups (rop3, name) values ('100002', 'Garre')");
    await settle();
    expect(await recheck()).toEqual([0]);
  });
});

describe("a list", () => {
  const due = () => values("select name from app_private.due_references order by name");

  test("with other content is tried at once, though the store refused it a moment ago", async () => {
    await client.query(
      "update app_public.accelerators set pref_label = 'Prayer and more' where code = 'PRA'",
    );
    expect(await due()).toEqual(["accelerators"]);
    await client.query(
      "update app_private.graph_references set retry_at = now() + interval '1 minute' where name = 'accelerators'",
    );
    expect(await due()).toEqual([]);
    await client.query("update app_public.accelerators set pref_label = 'Prayer' where code = 'PRA'");
    expect(await due()).toEqual(["accelerators"]);
  });

  test("that the store refused a moment ago is nothing that a drain would be kept at", async () => {
    const waiting = () => values("select app_private.graph_behind_since() is not null");
    await client.query("update app_public.accelerators set pref_label = 'Prayer again' where code = 'PRA'");
    await client.query("delete from app_private.graph_wakeups");
    expect(await waiting()).toEqual([true]);
    await client.query(
      "update app_private.graph_references set retry_at = now() + interval '1 minute' where name = 'accelerators'",
    );
    expect(await waiting()).toEqual([false]);
  });

  test("that has changed wakes the worker, as a record does", async () => {
    await client.query("delete from app_private.graph_wakeups");
    await client.query("update app_public.accelerators set pref_label = 'Prayer first' where code = 'PRA'");
    expect(await values("select count(*)::integer from app_private.graph_wakeups")).toEqual([1]);
  });

  test("of organizations is written again once the table has been emptied", async () => {
    expect(await due()).toEqual([]);
    await client.query("truncate app_public.organizations cascade");
    expect(await due()).toEqual(["organizations"]);
  });

  test("that is a file is written again when its text is another, and only then", async () => {
    const publish = (text: string) =>
      client.query("select app_private.publish_document('ontology', $1)", [text]);
    await publish("# One");
    expect(await due()).toEqual(["ontology"]);
    await settle();
    await publish("# One");
    expect(await due()).toEqual([]);
    await publish("# Another");
    expect(await due()).toEqual(["ontology"]);
  });

  test("that was written at last is refused anew: the next wait is the shortest again", async () => {
    const wait = async () => {
      await client.query(
        `select app_private.note_list_refused(r.name, r.revision, 'lagging', 'too long')
         from app_private.graph_references as r where r.name = 'ontology'`,
      );
      return values(
        "select extract(epoch from retry_at - now())::integer from app_private.graph_references where name = 'ontology'",
      );
    };
    expect([await wait(), await wait(), await wait()]).toEqual([[1], [2], [4]]);
    await client.query("select app_private.note_list_written('ontology', 1)");
    expect(
      await values(
        "select num_nulls(retry_at, trouble, reason) from app_private.graph_references where name = 'ontology'",
      ),
    ).toEqual([3]);
    expect(await wait()).toEqual([1]);
  });

  test("that lacks a code deprecates it once", async () => {
    await client.query("update app_public.accelerators set deprecated_at = null");
    const imported = () =>
      values(
        `select app_private.import_accelerators(jsonb_agg(jsonb_build_object('code', a.code, 'conceptUri', a.concept_uri,
           'kind', a.kind, 'prefLabel', a.pref_label, 'definition', a.definition, 'broaderCode', a.broader_code)))
         from app_public.accelerators as a where a.code <> 'PRA-INT'`,
      );
    const since = "select deprecated_at::text from app_public.accelerators where code = 'PRA-INT'";
    expect(await imported()).toMatchObject([{ added: 0, changed: 0, deprecated: 1 }]);
    await client.query(
      "update app_public.accelerators set deprecated_at = deprecated_at - interval '1 day' where code = 'PRA-INT'",
    );
    const first = await values(since);
    expect(await imported()).toMatchObject([{ added: 0, changed: 0, deprecated: 0 }]);
    expect(await values(since)).toEqual(first);
  });

  test.each([
    ["conceptUri", "concept_uri", "https://elsewhere.example/PRA-INT"],
    ["kind", "kind", "accelerator"],
    ["prefLabel", "pref_label", "Intercession at night"],
    ["definition", "definition", "To pray for others"],
    ["broaderCode", "broader_code", "MED"],
  ])("with another %s of a code has it, and that alone has changed", async (name, column, value) => {
    const list = () => values("select to_jsonb(a) from app_public.accelerators as a order by a.code");
    await client.query(
      "insert into app_public.accelerators (code, concept_uri, kind, pref_label) values ('MED', 'https://a.example/med', 'accelerator', 'Media') on conflict do nothing",
    );
    const before = await list();
    const [result] = await values(
      `select app_private.import_accelerators(jsonb_agg(jsonb_build_object('code', a.code, 'conceptUri', a.concept_uri,
           'kind', a.kind, 'prefLabel', a.pref_label, 'definition', a.definition, 'broaderCode', a.broader_code)
         || case a.code when 'PRA-INT' then jsonb_build_object($1::text, $2::text) else '{}' end))
       from app_public.accelerators as a where a.deprecated_at is null`,
      [name, value],
    );
    expect(result).toMatchObject({ added: 0, changed: 1, deprecated: 0 });
    const after = (before as { code: string }[]).map((a) =>
      a.code === "PRA-INT" ? { ...a, [column]: value } : a,
    );
    expect(after).not.toEqual(before);
    expect(await list()).toEqual(after);
  });

  test("that is imported has records checked again by a job too, since some were written meanwhile", async () => {
    const jobs = async () => {
      const told = await values(
        `select coalesce(p.payload ->> 'moved', '') from graphile_worker._private_jobs as p
         join graphile_worker._private_tasks as t on t.id = p.task_id where t.identifier = 'recheck_records' order by p.id`,
      );
      await client.query("delete from graphile_worker._private_jobs");
      return told;
    };
    await client.query("delete from graphile_worker._private_jobs");
    await client.query(`select app_private.import_people_groups('[{"rop3": "100001", "name": "Somali"}]')`);
    expect(await jobs()).toEqual(["[]"]);
    await client.query(
      `select app_private.import_accelerators(jsonb_agg(jsonb_build_object('code', a.code, 'kind', a.kind,
         'conceptUri', a.concept_uri || case a.code when 'PRA-INT' then '-moved' else '' end,
         'prefLabel', a.pref_label, 'definition', a.definition, 'broaderCode', a.broader_code)))
       from app_public.accelerators as a`,
    );
    expect(await jobs()).toEqual(['["PRA-INT"]']);
  });

  test("that is imported is in the trail, with what it did", async () => {
    const groups = JSON.stringify([{ rop3: "100001", name: "Somali" }]);
    await values("select app_private.import_people_groups($1)", [groups]);
    await values("select app_private.import_accelerators('[]')");
    expect(
      await values(
        `select format('%s: %s added', name, change ->> 'added') from app_private.administration_history
         where subject = 'list' and changed_at >= now() order by administration_history_id`,
      ),
    ).toEqual(["people_groups: 1 added", "accelerators: 0 added"]);
  });

  test("that is imported as it is has nothing added and nothing changed", async () => {
    const imported = async (...groups: [string, string][]) => {
      const list = JSON.stringify(groups.map(([rop3, name]) => ({ rop3, name })));
      const [result] = await values("select app_private.import_people_groups($1)", [list]);
      return result;
    };
    const list: [string, string][] = [
      ["100001", "Somali"],
      ["100002", "Garre"],
    ];
    expect(await imported(...list)).toMatchObject({ added: 2, changed: 0 });
    expect(await imported(...list)).toMatchObject({ added: 0, changed: 0 });
    expect(await imported(list[0]!, ["100002", "Garre Somali"])).toMatchObject({ added: 0, changed: 1 });
  });
});

test.each([
  ["29 seconds", "current"],
  ["31 seconds", "behind"],
])("with a change that has waited for %s the graph is %s", async (age, state) => {
  await client.query("update app_public.needs set status = 'met'");
  await client.query(
    "update app_private.graph_records set dirty_since = now() - $1::interval where kind = 'need'",
    [age],
  );
  expect(await values("select state::text from app_private.graph_condition")).toEqual([state]);
  const since = "select (now() - since)::text from app_private.graph_condition";
  await client.query("update app_private.graph_store set since = now() - interval '1 day'");
  expect(await values(since)).toEqual([state === "behind" ? "00:00:31" : "1 day"]);
});

test("the worker is woken for what has changed, and not for a statement that changes nothing", async () => {
  const woken = "select count(*)::integer from app_private.graph_wakeups";
  await client.query("delete from app_private.graph_wakeups");
  await client.query("update app_public.needs set status = 'met' where false");
  expect(await values(woken)).toEqual([0]);
  await client.query("update app_public.needs set status = 'met'");
  expect(await values(woken)).toEqual([1]);
});

test("what is refused again and again waits twice as long each time, and at most five minutes", async () => {
  expect(
    await values(
      "select extract(epoch from app_private.retry_after(n))::integer from unnest(array[1, 2, 3, 9, 10, 1000]) as n",
    ),
  ).toEqual([1, 2, 4, 256, 300, 300]);
});

describe("the state of the graph", () => {
  const state = (columns: string) => client.query(`update app_private.graph_store set ${columns}`);

  test("is not current while a graph is waiting to be replaced", async () => {
    const current = async () => {
      await client.query("select app_private.note_graph_current()");
      return values("select state::text from app_private.graph_store");
    };
    await state("state = 'rebuilding'");
    await client.query(
      "update app_private.graph_rebuilds set requested_at = now() where kind = 'commitment'",
    );
    expect(await current()).toEqual(["rebuilding"]);
    await client.query("update app_private.graph_rebuilds set requested_at = null");
    expect(await current()).toEqual(["current"]);
  });

  test.each([
    ["current", true],
    ["rebuilding", true],
    ["lagging", false],
    ["unavailable", false],
  ])("%s means that readers see all that was written: %s", async (is, isWhole) => {
    await state(`state = '${is}'`);
    expect(await values('select "isWhole" from rest.health')).toEqual([isWhole]);
  });

  test("says why it is so: nobody looks, something waits, or what the worker has said", async () => {
    const reason = () => values("select app_private.graph_status() ->> 'reason'");
    await state("state = 'lagging', reason = 'The disk is full.'");
    expect(await reason()).toEqual(["The disk is full."]);
    await state("looked_at = now() - interval '31 seconds'");
    expect(await reason()).toEqual(["No worker has looked at the graph store since then."]);
    await state("state = 'current', reason = null, looked_at = now()");
    expect(await reason()).toEqual([null]);
    await client.query("update app_public.needs set status = 'met'");
    await client.query(
      "update app_private.graph_records set dirty_since = now() - interval '31 seconds' where kind = 'need'",
    );
    expect(await reason()).toEqual(["Changes have been waiting for more than half a minute."]);
  });

  test.each(["unavailable", "lagging", "rebuilding"])(
    "is that of the store, and as old, where that is more than that changes wait: %s",
    async (is) => {
      await state(`state = '${is}', since = now() - interval '1 hour'`);
      await client.query("update app_public.needs set status = 'met'");
      await client.query(
        "update app_private.graph_records set dirty_since = now() - interval '31 seconds' where kind = 'need'",
      );
      expect(
        await values("select concat(state, ' for ', now() - since) from app_private.graph_condition"),
      ).toEqual([`${is} for 01:00:00`]);
    },
  );

  test.each([
    ["29 seconds", "current"],
    ["31 seconds", "unwatched"],
  ])(
    "is known although a clock has been set back by %s since somebody looked: %s",
    async (ahead, expected) => {
      await state(`looked_at = now() + interval '${ahead}'`);
      expect(await values("select state::text from app_private.graph_condition")).toEqual([expected]);
    },
  );

  test("counts as pending what was never marked", async () => {
    await client.query("delete from app_private.graph_records where kind = 'need'");
    const { rows } = await client.query(
      "select records::integer, pending::integer, synced::integer from app_private.graph_counts() where kind = 'need'",
    );
    expect(rows).toEqual([{ records: 1, pending: 1, synced: 0 }]);
    expect(await values("select app_public.needs_graph_status(n)::text from app_public.needs as n")).toEqual([
      "pending",
    ]);
  });

  test.each([
    ["14 seconds", "current"],
    ["16 seconds", "unavailable"],
    // By a clock that has been set back since: it would be believed until then.
    ["-1 minute", "unavailable"],
  ])("is what another worker sees, who was at it %s ago: %s", async (age, expected) => {
    await state(`looked_by = gen_random_uuid(), looked_at = now() - interval '${age}'`);
    await client.query("select app_private.note_graph_state('unavailable', 'cut off', gen_random_uuid())");
    expect(await values("select state::text from app_private.graph_store")).toEqual([expected]);
  });

  test("tells of a rebuild while there is one", async () => {
    const rebuild = () => values("select app_private.graph_status() -> 'rebuild'");
    await client.query(
      "update app_private.graph_rebuilds set requested_at = null, total = 0, written = 0, rejected = 0",
    );
    expect(await rebuild()).toEqual([null]);
    await client.query(
      "update app_private.graph_rebuilds set requested_at = now(), total = 3, written = 2, rejected = 1 where kind = 'need'",
    );
    expect(await rebuild()).toEqual([{ total: 3, written: 2, rejected: 1 }]);
  });

  test("is told with everything that is known of it, under its own name", async () => {
    await client.query("set local time zone 'UTC'");
    await state("state = 'lagging', reason = 'The disk is full.', since = '2026-01-01Z'");
    await client.query(
      "update app_private.graph_verification set verified_at = '2026-01-02Z', drift = 7, trouble = 'It is odd.'",
    );
    await client.query("update app_private.graph_rebuilds set requested_at = null");
    const rejected = await client.query<{ id: string }>(
      `update app_private.graph_records set state = 'rejected', synced_at = '2026-01-03Z', errors = '[{"path": "p", "message": "m"}]'
       where kind = 'commitment' returning record_id as id`,
    );
    await client.query("update app_private.graph_records set synced_at = '2026-01-04Z' where kind = 'need'");
    await client.query(
      `update app_private.graph_records set revision = revision + 1, state = 'pending', dirty_since = now() - interval '5 seconds'
       where kind = 'engagement_claim'`,
    );
    const counts = { records: 1, pending: 0, synced: 0, rejected: 0 };
    const [told] = await values("select app_private.graph_status()");
    expect(told).toEqual({
      ...{ state: "lagging", reason: "The disk is full.", since: "2026-01-01T00:00:00+00:00" },
      ...{ verifiedAt: "2026-01-02T00:00:00+00:00", drift: 7, oldestPendingSeconds: 5, pendingLists: [] },
      verificationTrouble: "It is odd.",
      ...{ lastSyncedAt: "2026-01-04T00:00:00+00:00", rebuild: null },
      graphs: [
        { ...counts, kind: "need", synced: 1 },
        { ...counts, kind: "commitment", rejected: 1 },
        { ...counts, kind: "engagement_claim", pending: 1 },
      ],
      rejected: [{ kind: "commitment", id: rejected.rows[0]!.id, errors: [{ path: "p", message: "m" }] }],
    });
  });

  test("names the first of the lists that could not be written, why, and all that wait in their order", async () => {
    for (const [name, trouble] of [
      ["shapes", "unavailable"],
      ["countries", "lagging"],
    ])
      await client.query(
        `update app_private.graph_references set revision = revision + 1, trouble = $2, reason = 'Too long: ' || name
         where name = $1`,
        [name, trouble],
      );
    await client.query("select app_private.note_graph_current()");
    expect(await values("select format('%s %s', state, reason) from app_private.graph_store")).toEqual([
      "lagging The list countries is not in the graph as it should be. Too long: countries",
    ]);
    expect(await values("select app_private.graph_status() -> 'pendingLists'")).toEqual([
      ["countries", "shapes"],
    ]);
  });

  test("that nobody looks at is not known since somebody last did, and who did is believed by who comes next", async () => {
    const seenBy = "00000000-0000-4000-8000-000000000001";
    await state(
      "since = now() - interval '3 hours', looked_at = now() - interval '2 hours', looked_by = null",
    );
    expect(await values("select (now() - since)::text from app_private.graph_condition")).toEqual([
      "02:00:00",
    ]);
    await client.query("select app_private.note_graph_seen($1)", [seenBy]);
    expect(
      await values("select looked_by::text || ' ' || (looked_at = now()) from app_private.graph_store"),
    ).toEqual([`${seenBy} true`]);
  });

  test("is held since whoever waited for the right to write has it, and not since they began to wait", async () => {
    await client.query("select app_private.note_graph_held()");
    expect(await values("select held_at > now() from app_private.graph_store")).toEqual([true]);
  });

  test("is compared while a list alone cannot be written, and not while a graph waits to be replaced", async () => {
    const comparable = () => values("select app_private.graph_is_comparable()");
    await client.query("delete from app_private.graph_wakeups");
    await state("state = 'lagging'");
    expect(await comparable()).toEqual([false]);
    await client.query(
      "update app_private.graph_references set trouble = 'lagging', retry_at = now() + interval '1 minute' where name = 'countries'",
    );
    expect(await comparable()).toEqual([true]);
    await client.query("update app_private.graph_rebuilds set requested_at = now() where kind = 'need'");
    expect(await comparable()).toEqual([false]);
  });

  test("is behind since what the store refused is due, and not before", async () => {
    await client.query("delete from app_private.graph_wakeups");
    await refuse("need", "now() + interval '1 minute'");
    expect(await values("select app_private.graph_behind_since()")).toEqual([null]);
    await refuse("need", "now() - interval '3 seconds'");
    expect(await values("select (now() - app_private.graph_behind_since())::text")).toEqual(["00:00:03"]);
  });

  test("is behind since the worker was woken, though nobody knows of what yet", async () => {
    await client.query("delete from app_private.graph_wakeups");
    expect(await values("select app_private.graph_behind_since()")).toEqual([null]);
    await client.query(
      "insert into app_private.graph_wakeups (created_at) values (now() - interval '5 seconds'), (now())",
    );
    expect(await values("select (now() - app_private.graph_behind_since())::text")).toEqual(["00:00:05"]);
  });
});

test("a round of verification that is begun anew has found nothing, and is urgent until it is over", async () => {
  const round = async () => {
    const { rows } = await client.query({
      text: `select part::integer, after, differences::integer, repaired::integer, urgent, drift::integer
        from app_private.graph_verification`,
      rowMode: "array",
    });
    return rows[0] as unknown;
  };
  const found = (...step: unknown[]) =>
    client.query("select app_private.note_verification($1, $2, $3, $4, $5, $6)", step);
  await client.query(
    `update app_private.graph_verification set part = 2, after = gen_random_uuid(), differences = 9, repaired = 5,
       urgent = false, drift = 1, verified_at = '2020-01-01Z'`,
  );
  await client.query("select app_private.request_verification()");
  expect(await round()).toEqual([0, null, 0, 0, true, 1]);
  // A step that was under way in the same part would have the records before it passed over.
  await found(0, randomUUID(), 0, randomUUID(), 1, 0);
  expect(await round()).toEqual([0, null, 0, 0, true, 1]);
  await found(0, null, 1, null, 3, 1);
  expect(await round()).toEqual([1, null, 3, 1, true, 1]);
  await found(1, null, 2, null, 2, 1);
  expect(await round()).toEqual([2, null, 5, 2, true, 1]);
  const isVerifiedNow = () => values("select verified_at = now() from app_private.graph_verification");
  expect(await isVerifiedNow()).toEqual([false]);
  await found(2, null, null, null, 1, 0);
  expect(await round()).toEqual([0, null, 0, 0, false, 4]);
  expect(await isVerifiedNow()).toEqual([true]);
});

test("a rebuild begins to count anew, and has the lists written again", async () => {
  await client.query("update app_private.graph_rebuilds set written = 7, rejected = 2, requested_at = null");
  await client.query("select app_private.request_rebuild()");
  expect(
    await values(
      "select format('%s %s %s', written, rejected, requested_at is not null) from app_private.graph_rebuilds",
    ),
  ).toEqual(["0 0 t", "0 0 t", "0 0 t"]);
  expect(await values("select count(*)::integer from app_private.due_references")).toEqual([6]);
});

test("a rebuild that mends a graph still does when another is asked for, which mends no other graph", async () => {
  await client.query("update app_private.graph_rebuilds set requested_at = null, is_repair = false");
  await client.query("select app_private.request_rebuild('{need}', true)");
  await client.query("select app_private.request_rebuild()");
  const begun: unknown[] = [];
  for (const kind of KINDS) {
    await client.query("update app_private.graph_store set state = 'current'");
    await client.query("select app_private.begin_rebuild($1)", [kind]);
    begun.push(...(await values("select state::text from app_private.graph_store")));
  }
  expect(begun).toEqual(["behind", "rebuilding", "rebuilding"]);
});

test("whoever writes does not wait for the worker that is just taking the wake-ups, and leaves one of their own", async () => {
  const { owner } = database;
  await owner.query("insert into app_private.graph_wakeups default values");
  const taking = await owner.connect();
  try {
    await taking.query("begin; select from app_private.graph_wakeups for update");
    const wakeups = () => values("select count(*)::integer from app_private.graph_wakeups");
    const [before] = (await wakeups()) as [number];
    await client.query("set local lock_timeout = '5s'");
    await client.query("update app_public.needs set status = 'met'");
    expect(await wakeups()).toEqual([before + 1]);
  } finally {
    taking.release(true);
    await owner.query("delete from app_private.graph_wakeups");
  }
});

test("whoever marks what the store refused does not wait for a writer who holds some of it, and marks the rest", async () => {
  await refuse("need", "now() - interval '1 second'");
  await refuse("commitment", "now() - interval '1 second'");
  await client.query("commit");
  await onConnections(database, 2, async (writing, marking) => {
    await writing.query("begin; update app_public.needs set need_description = 'Springs'");
    await marking.query("begin; set local lock_timeout = '5s'");
    await marking.query("select app_private.mark_refused()");
    const { rows } = await marking.query("select kind from app_private.dirty_records");
    expect(rows).toEqual([{ kind: "commitment" }]);
    await Promise.all([writing.query("rollback"), marking.query("rollback")]);
  });
});

test("whoever notes that a list was written does not wait for an import of it, which gives it another revision", async () => {
  // What holds the lists.
  await client.query("rollback");
  await onConnections(database, 2, async (importing, noting) => {
    await importing.query("begin; update app_private.graph_references set revision = revision + 1");
    await noting.query("set lock_timeout = '5s'");
    const noted = noting.query(
      "select app_private.note_list_written(name, 0) from app_private.graph_references",
    );
    expect((await noted).rowCount).toBeGreaterThan(1);
    await importing.query("rollback");
  });
});

test("whoever has the right to write and says nothing loses it, but not while they are at something in the database", async () => {
  const { owner } = database;
  // What holds the row that others are about to change.
  await client.query("rollback");
  const [right, gate] = [4_701, 4_702];
  const holder = await owner.connect();
  // The end of its connection is what is tested.
  holder.on("error", () => undefined);
  const end = async () => {
    const { rows } = await owner.query<{ ended: boolean }>(
      "select app_private.end_silent_graph_holder($1) as ended",
      [right],
    );
    return rows[0]!.ended;
  };
  const isIn = async (state: string) => {
    const { rowCount } = await owner.query(
      `select from pg_stat_activity as a join pg_locks as l on l.pid = a.pid
       where a.state = $2 and l.locktype = 'advisory' and l.granted and l.objid = $1`,
      [right, state],
    );
    expect(rowCount).toBe(1);
  };
  try {
    await holder.query("select pg_advisory_lock($1)", [right]);
    await client.query("select pg_advisory_lock($1)", [gate]);
    const waiting = holder.query("select pg_advisory_lock($1)", [gate]);
    await eventually(() => isIn("active"));
    await owner.query("update app_private.graph_store set held_at = now() - interval '61 seconds'");
    expect(await end()).toBe(false);
    await client.query("select pg_advisory_unlock($1)", [gate]);
    await waiting;
    await eventually(() => isIn("idle"));
    await owner.query("update app_private.graph_store set held_at = now() - interval '30 seconds'");
    expect(await end()).toBe(false);
    // By a clock that has been set back since.
    await owner.query("update app_private.graph_store set held_at = now() + interval '1 hour'");
    expect(await end()).toBe(true);
    // Told to end, its process does so when it comes to it.
    await eventually(async () => expect(await end()).toBe(false));
    // In another database the same number is the right to something else.
    const elsewhere = new pg.Client(Object.assign(new URL(database.url), { pathname: "/postgres" }).href);
    elsewhere.on("error", () => undefined);
    await elsewhere.connect();
    await elsewhere.query("select pg_advisory_lock($1)", [right]);
    expect(await end()).toBe(false);
    await elsewhere.end();
  } finally {
    holder.release(true);
  }
});
