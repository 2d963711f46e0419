// Totals that are kept instead of counted: they must be what a count would give, at every moment and to everybody.
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type pg from "pg";
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { enums } from "../db/catalog.ts";
import { migrate } from "../db/migrate.ts";
import { createPool } from "../db/pool.ts";
import { RECORDS, RECORD_KINDS } from "../records/index.ts";
import { columnOf, fieldsOf, idOf } from "../records/record.ts";
import type { RecordKind } from "../records/record.ts";
import { startWorker } from "../worker/main.ts";
import { eventually } from "./support/eventually.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, ORG, OTHER_ORG } from "./support/world.ts";

let service: TestService;
let owner: pg.Pool;
beforeAll(async () => {
  service = await startTestService();
  owner = service.database.owner;
});
afterAll(() => service.stop());
beforeEach(() => owner.query("truncate app_public.needs cascade"));

const CODES = "case n % 2 when 0 then '{PRA,PRA-INT}' else '{PRA}' end::text[]";
const COUNTRIES = "case n % 3 when 0 then '{}' when 1 then '{KE}' else '{KE,UG}' end::text[]";

const DECLARE: Record<RecordKind, string> = {
  need: `insert into app_public.needs
      (org_uri, org_name, declared_by_email, need_description, status, accelerators, concerns_country_code)
    select $1, 'An organization', '${contributor}', 'Wells', $2::text::app_public.need_status, ${CODES}, ${COUNTRIES}
    from generate_series(1, $3::integer) as n`,
  commitment: `insert into app_public.commitments
      (org_uri, org_name, declared_by_email, commitment_description, status, accelerator_scope, concerns_country_code)
    select $1, 'An organization', '${contributor}', 'Wells', $2::text::app_public.commitment_status, ${CODES}, ${COUNTRIES}
    from generate_series(1, $3::integer) as n`,
  engagement_claim: `insert into app_public.engagement_claims
      (org_uri, org_name, claimed_by_email, status, engagement_accelerators, country_code)
    select $1, 'An organization', '${contributor}', $2::text::app_public.engagement_claim_status, ${CODES},
      (array[null, 'KE', 'UG'])[1 + n % 3]
    from generate_series(1, $3::integer) as n`,
};

/** What is wrong with the totals of a kind, compared with a count in the same statement. */
function differences(kind: RecordKind): string {
  const { table, statuses } = RECORDS[kind];
  const columns = fieldsOf(RECORDS[kind]);
  const [codes, countries] = [/^acceleratorCodes$/, /^countryCodes?$/].map(
    (form) => columns.find(({ type }) => form.test(type))!.column,
  );
  return `
    with records as materialized (
      select org_uri, status::text, ${codes} as codes,
        array_remove('{}'::text[] || ${countries}, null) as countries
      from app_public.${table}
    )
    select o.uri, s.status, a.code, c.country, kept.total as kept, counted.total as counted
    from (values (null), ('${ORG}'), ('${OTHER_ORG}'), ('https://data.example.org/org/none')) as o (uri),
      (select unnest(enum_range(null::app_public.${statuses}))::text union all select null) as s (status),
      (values (null), ('PRA'), ('PRA-INT'), ('NONE')) as a (code), (values (null), ('KE'), ('UG')) as c (country),
      lateral (
        select app_private.record_total('${kind}', o.uri, s.status, a.code, c.country) as total
      ) as kept,
      lateral (
        select count(*) as total from records as r
        where (o.uri is null or r.org_uri = o.uri) and (s.status is null or r.status = s.status)
          and (a.code is null or a.code = any (r.codes)) and (c.country is null or c.country = any (r.countries))
      ) as counted
    where (o.uri is null or (a.code is null and c.country is null)) and kept.total <> counted.total
    union all
    (
      (select '', status, accelerator, country, total, null::bigint
       from app_private.record_totals_by('${kind}', '{status,accelerator,country}')
       union all select org_uri, status, '', '', total, null::bigint
       from app_private.record_totals_by('${kind}', '{org_uri,status}'))
      except all
      (select '', status, code, country, count(*), null::bigint
       from records, unnest(codes) as code, unnest(countries) as country group by status, code, country
       union all select org_uri, status, '', '', count(*), null::bigint from records group by org_uri, status)
    )
    union all
    (
      (select '', '', code, '', null::bigint, count(*) from records, unnest(codes) as code group by code
       union all select '', status, '', country, null::bigint, count(*) from records, unnest(countries) as country
       group by status, country)
      except all
      (select '', '', accelerator, '', null::bigint, total from app_private.record_totals_by('${kind}', '{accelerator}')
       union all select '', status, '', country, null::bigint, total
       from app_private.record_totals_by('${kind}', '{country,status}'))
    )`;
}

