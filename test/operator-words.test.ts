// What the operator's tool says to a person when it has done something: the names and numbers that it tells programs.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { addPlatformPeople } from "./support/membership.ts";
import { operatorOf } from "./support/operator.ts";
import { admin as tool } from "./support/process.ts";
import { buildWorld, contributor, member, ORG } from "./support/world.ts";

// Each call of the tool is a process, which takes a while on a machine that is busy.
jest.setTimeout(600_000);

let database: TestDatabase;
let dir: string;
beforeAll(async () => {
  [database, dir] = await Promise.all([
    createTestDatabase(),
    mkdtemp(join(tmpdir(), "engagement-graph-words-")),
  ]);
  await buildWorld(database.owner);
  await addPlatformPeople(database.owner);
});
afterAll(() => Promise.all([database.drop(), rm(dir, { recursive: true, force: true })]));

// Nothing listens there, so that what the tables say of the graph is all that there is.
const settings = () => ({ DATABASE_URL: database.url, FUSEKI_URL: "http://127.0.0.1:9/engagement" });

const { lines, value } = operatorOf(settings);

/** Declares needs in place of all that there are. */
async function declareNeeds(count: number, email = contributor): Promise<void> {
  await database.owner.query("delete from app_public.needs; delete from app_private.graph_records");
  await database.owner.query(
    `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
     select $1, 'River Mission', $2, 'Wells', array(
       select a.code from app_public.accelerators as a where a.deprecated_at is null order by a.code limit 1)
     from generate_series(1, $3)`,
    [ORG, email, count],
  );
}

test("an organization, and who belongs to it: as they are now, not as they were written", async () => {
  const uri = "https://data.example.org/org/delta";
  expect(
    await lines("orgs", "add", "--uri", uri, "--name", " Delta ", "--domain", " Déltà.Example. "),
  ).toEqual([`Added Delta, ${uri}`]);
  const { rows } = await database.owner.query(
    "select name, domain, type, website from app_public.organizations where org_uri = $1",
    [uri],
  );
  expect(rows).toEqual([{ name: "Delta", domain: "xn--dlt-cla6b.example", type: null, website: null }]);
  const person = (email: string) => ["--org", uri, "--email", email];
  expect(await lines("members", "add", ...person("New@delta.example"), "--role", "org_contributor")).toEqual([
    `New@delta.example is org_contributor of ${uri}.`,
  ]);
  expect(await lines("members", "status", ...person("new@DELTA.example"), "--status", "suspended")).toEqual([
    `The membership of New@delta.example in ${uri} is suspended.`,
  ]);
});

test("a person's roles on the platform: all of them, in one line", async () => {
  const change = async (what: string, role: string) => {
    const told = await lines("users", what, "--email", email, "--role", role);
    email = "SEVERAL@river.example";
    return told;
  };
  let email = "Several@river.example";
  const on = (roles: string) => [`Several@river.example is ${roles} on the platform.`];
  expect(await change("grant", "support")).toEqual(on("support"));
  expect(await change("grant", "admin")).toEqual(on("admin and support"));
  expect(await change("revoke", "admin")).toEqual(on("support"));
  expect(await change("revoke", "support")).toEqual(on("without a role"));
});

test("sessions: how many have ended, of a person or by an id", async () => {
  const { rows } = await database.owner.query<{ id: string }>(
    `insert into app_private.sessions (secret_hash, email)
     select sha256(convert_to(i::text, 'utf8')), $1 from generate_series(1, 3) as i returning session_id::text as id`,
    [member],
  );
  const id = rows[0]!.id;
  expect(await value("sessions", "end", "--id", id)).toEqual({ id, ended: 1 });
  expect(await lines("sessions", "end", "--email", member)).toEqual(["2 sessions have ended."]);
  expect(await lines("sessions", "end", "--email", member)).toEqual(["0 sessions have ended."]);
  await database.owner.query(
    "insert into app_private.sessions (secret_hash, email) values (sha256('4'), $1)",
    [member],
  );
  expect(await lines("sessions", "end", "--email", member)).toEqual(["1 session has ended."]);
});

