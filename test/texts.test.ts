// Which characters a text may have, at every door and in every place where somebody gives one.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { refusal } from "./support/graphql.ts";
import { admin as operator } from "./support/process.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG, stranger } from "./support/world.ts";

let service: TestService;
let dir: string;
beforeAll(async () => {
  service = await startTestService();
  dir = await mkdtemp(join(tmpdir(), "engagement-graph-texts-"));
});
afterAll(() => Promise.all([service.stop(), rm(dir, { recursive: true })]));

const sql = (statement: string, values: unknown[] = []) =>
  service.database.owner.query<{ found: string | null }>(statement, values);

// What is refused, by the properties that Unicode gives to characters. U+FFFD is what decoders write for bytes that
// they cannot read.
const REFUSED = /^[\p{Cc}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u202A-\u202E\u2066-\u2069\uFFFD]$/u;
const LINES = ["\t", "\n", "\r"];

test("of all characters of Unicode, exactly those are refused that no text needs", async () => {
  const { rows } = await service.database.owner.query<{ point: number }>(
    `select point from generate_series(1, 1114111) as point
     where point not between 55296 and 57343 and app_private.character_problem(chr(point)) is not null`,
  );
  const refused = new Set(rows.map(({ point }) => point));
  const wrong: string[] = [];
  for (let point = 1; point <= 0x10_ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    if (refused.has(point) !== REFUSED.test(String.fromCodePoint(point))) wrong.push(point.toString(16));
  }
  expect(wrong).toEqual([]);
});

test("line ends and tabs are for texts, not for names; a carriage return alone is for neither", async () => {
  const problem = async (text: string, lines: boolean) =>
    (await sql("select app_private.character_problem($1, $2) as found", [text, lines])).rows[0]!.found;
  for (const character of LINES) expect(await problem(`a${character}b`, false)).not.toBeNull();
  expect(await problem("a\r\nb\n\tc", true)).toBeNull();
  expect(await problem("a\rb", true)).toContain("U+000D");
  expect(await problem("a\r", true)).toContain("U+000D");
});

test.each([
  ["\u000b", "U+000B"],
  ["\u0085", "U+0085"],
  ["\u202e", "U+202E"],
  ["\u{1ffff}", "U+1FFFF"],
  ["\u{10ffff}", "U+10FFFF"],
])("the character %j is named %s", async (character, name) => {
  const { rows } = await sql("select app_private.character_problem($1) as found", [`a${character}b`]);
  expect(rows[0]!.found).toBe(`must not contain the character ${name}`);
});

const NAMES = {
  Persian: "می‌خواهم",
  Hindi: "क्‍ष प्रेम",
  Sinhala: "ශ්‍රී ලංකා",
  Arabic: "كنيسة النور\u200F (Nour)",
  Hebrew: "קהילה\u200E ABC",
  Burmese: "မြန်မာ",
  Thai: "คริสตจักร",
  Chinese: "北京教会",
  Amharic: "ቤተ ክርስቲያን",
  Vietnamese: "Hội Thánh Tin Lành",
  "combining marks": "Cafe\u0301 Z\u0336o",
  "emoji with joiners": "👨‍👩‍👧‍👦 🏳️‍🌈 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️",
  "private use, as for scripts without a standard": "\uE000\u{F0000}",
  "no-break and ideographic spaces": "A\u00A0B\u3000C",
  "an apostrophe and a dash": "D’Arcy – O'Neil",
};