async function expectExact(db: Pick<pg.ClientBase, "query"> = owner): Promise<void> {
  for (const kind of RECORD_KINDS) expect((await db.query(differences(kind))).rows).toEqual([]);
}

const fold = async (db: Pick<pg.ClientBase, "query"> = owner) => {
  const { rows } = await db.query<{ folded: string }>("select app_private.fold_record_totals() as folded");
  return Number(rows[0]!.folded);
};

test.each(RECORD_KINDS)("%s: totals follow inserts, changes and deletes, folded or not", async (kind) => {
  const { table, statuses, fields } = RECORDS[kind];
  const key = columnOf(idOf({ ...RECORDS[kind], fields }));
  const [first, second] = enums[statuses as "need_status"];
  for (const org of [ORG, ORG, OTHER_ORG]) {
    await owner.query(DECLARE[kind], [org, first, 3]);
    await expectExact();
  }
  await fold();
  await expectExact();
  await owner.query(
    `update app_public.${table} set status = $1 where ${key} in (select ${key} from app_public.${table} limit 4)`,
    [second],
  );
  await expectExact();
  // Changes nothing that is counted, so there is nothing to fold but the change before it.
  await fold();
  await owner.query(`update app_public.${table} set org_name = 'Renamed'`);
  expect(await fold()).toBe(0);
  await owner.query(`delete from app_public.${table} where status = $1`, [second]);
  await expectExact();
  await fold();
  await expectExact();
  await owner.query(DECLARE[kind], [ORG, second, 2]);
  await owner.query(`truncate app_public.${table} cascade`);
  await expectExact();
});

test("an organization that gets another URI takes its records along", async () => {
  const [before, after] = ["https://data.example.org/org/before", "https://data.example.org/org/after"];
  await owner.query("insert into app_public.organizations (org_uri, name) values ($1, 'Moving')", [before]);
  await owner.query(DECLARE.need, [before, "open", 2]);
  await fold();
  await owner.query("update app_public.organizations set org_uri = $2 where org_uri = $1", [before, after]);
  await expectExact();
  const { rows } = await owner.query(
    `select app_private.record_total('need', $1)::integer as before,
       app_private.record_total('need', $2)::integer as after`,
    [before, after],
  );
  expect(rows).toEqual([{ before: 0, after: 2 }]);
});

test("of organizations no totals are kept by accelerator or country, or there would be as many as records", async () => {
  await owner.query(DECLARE.need, [ORG, "open", 3]);
  await fold();
  const { rows } = await owner.query(
    `select accelerator, country, total::integer from app_private.record_totals
     where kind = 'need' and org_uri = $1 and total <> 0`,
    [ORG],
  );
  expect(rows).toEqual([{ accelerator: "", country: "", total: 3 }]);
});

test("a transaction counts what it has written, nobody else does, and a rollback leaves nothing", async () => {
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  const client = await owner.connect();
  try {
    await client.query("begin");
    await client.query(DECLARE.need, [ORG, "open", 5]);
    await expectExact(client);
    await expectExact();
    // A fold takes what is committed, and leaves what this transaction has noted.
    expect(await fold()).toBe(1);
    await expectExact(client);
    await client.query("rollback");
    await expectExact();
  } finally {
    client.release(true);
  }
});

test("an older snapshot keeps its totals while others write and fold", async () => {
  await owner.query(DECLARE.need, [ORG, "open", 3]);
  const client = await owner.connect();
  try {
    await client.query("begin transaction isolation level repeatable read");
    await expectExact(client);
    await owner.query(DECLARE.need, [ORG, "met", 2]);
    await fold();
    await expectExact(client);
    const { rows } = await client.query("select app_private.record_total('need')::integer as total");
    expect(rows).toEqual([{ total: 3 }]);
  } finally {
    client.release(true);
  }
});

test("a fold waits for nobody, and nobody waits for it", async () => {
  const foldAtOnce = async () => {
    const other = await owner.connect();
    try {
      await other.query("set lock_timeout = '5s'");
      return await fold(other);
    } finally {
      other.release(true);
    }
  };
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  const client = await owner.connect();
  try {
    await client.query("begin");
    expect(await fold(client)).toBe(1);
    await owner.query(DECLARE.need, [ORG, "open", 1]);
    expect(await foldAtOnce()).toBe(0);
    await expectExact();
    await client.query("commit");
    await expectExact();
    expect(await fold()).toBe(1);
  } finally {
    client.release(true);
  }
});

test("records are not counted anew while somebody folds, whose sums would be added to the count", async () => {
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  const [folding, counting] = [await owner.connect(), await owner.connect()];
  try {
    await folding.query("begin");
    expect(await fold(folding)).toBe(1);
    const { rows } = await counting.query<{ pid: number }>("select pg_backend_pid() as pid");
    const counted = counting.query("select app_private.recount_records('need')");
    await eventually(async () => {
      const waits = "select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'";
      expect((await owner.query(waits, [rows[0]!.pid])).rows).toHaveLength(1);
    });
    await folding.query("commit");
    await counted;
    await expectExact();
  } finally {
    folding.release(true);
    counting.release(true);
  }
});