test("why somebody may do something: yes or no, and each reason with the place where it stands", async () => {
  const asked = (email: string, permission: string) => [
    ...["authorization", "explain", "--org", ORG, "--email", email, "--permission", permission],
  ];
  for (const [email, title] of [
    [contributor, `Yes: ${contributor} has needs:write for ${ORG}.`],
    [member, `No: ${member} is refused needs:write for ${ORG}, with insufficient_role.`],
  ] as const) {
    const { reasons } = (await value(...asked(email, "needs:write"))) as {
      reasons: {
        holds: boolean;
        reason: string;
        rule: string;
        place: { file: string; line: number } | null;
      }[];
    };
    expect(reasons.length).toBeGreaterThan(1);
    const [first, headings, ...rows] = await lines(...asked(email, "needs:write"));
    expect([first, headings!.trim().split(/ {2,}/)]).toEqual([title, ["because", "by"]]);
    expect(rows.map((row) => row.split(/ {2,}/))).toEqual(
      reasons.map(({ holds, reason, rule, place }) => [
        ...[holds ? "yes" : "no", reason, place ? `${place.file}:${place.line}` : rule],
      ]),
    );
  }
});

test("an erasure: the pseudonym, in how many rows of which tables, and who is missed", async () => {
  const boss = "boss@last.example";
  const org = "https://data.example.org/org/last";
  await database.owner.query("insert into app_public.organizations (org_uri, name) values ($1, 'Last')", [
    org,
  ]);
  await value("members", "add", "--org", org, "--email", boss, "--role", "org_admin");
  await declareNeeds(3, boss);
  const text = (await lines("people", "export", "--email", boss)).join("\n");
  expect(JSON.parse(text)).toEqual(await value("people", "export", "--email", boss));
  expect(text).toContain('\n  "kept": {');
  const [erased, missed, ...rest] = await lines("people", "erase", "--email", boss, "--force");
  const [, pseudonym, rows, tables] = /^The person is (\S+) now, in (\d+) rows of (.*)\.$/.exec(erased!)!;
  const counts = await Promise.all(
    tables!.split(", ").map(async (table) => {
      const found = await database.owner.query(
        `select from ${table} as t where strpos(to_jsonb(t)::text, $1) > 0`,
        [pseudonym],
      );
      return found.rowCount!;
    }),
  );
  expect(Number(rows)).toBe(counts.reduce((sum, count) => sum + count, 0));
  expect(Number(rows)).toBeGreaterThan(counts.length);
  expect([missed, rest]).toEqual([`Nobody administers ${org} any more.`, []]);
  expect(await lines("people", "erase", "--email", boss)).toEqual(["Nothing is stored about this person."]);
});

test("an import of a list: what was added, changed and deprecated, each by its own number", async () => {
  const concept = (code: string, label = `The ${code}`) =>
    `ns:${code} a skos:Concept ; skos:inScheme ns:EngagementAcceleratorScheme ; skos:notation "${code}" ; skos:prefLabel "${label}"@en .`;
  const edition = async (...concepts: string[]) => {
    const file = join(dir, "edition.ttl");
    await writeFile(
      file,
      `@prefix ns: <https://ontology.example.org/core#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
       ns:EngagementAcceleratorScheme a skos:ConceptScheme .\n${concepts.join("\n")}`,
    );
    return lines("vocabulary", "import", file);
  };
  await edition(...["A", "B", "C", "D", "E"].map((code) => concept(code)));
  await declareNeeds(4);
  expect(await edition(concept("A"), concept("B", "Another B"), concept("F"), concept("G", "Über"))).toEqual([
    "2 codes added, 1 changed, 3 deprecated; 4 records will be checked again.",
  ]);
  const { rows } = await database.owner.query(
    "select pref_label from app_public.accelerators where code = 'G'",
  );
  expect(rows).toEqual([{ pref_label: "Über" }]);
  const groups = async (text: string) => {
    const file = join(dir, "groups.csv");
    await writeFile(file, `rop3,name\n${text}`);
    const { code, stdout } = await tool(["people-groups", "import", file], settings());
    return [code, stdout];
  };
  await groups("100001,One\n100002,Two\n");
  expect(await groups("100001,Uno\n100002,Two\n100003,Three\n100004,Four\n")).toEqual([
    0,
    "4 people groups read: 2 added, 1 renamed; 4 records will be checked again.\n",
  ]);
});

