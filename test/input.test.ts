// What is well-formed and what is not: the same answer from the schemas of REST and from the database alone.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client } from "pg";
import { columnOf } from "../records/record.ts";
import { ask } from "./support/graphql.ts";
import { call, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";
import { admin, DEPRECATED_CODE, ORG } from "./support/world.ts";

let service: TestService;
let psql: Client;
beforeAll(async () => {
  service = await startTestService();
  psql = new Client(service.database.serverUrl);
  await psql.connect();
});
afterAll(async () => {
  await psql.end();
  await service.stop();
});

const RECORDS = {
  needs: {
    path: "/v0/needs",
    valid: {
      orgUri: ORG,
      orgName: "River",
      declaredByEmail: admin,
      needDescription: "Prayer",
      accelerators: ["PRA"],
    },
  },
  commitments: {
    path: "/v0/commitments",
    valid: {
      orgUri: ORG,
      orgName: "River",
      declaredByEmail: admin,
      commitmentDescription: "We pray",
      acceleratorScope: ["PRA"],
    },
  },
  engagement_claims: {
    path: "/v0/engagement-claims/submit",
    valid: { orgUri: ORG, orgName: "River", claimedByEmail: admin, engagementAccelerators: ["PRA"] },
  },
} as const;
type Table = keyof typeof RECORDS;

const long = "x".repeat(10_001);
const many = (item: string) => Array.from({ length: 101 }, (_, i) => `${item}${i}`);

/** An address of so many characters, none of whose parts is too long. */
function address(length: number): string {
  const start = `${"a".repeat(64)}@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(59)}.example`;
  return start + "x".repeat(length - start.length);
}

/** Values that a field refuses, and the path that the refusal names if it is not the field itself. */
const REFUSED: [table: Table, field: string, value: unknown, path?: string][] = [
  ["needs", "orgUri", "river-mission"],
  ["needs", "orgUri", "ftp://data.example.org/org"],
  ["needs", "orgUri", "https://data.example.org/a b"],
  ["needs", "orgUri", "https://data.example.org/<script>"],
  ["needs", "orgUri", 'https://data.example.org/"} ; DROP ALL #'],
  ["needs", "orgUri", "https://"],
  ["needs", "orgUri", "https://user@data.example.org/"],
  ["needs", "orgUri", "https://data.example.org/%zz"],
  ["needs", "orgUri", "https://data.example.org/a\u202Ebc"],
  ["needs", "orgUri", "https://data.example.org/a/../b"],
  ["needs", "orgUri", `https://data.example.org/${"x".repeat(2048 - 24)}`],
  ["needs", "orgName", ""],
  ["needs", "orgName", " \t\n "],
  ["needs", "orgName", "x".repeat(201)],
  ["needs", "declaredByEmail", "ana"],
  ["needs", "declaredByEmail", "ana@river"],
  ["needs", "declaredByEmail", "ana@river..example"],
  ["needs", "declaredByEmail", "Ana <ana@river.example>"],
  ["needs", "declaredByEmail", "ana@river.example\r\nBcc: all@river.example"],
  ["needs", "declaredByEmail", `${"a".repeat(65)}@river.example`],
  ["needs", "declaredByEmail", address(255)],
  ["needs", "declaredByEmail", `ana@${"b".repeat(64)}.example`],
  ["needs", "needDescription", ""],
  ["needs", "needDescription", long],
  ["needs", "accelerators", []],
  ["needs", "accelerators", [""], "accelerators[0]"],
  ["needs", "accelerators", ["PRA", "P".repeat(65)], "accelerators[1]"],
  ["needs", "accelerators", many("PRA")],
  ["needs", "concernsPeopleGroupRop3", ["10442"], "concernsPeopleGroupRop3[0]"],
  ["needs", "concernsPeopleGroupRop3", ["104425", "1044256"], "concernsPeopleGroupRop3[1]"],
  ["needs", "concernsPeopleGroupRop3", ["１０４４２５"], "concernsPeopleGroupRop3[0]"],
  ["needs", "concernsCountryCode", ["ke"], "concernsCountryCode[0]"],
  ["needs", "concernsCountryCode", ["KE", "XX"], "concernsCountryCode[1]"],
  ["needs", "concernsCountryCode", ["KEN"], "concernsCountryCode[0]"],
  ["needs", "concernsCountryCode", many("KE")],
  ["needs", "concernsPeopleGroupRop3", many("1044")],
  ["commitments", "commitmentDescription", ""],
  ["commitments", "acceleratorScope", []],
  ["commitments", "concernsPeopleGroupRop3", many("1044")],
  ["commitments", "concernsPeopleGroupRop3", ["10442"], "concernsPeopleGroupRop3[0]"],
  ["commitments", "concernsCountryCode", ["KE", "XX"], "concernsCountryCode[1]"],
  ["commitments", "concernsCountryCode", many("KE")],
  ["commitments", "acceleratorScope", ["P".repeat(65)], "acceleratorScope[0]"],
  ["commitments", "orgName", ""],
  ["commitments", "orgUri", "river-mission"],
  ["commitments", "declaredByEmail", "ana"],
  ["commitments", "targetCompletionDate", "infinity"],
  ["commitments", "targetCompletionDate", "-infinity"],
  ["commitments", "targetCompletionDate", "10000-01-01"],
  ["commitments", "targetCompletionDate", "0044-03-15 BC"],
  ["engagement_claims", "claimedByEmail", "ana@"],
  ["engagement_claims", "engagementAccelerators", []],
  ["engagement_claims", "engagementAccelerators", ["P".repeat(65)], "engagementAccelerators[0]"],
  ["engagement_claims", "orgName", ""],
  ["engagement_claims", "orgUri", "river-mission"],
  ["engagement_claims", "peopleGroupName", "x".repeat(201)],
  ["engagement_claims", "countryName", "x".repeat(201)],
  ["engagement_claims", "peopleGroupRop3", "10442"],
  ["engagement_claims", "peopleGroupRog3", "k"],
  ["engagement_claims", "peopleGroupRog3", "K"],
  ["engagement_claims", "peopleGroupRog3", "KENY"],
  ["engagement_claims", "countryCode", "ke"],
  ["engagement_claims", "countryCode", "ZZ"],
  ["engagement_claims", "description", long],
];

const cases = REFUSED.map(([table, field, value, path = field]) => {
  const name = `${table}.${field} = ${JSON.stringify(value).slice(0, 60)}`;
  return { name, table, field, value, path };
});

function insertAlone(table: Table, input: Record<string, unknown>): Promise<unknown> {
  const columns = Object.keys(input).map(columnOf);
  return psql.query(
    `insert into app_public.${table} (${columns.join()}) values (${columns.map((_, i) => `$${i + 1}`).join()})`,
    Object.values(input),
  );
}

describe.each(cases)("$name", ({ table, field, value, path }) => {
  const { path: route, valid } = RECORDS[table];
  const input = { ...valid, [field]: value };

  test("is refused by REST", async () => {
    const answer = await call(`${service.url}${route}`, "POST", service.keys.write, input);
    expect(answer).toMatchObject({ status: 400, body: { error: "validation_failed", statusCode: 400 } });
    expect(answer.body.details.map((detail: { path: string }) => detail.path)).toContain(path);
  });

  test("is refused by the database alone", async () => {
    await psql.query("begin; set local role api_write");
    const error = await insertAlone(table, input).then(
      () => undefined,
      (refused: { hint: string }) => refused,
    );
    // Before anything is expected, or a test that fails would have all that follow it fail.
    await psql.query("rollback");
    expect(error).toMatchObject({ code: "PT400", detail: "validation_failed" });
    expect((JSON.parse(error!.hint) as { path: string }[]).map((detail) => detail.path)).toContain(path);
  });
});

const codes = (count: number) => Array.from({ length: count }, (_, i) => `PRA${i}`);

/** The other side of each bound: what is just well-formed, whatever the rules then say to it. */
const ACCEPTED: [table: Table, field: string, value: unknown][] = [
  ["needs", "orgUri", `https://data.example.org/${"x".repeat(2048 - 25)}`],
  ["needs", "orgName", "🌾".repeat(200)],
  ["needs", "orgName", `  ${"x".repeat(200)}\n`],
  ["needs", "needDescription", `  ${long.slice(1)}\n`],
  ["needs", "needDescription", "🌾".repeat(10_000)],
  ["needs", "declaredByEmail", address(254)],
  ["needs", "declaredByEmail", `ana@${"b".repeat(63)}.example`],
  ["needs", "accelerators", codes(100)],
  ["needs", "accelerators", ["P".repeat(64)]],
  ["needs", "concernsPeopleGroupRop3", Array.from({ length: 100 }, (_, i) => String(100_000 + i))],
  ["needs", "concernsCountryCode", ["KE", "TZ"]],
  ["commitments", "acceleratorScope", codes(100)],
  ["commitments", "targetCompletionDate", "2028-02-29"],
  ["commitments", "targetCompletionDate", "0001-01-01"],
  ["commitments", "targetCompletionDate", "9999-12-31"],
  ["engagement_claims", "engagementAccelerators", codes(100)],
  ["engagement_claims", "peopleGroupRog3", "KE"],
  ["engagement_claims", "peopleGroupRog3", "KEN"],
  ["engagement_claims", "description", ""],
  ["engagement_claims", "description", long.slice(1)],
];

describe.each(
  ACCEPTED.map(([table, field, value]) => {
    return { name: `${table}.${field} = ${JSON.stringify(value).slice(0, 60)}`, table, field, value };
  }),
)("$name", ({ table, field, value }) => {
  const { path: route, valid } = RECORDS[table];
  const input = { ...valid, [field]: value };

  test("is well-formed for REST", async () => {
    const { status, body } = await call(`${service.url}${route}`, "POST", service.keys.write, input);
    expect([201, 403, 422]).toContain(status);
    expect(body.error).not.toBe("validation_failed");
  });

  test("is well-formed for the database alone", async () => {
    await psql.query("begin; set local role api_write");
    const { code } = await insertAlone(table, input).then(
      () => ({ code: "created" }),
      (error: { code: string }) => error,
    );
    await psql.query("rollback");
    expect(["created", "PT403", "PT422"]).toContain(code);
  });
});

describe("REST refuses what does not have the shape of the request", () => {
  const { path, valid } = RECORDS.needs;
  const shapes: [string, unknown, number, string][] = [
    ["malformed JSON", "{", 400, "validation_failed"],
    ["JSON that is not an object", "[]", 400, "validation_failed"],
    ["a JSON string", '"need"', 400, "validation_failed"],
    ["no body", "", 400, "validation_failed"],
    ["a wrong type", { ...valid, orgName: 7 }, 400, "validation_failed"],
    ["a text for a list", { ...valid, accelerators: "PRA" }, 400, "validation_failed"],
    ["a null for a text", { ...valid, orgName: null }, 400, "validation_failed"],
    ["an unknown field", { ...valid, status: "met" }, 400, "validation_failed"],
    ["a NUL character", { ...valid, needDescription: "a\0b" }, 400, "validation_failed"],
    ["a NUL character in a code", { ...valid, accelerators: ["PRA\0"] }, 400, "validation_failed"],
    ["a body of 10 MB", { ...valid, needDescription: "x".repeat(10_000_000) }, 413, "payload_too_large"],
    [
      "an unknown accelerator code",
      { ...valid, accelerators: ["PRA", "NO-1", "NO-2"] },
      422,
      "unknown_accelerator_code",
    ],
    ["a deprecated code", { ...valid, accelerators: [DEPRECATED_CODE] }, 422, "unknown_accelerator_code"],
  ];
  test.each(shapes)("%s", async (_, body, status, code) => {
    const answer = await call(`${service.url}${path}`, "POST", service.keys.write, body);
    expect(answer).toMatchObject({ status, body: { error: code, statusCode: status } });
  });

  test("each missing field is named", async () => {
    const answer = await call(`${service.url}${path}`, "POST", service.keys.write, {});
    // Who acts may be left out, but not by a key: that is said once the rest is well-formed.
    const [actor] = Object.keys(valid).filter((name) => name.endsWith("ByEmail"));
    const named = ({ body }: Answer) => body.details.map((detail: { path: string }) => detail.path);
    expect(named(answer)).toEqual(Object.keys(valid).filter((name) => name !== actor));
    const nobodys = { ...valid, [actor!]: undefined };
    const refused = await call(`${service.url}${path}`, "POST", service.keys.write, nobodys);
    expect(refused.body.details).toEqual([{ path: actor, message: "is required" }]);
  });

  test("what only the rules can miss is said to be missing", async () => {
    const claim = {
      ...{ userEmail: "ana@elsewhere.example", firstName: "Ana", lastName: "Silva", roles: [] },
      ...{ orgName: "River", isNewOrg: false },
    };
    const refused = await call(`${service.url}/v0/onboarding/claim-org`, "POST", service.keys.write, claim);
    expect(refused.body.details).toEqual([{ path: "orgUri", message: "is required" }]);
  });

  test("what is at fault in the address and in a header is named as it was sent, all of it", async () => {
    const [claims, headers] = ["/v0/admin/claims?status=odd&limit=0", { "x-admin-email": "nobody" }];
    const { body } = await call(service.url + claims, "GET", service.keys.review, undefined, headers);
    expect(body.details).toEqual([
      { path: "status", message: expect.stringMatching(/^must be one of pending, /) },
      { path: "limit", message: "must be at least 1" },
      { path: "x-admin-email", message: "must be an e-mail address" },
    ]);
  });

  test("each unknown field is named", async () => {
    const unknown = { ...valid, status: "met", needDescriptions: "x" };
    const { body } = await call(`${service.url}${path}`, "POST", service.keys.write, unknown);
    expect(body.details).toEqual([
      { path: "status", message: "is not a field of this request" },
      { path: "needDescriptions", message: "is not a field of this request" },
    ]);
  });

  test("every bad code is named", async () => {
    const answer = await call(`${service.url}${path}`, "POST", service.keys.write, {
      ...valid,
      accelerators: ["PRA", "NO-1", "NO-2"],
    });
    expect(answer.body.message).toContain("NO-1");
    expect(answer.body.details.map((detail: { path: string }) => detail.path)).toEqual([
      "accelerators[1]",
      "accelerators[2]",
    ]);
  });

  test.each([
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["application/json; charset=iso-8859-1", 415],
    ["application/json; charset=utf-8", 201],
  ])("a body of type %s: %d", async (type, status) => {
    const answer = await call(`${service.url}${path}`, "POST", service.keys.write, JSON.stringify(valid), {
      "content-type": type,
    });
    expect(answer.status).toBe(status);
  });

  test.each([
    ["2027-02-30"],
    ["2027-2-3"],
    ["30.02.2027"],
    ["2027-06-30T00:00:00Z"],
    ["tomorrow"],
    ["0000-01-01"],
  ])("targetCompletionDate %s", async (targetCompletionDate) => {
    const commitment = { ...RECORDS.commitments.valid, targetCompletionDate };
    const answer = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, commitment);
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: "targetCompletionDate" }] } });
  });

  test.each([
    ["needs", "accelerators"],
    ["commitments", "acceleratorScope"],
    ["engagement_claims", "engagementAccelerators"],
  ] as const)("%s: a code that is not in the scheme, or deprecated, is named", async (table, field) => {
    const { path: route, valid: record } = RECORDS[table];
    // In the order in which they were given, which is not that of their letters.
    const sent = { ...record, [field]: ["PRA", "ZZ-1", DEPRECATED_CODE] };
    expect(await call(`${service.url}${route}`, "POST", service.keys.write, sent)).toMatchObject({
      status: 422,
      body: {
        error: "unknown_accelerator_code",
        details: [{ path: `${field}[1]` }, { path: `${field}[2]` }],
      },
    });
  });

  test.each([
    ["concernsNeedId", "/v0/commitments", RECORDS.commitments.valid, "unknown_need"],
    [
      "fulfillsCommitmentId",
      "/v0/engagement-claims/submit",
      RECORDS.engagement_claims.valid,
      "unknown_commitment",
    ],
  ])("%s", async (field, route, record, code) => {
    const send = (id: unknown) =>
      call(`${service.url}${route}`, "POST", service.keys.write, { ...record, [field]: id });
    expect(await send("not-a-uuid")).toMatchObject({ status: 400, body: { error: "validation_failed" } });
    expect(await send("00000000-0000-4000-8000-000000000000")).toMatchObject({
      status: 422,
      body: { error: code, details: [{ path: field }] },
    });
  });

  test.each([
    ["limit=0"],
    ["limit=201"],
    ["limit=ten"],
    ["limit="],
    ["limit=1.5"],
    ["limit=1&limit=2"],
    ["limit=0x10"],
    ["offset="],
    ["offset=-1"],
    ["offset=1e400"],
    ["status=done"],
    ["countryCode=ken"],
    ["rop3=12"],
    ["orgUri=a%00b"],
  ])("the query %s", async (query) => {
    const answer = await call(`${service.url}/v0/needs?${query}`, "GET", service.keys.read);
    expect(answer).toMatchObject({ status: 400, body: { error: "validation_failed" } });
  });
});