test("writers, rollbacks, deletes and folds at once: every total is exact all the while", async () => {
  const pool = createPool(service.database.url, { max: 12 });
  const written = new AbortController();
  const writer = async (seed: number) => {
    const client = await pool.connect();
    const random = mulberry(seed);
    try {
      for (let i = 0; i < 60; i++) {
        const kind = RECORD_KINDS[Math.floor(random() * RECORD_KINDS.length)]!;
        const { table, statuses } = RECORDS[kind];
        const all = enums[statuses as "need_status"];
        const status = () => all[Math.floor(random() * all.length)];
        await client.query("begin");
        await client.query(DECLARE[kind], [
          random() < 0.5 ? ORG : OTHER_ORG,
          status(),
          1 + Math.floor(random() * 4),
        ]);
        // Each writer keeps to its own records, as none may wait for another here.
        const own = `xmin = pg_current_xact_id()::xid`;
        if (random() < 0.5)
          await client.query(`update app_public.${table} set status = $1 where ${own}`, [status()]);
        if (random() < 0.3)
          await client.query(`delete from app_public.${table} where ${own} and random() < 0.5`);
        await client.query(random() < 0.3 ? "rollback" : "commit");
      }
    } finally {
      client.release();
    }
  };
  let folded = 0;
  const folder = async () => {
    while (!written.signal.aborted) folded += await fold(pool);
  };
  let compared = 0;
  const reader = async () => {
    while (!written.signal.aborted) {
      await expectExact(pool);
      compared += 1;
    }
  };
  try {
    const watching = [folder(), folder(), reader(), reader()];
    await Promise.all([1, 2, 3, 4, 5, 6].map(writer)).finally(() => written.abort());
    await Promise.all(watching);
    expect(folded).toBeGreaterThan(0);
    expect(compared).toBeGreaterThan(0);
    await expectExact();
    await fold();
    await expectExact();
  } finally {
    await pool.end();
  }
});

test.each([
  ["there were none", "delete from app_private.record_totals"],
  [
    "they had neither accelerators nor countries",
    "delete from app_private.record_totals where accelerator <> '' or country <> ''",
  ],
])("records of when %s are counted by the migration, and later ones not twice", async (_, before) => {
  await owner.query(DECLARE.commitment, [ORG, "funded", 4]);
  await fold();
  await owner.query(before);
  await migrate(service.database.url);
  await expectExact();
  await fold();
  await owner.query(DECLARE.commitment, [ORG, "declared", 1]);
  await migrate(service.database.url);
  await expectExact();
});

test("a note by a trigger of before has no lists: the records are counted anew", async () => {
  await owner.query(DECLARE.need, [ORG, "open", 4]);
  await fold();
  await owner.query(DECLARE.need, [ORG, "met", 2]);
  await owner.query("update app_private.record_total_changes set accelerators = null, countries = null");
  await migrate(service.database.url);
  await expectExact();
});

test("without a worker the ten-thousandth change is the last to wait, unless the writer has a snapshot of before", async () => {
  const notes = async () => {
    const { rowCount } = await owner.query("select from app_private.record_total_changes");
    return rowCount;
  };
  const restart = () =>
    owner.query("alter table app_private.record_total_changes alter change_id restart with 9999");
  await fold();
  await restart();
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  expect(await notes()).toBe(1);
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  expect(await notes()).toBe(0);
  await expectExact();
  await restart();
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  await owner.query(
    `begin isolation level repeatable read; ${DECLARE.need.replace("$1", `'${ORG}'`).replace("$2", "'open'").replace("$3", "1")}; commit`,
  );
  expect(await notes()).toBe(2);
  await expectExact();
});

test("a fold takes some at a time, and each leaves exact totals", async () => {
  for (const status of ["open", "met", "withdrawn"]) await owner.query(DECLARE.need, [ORG, status, 4]);
  const { rows } = await owner.query("select app_private.fold_record_totals(2)::integer as folded");
  expect(rows).toEqual([{ folded: 2 }]);
  await expectExact();
  expect(await fold()).toBeGreaterThan(0);
  expect(await fold()).toBe(0);
  await expectExact();
});

test("totals that somebody has damaged are put right by counting anew", async () => {
  await owner.query(DECLARE.need, [ORG, "open", 3]);
  await fold();
  await owner.query("update app_private.record_totals set total = total + 1");
  await owner.query("select app_private.recount_records('need')");
  expect((await owner.query(differences("need"))).rows).toEqual([]);
});