/** What each place says to a name; null when it takes it. */
const PLACES: Record<string, (text: string) => Promise<string | null>> = {
  "REST: the organization's name of a need": (orgName) => rest("/v0/needs", { ...need, orgName }),
  "GraphQL: the same": (orgName) =>
    graphql("mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }", {
      ...need,
      orgName,
    }),
  "REST: the names of a claim": (text) =>
    rest("/v0/onboarding/claim-org", {
      ...claimOf(),
      firstName: text,
      lastName: text,
      roles: [Array.from(text).slice(0, 64).join("")],
    }),
  "REST: a new organization": (text) =>
    rest("/v0/onboarding/claim-org", { ...claimOf(), newOrgName: text, newOrgType: text }),
  "REST: an organization's metadata": (text) =>
    rest("/v0/orgs/metadata", { orgUri: ORG, adminEmail: admin, name: text, type: text }),
  "REST: the display names of an attestation": (text) =>
    rest("/v0/engagement-claims/submit", {
      ...{ orgUri: ORG, orgName: "River", claimedByEmail: admin, engagementAccelerators: ["PRA"] },
      ...{ peopleGroupName: text, countryName: text },
    }),
  "psql: a user": (text) =>
    alone(
      "insert into app_public.users (email, first_name) values (gen_random_uuid() || '@a.example', $1)",
      text,
    ),
  "psql: the label of a key": (text) =>
    alone(
      "insert into app_private.api_keys (label, key_hash, scope) values ($1, sha256(gen_random_uuid()::text::bytea), 'api_read')",
      text,
    ),
  "psql: a people group": (text) =>
    alone(
      "insert into app_public.people_groups (rop3, name) values ('100001', $1) on conflict (rop3) do update set name = excluded.name",
      text,
    ),
  "psql: a concept's label": (text) =>
    alone("update app_public.accelerators set pref_label = $1 where code = 'PRA'", text),
  "psql: a church's name": (text) =>
    alone("insert into app_public.churches (church_id, name) values (gen_random_uuid(), $1)", text),
  "psql: a church's campus": (text) =>
    alone(
      "insert into app_public.churches (church_id, name, campus_name) values (gen_random_uuid(), 'x', $1)",
      text,
    ),
  "psql: what a church is part of": (text) =>
    alone(
      "insert into app_public.churches (church_id, name, overarching_name) values (gen_random_uuid(), 'x', $1)",
      text,
    ),
  "psql: a church's other texts": (text) =>
    alone(
      `insert into app_public.churches (church_id, name, locality, ministry_names, ministries_json)
       values (gen_random_uuid(), 'x', $1, array['x', $1], jsonb_build_object('a', jsonb_build_array($1::text)))`,
      text,
    ),
};

const need = {
  ...{ orgUri: ORG, orgName: "River", declaredByEmail: admin, needDescription: "x", accelerators: ["PRA"] },
};
let claims = 0;
const claimOf = () => ({
  userEmail: `${++claims}.${stranger}`,
  ...{ firstName: "A", lastName: "B", roles: [], orgName: `New ${claims}`, isNewOrg: true },
});

async function rest(path: string, body: object): Promise<string | null> {
  const { status, body: answer } = await call(`${service.url}${path}`, "POST", service.keys.review, body);
  if (status < 300) return null;
  return `${status} ${answer.error}: ${answer.message}`;
}

async function graphql(mutation: string, input: object): Promise<string | null> {
  const [code, status] = await refusal(service, mutation, { input }, "write");
  return code === undefined ? null : `${[status, code].join(" ")}: `;
}

async function alone(statement: string, text: string | null): Promise<string | null> {
  try {
    await sql(statement, [text]);
    return null;
  } catch (error) {
    const { code, detail, message } = error as { code: string; detail: string; message: string };
    return `${code.replace("PT", "")} ${detail}: ${message}`;
  }
}

const HOSTILE = {
  "an override": "safe\u202Egpj.exe",
  "an isolate": "a\u2066b",
  "a control character": "a\u001B[2J",
  "a C1 control character": "a\u009B2J",
  "a line end": "a\nb",
  "a line separator": "a\u2028b",
  "a noncharacter": "a\uFFFEb",
  "a noncharacter of another plane": "a\u{1FFFF}b",
  "what stands for unreadable bytes": "caf\uFFFD",
};

describe.each(Object.keys(PLACES))("%s", (place) => {
  test.each(Object.entries(NAMES))("takes %s", async (_, text) => {
    expect(await PLACES[place]!(text)).toBeNull();
  });

  test.each(Object.entries(HOSTILE))("refuses %s", async (_, text) => {
    expect(await PLACES[place]!(text)).toMatch(/^400 validation_failed: /);
  });
});

const PLACES_OF_NAMES = Object.keys(PLACES).filter((place) => !place.includes("other texts"));

test.each(PLACES_OF_NAMES)("%s: 200 characters and no more, and something to see", async (place) => {
  expect(await PLACES[place]!("🌾".repeat(200))).toBeNull();
  expect(await PLACES[place]!("x".repeat(201))).toMatch(/^400 validation_failed: /);
  expect(await PLACES[place]!("\u200B\u2060\u00AD")).toMatch(/^400 validation_failed: /);
  expect(await PLACES[place]!("\u3000\uFEFF\u2800")).toMatch(/^400 validation_failed: /);
});