test("the configuration: each setting as programs are told it, and what stands for one that is not set", async () => {
  const told = await value("config");
  const unset = Object.entries(told).filter(([, set]) => set === null);
  expect(unset.length).toBeGreaterThan(5);
  const shown = (await lines("config")).map((line) => /^(\w+)=(.*)$/.exec(line)!.slice(1));
  expect(shown.map(([name]) => name)).toEqual(Object.keys(told));
  for (const [name, text] of shown) {
    if (told[name!] === null) expect([name, text]).toEqual([name, expect.stringMatching(/^\(unset.*\)$/)]);
    else expect([name, text]).toEqual([name, String(told[name!])]);
  }
  const without = { DATABASE_URL: "", FUSEKI_URL: "" };
  const { stdout } = await tool(["config"], without);
  for (const [name, text] of [
    ["DATABASE_URL", "embedded PostgreSQL"],
    ["DATABASE_LISTEN_URL", "as DATABASE_URL"],
    ["DATABASE_READ_URL", "no replica"],
    ["SPARQL_QUERY_URL", "embedded graph store"],
    ["SMTP_URL", "mail is logged and kept"],
    ["PLATFORM_URL", "the service's own URL"],
    ["OIDC_CLIENT_ID", "links by mail sign in"],
    ["METRICS_PORT", "off"],
  ])
    expect(stdout).toContain(`\n${name}=(unset: ${text})\n`.slice(name === "DATABASE_URL" ? 1 : 0));
});

test("the graph: its state and why, each kind of record, what waits, how far a rebuild is, and what was refused", async () => {
  await declareNeeds(6);
  await database.owner.query(`
    with placed as (
      select record_id, row_number() over (order by record_id) as place from app_private.graph_records)
    update app_private.graph_records as r
    set synced_revision = r.revision, dirty_since = null, synced_at = now(),
      state = (case when place = 1 then 'rejected' else 'synced' end)::app_public.graph_status,
      errors = case when place = 1 then '[{"path": "needDescription", "message": "is odd"}, {"path": "orgUri", "message": "too"}]'
        else '[]'::jsonb end
    from placed where placed.record_id = r.record_id and place <= 4;
    update app_private.graph_references set synced_revision = revision;
    update app_private.graph_references set revision = revision + 1 where name in ('countries', 'people_groups');
    update app_private.graph_rebuilds set requested_at = now(), total = 100, written = 40, rejected = 2 where kind = 'need';
    update app_private.graph_rebuilds set requested_at = now(), total = 11 where kind = 'commitment'`);
  const status = (...more: string[]) => tool(["graph", "status", ...more], settings());
  type Told = {
    since: string;
    reason: string;
    lastSyncedAt: string;
    graphs: { graph: string; records: number; synced: number; pending: number; rejected: number }[];
    rejected: { id: string }[];
  };
  const told = JSON.parse((await status("--json")).stdout) as Told;
  expect(
    told.graphs.map(({ records, synced, pending, rejected }) => [records, synced, pending, rejected]),
  ).toEqual([
    [6, 3, 2, 1],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
  ]);
  const { code, stdout } = await status();
  expect(code).toBe(1);
  const [id] = told.rejected.map((each) => each.id);
  const shown = stdout.replace(/(?<=^oldest pending change: )\d+\.\d(?= s;)/m, "some").trimEnd();
  expect(shown.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    [`graph: unwatched since ${told.since}: ${told.reason}`],
    ["graph", "records", "synced", "pending", "rejected", "triples"],
    ...told.graphs.map(({ graph, records, synced, pending, rejected }) => [
      ...[graph, ...[records, synced, pending, rejected].map(String), "?"],
    ]),
    [`oldest pending change: some s; last written: ${told.lastSyncedAt}`],
    ["lists to be written: countries, people_groups"],
    ["rebuild: 42 of 111 records"],
    ["not verified as a whole yet"],
    [`rejected need ${id}: needDescription is odd`],
    [`rejected need ${id}: orgUri too`],
  ]);
  await database.owner.query(`
    update app_private.graph_references set synced_revision = revision where name <> 'countries';
    update app_private.graph_rebuilds set requested_at = null;
    update app_private.graph_verification set verified_at = '2026-05-01T12:00:00Z', drift = 3, trouble = 'It is odd.'`);
  const later = (await status()).stdout;
  expect(later).toContain(
    "\nlists to be written: countries\nlast verified as a whole: 2026-05-01T12:00:00+00:00, 3 differences left\nthe verification fails: It is odd.\n",
  );
  expect(later).not.toContain("rebuild: ");
});