test("counting anew waits for a fold, and for no writer", async () => {
  await owner.query(DECLARE.need, [ORG, "open", 3]);
  const [folding, writing] = await Promise.all([owner.connect(), owner.connect()]);
  try {
    await folding.query("begin");
    expect(await fold(folding)).toBeGreaterThan(0);
    const recounted = owner.query("select app_private.recount_records('need')");
    await eventually(async () => {
      const { rowCount } = await folding.query(
        `select from pg_locks join pg_database on oid = database
         where datname = current_database() and locktype = 'advisory' and not granted`,
      );
      expect(rowCount).toBe(1);
    });
    await writing.query("begin");
    await writing.query(DECLARE.need, [ORG, "met", 1]);
    await folding.query("commit");
    await recounted;
    await expectExact();
    await writing.query("commit");
    await expectExact();
  } finally {
    folding.release(true);
    writing.release(true);
  }
});

test("lists give these totals, and none for a filter that is empty", async () => {
  await owner.query(DECLARE.need, [ORG, "open", 3]);
  await owner.query(DECLARE.need, [OTHER_ORG, "met", 2]);
  await fold();
  await owner.query(DECLARE.need, [ORG, "met", 1]);
  const total = async (query: string) =>
    (await call(`${service.url}/v0/needs?limit=1&${query}`, "GET", service.keys.read)).body.total as number;
  const org = `orgUri=${encodeURIComponent(ORG)}`;
  expect([
    await total(""),
    await total("status=met"),
    await total(org),
    await total(`${org}&status=met`),
  ]).toEqual([6, 3, 4, 1]);
  expect(await total("orgUri=")).toBe(0);
  expect(await total(`${org}&accelerator=PRA`)).toBe(4);
  expect(await total("status=met&accelerator=PRA-INT")).toBe(1);
  expect(await total("countryCode=UG&accelerator=PRA-INT")).toBe(2);
  expect(await total("countryCode=UG&accelerator=")).toBe(0);
  for (const empty of ["org_uri", "status", "accelerator", "country"]) {
    const { rows } = await owner.query(
      `select app_private.record_total('need', ${empty} => '')::integer as total`,
    );
    expect([empty, rows[0].total]).toEqual([empty, 0]);
  }
  expect(await total(`${org}&countryCode=KE&status=open`)).toBe(2);
});

test("totals are for callers who see every record, whatever kind of policy keeps some from them", async () => {
  const client = await owner.connect();
  const isVisible = async () =>
    (await client.query("select app_private.is_wholly_visible('need') as is_visible")).rows;
  try {
    await client.query("begin");
    expect(await isVisible()).toEqual([{ is_visible: true }]);
    for (const policy of [
      "as restrictive for all to api_read using (true)",
      "as restrictive for select to api_read using (true)",
      "for select to api_read using (org_name <> 'x')",
    ]) {
      await client.query(`savepoint before; create policy another on app_public.needs ${policy}`);
      expect([policy, await isVisible()]).toEqual([policy, [{ is_visible: false }]]);
      await client.query("rollback to before");
    }
    await client.query("create policy another on app_public.needs for update to api_read using (false)");
    expect(await isVisible()).toEqual([{ is_visible: true }]);
  } finally {
    client.release(true);
  }
});

test("callers may read the totals, and nothing else", async () => {
  const refused = { code: "42501" };
  const as = (statement: string) => owner.query("select app_private.run_as('api_review', $1)", [statement]);
  await as("select app_private.record_total('need')::text");
  for (const statement of [
    "with x as (update app_private.record_totals set total = 0 returning 1) select count(*)::text from x",
    "with x as (delete from app_private.record_total_changes returning 1) select count(*)::text from x",
    "select app_private.fold_record_totals()::text",
    "select app_private.recount_records('need')::text",
  ])
    await expect(as(statement)).rejects.toMatchObject(refused);
});

test("every thousandth change asks the worker to fold, which it does", async () => {
  const asked = async () => {
    const { rowCount } = await owner.query(
      "select from graphile_worker.jobs where task_identifier = 'fold_record_totals'",
    );
    return rowCount;
  };
  await owner.query("delete from graphile_worker._private_jobs");
  await owner.query("alter table app_private.record_total_changes alter change_id restart with 999");
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  expect(await asked()).toBe(0);
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  expect(await asked()).toBe(1);
  await owner.query(DECLARE.need, [ORG, "open", 1]);
  expect(await asked()).toBe(1);
  const worker = await startWorker({
    databaseUrl: service.database.url,
    store: service.store,
    config: loadConfig({ LOG_LEVEL: "silent", DATABASE_URL: service.database.url }),
    logger: pino({ level: "silent" }),
  });
  try {
    await eventually(async () => {
      const { rows } = await owner.query("select from app_private.record_total_changes");
      expect(rows).toEqual([]);
    });
    await expectExact();
  } finally {
    await worker.stop();
  }
});

/** Random numbers that are the same in every run. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