describe("a filter is as well-formed as the field that it is of", () => {
  test.each([
    ["needs", "rop3=10442"],
    ["needs", "rop3=1044256"],
    ["needs", "rop3=10442x"],
    ["needs", "countryCode=ke"],
    ["needs", "countryCode=KEN"],
    ["needs", "status=active"],
    ["needs", "accelerator=a%00b"],
    ["needs", "orgUri=a%00b"],
    ["needs", "q=a%00b"],
    ["needs", `q=${"x".repeat(201)}`],
    ["commitments", "status=open"],
    ["commitments", "orgUri=a%00b"],
    ["commitments", "concernsNeedId=1"],
    ["engagement-claims", "rop3=10442"],
    ["engagement-claims", "rop3=1044256"],
    ["engagement-claims", "countryCode=ke"],
    ["engagement-claims", "status=met"],
    ["engagement-claims", "orgUri=a%00b"],
    ["orgs/search", "min_lat=-90.5&max_lat=0&min_lng=0&max_lng=0"],
    ["orgs/search", "belief=jedi"],
    ["orgs/search", "format=xml"],
    ["orgs/search", `id=${"x".repeat(201)}`],
    ["orgs/search", `cursor=${"x".repeat(2001)}`],
    ["changes", "kind=person"],
    ["changes", "needId=1"],
    ["changes", "orgUri=a%00b"],
    ["changes", "after=a%00b"],
  ])("GET /v0/%s?%.60s", async (path, query) => {
    const { status, body } = await call(`${service.url}/v0/${path}?${query}`, "GET", service.keys.read);
    const at = expect.stringMatching(new RegExp(`^${query.split("=")[0]!}`));
    expect({ status, ...body }).toMatchObject({
      ...{ status: 400, error: "validation_failed", details: [{ path: at }] },
    });
  });
});

