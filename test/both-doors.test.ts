// REST and GraphQL judge alike: the same random reads and writes give the same records, refusals, codes and paths.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { enums } from "../db/catalog.ts";
import { RECORDS } from "../records/index.ts";
import { fieldsOf, idOf } from "../records/record.ts";
import type { FieldType, RecordDescription } from "../records/record.ts";
import { ask, send } from "./support/graphql.ts";
import { chance } from "./support/random.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import {
  admin,
  contributor,
  DEPRECATED_CODE,
  member,
  ORG,
  OTHER_ORG,
  otherAdmin,
  stranger,
} from "./support/world.ts";

const RUNS = chance(40);
const PATIENCE_MS = 300_000 + 3_000 * RUNS.numRuns;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

type Values = Record<string, unknown>;
/** What a door answers to a write. */
type Outcome = { id: string } | { code: string; status: number; details: unknown };

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const upper = (name: string) => name[0]!.toUpperCase() + name.slice(1);
const POSTS: Record<string, string> = {
  need: "/v0/needs",
  commitment: "/v0/commitments",
  engagement_claim: "/v0/engagement-claims/submit",
};

async function byRest(path: string, input: Values, id: string): Promise<Outcome> {
  const { status, body } = await call(`${service.url}${path}`, "POST", service.keys.write, input);
  return status < 300 ? { id: body[id] } : { code: body.error, status, details: body.details };
}

async function byGraphql(mutation: string, result: string, input: Values, id: string): Promise<Outcome> {
  const text = `mutation ($input: ${upper(mutation)}Input!) { ${mutation}(input: $input) { ${result} { ${id} } } }`;
  const { data, errors } = await send(service, text, { input }, "write");
  if (!errors) return { id: data[mutation][result][id] };
  const { code, statusCode, details } = errors[0]!.extensions;
  return { code, status: statusCode, details } as Outcome;
}

async function create(record: RecordDescription, input: Values): Promise<[rest: Outcome, graphql: Outcome]> {
  const id = idOf(record);
  return [
    await byRest(POSTS[record.kind]!, input, id),
    await byGraphql(camel(record.create), camel(record.kind), input, id),
  ];
}

/** A record as each door shows it. */
async function read(record: RecordDescription, id: string): Promise<[rest: Values, graphql: Values]> {
  const names = fieldsOf(record).map(({ name }) => name);
  const { body } = await call(`${service.url}/v0/${record.path}/${id}`, "GET", service.keys.read);
  const data = await ask(
    service,
    `query ($id: UUID!) { item: ${camel(record.kind)}(${idOf(record)}: $id) { ${names.join(" ")} graphStatus } }`,
    { id },
  );
  return [written(record, body), written(record, data.item)];
}

/** The same instants are the same, with or without zeros at the end. */
function written(record: RecordDescription, item: Values): Values {
  const instants = fieldsOf(record).filter(({ type }) => type === "timestamp");
  return {
    ...item,
    ...Object.fromEntries(
      instants.map(({ name }) => [name, String(item[name]).replace(/(?:\.0+|(?<=\.\d+)0+)(?=\+)/, "")]),
    ),
  };
}

const times = (count: number, text: string) => text.repeat(count);
const UNKNOWN = "00000000-0000-4000-8000-000000000000";

