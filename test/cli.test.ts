import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { joinEmbeddedPostgres } from "../process/embedded.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { admin, launch, nothingNames, run, temporaryDataDir } from "./support/process.ts";
import { holdRoles } from "./support/roles.ts";
import { startTestService } from "./support/service.ts";
import { tool } from "./support/tool.ts";

let database: TestDatabase;
let settings: { DATABASE_URL: string };

beforeAll(async () => {
  database = await createTestDatabase();
  settings = { DATABASE_URL: database.url };
});
afterAll(() => database.drop());

/** Runs a command with --json and returns its value; standard output may contain nothing else. */
async function json(...args: string[]): Promise<any> /* oxlint-disable-line typescript/no-explicit-any */ {
  const { stdout } = await tool([...args, "--json"], settings);
  return JSON.parse(stdout);
}

describe("help", () => {
  test.each([
    [[], ["keys", "orgs", "members", "users", "vocabulary", "people-groups", "graph", "config"]],
    [["keys"], ["issue", "list", "show", "rotate", "revoke"]],
    [
      ["keys", "issue"],
      ["--label <text>", "--scope <scope>", "--expires <date>", "--rate <per minute>", "--json"],
    ],
    [
      ["orgs", "add"],
      ["--uri <uri>", "--name <text>", "--domain <domain>", "--type <text>", "--website <url>"],
    ],
    [
      ["vocabulary", "import"],
      ["file.ttl", "--strict"],
    ],
  ])("of %j lists what there is", async (command, names) => {
    const { code, stdout, stderr } = await tool([...command, "--help"], {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const name of names) expect(stdout).toContain(name);
  });

  test("is shown unasked when a command is missing", async () => {
    const { code, stderr } = await admin(["keys"], {});
    expect(code).toBe(2);
    expect(stderr).toContain("issue");
  });
});

describe("what cannot be done", () => {
  test.each([
    ["an unknown command", ["kyes", "list"]],
    ["an unknown option", ["keys", "list", "--all"]],
    ["a missing option", ["keys", "issue", "--label", "x"]],
    ["an unknown scope", ["keys", "issue", "--label", "x", "--scope", "api_all"]],
    [
      "a day that does not exist",
      ["keys", "issue", "--label", "x", "--scope", "api_read", "--expires", "2999-02-30"],
    ],
    [
      "an expiry in the past",
      ["keys", "issue", "--label", "x", "--scope", "api_read", "--expires", "2020-01-01"],
    ],
    ["a rate of zero", ["keys", "issue", "--label", "x", "--scope", "api_read", "--rate", "0"]],
    ["rotating an unknown key", ["keys", "rotate", "00000000-0000-4000-8000-000000000000"]],
    ["showing an unknown key", ["keys", "show", "x"]],
    [
      "a network that is none",
      ["keys", "issue", "--label", "x", "--scope", "api_read", "--cidr", "10.0.0.0/33"],
    ],
    [
      "a network with host bits",
      ["keys", "issue", "--label", "x", "--scope", "api_read", "--cidr", "10.0.0.7/8"],
    ],
    [
      "a person without an address",
      ["keys", "issue", "--label", "x", "--scope", "api_read", "--person", "Ana"],
    ],
    [
      "an organization that there is not",
      ["keys", "issue", "--label", "x", "--scope", "api_read", "--org", "https://nowhere.example/"],
    ],
    ["an unknown key", ["keys", "revoke", "00000000-0000-4000-8000-000000000000"]],
    ["something that is not a key id", ["keys", "revoke", "x"]],
    ["an organization without an address", ["orgs", "add", "--uri", "river", "--name", "River"]],
    ["an organization without a name", ["orgs", "add", "--uri", "https://x.example/o", "--name", " "]],
    [
      "something that is not a domain",
      ["orgs", "add", "--uri", "https://x.example/o", "--name", "O", "--domain", "@x"],
    ],
    [
      "a domain without a dot",
      ["orgs", "add", "--uri", "https://x.example/o", "--name", "O", "--domain", "localhost"],
    ],
    [
      "a domain with a label of 64 characters",
      ["orgs", "add", "--uri", "https://x.example/o", "--name", "O", "--domain", `x.${"d".repeat(64)}`],
    ],
    [
      "a mail provider's domain",
      ["orgs", "add", "--uri", "https://x.example/o", "--name", "O", "--domain", " GMail.com. "],
    ],
    [
      "a kind of organization of two lines",
      ["orgs", "add", "--uri", "https://x.example/o", "--name", "O", "--type", "Church\nMission"],
    ],
    [
      "a website that is no address",
      ["orgs", "add", "--uri", "https://x.example/o", "--name", "O", "--website", "x.example"],
    ],
    ["a file that does not exist", ["vocabulary", "import", "missing.ttl"]],
  ])("%s ends with 2 and says why", async (_, command) => {
    const { code, stdout, stderr } = await tool(command, settings);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^error: .+/);
  });

  test("is one JSON value with --json too", async () => {
    const { code, stdout } = await admin(["keys", "revoke", "x", "--json"], settings);
    expect({ code, value: JSON.parse(stdout) }).toEqual({
      code: 2,
      value: { error: "failed", message: "There is no key with the id x." },
    });
    const misused = await admin(["keys", "issue", "--json"], settings);
    expect(misused.code).toBe(2);
    expect(JSON.parse(misused.stdout)).toEqual({
      error: "usage",
      message: expect.stringMatching(/^required option '--label/),
    });
  });

  test("an unreachable database is one line, without the password, on both outputs", async () => {
    const { code, stdout, stderr } = await admin(["keys", "list", "--json"], {
      DATABASE_URL: "postgres://owner:s3cret@127.0.0.1:1/engagement",
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: .+\n$/);
    expect(JSON.parse(stdout)).toMatchObject({ error: expect.any(String), message: expect.any(String) });
    expect(stdout + stderr).not.toContain("s3cret");
  });

  test("a database without the schema is told what to run", async () => {
    const empty = await createTestDatabase({ template: false });
    try {
      const { code, stderr } = await admin(["keys", "list"], { DATABASE_URL: empty.url });
      expect(code).toBe(2);
      expect(stderr).toContain("npm run migrate");
    } finally {
      await empty.drop();
    }
  });
});

describe("keys", () => {
  test("are issued once, as described, and stored only by their hash", async () => {
    const issued = await json(
      ...["keys", "issue", "--label", "Partner X", "--scope", "api_write"],
      ...["--expires", "2999-12-31", "--rate", "77"],
    );
    expect(issued).toEqual({
      keyId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: expect.stringMatching(/^ek_[A-Za-z0-9_-]{43}$/),
      label: "Partner X",
      scope: "api_write",
      expiresAt: "2999-12-31T00:00:00.000Z",
      ratePerMinute: 77,
      ...{ organizations: null, persons: null, networks: null },
      createdAt: expect.any(String),
    });
    const { rows } = await database.owner.query(
      `select key_id, to_jsonb(k)::text as everything from app_private.api_keys as k
       where key_hash = sha256(convert_to($1, 'utf8'))`,
      [issued.key],
    );
    expect(rows).toEqual([{ key_id: issued.keyId, everything: expect.not.stringContaining(issued.key) }]);

    const listed: { keyId: string }[] = await json("keys", "list");
    expect(listed.find(({ keyId }) => keyId === issued.keyId)).toMatchObject({
      label: "Partner X",
      scope: "api_write",
      ratePerMinute: 77,
      state: "live",
      isDemo: false,
    });
    expect(JSON.stringify(listed)).not.toContain(issued.key);
  });

  test("open the service until they are revoked", async () => {
    const service = await startTestService();
    try {
      const own = { DATABASE_URL: service.database.url };
      const { stdout } = await admin(["keys", "issue", "--label", "r", "--scope", "api_read", "--json"], own);
      const { keyId, key } = JSON.parse(stdout) as { keyId: string; key: string };
      const status = async () => {
        const answer = await fetch(`${service.url}/v0/needs`, {
          headers: { authorization: `Bearer ${key}` },
        });
        await answer.text();
        return answer.status;
      };
      expect(await status()).toBe(200);
      const revoked = await admin(["keys", "revoke", keyId, "--json"], own);
      expect(revoked).toMatchObject({ code: 0, stderr: "" });
      expect(await status()).toBe(401);
      // Revoking again is not an error and does not change the time.
      expect(await admin(["keys", "revoke", keyId, "--json"], own)).toEqual(revoked);
    } finally {
      await service.stop();
    }
  });

  test("can have bounds, which are shown", async () => {
    const org = "https://data.example.org/org/bounds";
    await json("orgs", "add", "--uri", org, "--name", "Bounds");
    const issued = await json(
      ...["keys", "issue", "--label", "Bound", "--scope", "api_write", "--org", org],
      ...["--person", "Ana@bounds.example", "--person", "ben@bounds.example"],
      ...["--cidr", "192.0.2.0/24", "--cidr", "2001:db8::1"],
    );
    const bounds = {
      organizations: [org],
      persons: ["ana@bounds.example", "ben@bounds.example"],
      networks: ["192.0.2.0/24", "2001:db8::1/128"],
    };
    expect(issued).toMatchObject(bounds);
    const shown = await json("keys", "show", issued.keyId.toUpperCase());
    expect(shown).toMatchObject({ ...bounds, label: "Bound", state: "live", lastUsedAt: null });
    await database.owner.query("select app_private.note_key_uses(array[$1::uuid])", [issued.keyId]);
    const used = await json("keys", "show", issued.keyId);
    expect(Date.parse(used.lastUsedAt)).not.toBeNaN();
    const listed: { keyId: string }[] = await json("keys", "list");
    expect(listed.find(({ keyId }) => keyId === issued.keyId)).toEqual(used);
    const table = (await tool(["keys", "list"], settings)).stdout.split("\n");
    expect(table.find((row) => row.startsWith(issued.keyId))).toMatch(
      / {2}1 organization, 2 persons, 2 networks {2}Bound$/,
    );
    const { stdout } = await tool(["keys", "show", issued.keyId], settings);
    expect(stdout).toContain("ben@bounds.example");
  });

  test("are rotated: another one of the same kind, and the old one for a while", async () => {
    const org = "https://data.example.org/org/rotation";
    await json("orgs", "add", "--uri", org, "--name", "Rotation");
    const old = await json(
      ...["keys", "issue", "--label", "Turning", "--scope", "api_write", "--rate", "7"],
      ...["--expires", "2999-12-31", "--org", org, "--person", "ana@rotation.example"],
      ...["--cidr", "192.0.2.0/24"],
    );
    const made = await json("keys", "rotate", old.keyId, "--overlap", "1.5");
    const same = ["label", "scope", "expiresAt", "ratePerMinute", "organizations", "persons", "networks"];
    for (const name of same) expect([name, made[name]]).toEqual([name, old[name]]);
    expect(made.key).toMatch(/^ek_[A-Za-z0-9_-]{43}$/);
    expect([made.key, made.keyId]).not.toEqual([old.key, old.keyId]);
    expect(made.replaces.keyId).toBe(old.keyId);
    // By the one clock that counts, the database's.
    const lasts = Date.parse(made.replaces.expiresAt) - Date.parse(made.createdAt);
    expect(lasts).toBe(1.5 * 3_600_000);
    expect(await json("keys", "show", old.keyId)).toMatchObject({ state: "live" });

    const last = await json("keys", "rotate", made.keyId, "--overlap", "0", "--expires", "2998-01-01");
    expect(last.expiresAt).toBe("2998-01-01T00:00:00.000Z");
    expect(await json("keys", "show", made.keyId)).toMatchObject({ state: "expired" });
    // What is over is not begun again; nor does an overlap make a key last longer than it was to.
    expect((await tool(["keys", "rotate", made.keyId], settings)).code).toBe(2);
    const short = await json(
      ...["keys", "issue", "--label", "Short", "--scope", "api_read", "--expires", made.replaces.expiresAt],
    );
    const never = await json("keys", "rotate", short.keyId, "--overlap", "100000");
    expect(Date.parse(never.replaces.expiresAt)).toBe(Date.parse(short.expiresAt));

    const unasked = await json("keys", "rotate", last.keyId.toUpperCase());
    expect(unasked.expiresAt).toBe(last.expiresAt);
    const goesOn = Date.parse(unasked.replaces.expiresAt) - Date.parse(unasked.createdAt);
    expect(goesOn).toBe(24 * 3_600_000);
  });

  test("are rotated once: who rotates one again is told of the key that replaced it, which has the expiry", async () => {
    const old = await json("keys", "issue", "--label", "Once", "--scope", "api_read");
    const next = await json("keys", "rotate", old.keyId);
    const before = await json("keys", "show", old.keyId);
    expect(before).toMatchObject({ state: "live", replacedBy: next.keyId });

    const again = await tool(["keys", "rotate", old.keyId.toUpperCase(), "--overlap", "1"], settings);
    expect(again).toMatchObject({ code: 2, stdout: "" });
    expect(again.stderr).toMatch(
      new RegExp(
        `already been replaced by key ${next.keyId}.* keys rotate ${next.keyId} --overlap 0.* keys revoke ${old.keyId}`,
      ),
    );
    expect(await json("keys", "show", old.keyId)).toEqual(before);

    const last = await json("keys", "rotate", next.keyId, "--overlap", "0");
    expect([next.expiresAt, last.expiresAt]).toEqual([null, null]);
    expect(await json("keys", "show", last.keyId)).toMatchObject({ state: "live", replacedBy: null });
    // That one has been replaced as well.
    expect((await tool(["keys", "rotate", old.keyId], settings)).stderr).toContain(
      `already been replaced by key ${last.keyId}. `,
    );
    // Nor does it matter that this one is over.
    expect((await tool(["keys", "rotate", next.keyId, "--overlap", "0"], settings)).stderr).toMatch(
      new RegExp(`already been replaced by key ${last.keyId}\\. .* --overlap 0 gives another\\.$`, "m"),
    );
    await json("keys", "revoke", last.keyId);
    expect((await tool(["keys", "rotate", old.keyId], settings)).stderr).toContain(
      `already been replaced by key ${last.keyId}, which is revoked: issue a new one with keys issue`,
    );
    expect((await tool(["keys", "rotate", last.keyId], settings)).stderr).toContain("There is no live key");
  });

  test("are listed for people as a table", async () => {
    for (const label of ["One", "Two"]) await json("keys", "issue", "--label", label, "--scope", "api_read");
    const { code, stdout } = await tool(["keys", "list"], settings);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^key id +scope +state/);
    const listed: { createdAt: string }[] = await json("keys", "list");
    const times = listed.map(({ createdAt }) => createdAt);
    expect(times.length).toBeGreaterThan(1);
    expect(times).toEqual(times.toSorted().toReversed());
  });
});

describe("orgs add", () => {
  const uri = "https://data.example.org/org/delta";

  test("adds an organization, its domain in lower case, once", async () => {
    const command = ["orgs", "add", "--uri", uri, "--name", " Delta Mission ", "--domain", "Delta.Example"];
    expect(await json(...command, "--type", " agency ", "--website", " https://delta.example\n")).toEqual({
      orgUri: uri,
      name: "Delta Mission",
      type: "agency",
      website: "https://delta.example",
      domain: "delta.example",
    });
    const again = await tool(command, settings);
    expect(again.code).toBe(2);
    const { rows } = await database.owner.query(
      "select count(*)::integer as count from app_public.organizations where org_uri = $1",
      [uri],
    );
    expect(rows).toEqual([{ count: 1 }]);
  });
});

describe("vocabulary import", () => {
  test("imports the starter list: 12 accelerators and 49 functions", async () => {
    expect(await json("vocabulary", "import", "graph/vocabulary/accelerators.ttl")).toMatchObject({
      added: 61,
      problems: [],
    });
    const { rows } = await database.owner.query(
      "select kind, count(*)::integer as count from app_public.accelerators group by kind order by kind",
    );
    expect(rows).toEqual([
      { kind: "accelerator", count: 12 },
      { kind: "function", count: 49 },
    ]);
  });
});

test.each([
  ["vocabulary", "import", "graph/vocabulary/accelerators.ttl"],
  ["graph", "rebuild"],
  ["graph", "verify"],
  ["graph", "status"],
])("%s %s does nothing under other names than the service was migrated with", async (...command) => {
  const { rows: before } = await database.owner.query(
    "select * from app_private.graph_rebuilds order by kind",
  );
  const refused = await run(process.execPath, ["admin/main.ts", ...command], {
    ...{ DATABASE_URL: database.url, FUSEKI_URL: "http://127.0.0.1:9/engagement" },
    NAMESPACE_URL: "https://elsewhere.example/ns#",
  });
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("NAMESPACE_URL is https://elsewhere.example/ns# here");
  const { rows: after } = await database.owner.query(
    "select * from app_private.graph_rebuilds order by kind",
  );
  expect(after).toEqual(before);
});

test("a graph store is not made for a database that the service does not bring itself", async () => {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-none-"));
  const refused = await run(process.execPath, ["admin/main.ts", "graph", "verify"], {
    ...{ DATABASE_URL: database.url, DATA_DIR: dir },
  });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("FUSEKI_URL is not set");
  expect(await readdir(dir)).toEqual([]);
  await rm(dir, { recursive: true });
});

test("a graph store that was left by another database is not taken for that of this one", async () => {
  const [own, another, dir] = await Promise.all([
    createTestDatabase(),
    createTestDatabase(),
    mkdtemp(join(tmpdir(), "engagement-graph-left-")),
  ]);
  try {
    await mkdir(join(dir, "graph"));
    await own.owner.query("update app_private.graph_store set turn = 1");
    for (const command of ["verify", "rebuild", "status"]) {
      const refused = await run(process.execPath, ["admin/main.ts", "graph", command], {
        ...{ DATABASE_URL: own.url, DATA_DIR: dir },
      });
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain("is not that of this database");
    }
    // As long as the database has written none, one that nobody has written will be its own.
    await own.owner.query("update app_private.graph_store set turn = 0");
    const rebuilt = await run(process.execPath, ["admin/main.ts", "graph", "rebuild"], {
      ...{ DATABASE_URL: own.url, DATA_DIR: dir },
    });
    expect(rebuilt).toMatchObject({ code: 0 });
    for (const command of ["verify", "rebuild"]) {
      const refused = await run(process.execPath, ["admin/main.ts", "graph", command], {
        ...{ DATABASE_URL: another.url, DATA_DIR: dir },
      });
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain("is not that of this database");
    }
  } finally {
    await Promise.all([own.drop(), another.drop()]);
    await rm(dir, { recursive: true });
  }
});

// Autovacuum may be at work in a database that has just been made.
const WAITED = expect.stringMatching(/^(migrate: waiting for .*\n)*$/);

describe("npm run migrate", () => {
  test("says what it applied, and the second time that there was nothing to apply", async () => {
    const empty = await createTestDatabase({ template: false });
    try {
      const migrate = (settings = {}) =>
        run(process.execPath, ["admin/migrate.ts"], { DATABASE_URL: empty.url, ...settings });
      const first = await migrate();
      expect(first).toMatchObject({ code: 0, stderr: WAITED });
      expect(first.stdout).toContain("applied db/migrations/0001_foundation.sql");
      const applied = first.stdout.match(/^applied /gm)!.length;
      expect(first.stdout).toMatch(
        new RegExp(`\\nThe database is migrated \\(${applied} new\\), and the rules are applied\\.\\n$`),
      );
      const { rows: documents } = await empty.owner.query(
        "select from app_private.graph_references where document is not null",
      );
      expect(documents.length).toBeGreaterThan(1);
      const second = await migrate({ GRAPH_DATA_URL: "https://graph.example" });
      expect(second).toEqual({
        ...{ code: 0, stderr: WAITED, stdout: "The database was up to date; the rules are applied.\n" },
      });
      const { rows: names } = await empty.owner.query(
        "select value #>> '{}' as url from app_private.settings where name = 'graph_data_url'",
      );
      expect(names).toEqual([{ url: "https://graph.example" }]);
    } finally {
      await empty.drop();
    }
  });

  test("lets a graph that was written be named otherwise only where that is asked for", async () => {
    const written = await createTestDatabase();
    const url = "https://graph.example";
    const nameNow = async () => {
      const { rows } = await written.owner.query(
        "select value from app_private.graph_names() where name = 'graph_data_url'",
      );
      return rows[0]!.value as string;
    };
    try {
      await written.owner.query(
        "update app_private.graph_store set turn = 1; delete from app_migrations.editions",
      );
      const settings = { DATABASE_URL: written.url, GRAPH_DATA_URL: url };
      const before = await nameNow();
      for (const more of [[], ["--plan"]]) {
        const refused = await run(process.execPath, ["admin/migrate.ts", ...more], settings);
        expect(refused).toMatchObject({ code: 2, stdout: "" });
        expect(refused.stderr).toMatch(
          /^migrate: GRAPH_DATA_URL is https:\/\/graph\.example here, and was [^\n]+ npm run migrate -- --rename[^\n]+\n$/,
        );
      }
      expect(await nameNow()).toBe(before);
      // Nor is anything else done first.
      const { rows } = await written.owner.query("select from app_migrations.editions");
      expect(rows).toEqual([]);
      const renamed = await run(process.execPath, ["admin/migrate.ts", "--rename"], settings);
      expect(renamed).toMatchObject({ code: 0, stderr: WAITED });
      expect(await nameNow()).toBe(url);
    } finally {
      await written.drop();
    }
  });

  test("works for an owner that is not a superuser, and again, and names what is not its own", async () => {
    const empty = await createTestDatabase({ template: false });
    const name = `owner_of_${new URL(empty.url).pathname.slice(1)}`;
    const letGo = await holdRoles();
    try {
      await empty.owner.query(`create role ${name} login createrole password 'owner'`);
      await empty.owner.query(`alter database ${new URL(empty.url).pathname.slice(1)} owner to ${name}`);
      // The API roles belong to the whole cluster and were made by another owner; it must be allowed to use them.
      await empty.owner.query(
        `grant api_read, api_write, api_review, api_person, engagement_server to ${name} with admin option`,
      );
      const url = new URL(empty.url);
      url.username = name;
      url.password = "owner";
      for (const round of [1, 2]) {
        const migrated = await run(process.execPath, ["admin/migrate.ts"], { DATABASE_URL: url.href });
        expect({ round, ...migrated }).toMatchObject({ round, code: 0, stderr: WAITED });
      }
      // Where it may not call a function of an extension either, it is told so before that is called.
      const all = "execute on function public.similarity(text, text), public.unaccent(text)";
      await empty.owner.query(`revoke ${all} from public, api_read`);
      const { stderr } = await run(process.execPath, ["admin/migrate.ts"], { DATABASE_URL: url.href });
      const [, step] =
        /^migrate: db\/rules\/rights-relied-on\.sql: .* a superuser has to: (grant execute .*)\n$/.exec(
          stderr,
        ) ?? [];
      expect([step, stderr]).toEqual([expect.stringContaining(name), stderr]);
      await empty.owner.query(step!);
      // A superuser's migration leaves all to whose it is, with what a superuser has left there.
      await empty.owner.query(
        `create table app_public.needs_before as select * from app_public.needs;
         alter schema app_public owner to engagement_server`,
      );
      const { rows } = await empty.owner.query<{ me: string }>("select current_user as me");
      const migrate = (as: string, ...args: string[]) =>
        run(process.execPath, ["admin/migrate.ts", ...args], { DATABASE_URL: as });
      for (const args of [[], ["--rename"], ["--plan"]])
        expect(await migrate(url.href, ...args)).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(
            `^migrate: this login may not change app_public.needs_before, which belongs to ${rows[0]!.me}\\. .* gives the rest to ${name}\\.\n$`,
          ),
        });
      for (const as of [empty.url, url.href])
        expect(await migrate(as)).toMatchObject({ code: 0, stderr: WAITED });
      const { rows: owners } = await empty.owner.query<{ owner: string }>(
        `select distinct owner::regrole::text from (
           select relowner as owner from pg_class where relnamespace::regnamespace::text ~ '^(app_|rest|graphile_worker|earlier_)'
           union all select proowner from pg_proc where pronamespace::regnamespace::text ~ '^(app_|rest|graphile_worker|earlier_)'
           union all select typowner from pg_type where typnamespace::regnamespace::text ~ '^(app_|rest|graphile_worker|earlier_)'
           union all select nspowner from pg_namespace where nspname ~ '^(app_|rest|graphile_worker|earlier_)'
         ) as all_of_it`,
      );
      expect(owners).toEqual([{ owner: name }]);
      // Nor does a superuser's first migration leave an owner in the dark, who may use none of the schemas then.
      await empty.owner.query(`reassign owned by ${name} to current_user`);
      for (const args of [[], ["--rename"], ["--plan"]])
        expect(await migrate(url.href, ...args)).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(
            `^migrate: this login may not change .* which belong to ${rows[0]!.me}[.] Use that login, or give everything to .*\n$`,
          ),
        });
      await empty.owner.query(`alter database ${new URL(empty.url).pathname.slice(1)} owner to ${name}`);
      await empty.owner.query(`alter table app_migrations.applied owner to ${name}`);
      for (const as of [empty.url, url.href])
        expect(await migrate(as)).toMatchObject({ code: 0, stderr: WAITED });
    } finally {
      await empty.owner.query(`reassign owned by ${name} to current_user`);
      await empty.owner.query(`drop owned by ${name}`);
      await empty.drop();
      await asSuperuser((client) => client.query(`drop role ${name}`));
      await letGo();
    }
  });

  test("ends in one line when it is not told right what to do, and changes nothing", async () => {
    for (const [args, env, line] of [
      [[], { PORT: "http" }, /^configuration: PORT: [^\n]+\n$/],
      [["--rules"], {}, /^migrate: [^\n]*--rules[^\n]*\n$/],
      [["now"], {}, /^migrate: [^\n]*now[^\n]*\n$/],
    ] as const) {
      const { code, stdout, stderr } = await run(process.execPath, ["admin/migrate.ts", ...args], {
        ...{ DATABASE_URL: database.url, ...env },
      });
      expect([args, code, stdout, stderr]).toEqual([args, 2, "", expect.stringMatching(line)]);
    }
  });

  test("ends in one line when the database cannot be reached", async () => {
    const { code, stderr } = await run(process.execPath, ["admin/migrate.ts"], {
      DATABASE_URL: "postgres://owner:s3cret@127.0.0.1:1/engagement",
    });
    expect(code).toBe(2);
    // By the question that tells an old PostgreSQL as well, before anything is done to it.
    expect(stderr).toMatch(/^migrate: no database at 127\.0\.0\.1:1\/engagement: .*\n$/);
    expect(stderr).not.toContain("s3cret");
  });
});

