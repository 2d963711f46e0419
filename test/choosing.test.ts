// Lists to choose from while typing: organizations, people groups, countries.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, DEPRECATED_CODE, ORG, OTHER_ORG, stranger } from "./support/world.ts";

const PROPOSED = "https://data.example.org/org/not-yet";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.database.owner.query(`
    insert into app_public.organizations (org_uri, name, type, website, domain, status) values
      ('https://data.example.org/org/a', 'École 100% Vive', 'school', 'https://ecole.example/', null, 'active'),
      ('https://data.example.org/org/b', 'Trust of the Harbor', null, null, 'trust.example', 'active'),
      ('${PROPOSED}', 'Harbor Newcomers', null, null, 'new.example', 'proposed');
    insert into app_public.people_groups (rop3, name) values
      ('109392', 'Somali'), ('109393', 'Garre, Somali'), ('104425', 'Kurux');`);
});
afterAll(() => service.stop());

const get = async (path: string) => {
  const { status, body } = await call(`${service.url}/v0/${path}`, "GET", service.keys.read);
  return { status, ...(body as Record<string, never>) } as Record<string, unknown>;
};
const found = async (list: "organizations" | "people-groups" | "countries", q: string, rest = "") => {
  const [member, id] = {
    organizations: ["organizations", "orgName"],
    "people-groups": ["peopleGroups", "peopleGroupName"],
    countries: ["countries", "countryCode"],
  }[list] as [string, string];
  const { status, total, ...body } = await get(`${list}?q=${encodeURIComponent(q)}${rest}`);
  expect(status).toBe(200);
  const names = (body[member] as Record<string, string>[]).map((item) => item[id]!);
  if (rest === "") expect(total).toBe(names.length);
  return names;
};

describe("organizations", () => {
  test("are listed by name, in pages, whatever the key may do", async () => {
    expect(await get("organizations?limit=2&offset=1")).toEqual({
      status: 200,
      total: 4,
      organizations: [
        {
          orgUri: OTHER_ORG,
          orgName: "Harbor Trust",
          orgType: null,
          orgWebsite: null,
          orgDomain: "harbor.example",
        },
        {
          orgUri: ORG,
          orgName: "River Mission",
          orgType: null,
          orgWebsite: null,
          orgDomain: "river.example",
        },
      ],
    });
  });

  test.each([
    ["harbor", ["Harbor Trust", "Trust of the Harbor"]],
    ["  TRUST  har ", ["Harbor Trust", "Trust of the Harbor"]],
    ["trust", ["Trust of the Harbor", "Harbor Trust"]],
    [" trust", ["Trust of the Harbor", "Harbor Trust"]],
    ["river.exa", ["River Mission"]],
    ["iver", ["River Mission"]],
    ["ecole", ["École 100% Vive"]],
    ["100%", ["École 100% Vive"]],
    ["%", ["École 100% Vive"]],
    ["_", []],
    ["\\", []],
    ["\\ecole", []],
    ["river harbor", []],
    ["newcomers", []],
    [" ", ["École 100% Vive", "Harbor Trust", "River Mission", "Trust of the Harbor"]],
  ])("that have %j", async (q, names) => {
    expect(await found("organizations", q)).toEqual(names);
  });

  test("are read by their URI; one that is not public is not there", async () => {
    const item = { orgUri: ORG, orgName: "River Mission", orgDomain: "river.example" };
    expect(await get(`organizations?orgUri=${encodeURIComponent(ORG)}`)).toMatchObject({
      total: 1,
      organizations: [item],
    });
    expect(await get(`organizations/${encodeURIComponent(ORG)}`)).toMatchObject({ status: 200, ...item });
    expect(await get(`organizations?orgUri=${encodeURIComponent(PROPOSED)}`)).toMatchObject({ total: 0 });
    for (const absent of [PROPOSED, `${ORG}x`]) {
      expect(await get(`organizations/${encodeURIComponent(absent)}`)).toMatchObject({
        status: 404,
        error: "organization_not_found",
      });
    }
    expect(await get("organizations/river-mission")).toMatchObject({
      status: 400,
      error: "validation_failed",
    });
    expect(await found("organizations", "harbor", `&orgUri=${encodeURIComponent(OTHER_ORG)}`)).toEqual([
      "Harbor Trust",
    ]);
  });

  test("a key of the database cannot read one that is not public either", async () => {
    const client = await service.database.owner.connect();
    try {
      await client.query("begin");
      await client.query("set local role api_review");
      const { rows } = await client.query("select org_uri from app_private.organizations_named('newcomers')");
      expect(rows).toEqual([]);
    } finally {
      client.release(true);
    }
  });

  test("a new one appears when its claim is approved", async () => {
    const owner = service.database.owner;
    await owner.query(
      `insert into app_public.platform_roles (user_id, role)
       select user_id, 'admin' from app_public.users where email = $1`,
      [admin],
    );
    const claimed = await call(`${service.url}/v0/onboarding/claim-org`, "POST", service.keys.write, {
      userEmail: stranger,
      firstName: "Ana",
      lastName: "Lima",
      roles: ["translator"],
      orgName: "Lantern Works",
      isNewOrg: true,
    });
    expect(claimed.status).toBe(200);
    expect(await found("organizations", "lantern")).toEqual([]);
    const reviewed = await call(`${service.url}/v0/admin/claims/review`, "POST", service.keys.review, {
      claimId: claimed.body.claimId,
      action: "approve",
      adminEmail: admin,
    });
    expect(reviewed.status).toBe(200);
    expect(await found("organizations", "lantern")).toEqual(["Lantern Works"]);
    await owner.query("update app_public.organizations set status = 'proposed' where name = 'Lantern Works'");
  });
});

