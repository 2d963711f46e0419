// A record is described once, in records/. What the database, the rules and the ontology say about the same columns is
// compared here; a failure names the file to go to and what it lacks.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Parser } from "n3";
import { DEFAULT_NAMESPACE, DCTERMS, PROV } from "../graph/namespaces.ts";
import { codeDefinitions, readOntology } from "../graph/ontology.ts";
import { RECORDS } from "../records/index.ts";
import { columnOf, fieldsOf } from "../records/record.ts";
import type { FieldType, RecordDescription } from "../records/record.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Which columns a type of field can be; the types not listed are lists of codes. */
const SQL_TYPES: Partial<Record<FieldType, RegExp>> = {
  uuid: /^uuid$/,
  date: /^date$/,
  timestamp: /^timestamp with time zone$/,
  integer: /^(smallint|integer|bigint)$/,
  number: /^(numeric|real|double precision)/,
  boolean: /^boolean$/,
  status: /^app_public\.\w+_status$/,
  text: /^text$/,
  email: /^text$/,
  httpUri: /^text$/,
  rop3: /^text$/,
  rog3: /^text$/,
  countryCode: /^text$/,
};
/** Types whose form PostgreSQL itself ensures; a text needs a rule. */
const CHECKED_BY_TYPE: readonly FieldType[] = [
  "uuid",
  "date",
  "timestamp",
  "integer",
  "number",
  "boolean",
  "status",
];

type Column = {
  name: string;
  type: string;
  shown: boolean;
  insertable: boolean;
  validated: boolean;
  /** null: no such argument */
  optional: boolean | null;
};