/** Of each type: what is usual, and what is at the edge of what it takes or beyond. */
const VALUES: Readonly<Partial<Record<FieldType, { usual: unknown[]; odd: unknown[] }>>> = {
  httpUri: {
    usual: [ORG],
    odd: [OTHER_ORG, "https://data.example.org/org/nobody", "x", "", 7, "https://a.example/\u00a0", "https://a.example/\ufeff",
      `https://a.example/${times(2029, "𐀀")}`, `https://a.example/${times(2031, "𐀀")}`, "https://a.example/a/../b"], // prettier-ignore
  },
  email: {
    usual: [admin, contributor],
    odd: [member, stranger, otherAdmin, admin.toUpperCase(), "x", "", 7, ` ${admin}`, `${admin}\u0000`],
  },
  name: {
    usual: ["River", " River "],
    odd: [
      "",
      " ",
      "\u00a0",
      "\u200b",
      "a\nb",
      "a\u202eb",
      "a\u0000b",
      times(200, "𐀀"),
      times(201, "𐀀"),
      7,
      true,
    ],
  },
  text: {
    usual: ["Water", "é\nè"],
    odd: [
      "",
      "\u00a0",
      "\u3164",
      "\ufeff",
      "a\u0085b",
      "a\u0000b",
      times(10_000, "𐀀"),
      times(10_001, "𐀀"),
      7,
      ["a"],
    ],
  },
  acceleratorCodes: {
    usual: [["PRA"], ["PRA-INT", "PRA"]],
    odd: [[], [DEPRECATED_CODE], ["NO"], [""], [" "], ["\u00a0"], [null], Array(100).fill("PRA"), Array(101).fill("PRA"),
      [times(64, "𐀀")], [times(65, "𐀀")], ["PRA", "PRA", "a\tb"], [7]], // prettier-ignore
  },
  rop3: { usual: ["104425"], odd: ["10442", "1044256", "１０４４２５", "", 104425] },
  rop3s: {
    usual: [["104425"], []],
    odd: [["x"], ["104425", "104425", "x"], Array(101).fill("104425"), [104425]],
  },
  rog3: { usual: ["KE", "KEN"], odd: ["k", "ke", "KENY", ""] },
  countryCode: { usual: ["KE"], odd: ["ke", "ZZ", "KEN", ""] },
  countryCodes: {
    usual: [["KE", "UG"], []],
    odd: [["KE", "ke"], ["KE", "KE", "ZZ"], Array(101).fill("KE"), [null]],
  },
  date: {
    usual: ["2030-01-05", "0001-01-01", "9999-12-31"],
    odd: ["2030-1-5", "20300105", "infinity", "-infinity", "tomorrow", "now", "2030-01-05 BC", "J2462502", "0000-01-01",
      "10000-01-01", "2027-02-30", "2030-01-05T00:00:00Z", "05.01.2030", "Jan 5 2030", " 2030-01-05", "", 20300105], // prettier-ignore
  },
  uuid: {
    usual: [],
    odd: [
      UNKNOWN,
      "x",
      "",
      times(32, "0"),
      `{${UNKNOWN}}`,
      UNKNOWN.replaceAll("-", ""),
      `urn:uuid:${UNKNOWN}`,
      7,
    ],
  },
};

/** The input of a record, with what is required and no more. */
function leastOf(record: RecordDescription): Values {
  const required = fieldsOf(record).filter(({ input }) => input !== undefined && input !== "optional");
  return Object.fromEntries(required.map(({ name, type }) => [name, VALUES[type]!.usual[0]]));
}

/** The input of a record: mostly usual, with at most two odd values, or one left out, null, or unknown. */
function inputOf(record: RecordDescription, ids: readonly string[]): fc.Arbitrary<Values> {
  const fields = fieldsOf(record).filter(({ input }) => input);
  const valuesOf = (type: FieldType) => VALUES[type]!;
  const usual = fc.record(
    Object.fromEntries(
      fields.map(({ name, type, input }) => {
        const known = type === "uuid" ? [...ids, ...ids.map((id) => id.toUpperCase())] : valuesOf(type).usual;
        return [name, fc.constantFrom(...known, ...(input === "optional" ? [null, undefined] : []))];
      }),
    ),
  );
  const oddities = fields.flatMap(({ name, type }) => [
    ...valuesOf(type).odd.map((value) => ({ [name]: value })),
    { [name]: null },
    { [name]: undefined },
  ]);
  const odd = fc.array(fc.constantFrom<Values>(...oddities, { status: "met" }), { maxLength: 2 });
  return fc
    .tuple(usual, odd)
    .map(([values, found]) => JSON.parse(JSON.stringify(Object.assign({}, values, ...found))) as Values);
}

type ListFilter = {
  /** @param since when a record was updated that has others before and after it */
  values: (known: readonly string[], since: string) => readonly string[];
  /** The same in GraphQL. */
  graphql: (value: string) => Values;
};
const equals = (name: string, ...values: string[]): ListFilter => ({
  values: () => values,
  graphql: (value) => ({ [name]: { equalTo: value } }),
});
const contains = (name: string, ...values: string[]): ListFilter => ({
  values: () => values,
  graphql: (value) => ({ [name]: { contains: [value] } }),
});
// The filters of every list, and those of each.
const ALIKE: Readonly<Record<string, ListFilter>> = {
  orgUri: equals("orgUri", ORG, OTHER_ORG, "x"),
  updatedSince: {
    values: (_, since) => [since, "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"],
    graphql: (value) => ({ updatedAt: { greaterThanOrEqualTo: value } }),
  },
};
const FILTERS: Readonly<Record<string, Readonly<Record<string, ListFilter>>>> = {
  need: {
    accelerator: contains("accelerators", "PRA", "PRA-INT", "NO"),
    rop3: contains("concernsPeopleGroupRop3", "104425", "100000"),
    countryCode: contains("concernsCountryCode", "KE", "UG", "NO"),
  },
  commitment: {
    concernsNeedId: {
      values: (known) => [...known, UNKNOWN],
      graphql: (value) => ({ concernsNeedId: { equalTo: value } }),
    },
  },
  engagement_claim: {
    rop3: equals("peopleGroupRop3", "104425", "100000"),
    countryCode: equals("countryCode", "KE", "NO"),
  },
};