describe("people groups", () => {
  test.each([
    ["somali", ["Somali", "Garre, Somali"]],
    ["10939", ["Garre, Somali", "Somali"]],
    ["garre SOM", ["Garre, Somali"]],
    ["gar SOMALI", ["Garre, Somali"]],
    ["nobody", []],
  ])("that have %j", async (q, names) => {
    expect(await found("people-groups", q)).toEqual(names);
  });

  test("of one name come in the order of their codes", async () => {
    const { owner } = service.database;
    await owner.query(
      "insert into app_public.people_groups (rop3, name) values ('300002', 'Twins'), ('300001', 'Twins')",
    );
    try {
      const { peopleGroups } = await get("people-groups?q=twins");
      expect((peopleGroups as { peopleGroupRop3: string }[]).map((each) => each.peopleGroupRop3)).toEqual([
        ...["300001", "300002"],
      ]);
    } finally {
      await owner.query("delete from app_public.people_groups where name = 'Twins'");
    }
  });

  test("are listed by name, in pages", async () => {
    expect(await get("people-groups?limit=1&offset=2")).toEqual({
      status: 200,
      total: 3,
      peopleGroups: [{ peopleGroupRop3: "109392", peopleGroupName: "Somali" }],
    });
  });
});

describe("countries", () => {
  test.each([
    ["KE", ["KE", "CC"]],
    ["ken", ["KE"]],
    ["cote d", ["CI"]],
    ["ivory", ["CI"]],
    ["burma", ["MM"]],
    ["korea", ["KP", "KR"]],
    ["qx", []],
  ])("that have %j", async (q, codes) => {
    expect((await found("countries", q)).slice(0, 2)).toEqual(codes);
  });

  test.each([
    ["KE", "KE"],
    [" ken ", "KE"],
    ["Côte d'Ivoire", "CI"],
    ["falkland islands", "FK"],
    [" Falkland Islands ", "FK"],
    ["Holy See (Vatican City State)", "VA"],
    ["holy see", "VA"],
    ["british virgin islands", "VG"],
    ["Virgin Islands, British", "VG"],
    ["Falkland", null],
  ])("of which %j is meant by its name as a whole, in one of its forms", async (named, alpha2) => {
    const { rows } = await service.database.owner.query("select app_private.country_of($1) as alpha2", [
      named,
    ]);
    expect(rows).toEqual([{ alpha2 }]);
  });

  test("are all listed, in one answer", async () => {
    const { rows } = await service.database.owner.query(
      "select count(*)::integer as n from app_public.countries",
    );
    const { total, countries } = await get("countries");
    expect([total, (countries as object[]).length]).toEqual([rows[0].n, rows[0].n]);
    expect((countries as object[])[0]).toEqual({
      countryCode: "AF",
      countryCodeAlpha3: "AFG",
      countryName: "Afghanistan",
    });
    // In the order of their names, whatever signs are on them.
    const codes = (countries as { countryCode: string }[]).map(({ countryCode }) => countryCode);
    for (const order of [
      ["AF", "AX", "AL"],
      ["CR", "CI", "HR"],
      ["CU", "CW", "CY"],
      ["QA", "RE", "RO"],
    ])
      expect(codes.slice(codes.indexOf(order[0]!)).slice(0, 3)).toEqual(order);
  });
});