test("roles that a claimant states are as short as codes", async () => {
  const claim = (role: string) => rest("/v0/onboarding/claim-org", { ...claimOf(), roles: [role] });
  expect(await claim("x".repeat(64))).toBeNull();
  expect(await claim("x".repeat(65))).toMatch(/^400 validation_failed: /);
  const inSql = (role: string) =>
    alone(
      `select app_public.claim_organization('${++claims}.${stranger}', 'A', 'B', array['a', $1], 'New ${claims}', true)`,
      role,
    );
  expect(await inSql("x".repeat(64))).toBeNull();
  for (const role of ["x".repeat(65), "", "a\nb"])
    expect(await inSql(role)).toMatch(/^400 validation_failed: roles\[1\] /);
});

test("the website that a claimant states is one, also where SQL alone is asked", async () => {
  const claim = (website: string) =>
    alone(
      `select app_public.claim_organization('${++claims}.${stranger}', 'A', 'B', '{}', 'River', false, '${ORG}',
         new_org_website => $1)`,
      website,
    );
  expect(await claim("https://mission.example")).toBeNull();
  expect(await claim("ftp://mission.example")).toMatch(/^400 validation_failed: newOrgWebsite /);
});

test("a code that the vocabulary gets is one", async () => {
  const add = (code: string) =>
    alone(
      "insert into app_public.accelerators (code, concept_uri, kind, pref_label) values ($1, 'https://a.example', 'function', 'A')",
      code,
    );
  for (const code of ["", " ", "x".repeat(65), "a\nb"])
    expect(await add(code)).toMatch(/^400 validation_failed: code\[0\] /);
  expect(await add("x".repeat(64))).toBeNull();
  await sql("delete from app_public.accelerators where pref_label = 'A'");
});

test("the URI that a concept gets is one that every store can hold", async () => {
  const move = (iri: string) =>
    alone("update app_public.accelerators set concept_uri = $1 where code = 'PRA'", iri);
  for (const uri of [
    "https://a.example/\u202E",
    "https://a.example/%zz",
    "a/b",
    "http://a.example/../b",
    `https://a.example/${"x".repeat(2_031)}`,
  ])
    expect(await move(uri)).toBe(
      "400 validation_failed: conceptUri must be an absolute URI, as with http, https or urn.",
    );
  expect(await move(`https://a.example/${"x".repeat(2_030)}`)).toBeNull();
});