const changing = new Set(["createdAt", "updatedAt"]);
const withoutOwn = (record: RecordDescription, item: Values) =>
  Object.fromEntries(Object.entries(item).filter(([name]) => name !== idOf(record) && !changing.has(name)));

const known: Record<string, string[]> = { need: [], commitment: [], engagement_claim: [] };
const REFERS: Record<string, string> = { commitment: "need", engagement_claim: "commitment" };

const referredToBy = ({ kind }: RecordDescription) => known[REFERS[kind] ?? ""] ?? [];

// Of each kind one that others can refer to, and enough for lists.
beforeAll(async () => {
  for (const record of Object.values(RECORDS)) {
    const [rest] = await create(record, leastOf(record));
    if (!("id" in rest)) throw new Error(JSON.stringify(rest));
    known[record.kind]!.push(rest.id);
    for (let more = 0; more < 2; more++) await create(record, leastOf(record));
    for (const input of fc.sample(inputOf(record, referredToBy(record)), 10)) await create(record, input);
  }
});

describe.each(Object.values(RECORDS))("$kind", (record) => {
  const refersTo = () => referredToBy(record);

  test(
    "every odd value by itself",
    async () => {
      for (const { name, type } of fieldsOf(record).filter(({ input }) => input)) {
        for (const value of VALUES[type]!.odd) {
          const input = { ...leastOf(record), [name]: value };
          const [rest, graphql] = await create(record, input);
          const shown = JSON.stringify(value).slice(0, 60);
          if ("id" in rest) expect([name, shown, Object.keys(graphql)]).toEqual([name, shown, ["id"]]);
          else expect([name, shown, graphql]).toEqual([name, shown, rest]);
        }
      }
    },
    PATIENCE_MS,
  );

  test(
    "random writes",
    async () => {
      let accepted = 0;
      await fc.assert(
        fc.asyncProperty(inputOf(record, refersTo()), async (input) => {
          const [rest, graphql] = await create(record, input);
          if ("id" in rest) accepted++;
          if (!("id" in rest) || !("id" in graphql)) return expect(graphql).toEqual(rest);
          const items = [...(await read(record, rest.id)), ...(await read(record, graphql.id))];
          expect(items[1]).toEqual(items[0]);
          expect(items[3]).toEqual(items[2]);
          expect(withoutOwn(record, items[2]!)).toEqual(withoutOwn(record, items[0]!));
        }),
        RUNS,
      );
      expect(accepted).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );

  test(
    "random changes of status",
    async () => {
      const id = idOf(record);
      const statuses = (enums as Record<string, readonly string[]>)[record.statuses]!;
      const twins = [0, 1].map(() => known[record.kind]![0]!);
      const change = fc.record({
        [id]: fc.oneof(
          { weight: 5, arbitrary: fc.constant(twins[0]) },
          { weight: 1, arbitrary: fc.constantFrom(UNKNOWN, UNKNOWN.replaceAll("-", ""), "x", null, 7) },
        ),
        status: fc.constantFrom(...statuses, ...statuses, "OPEN", "", null, 7),
        actorEmail: fc.constantFrom(admin, admin, contributor, member, stranger, "x", "", null),
      });
      await fc.assert(
        fc.asyncProperty(change, async (input) => {
          const values = JSON.parse(JSON.stringify(input)) as Values;
          const rest = await byRest(`/v0/${record.path}/status`, values, id);
          const graphql = await byGraphql(camel(record.setStatus), camel(record.kind), values, id);
          expect(graphql).toEqual(rest);
        }),
        RUNS,
      );
    },
    PATIENCE_MS,
  );

  test(
    "random lists",
    async () => {
      const statuses = (enums as Record<string, readonly string[]>)[record.statuses]!;
      const { body } = await call(
        `${service.url}/v0/${record.path}?limit=1&offset=3`,
        "GET",
        service.keys.read,
      );
      const since = String(Object.values<Values[]>(body)[0]![0]!["updatedAt"]);
      const filters = { ...ALIKE, ...FILTERS[record.kind] };
      const list = fc.record({
        given: fc.record(
          Object.fromEntries(
            Object.entries(filters).map(([name, { values }]) => [
              name,
              fc.option(fc.constantFrom(...values(refersTo(), since)), { nil: undefined, freq: 2 }),
            ]),
          ),
        ),
        status: fc.constantFrom(statuses[0]!, ...statuses),
        limit: fc.oneof(
          { weight: 5, arbitrary: fc.integer({ min: 1, max: 200 }) },
          { weight: 1, arbitrary: fc.constantFrom(-1, 201, 2 ** 31 - 1) },
        ),
        offset: fc.oneof(
          { weight: 5, arbitrary: fc.integer({ min: 0, max: 12 }) },
          { weight: 1, arbitrary: fc.constantFrom(-1, 2 ** 31 - 1) },
        ),
      });
      const id = idOf(record);
      let found = 0;
      await fc.assert(
        fc.asyncProperty(list, async ({ given, status, limit, offset }) => {
          const asked = Object.entries(given).filter(([, value]) => value !== undefined) as [
            keyof typeof filters,
            string,
          ][];
          const parameters = { ...Object.fromEntries(asked), status, limit: `${limit}`, offset: `${offset}` };
          const rest = await call(
            `${service.url}/v0/${record.path}?${new URLSearchParams(parameters).toString()}`,
            "GET",
            service.keys.read,
          );
          const field = camel(record.table);
          const kind = upper(camel(record.kind));
          const { data, errors } = await send(
            service,
            `query ($filter: ${kind}Filter, $orderBy: [${kind}OrderBy!], $first: Int, $offset: Int) {
              ${field}(filter: $filter, orderBy: $orderBy, first: $first, offset: $offset) { totalCount nodes { ${id} } }
            }`,
            {
              filter: Object.assign(
                { status: { equalTo: status } },
                ...asked.map(([name, value]) => filters[name]!.graphql(value)),
              ) as Values,
              first: limit,
              offset,
              // What was updated since comes in the order in which it was.
              ...(given["updatedSince"] && { orderBy: ["UPDATED_AT_ASC", "PRIMARY_KEY_ASC"] }),
            },
          );
          if (rest.status >= 400 || errors) {
            const { code, statusCode, details } = errors?.[0]?.extensions ?? {};
            const paths = (found: unknown) =>
              (found as { path: string }[] | undefined)?.map(({ path }) => path);
            // In GraphQL a page is asked for in its own words, and may be empty.
            const named = paths(rest.body.details)?.map((path) => (path === "limit" ? "first" : path));
            return expect([statusCode, code, paths(details)]).toEqual([rest.status, rest.body.error, named]);
          }
          const { total, ...lists } = rest.body;
          const [items] = Object.values<Values[]>(lists);
          found += items!.length;
          expect([data[field].totalCount, data[field].nodes]).toEqual([
            total,
            items!.map((item) => ({ [id]: item[id] })),
          ]);
        }),
        { ...RUNS, examples: statuses.map((status) => [{ given: {}, status, limit: 200, offset: 0 }]) },
      );
      expect(found).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );
});

test("what an operator's rules refuse since the server has started is answered with their code, status and sentence", async () => {
  const refusing = (detail: string, status = 409) =>
    service.database.owner.query(`
      create or replace function app_private.enough() returns trigger language plpgsql as $$
      begin
        raise exception using errcode = 'PT${status}', detail = '${detail}', message = 'There are enough needs.';
      end $$`);
  await refusing("enough_for_2026");
  await service.database.owner.query(`
    create trigger enough before insert on app_public.needs for each row execute function app_private.enough()`);
  try {
    const { need } = RECORDS;
    const input = {
      orgUri: ORG,
      orgName: "River",
      declaredByEmail: admin,
      needDescription: "x",
      accelerators: ["PRA"],
    };
    const outcome = { code: "enough_for_2026", status: 409, details: undefined };
    expect(await create(need, input)).toEqual([outcome, outcome]);
    await refusing("enough_for_2026", 403);
    const later = { ...outcome, status: 403 };
    expect(await create(need, input)).toEqual([later, later]);
    // The status of one that the server was built with is agreed.
    await refusing("need_not_found", 403);
    const agreed = { code: "need_not_found", status: 404 };
    expect(await create(need, input)).toMatchObject([agreed, agreed]);
    // Without app_private.refuse there may be anything where the code is looked for.
    await refusing("Enough for this year.");
    const failure = { code: "internal_error", status: 500, details: undefined };
    expect(await create(need, input)).toEqual([failure, failure]);
  } finally {
    await service.database.owner.query("drop function app_private.enough cascade");
  }
});