describe("on the embedded database", () => {
  test("starts it for the call, stops it after, and two calls at once share it", async () => {
    const { dir, remove } = await temporaryDataDir();
    try {
      const issue = (label: string) =>
        admin(["keys", "issue", "--label", label, "--scope", "api_read", "--json"], { DATA_DIR: dir });
      const both = await Promise.all([issue("one"), issue("two")]);
      // It is told to whoever came before it was there.
      const isNew = `DATABASE_URL is not set, and no database was in ${dir}: this is a new one, which is empty.\n`;
      expect(both.map(({ code }) => code)).toEqual([0, 0]);
      expect([...new Set(both.map(({ stderr }) => stderr))].filter((line) => line !== "")).toEqual([isNew]);
      await nothingNames(dir);
      const listed = await admin(["keys", "list", "--json"], { DATA_DIR: dir });
      expect(listed.stderr).toBe("");
      const labels = (JSON.parse(listed.stdout) as { label: string }[]).map(({ label }) => label);
      expect(labels.toSorted()).toEqual(["one", "two"]);
      const status = await admin(["graph", "status"], { DATA_DIR: dir });
      expect(status).toMatchObject({ code: 0, stderr: "" });
      expect(status.stdout).toMatch(
        /^graph: \w+ since [^]*; last written: never\n[^]*\nnot verified as a whole yet\n/,
      );
      await nothingNames(dir);
    } finally {
      await remove();
    }
  });

  test("brings one that an earlier version has left to its own, and leaves one that it finds as it is", async () => {
    const { dir, remove } = await temporaryDataDir();
    const inside = async (sql: string) => {
      const postgres = await joinEmbeddedPostgres(dir);
      const client = new pg.Client(postgres.url);
      await client.connect();
      const { rows } = await client.query<{ there: string }>(sql);
      await client.end();
      await postgres.leave();
      return rows[0]?.there;
    };
    const left = "select 'app_private.lacking'::regproc::oid::text as there";
    try {
      expect((await admin(["keys", "list"], { DATA_DIR: dir })).code).toBe(0);
      const first = await inside(left);
      expect((await admin(["keys", "list"], { DATA_DIR: dir })).code).toBe(0);
      expect(await inside(left)).toBe(first);
      await inside("update app_migrations.editions set edition = 'before'");
      expect((await admin(["keys", "list"], { DATA_DIR: dir })).code).toBe(0);
      expect(await inside("select count(*)::text as there from app_migrations.editions")).toBe("2");
    } finally {
      await remove();
    }
  });

  test("tells what was damaged in the embedded store, and goes on", async () => {
    const { dir, remove } = await temporaryDataDir();
    try {
      await mkdir(join(dir, "graph"));
      await writeFile(join(dir, "graph", "journal-0000000000000000.v2.log"), "x".repeat(100));
      const { code, stderr } = await tool(["graph", "status"], { ...settings, DATA_DIR: dir });
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^\S+\.v2\.log: damaged.*\.damaged-\S+\n$/)]);
    } finally {
      await remove();
    }
  });

  test("an interrupted call leaves no process, however often it is told to end", async () => {
    const { dir, remove } = await temporaryDataDir();
    try {
      const call = launch(process.execPath, ["admin/main.ts", "keys", "list"], { DATA_DIR: dir });
      while (!(await readFile(join(dir, "postgres", "password"), "utf8").catch(() => ""))) {
        if (call.child.exitCode !== null) throw new Error(call.output().stderr);
        await new Promise((soon) => setTimeout(soon, 10));
      }
      process.kill(call.child.pid!, "SIGINT");
      await call.end("SIGTERM");
      await nothingNames(dir);
    } finally {
      await remove();
    }
  });
});

async function asSuperuser(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(process.env["TEST_POSTGRES_URL"]);
  await client.connect();
  await work(client);
  await client.end();
}
