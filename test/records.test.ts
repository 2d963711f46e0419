// A record is described once, in records/. What the database, the rules and the ontology say about the same columns is
// compared here; a failure names the file to go to and what it lacks.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Parser } from "n3";
import { createNames, DCTERMS, DEFAULT_NAMESPACE, SHACL } from "../graph/namespaces.ts";
import { codeDefinitions, readOntology } from "../graph/ontology.ts";
import { organizationTriples } from "../graph/reference-triples.ts";
import { RECORDS } from "../records/index.ts";
import { columnOf, fieldsOf } from "../records/record.ts";
import type { Field, FieldType, RecordDescription } from "../records/record.ts";
import { allRoutes } from "../server/resources/index.ts";
import { createTestDatabase } from "./support/database.ts";
import { ROOT } from "./support/process.ts";
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
  name: /^text$/,
  text: /^text$/,
  email: /^text$/,
  httpUri: /^text$/,
  rop3: /^text$/,
  rog3: /^text$/,
  countryCode: /^text$/,
};
/** Types whose form PostgreSQL itself ensures; a text needs a rule. */
const CHECKED_BY_TYPE: readonly FieldType[] = ["uuid", "timestamp", "integer", "boolean", "status"];

type Column = {
  name: string;
  type: string;
  shown: boolean;
  insertable: boolean;
  validated: boolean;
  /** whether the rule that refuses unknown references looks at it */
  referenceChecked: boolean;
  /** whether it is looked at when a controlled list changes */
  rechecked: boolean;
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
         ~ format('_problems\\(''[^'']*'', new\\.%s\\M', a.attname) as validated,
       (select prosrc from pg_proc where oid = format('app_private.check_%s_references', $3::text)::regproc)
         ~ format('new\\.%s\\M', a.attname) as "referenceChecked",
       pg_get_functiondef('app_private.recheck_records'::regproc)
         ~ format('\\m%s\\.%s\\M', left($1::text, 1), a.attname) as rechecked,
       (select optional from argument where argument.name = a.attname) as optional
     from pg_attribute as a
     where a.attrelid = format('app_public.%I', $1::text)::regclass and a.attnum > 0 and not a.attisdropped
     order by a.attnum`,
    [table, create, kind],
  );
  return rows;
}

/** Whether a value may name something that does not exist, which PostgreSQL would refuse without saying what. */
function refersToOthers({ type, graph }: Field): boolean {
  return type === "acceleratorCodes" || (typeof graph === "object" && "to" in graph);
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
        `${rules}: validate_${record.kind} does not ask for the problems of ${column.name}${field ? "" : ", unless its type says all"}`,
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
        refersToOthers(field) && !column.referenceChecked,
        `${rules}: check_${record.kind}_references does not look at ${column.name}`,
      ],
      [
        /^(acceleratorCodes|rop3s?)$/.test(field.type) && !column.rechecked,
        `db/rules/graph-references.sql: recheck_records does not look at ${column.name}`,
      ],
      [
        !field.input && column.optional !== null,
        `${rules}: ${record.create} takes ${column.name}, which records/${fileOf(record)}.ts says the service sets`,
      ],
    );
  }
  return problems.filter(([isProblem]) => isProblem).map(([, problem]) => problem);
}

/** The properties that a field has in the graph. */
function propertiesOf(graph: Field["graph"]): string[] {
  if (typeof graph === "string") return [graph];
  if ("withheld" in graph) return [];
  return "code" in graph ? [graph.link, graph.code] : [graph.link];
}

const iriOf = createNames({ graphDataUrl: "", namespaceUrl: DEFAULT_NAMESPACE }).iri;

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
    const named = [record.class, ...fieldsOf(record).flatMap(({ graph }) => propertiesOf(graph))];
    const unexplained = named.filter((term) => !explained.has(iriOf(term)));
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

test("every property of the load check is that of a described field, by its name", () => {
  const described = new Set(
    Object.values(RECORDS).flatMap((record) =>
      fieldsOf(record).flatMap(({ name, graph }) =>
        propertiesOf(graph).map((property) => `${name} ${iriOf(property)}`),
      ),
    ),
  );
  const shapes = new Parser().parse(readFileSync(join(ROOT, "graph/shapes.ttl"), "utf8"));
  const said = (subject: string, predicate: string) =>
    shapes.find((quad) => quad.subject.value === subject && quad.predicate.value === `${SHACL}${predicate}`)
      ?.object.value;
  const checked = shapes
    .filter(({ predicate }) => predicate.value === `${SHACL}path`)
    // All kinds share the shape of their ids, whose names differ.
    .filter(({ object }) => object.value !== `${DCTERMS}identifier`)
    .map(({ subject, object }) => `${said(subject.value, "name")} ${object.value}`);
  expect(checked.length).toBeGreaterThan(10);
  expect(
    checked.filter((each) => !described.has(each)).map((each) => `graph/shapes.ttl checks ${each}`),
  ).toEqual([]);
});

test("every property that the ontology explains is used", () => {
  const used = new Set(
    Object.values(RECORDS).flatMap((record) =>
      fieldsOf(record).flatMap(({ graph }) => propertiesOf(graph).map(iriOf)),
    ),
  );
  const explained = new Parser()
    .parse(readOntology())
    .filter(({ object }) => /#(Datatype|Object)Property$/.test(object.value))
    .map(({ subject }) => subject.value);
  const organization = { orgUri: "http://o.example/", name: "O", type: "T", website: "http://o.example/" };
  const names = createNames({ graphDataUrl: "", namespaceUrl: DEFAULT_NAMESPACE });
  for (const { predicate } of organizationTriples([organization], names)) used.add(predicate.value);
  // What the worker notes about itself.
  const bookkeeping = ["projectionTurn", "projectionRun", "projectionBegun", "projectionStore"].map(
    (local) => DEFAULT_NAMESPACE + local,
  );
  expect(explained.filter((iri) => !used.has(iri) && !bookkeeping.includes(iri))).toEqual([]);
});

test("dates and numbers that JSON and RDF do not have are refused", async () => {
  const { rows } = await database.owner.query<Record<string, number>>(`
    select
      jsonb_array_length(app_private.date_problems('d', '0001-01-01') || app_private.date_problems('d', '9999-12-31')) as dates,
      jsonb_array_length(app_private.date_problems('d', 'infinity') || app_private.date_problems('d', '-infinity')
        || app_private.date_problems('d', '0001-12-31 BC') || app_private.date_problems('d', '10000-01-01')) as no_dates,
      jsonb_array_length(app_private.number_problems('n', 0) || app_private.number_problems('n', -12.5)) as numbers,
      jsonb_array_length(app_private.number_problems('n', 'NaN') || app_private.number_problems('n', 'Infinity')
        || app_private.number_problems('n', '-Infinity')) as no_numbers`);
  expect(rows[0]).toEqual({ dates: 0, no_dates: 4, numbers: 0, no_numbers: 3 });
});

test("the triggers of records are made for the tables that records/ describes", async () => {
  const { rows } = await database.owner.query(
    `select kind, recorded::text as table, key, author, accelerators, countries
     from app_private.record_tables order by kind`,
  );
  expect(rows).toEqual(
    Object.values(RECORDS).map((record) => {
      const fields = fieldsOf(record);
      const of = (form: RegExp) => fields.find(({ type }) => form.test(type))!.column;
      return {
        kind: record.kind,
        table: `app_public.${record.table}`,
        key: fields[0]!.column,
        author: of(/^email$/),
        accelerators: of(/^acceleratorCodes$/),
        countries: of(/^countryCodes?$/),
      };
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

test.each(Object.values(RECORDS))(
  "that any status of a $kind may follow any other is said by its rule, its route and its field, or by none",
  async ({ path, setStatus, fields }) => {
    const [rule] = (
      await database.owner.query<{ said: string }>(
        "select obj_description(to_regproc($1), 'pg_proc') as said",
        [`app_public.${setStatus}`],
      )
    ).rows;
    const route = allRoutes({} as Parameters<typeof allRoutes>[0]).find(
      (each) => each.path === `/v0/${path}/status`,
    );
    const says = (text = "") => /any status (may|can) (follow|be followed by) any other/i.test(text);
    const said = { rule: rule?.said, route: route?.summary, field: fields["status"]?.description };
    expect(Object.fromEntries(Object.entries(said).map(([where, text]) => [where, says(text)]))).toEqual(
      says(rule?.said)
        ? { rule: true, route: true, field: true }
        : { rule: false, route: false, field: false },
    );
  },
);
