// What the functions of the API refuse when nothing stands before them: called in bare SQL, as psql or PostGraphile call them, under
// the role that may. Which functions and arguments there are is asked of the database.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client } from "pg";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { admin, buildWorld, member, ORG } from "./support/world.ts";

type Argument = { name: string; type: string; isList: boolean; isRequired: boolean; first: string | null };
type Callable = { name: string; arguments: Argument[] };

const SOME_ID = "00000000-0000-4000-8000-000000000001";

/** What each argument that is required gets in a call that has nothing wrong with its form. */
const WELL_FORMED: Readonly<Record<string, unknown>> = {
  ...{
    org_uri: ORG,
    org_name: "River",
    name: "River Mission",
    first_name: "Ana",
    last_name: "Silva",
    is_new_org: false,
  },
  ...{ need_description: "Prayer", commitment_description: "We pray", roles: ["field coordinator"] },
  ...{ accelerators: ["PRA"], accelerator_scope: ["PRA"], engagement_accelerators: ["PRA"] },
  ...{ user_email: member, email: member, admin_email: admin, actor_email: admin },
  ...{ declared_by_email: admin, claimed_by_email: admin },
  ...{ need_id: SOME_ID, commitment_id: SOME_ID, claim_id: SOME_ID },
};

let database: TestDatabase;
let psql: Client;
let callables: Callable[];
beforeAll(async () => {
  database = await createTestDatabase();
  await buildWorld(database.owner);
  psql = new Client(database.serverUrl);
  await psql.connect();
  const { rows } = await database.owner.query<Callable>(
    `select p.proname as name, json_agg(json_build_object(
         'name', p.proargnames[a.place], 'type', format_type(a.type, null), 'isList', t.typcategory = 'A',
         'isRequired', a.place <= p.pronargs - p.pronargdefaults,
         'first', (select e.enumlabel from pg_enum as e where e.enumtypid = a.type order by e.enumsortorder limit 1))
         order by a.place) as arguments
     from pg_proc as p
     cross join unnest(p.proargtypes) with ordinality as a (type, place)
     join pg_type as t on t.oid = a.type
     where p.pronamespace = 'app_public'::regnamespace and has_function_privilege('api_review', p.oid, 'execute')
       and obj_description(p.oid, 'pg_proc') ~ 'Errors: .*validation_failed'
     group by p.oid, p.proname
     -- What takes a row is a column of it.
     having bool_and(t.typtype <> 'c') order by p.proname`,
  );
  callables = rows;
});
afterAll(async () => {
  await psql.end();
  await database.drop();
});

const wire = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The paths that a call is refused for; otherwise the error's code, or "answered". */
async function call({ name, arguments: all }: Callable, changed: Record<string, unknown>): Promise<string[]> {
  await psql.query("begin");
  const outcome = await called(psql, name, all, changed);
  await psql.query("rollback");
  return outcome;
}

/** The same within a transaction, which goes on. */
async function called(
  client: Client,
  name: string,
  all: readonly Argument[],
  changed: Record<string, unknown>,
): Promise<string[]> {
  const given = all
    .filter((one) => one.isRequired || one.name in changed || one.name in WELL_FORMED)
    .map(({ first, ...one }) => ({ value: WELL_FORMED[one.name] ?? first, ...one }))
    .map((one) => (one.name in changed ? { ...one, value: changed[one.name] } : one));
  const list = given.map((one, place) => `"${one.name}" => $${place + 1}::${one.type}`);
  await client.query("set local role api_review");
  return client
    .query(
      `select app_public.${name}(${list.join()})`,
      given.map(({ value }) => value),
    )
    .then(
      () => ["answered"],
      ({ code, hint }: { code: string; hint?: string }) =>
        code === "PT400" ? (JSON.parse(hint!) as { path: string }[]).map(({ path }) => path) : [code],
    );
}

/** Changes arguments one at a time; returns those calls that are not refused for just that argument. */
async function notRefused(
  changes: (argument: Argument) => readonly unknown[],
  place = "",
): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  let calls = 0;
  for (const callable of callables) {
    for (const argument of callable.arguments) {
      for (const value of changes(argument)) {
        calls++;
        const outcome = await call(callable, { [argument.name]: value });
        if (outcome.join() === `${wire(argument.name)}${place}`) continue;
        found[`${callable.name}.${argument.name} = ${JSON.stringify(value)}`] = outcome;
      }
    }
  }
  expect(calls).toBeGreaterThan(5);
  return found;
}