describe("what is stored comes back byte for byte", () => {
  const TEXTS = {
    emoji: "Prayer 🙏🏽 for 👨‍👩‍👧‍👦 families",
    "right to left": "الصلاة من أجل القرية \u200Fabc\u200E עברית",
    combining: "e\u0301 is not é, ﬁ is not fi",
    "SQL injection": "'); drop table app_public.needs; --",
    "SQL injection, dollar": "$1 $$; delete from app_public.needs; $$ \\'; select pg_sleep(10)",
    "SPARQL injection": '""" } } ; DROP ALL ; INSERT DATA { <urn:a> <urn:b> "c',
    "Turtle injection": '\\" . <urn:a> <urn:b> <urn:c> . \\u0022 \\',
    "line ends": "a\r\nb\nc\td",
    "the longest": "🙏".repeat(10_000),
    "lone quotes": `"'\`<>&%{}[]`,
  };
  test.each(Object.entries(TEXTS))("%s", async (_, text) => {
    const need = { ...RECORDS.needs.valid, needDescription: text };
    const created = await call(`${service.url}/v0/needs`, "POST", service.keys.write, need);
    expect(created.status).toBe(201);
    const read = await call(`${service.url}/v0/needs/${created.body.needId}`, "GET", service.keys.read);
    expect(read.body).toMatchObject({ needDescription: text });

    const data = await ask(service, "query ($needId: UUID!) { need(needId: $needId) { needDescription } }", {
      needId: created.body.needId,
    });
    expect(data.need).toEqual({ needDescription: text });
  });

  test("a filter is compared, never run", async () => {
    const orgUri = encodeURIComponent("' or '1'='1");
    const answer = await call(`${service.url}/v0/needs?orgUri=${orgUri}`, "GET", service.keys.read);
    expect(answer.body).toEqual({ needs: [], total: 0 });
  });
});

