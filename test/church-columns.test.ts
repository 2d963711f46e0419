// The description of a church's columns against the table itself.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { CHURCH_COLUMNS } from "../db/churches/columns.ts";
import type { ChurchColumn } from "../db/churches/columns.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

const DESCRIPTION = "db/churches/columns.ts";

/** The SQL type that each kind is for. */
const TYPES: Record<ChurchColumn["kind"], string> = {
  id: "text",
  text: "text",
  longText: "text",
  number: "double precision",
  ratio: "double precision",
  size: "integer",
  boolean: "boolean",
  list: "text[]",
  minutes: "integer[]",
  json: "jsonb",
  belief: "app_public.church_belief",
  country: "text",
  time: "timestamp with time zone",
};

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function tableColumns() {
  const { rows } = await database.owner.query<{
    name: string;
    type: string;
    always: boolean;
    comment: string | null;
  }>(
    `select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as always,
       col_description(attrelid, attnum) as comment
     from pg_attribute
     where attrelid = 'app_public.churches'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
  );
  return rows;
}

test("every column of the table is described, with the right kind", async () => {
  const faults = (await tableColumns()).flatMap(({ name, type, always }) => {
    const column = CHURCH_COLUMNS[name];
    if (!column) return [`${DESCRIPTION} lacks ${name}, ${type}`];
    return [
      ...(TYPES[column.kind] === type
        ? []
        : [`${DESCRIPTION}: ${name} is a ${column.kind}, in the table ${type}`]),
      ...((column.always ?? false) === always
        ? []
        : [`${DESCRIPTION}: ${name} is ${always ? "" : "not "}always there in the table`]),
    ];
  });
  expect(faults).toEqual([]);
});

test("a number may be what the table lets it be", async () => {
  const { rows } = await database.owner.query<{ name: string; check: string }>(
    `select a.attname as name, pg_get_constraintdef(k.oid) as check
     from pg_constraint as k
     join pg_attribute as a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
     where k.conrelid = 'app_public.churches'::regclass and k.contype = 'c' and cardinality(k.conkey) = 1`,
  );
  const ranges = rows.flatMap(({ name, check }) => {
    const [least, most] = [/>=[^\d-]*(-?[\d.]+)/.exec(check)?.[1], /<=[^\d-]*(-?[\d.]+)/.exec(check)?.[1]];
    const isRange = CHURCH_COLUMNS[name]?.kind === "number" && least !== undefined && most !== undefined;
    return isRange ? [[name, [Number(least), Number(most)]]] : [];
  });
  const described = Object.entries(CHURCH_COLUMNS).flatMap(([name, { range }]) =>
    range ? [[name, range]] : [],
  );
  expect(Object.fromEntries(described)).toEqual(Object.fromEntries(ranges));
});

test("every column that is described is in the table", async () => {
  const names = (await tableColumns()).map(({ name }) => name);
  const faults = Object.keys(CHURCH_COLUMNS)
    .filter((name) => !names.includes(name))
    .map((name) => `app_public.churches (db/migrations) lacks ${name}, which ${DESCRIPTION} has`);
  expect(faults).toEqual([]);
});

test("what a column means is said in its description and not also in a comment", async () => {
  const faults = (await tableColumns())
    // Tags tell GraphQL how to show a column.
    .filter(({ comment }) => comment !== null && !comment.startsWith("@"))
    .map(({ name, comment }) => `${DESCRIPTION}: ${name} should say "${comment}", which SQL says`);
  expect(faults).toEqual([]);
});