describe("in bare SQL", () => {
  test("what is well-formed gets as far as the rules", async () => {
    const outcomes: Record<string, string[]> = {};
    for (const callable of callables) outcomes[callable.name] = await call(callable, {});
    expect(
      Object.entries(outcomes).filter(([, [outcome]]) => !/^(answered|PT40[349])$/.test(outcome!)),
    ).toEqual([]);
    expect(Object.keys(outcomes)).toContain("update_need_status");
  });

  test("what a function needs may not be null", async () => {
    const found = await notRefused(({ isRequired }) => (isRequired ? [null] : []));
    // Who claims need not say in which roles.
    expect(found).toEqual({
      "claim_organization.roles = null": [expect.stringMatching(/^(answered|PT409)$/)],
    });
  });

  test("no text is kept with what is blank around it", async () => {
    const { rows: columns } = await database.owner.query<{ relation: string; name: string }>(
      `select relation::text, name from app_private.text_columns() where type = 'text' and relation::text ~ '^app_public'`,
    );
    const padded: string[] = [];
    const kept: string[] = [];
    const proposal = { is_new_org: true, org_uri: null };
    const refused: string[][] = [];
    const client = await database.owner.connect();
    for (const { name, arguments: all } of callables) {
      const texts = all.filter((one) => one.type === "text" && /(name|description|type)$/.test(one.name));
      if (texts.length === 0) continue;
      const changed = Object.fromEntries(texts.map((one) => [one.name, `\n \t${name}.${one.name} \r\n`]));
      const more = name === "claim_organization" ? proposal : {};
      await client.query("begin");
      const [outcome, ...others] = await called(client, name, all, { ...changed, ...more });
      if (outcome !== "answered") refused.push([name, outcome!, ...others]);
      else await client.query("set local role none");
      for (const { relation, name: column } of outcome === "answered" ? columns : []) {
        const { rows } = await client.query<{ text: string }>(
          `select "${column}" as text from ${relation} where "${column}" ~ $1`,
          [`${name}\\.`],
        );
        for (const { text } of rows) (text === text.trim() ? kept : padded).push(text);
      }
      await client.query("rollback");
    }
    client.release();
    expect({ refused, padded }).toEqual({ refused: [], padded: [] });
    // Otherwise this would be a test of nothing.
    expect(kept).toEqual(
      expect.arrayContaining([expect.stringMatching(/^submit_engagement_claim\.country_name$/)]),
    );
    expect(new Set(kept).size).toBeGreaterThan(10);
  });

  test("what is said of a transaction is said of no other", async () => {
    // By the rules as they are: what each of them sets, and nobody else.
    const { rows: settings } = await database.owner.query<{ name: string }>(
      `select distinct set[1] as name from pg_proc as p, regexp_matches(p.prosrc || pg_get_functiondef(p.oid),
         $$set_config\\('([\\w.]+)'$$, 'g') as set
       where p.pronamespace = 'app_private'::regnamespace and p.prokind = 'f'`,
    );
    expect(settings.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["app.actor_email", "app.key_id", "app.person", "app.request_id", "role"]),
    );
    const person = JSON.stringify({ id: SOME_ID, issuer: "i", subject: "s", email: member });
    const client = new Client(database.serverUrl);
    await client.connect();
    const said = async () => {
      const { rows } = await client.query<{ said: string | null }>(
        "select nullif(current_setting(name, true), '') as said from unnest($1::text[]) as name",
        [settings.map(({ name }) => name)],
      );
      return rows.map((row) => row.said);
    };
    const before = await said();
    // Each of these is a transaction by itself.
    const runAs = (statement: string) =>
      client.query(
        `select app_private.run_as('api_person', $1, key_id => $2, request_id => 'r', trace_parent => 't', person => $3)`,
        [statement, SOME_ID, person],
      );
    await runAs("select app_private.current_actor()");
    expect(await said()).toEqual(before);
    await client.query("select app_private.run_as('api_person', $1, person => $2)", [
      `select app_public.claim_organization('${member}', 'Ana', 'Silva', '{}', 'Elsewhere', true)::text`,
      person,
    ]);
    expect(await said()).toEqual(before);
    // Who confirms claims is known by a link, or a session.
    for (const known of ["sign_ins", "sessions"]) {
      await database.owner.query(
        `insert into app_private.${known} (secret_hash, email) values (sha256(convert_to($1, 'utf8')), $2)`,
        [known, member],
      );
      const { rows } = await client.query(
        "select app_private.confirm_claims(sha256(convert_to($1, 'utf8')), '{}') as outcomes",
        [known],
      );
      expect(rows).toEqual([{ outcomes: [] }]);
      expect(await said()).toEqual(before);
    }
    await client.end();
  });

  test("no list has an item that is null", async () => {
    const found = await notRefused(({ isList }) => (isList ? [[null]] : []), "[0]");
    // In a search it matches nothing.
    const searched = Object.entries(found).map(([name, outcome]) => [name.split(".")[0], ...outcome]);
    expect(searched).toEqual(Array.from({ length: 3 }, () => ["search_churches", "answered"]));
  });

  test("whoever is named, and whoever acts, is named by an address", async () => {
    expect(await notRefused(({ name }) => (name.endsWith("email") ? ["ana", "ana@river"] : []))).toEqual({});
  });

  test("an organization is named by its URI", async () => {
    expect(await notRefused(({ name }) => (name === "org_uri" ? ["river-mission"] : []))).toEqual({});
  });

  test("a page has one line to 200, and begins at the first or later", async () => {
    const bounds = (least: number, most: number) => (argument: Argument) =>
      argument.name === "limit" ? [least, most] : argument.name === "offset" ? [least - 1] : [];
    // A search has a bound of its own.
    expect(await notRefused(bounds(0, 201))).toEqual({ "search_churches.limit = 201": ["answered"] });
    const within = Object.values(await notRefused(bounds(1, 200)));
    expect(within.filter(([outcome]) => !/^(answered|PT403)$/.test(outcome!))).toEqual([]);
    expect(within.length).toBeGreaterThan(5);
  });
});