test.each(["need", "commitment", "engagement_claim"])(
  "to change a %s, it and its status are named",
  async (kind) => {
    const change = (id: string | null, status: string | null) =>
      service.database.owner.query(`select app_public.update_${kind}_status($1, $2, $3)`, [
        id,
        status,
        admin,
      ]);
    const status = { need: "met", commitment: "funded" }[kind] ?? "paused";
    for (const [id, to, path] of [
      [null, status, kind === "engagement_claim" ? "claimId" : `${kind}Id`],
      ["00000000-0000-4000-8000-000000000001", null, "status"],
    ] as const)
      await expect(change(id, to)).rejects.toMatchObject({
        ...{ code: "PT400", detail: "validation_failed", message: `${path} is required.` },
      });
  },
);

test("what is missing is told apart from what is wrong", async () => {
  const { orgUri: _, ...record } = RECORDS.commitments.valid;
  const sent = { ...record, orgName: 5 };
  const details = [
    { path: "orgUri", message: "is required" },
    { path: "orgName", message: "must be text" },
  ];
  const answer = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, sent);
  expect(answer).toMatchObject({ status: 400, body: { error: "validation_failed", details } });
});

test("a list that need not be given may be null, and is empty then", async () => {
  const { owner } = service.database;
  const { rows: needs } = await owner.query(
    `select concerns_people_group_rop3 as groups, concerns_country_code as countries
     from app_public.declare_need($1, 'River', $2, 'Prayer', '{PRA}', null, null)`,
    [ORG, admin],
  );
  const { rows: commitments } = await owner.query(
    `select concerns_people_group_rop3 as groups, concerns_country_code as countries
     from app_public.declare_commitment($1, 'River', $2, 'We pray', '{PRA}', null, null, null)`,
    [ORG, admin],
  );
  expect([needs, commitments]).toEqual([[{ groups: [], countries: [] }], [{ groups: [], countries: [] }]]);
});

