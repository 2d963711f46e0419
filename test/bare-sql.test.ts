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
  const given = all
    .filter((one) => one.isRequired || one.name in changed || one.name in WELL_FORMED)
    .map(({ first, ...one }) => ({ value: WELL_FORMED[one.name] ?? first, ...one }))
    .map((one) => (one.name in changed ? { ...one, value: changed[one.name] } : one));
  const list = given.map((one, place) => `"${one.name}" => $${place + 1}::${one.type}`);
  await psql.query("begin; set local role api_review");
  const outcome = await psql
    .query(
      `select app_public.${name}(${list.join()})`,
      given.map(({ value }) => value),
    )
    .then(
      () => ["answered"],
      ({ code, hint }: { code: string; hint?: string }) =>
        code === "PT400" ? (JSON.parse(hint!) as { path: string }[]).map(({ path }) => path) : [code],
    );
  await psql.query("rollback");
  return outcome;
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