async function columnsOf({ table, create, kind }: RecordDescription): Promise<Column[]> {
  const { rows } = await database.owner.query<Column>(
    `with argument as (
       select name, place > p.pronargs - p.pronargdefaults as optional
       from pg_proc as p, unnest(p.proargnames) with ordinality as named (name, place)
       where p.oid = format('app_public.%s', $2::text)::regproc
     )
     select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type,
       exists (select from pg_attribute as v
         where v.attrelid = format('rest.%I', $1::text)::regclass
           and regexp_replace(v.attname, '([A-Z])', '_\\1', 'g') ilike replace(a.attname, '_', '\\_')) as shown,
       has_column_privilege('api_write', a.attrelid, a.attnum, 'insert') as insertable,
       (select prosrc from pg_proc where oid = format('app_private.validate_%s', $3::text)::regproc)
         ~ format('new\\.%s\\M', a.attname) as validated,
       (select optional from argument where argument.name = a.attname) as optional
     from pg_attribute as a
     where a.attrelid = format('app_public.%I', $1::text)::regclass and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [table, create, kind],
  );
  return rows;
}

const wireName = (column: string) => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const fileOf = ({ path }: RecordDescription) => path.replace(/s$/, "");

/** Everything that is not said about a column, or not said consistently. */
function problemsOf(record: RecordDescription, column: Column): string[] {
  const rules = `db/rules/${record.path}.sql`;
  const field = fieldsOf(record).find((each) => each.column === column.name);
  const name = field?.name ?? wireName(column.name);
  const problems: [boolean, string][] = [
    [!field, `records/${fileOf(record)}.ts does not describe ${name}`],
    [!column.shown, `${rules}: the view rest.${record.table} does not show "${name}"`],
  ];
  if (!field || field.input) {
    const unlessSet = field ? "" : ", unless the service sets it";
    problems.push(
      [column.optional === null, `${rules}: ${record.create} takes no argument ${column.name}${unlessSet}`],
      [
        !column.insertable,
        `db/rules/grants.sql: api_write may not insert ${record.table}.${column.name}${unlessSet}`,
      ],
      [
        !column.validated && !(field && CHECKED_BY_TYPE.includes(field.type)),
        `${rules}: validate_${record.kind} does not look at ${column.name}${field ? "" : ", unless its type says all"}`,
      ],
    );
  }
  if (!field) {
    problems.push([
      true,
      `graph/ontology.ttl does not say what ns:${name} means, unless it is withheld from the graph`,
    ]);
  } else {
    const fits = (SQL_TYPES[field.type] ?? /^text\[\]$/).test(column.type);
    const isOptional = field.input === "optional";
    problems.push(
      [!fits, `records/${fileOf(record)}.ts: ${name} is a ${field.type}, but its column is ${column.type}`],
      [
        field.input !== undefined && column.optional !== null && column.optional !== isOptional,
        `${rules}: ${column.name} of ${record.create} is ${column.optional ? "optional" : "required"}; records/ says ${field.input}`,
      ],
      [
        !field.input && column.optional !== null,
        `${rules}: ${record.create} takes ${column.name}, which records/${fileOf(record)}.ts says the service sets`,
      ],
    );
  }
  return problems.filter(([isProblem]) => isProblem).map(([, problem]) => problem);
}

describe.each(Object.values(RECORDS))("a $kind", (record) => {
  test("has each of its columns described, shown, validated, granted and explained", async () => {
    const columns = await columnsOf(record);
    expect(columns.flatMap((column) => problemsOf(record, column))).toEqual([]);
    const gone = fieldsOf(record).filter(({ column }) => !columns.some(({ name }) => name === column));
    expect(
      gone.map(({ name }) => `records/${fileOf(record)}.ts describes ${name}, which has no column`),
    ).toEqual([]);
  });

  test("has nothing in the graph that the ontology does not explain", () => {
    const explained = new Set(new Parser().parse(readOntology()).map(({ subject }) => subject.value));
    const prefixes: Record<string, string> = { ns: DEFAULT_NAMESPACE, prov: PROV, dct: DCTERMS };
    const named = [
      record.class,
      ...fieldsOf(record).flatMap(({ graph }) => {
        if (typeof graph === "string") return graph;
        if ("withheld" in graph) return [];
        return "code" in graph ? [graph.link, graph.code] : graph.link;
      }),
    ];
    const unexplained = named.filter((term) => {
      const [prefix = "", local = ""] = term.split(":");
      return !explained.has(`${prefixes[prefix]}${local}`);
    });
    expect(unexplained.map((term) => `graph/ontology.ttl does not say what ${term} means`)).toEqual([]);
  });

  test("has each of its statuses defined in the ontology, and no others", async () => {
    const { rows } = await database.owner.query<{ status: string }>(
      `select unnest(enum_range(null::app_public.${record.statuses}))::text as status`,
    );
    const definitions = codeDefinitions(record.fields.status.graph);
    const statuses = rows.map(({ status }) => status);
    const undefinedOnes = statuses.filter((status) => !definitions.get(status));
    const unknownOnes = [...definitions.keys()].filter((status) => !statuses.includes(status));
    expect([
      ...undefinedOnes.map((status) => `graph/ontology.ttl does not define the ${record.statuses} ${status}`),
      ...unknownOnes.map(
        (status) => `graph/ontology.ttl defines ${status}, which is not a ${record.statuses}`,
      ),
    ]).toEqual([]);
  });
});

test("the triggers of records are made for the tables that records/ describes", async () => {
  const { rows } = await database.owner.query(
    `select kind, recorded::text as table, key, author from app_private.record_tables order by kind`,
  );
  expect(rows).toEqual(
    Object.values(RECORDS).map((record) => {
      const fields = fieldsOf(record);
      const author = fields.find(({ type }) => type === "email")!.column;
      return { kind: record.kind, table: `app_public.${record.table}`, key: fields[0]!.column, author };
    }),
  );
});

test("a column is its wire name in snake case", () => {
  expect(["needId", "concernsPeopleGroupRop3", "description"].map(columnOf)).toEqual([
    "need_id",
    "concerns_people_group_rop3",
    "description",
  ]);
});