test("accelerators are listed by their codes, the deprecated ones too", async () => {
  const { accelerators, total } = await get("accelerators");
  expect(total).toBe(3);
  expect(
    (accelerators as Record<string, unknown>[]).map(({ code, prefLabel, deprecated }) => [
      ...[code, prefLabel, deprecated],
    ]),
  ).toEqual([
    [DEPRECATED_CODE, "Old", true],
    ["PRA", "Prayer", false],
    ["PRA-INT", "Intercession", false],
  ]);
});

test.each(["organizations", "people-groups", "countries"])(
  "%s: white space counts as left out",
  async (list) => {
    const all = await get(list);
    expect(all).toMatchObject({ status: 200, total: expect.any(Number) });
    for (const q of ["", " ", "\t\u00a0"])
      expect([q, await get(`${list}?q=${encodeURIComponent(q)}`)]).toEqual([q, all]);
  },
);

test("white space restricts nothing in SQL either", async () => {
  const { owner } = service.database;
  for (const q of ["", " ", "\t\u00a0"]) {
    const { rows } = await owner.query<{ parts: string[] }>("select app_private.parts_of($1) as parts", [q]);
    expect([q, rows[0]!.parts]).toEqual([q, ["%"]]);
  }
});

test.each(["organizations", "people-groups", "countries"])("%s refuses what nobody types", async (list) => {
  for (const q of ["x".repeat(201), "a\0b"]) {
    expect(await get(`${list}?q=${encodeURIComponent(q)}`)).toMatchObject({
      status: 400,
      error: "validation_failed",
    });
  }
});

test("parts of names are found in an index, also where a policy stands before the rows", async () => {
  const { owner } = service.database;
  await owner.query(`
    insert into app_public.organizations (org_uri, name)
      select 'https://data.example.org/org/many-' || n, 'Many ' || md5(n::text) from generate_series(1, 20000) as n;
    insert into app_public.people_groups (rop3, name)
      select lpad((200000 + n)::text, 6, '0'), 'Many ' || md5(n::text) from generate_series(1, 20000) as n;
    analyze app_public.organizations, app_public.people_groups`);
  const client = await owner.connect();
  try {
    for (const named of ["organizations_named", "people_groups_named"]) {
      await client.query("begin; set local role api_read");
      const { rowCount } = await client.query(`select from app_private.${named}('c4ca4238')`);
      const { rows } = await client.query(
        "select sum(seq_tup_read)::integer as read from pg_stat_xact_user_tables where relname in ('organizations', 'people_groups')",
      );
      await client.query("rollback");
      expect({ named, found: rowCount, read: rows[0].read }).toEqual({ named, found: 1, read: 0 });
    }
  } finally {
    client.release(true);
    await owner.query(`
      delete from app_public.organizations where name like 'Many %';
      delete from app_public.people_groups where name like 'Many %'`);
  }
});