test("text is trimmed, lists lose their duplicates and keep the order of first mention", async () => {
  const created = await call(`${service.url}/v0/needs`, "POST", service.keys.write, {
    ...RECORDS.needs.valid,
    ...{ orgName: "  River\n", needDescription: "\tPrayer " },
    accelerators: ["PRA-INT", "PRA", "PRA-INT"],
    concernsCountryCode: ["UG", "KE", "UG"],
    concernsPeopleGroupRop3: ["104425", "100001", "104425"],
  });
  const read = await call(`${service.url}/v0/needs/${created.body.needId}`, "GET", service.keys.read);
  expect(read.body).toMatchObject({
    ...{ orgName: "River", needDescription: "Prayer" },
    accelerators: ["PRA-INT", "PRA"],
    concernsCountryCode: ["UG", "KE"],
    concernsPeopleGroupRop3: ["104425", "100001"],
  });
  const claim = await call(`${service.url}/v0/engagement-claims/submit`, "POST", service.keys.write, {
    ...RECORDS.engagement_claims.valid,
    ...{ orgName: " River ", peopleGroupName: " Somali\n", countryName: "\tKenya ", description: " \n" },
    engagementAccelerators: ["PRA-INT", "PRA", "PRA-INT"],
  });
  const shown = await call(
    `${service.url}/v0/engagement-claims/${claim.body.claimId}`,
    "GET",
    service.keys.read,
  );
  expect(shown.body).toMatchObject({
    ...{ orgName: "River", peopleGroupName: "Somali", countryName: "Kenya", description: null },
    engagementAccelerators: ["PRA-INT", "PRA"],
  });
  const commitment = await call(`${service.url}/v0/commitments`, "POST", service.keys.write, {
    ...RECORDS.commitments.valid,
    ...{ orgName: "River\t", commitmentDescription: " We pray\n" },
    acceleratorScope: ["PRA-INT", "PRA", "PRA-INT"],
    concernsCountryCode: ["UG", "KE", "UG"],
    concernsPeopleGroupRop3: ["104425", "100001", "104425"],
  });
  const promised = await call(
    `${service.url}/v0/commitments/${commitment.body.commitmentId}`,
    "GET",
    service.keys.read,
  );
  expect(promised.body).toMatchObject({
    ...{ orgName: "River", commitmentDescription: "We pray", acceleratorScope: ["PRA-INT", "PRA"] },
    ...{ concernsCountryCode: ["UG", "KE"], concernsPeopleGroupRop3: ["104425", "100001"] },
  });
  // All that is white space to JavaScript, but for the two that no text may contain; page breaks and marks of a file's beginning too.
  const around = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter(
    (each) => each.trim() === "" && !"\u2028\u2029".includes(each),
  );
  expect(around).toHaveLength(23);
  for (const each of around) {
    const { rows } = await service.database.owner.query<{ trimmed: string }>(
      "select app_private.trimmed($1) as trimmed",
      [`${each}${each} River${each}Bank ${each}`],
    );
    expect(rows).toEqual([{ trimmed: `River${each}Bank` }]);
  }
});