test.each([
  ["people_groups", "name"],
  ["organizations", "name"],
  ["organizations", "type"],
  ["users", "firstName"],
  ["users", "lastName"],
])("of %s that have one, a %s is changed to none that cannot be read", async (table, field) => {
  const column = field.replace("N", "_n");
  const client = await service.database.owner.connect();
  try {
    await client.query(`begin;
      insert into app_public.people_groups (rop3, name) values ('100999', 'Somali');
      update app_public.${table} set ${column} = 'Readable'`);
    await expect(
      client.query(`update app_public.${table} set ${column} = U&'a\\202Eb'`),
    ).rejects.toMatchObject({
      code: "PT400",
      message: expect.stringMatching(new RegExp(`^${field} .*U\\+202E`)) as unknown,
    });
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("a person has an address, and an organization a name, also where SQL alone adds them", async () => {
  const person = (email: string | null) => alone("insert into app_public.users (email) values ($1)", email);
  const organization = (name: string | null) =>
    alone(
      "insert into app_public.organizations (org_uri, name) values ('https://nameless.example/a', $1)",
      name,
    );
  expect(await person(null)).toMatch(/^400 validation_failed: email is required/);
  for (const name of [null, " "])
    expect(await organization(name)).toMatch(/^400 validation_failed: name is required/);
});

test.each([
  ["org_uri", "river", "orgUri must be"],
  ["type", "a\nb", "type "],
  ["type", "x".repeat(201), "type must have at most 200 characters"],
  ["website", "ftp://river.example", "website must be"],
  ["domain", "river", "domain must be"],
])(
  "an organization that SQL alone adds or changes is well-formed: its %s is not %j",
  async (column, bad, said) => {
    const given = column === "org_uri" ? "org_uri, name" : `org_uri, name, ${column}`;
    const insert = `insert into app_public.organizations (${given})
      values (${column === "org_uri" ? "$1, 'Added'" : "'https://added.example/a', 'Added', $1"})`;
    const refusal = expect.stringMatching(`^400 validation_failed: ${said}`);
    expect(await alone(insert, bad)).toEqual(refusal);
    expect(
      await alone(`update app_public.organizations set ${column} = $1 where org_uri = '${ORG}'`, bad),
    ).toEqual(refusal);
  },
);

test("how long a text may be is said as a reader writes it", async () => {
  const define = (length: number) =>
    alone("update app_public.accelerators set definition = $1 where code = 'PRA'", "x".repeat(length));
  expect(await define(10_000)).toBeNull();
  expect(await define(10_001)).toBe("400 validation_failed: definition must have at most 10,000 characters.");
  const called = await alone(
    "update app_public.accelerators set pref_label = $1 where code = 'PRA'",
    "x".repeat(201),
  );
  expect(called).toBe("400 validation_failed: prefLabel must have at most 200 characters.");
  const both =
    "update app_public.accelerators set pref_label = repeat($1, 201), definition = repeat($1, 10001) where code = 'PRA'";
  expect(await alone(both, "x")).toBe(
    "400 validation_failed: prefLabel must have at most 200 characters; definition must have at most 10,000 characters.",
  );
});

test("within a church's JSON too no control character is let in, by itself", async () => {
  const ministries = (text: string) =>
    alone(
      `insert into app_public.churches (church_id, name, ministries_json)
       values (gen_random_uuid(), 'x', jsonb_build_object('a', jsonb_build_array($1::text)))`,
      text,
    );
  expect(await ministries("Choir")).toBeNull();
  expect(await ministries("a\u001B[2J")).toMatch(/^400 validation_failed: ministries_json /);
  const named = (name: string) =>
    alone(
      `insert into app_public.churches (church_id, name, ministries_json)
       values (gen_random_uuid(), 'x', jsonb_build_array(jsonb_build_object($1::text, 1)))`,
      name,
    );
  expect(await named("Choir")).toBeNull();
  expect(await named("a\u001B[2J")).toMatch(/^400 validation_failed: ministries_json /);
});

describe("texts with lines", () => {
  const LINED = {
    "a need": (needDescription: string) => rest("/v0/needs", { ...need, needDescription }),
    "a reviewer's notes": async (notes: string) => {
      const claim = await call(
        `${service.url}/v0/onboarding/claim-org`,
        "POST",
        service.keys.write,
        claimOf(),
      );
      return rest("/v0/admin/claims/review", {
        ...{ claimId: claim.body.claimId, action: "reject", adminEmail: "reviewer@platform.example", notes },
      });
    },
    "a definition": (text: string) =>
      alone("update app_public.accelerators set definition = $1 where code = 'PRA'", text),
    "a church's address": (text: string) =>
      alone(
        "insert into app_public.churches (church_id, name, address) values (gen_random_uuid(), 'x', $1)",
        text,
      ),
    "a church's summary": (text: string) =>
      alone(
        "insert into app_public.churches (church_id, name, church_summary) values (gen_random_uuid(), 'x', $1)",
        text,
      ),
    "a church's programs": (text: string) =>
      alone(
        `insert into app_public.churches (church_id, name, ministries_json)
         values (gen_random_uuid(), 'x', jsonb_build_object('a', $1::text))`,
        text,
      ),
  };
  beforeAll(() =>
    sql(`with person as (insert into app_public.users (email) values ('reviewer@platform.example') returning user_id)
         insert into app_public.platform_roles (user_id, role) select user_id, 'admin' from person`),
  );

  test.each(Object.entries(LINED))("%s", async (_, write) => {
    expect(await write("One\r\ntwo\n\tthree")).toBeNull();
    for (const [name, text] of Object.entries(HOSTILE)) {
      if (name === "a line end") continue;
      expect([name, await write(text)]).toEqual([name, expect.stringMatching(/^400 validation_failed: /)]);
    }
  });
});

describe("what was accepted under earlier rules", () => {
  const long = "Old ".repeat(60).trim();
  beforeAll(async () => {
    await sql(`set session_replication_role = replica;
      update app_public.organizations set name = '${long}', website = 'ftp://old.example' where org_uri = '${ORG}';
      insert into app_public.users (email, first_name, last_name) values ('old@river.example', E'A\\u202EB', '${long}');
      insert into app_public.churches (church_id, name, church_summary) values ('old', '${long}', E'a\\u0007b');
      set session_replication_role = default`);
  });

  test("does not stand in the way of a change of something else", async () => {
    const change = { orgUri: ORG, adminEmail: admin, website: "https://river.example" };
    expect(await rest("/v0/orgs/metadata", { ...change, website: undefined, type: "Mission" })).toBeNull();
    expect(await rest("/v0/orgs/metadata", change)).toBeNull();
    expect(await rest("/v0/orgs/metadata", { ...change, name: long })).toBeNull();
    const old = { ...claimOf(), userEmail: "old@river.example", isNewOrg: false, orgUri: ORG };
    expect(await rest("/v0/onboarding/claim-org", old)).toBeNull();
    expect(
      await alone("update app_public.churches set phone = $1 where church_id = 'old'", "+1 2"),
    ).toBeNull();
  });

  test("cannot be made worse", async () => {
    const change = { orgUri: ORG, adminEmail: admin, name: `${long}!` };
    expect(await rest("/v0/orgs/metadata", change)).toMatch(/^400 validation_failed: /);
    expect(
      await alone("update app_public.churches set church_summary = $1 where church_id = 'old'", "a\u0008"),
    ).toMatch(/^400 validation_failed: /);
  });
});

describe("an import leaves out what no text may contain, says where it is, and goes on", () => {
  const runImport = async (command: string, name: string, content: string | Buffer, ...options: string[]) => {
    const file = join(dir, name);
    await writeFile(file, content);
    const outcome = await operator([command, "import", file, ...options], {
      DATABASE_URL: service.database.url,
    });
    return { ...outcome, stderr: outcome.stderr.replaceAll(`${dir}/`, "") };
  };
  const latin1 = (text: string) => Buffer.from(text, "latin1");

  test("of people groups", async () => {
    const csv = latin1(
      `rop3,name\n100011,Good\n100012,Caf\xE9\n100013,"x\ny"\n100014,${"x".repeat(201)}\n100015,a\0b\n`,
    );
    const { code, stderr } = await runImport("people-groups", "groups.csv", csv);
    expect(code).toBe(1);
    expect(stderr).toContain("groups.csv:3: the name must not contain the character U+FFFD");
    expect(stderr).toContain("the name must be one line");
    expect(stderr).toMatch(/groups\.csv:\d+: the name must not contain the character U\+0000/);
    expect(stderr).toContain("the name must have at most 200 characters");
    const { rows } = await sql("select rop3 as found from app_public.people_groups where rop3 >= '100011'");
    expect(rows).toEqual([{ found: "100011" }]);
    expect((await runImport("people-groups", "groups.csv", csv, "--strict")).code).toBe(2);
  });

  test("of churches", async () => {
    const csv = latin1(
      `church_id,name,locality\nt1,Good,Ulm\nt2,Caf\xE9,Ulm\nt3,Good,"a\nb"\nt4,${"x".repeat(201)},Ulm\n`,
    );
    const { code, stderr, stdout } = await runImport("churches", "texts.csv", csv, "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ read: 4, added: 1, changed: 0, unchanged: 0, refused: 3 });
    expect(stderr).toMatch(/texts\.csv:3.*name must not contain the character U\+FFFD/);
    expect(stderr).toMatch(/locality must be one line/);
    expect(stderr).toMatch(/name must have at most 200 characters/);
    const { rows } = await sql(
      "select church_id as found from app_public.churches where church_id ~ '^t[0-9]'",
    );
    expect(rows).toEqual([{ found: "t1" }]);
    expect((await runImport("churches", "texts.csv", csv, "--strict")).code).toBe(2);
  });

  test("of the vocabulary, with what depends on it", async () => {
    const ns = "https://ontology.example.org/core#";
    const concept = (code: string, label: string, broader?: string) =>
      `<${ns}accelerator-${code}> a skos:Concept ; skos:inScheme ns:AcceleratorScheme ; skos:notation "${code}" ;
         skos:prefLabel "${label}"@en ${broader ? `; skos:broader <${ns}accelerator-${broader}>` : ""} .`;
    const turtle = [
      `@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix ns: <${ns}> .`,
      ...[concept("PRA", "Prayer"), concept("BAD", "a\u202Eb"), concept("BAD-SUB", "Below", "BAD")],
    ].join("\n");
    const { code, stderr } = await runImport("vocabulary", "list.ttl", turtle);
    expect(stderr).toMatch(/accelerator-BAD: its prefLabel must not contain the character U\+202E/);
    expect(stderr).toMatch(/accelerator-BAD-SUB: its broader concept BAD was left out/);
    expect(code).toBe(1);
  });
});
