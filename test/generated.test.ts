// What is generated from the database is committed and up to date.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { choices } from "../db/catalog.ts";
import { createPool } from "../db/pool.ts";
import { permissionChecks } from "../generate/authorization-tables.ts";
import { checksumsFile } from "../generate/checksums.ts";
import type { Logins } from "../generate/generated.ts";
import { GENERATED } from "../generate/index.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { ROOT } from "./support/process.ts";

let database: TestDatabase;
let logins: Logins;
beforeAll(async () => {
  database = await createTestDatabase();
  logins = { owner: database.owner, server: createPool(database.serverUrl) };
});
afterAll(async () => {
  await logins.server.end();
  await database.drop();
});

test.each(await Promise.all(GENERATED.map((generated) => generated())))(
  "$file is up to date with the database; `npm run generate` rewrites it",
  async ({ file, text }) => {
    const written = await readFile(join(ROOT, file), "utf8");
    expect(written).toBe(await text(logins, written));
  },
);

test("new migrations get their checksums in order, behind those that have one, which is not made again", async () => {
  const namesOf = (text: string) => text.split("\n").map((line) => line.split("  ")[1]);
  const all = await checksumsFile.text(logins, "");
  const migrations = (await readdir(join(ROOT, "db/migrations"))).filter((name) => name.endsWith(".sql"));
  expect(namesOf(all)).toEqual([...migrations.toSorted(), undefined]);
  const second = `${"0".repeat(64)}  ${namesOf(all)[1]}\n`;
  const rest = all.split("\n").toSpliced(1, 1).join("\n");
  expect(await checksumsFile.text(logins, second)).toBe(`${second}${rest}`);
});

test("every permission that a role has is asked for somewhere, and every one that is asked for is some role's", async () => {
  const { rows } = await database.owner.query<{ permission: string }>(
    `select permission from app_public.organization_permissions
     union select permission from app_public.platform_permissions`,
  );
  const asked = (await permissionChecks(database.owner)).map((check) => check.permission);
  expect(asked.toSorted()).toEqual(rows.map((row) => row.permission).toSorted());
});

/** The rows of a table in a page, each by the headings of its columns; what is written as code is without its marks. */
function rowsOf(page: string, name: string): Record<string, string>[] {
  const [, behind = ""] = page.split(`<!-- table: ${name} -->`);
  const [table = ""] = behind.split("<!-- end -->");
  const [headings = [], , ...rows] = table
    .trim()
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("`", "")),
    );
  return rows.map((cells) =>
    Object.fromEntries(headings.map((heading, column) => [heading, cells[column]!])),
  );
}

describe("docs/authorization.md, whose tables only the program knows that writes them, tells", () => {
  let page: string;
  beforeAll(async () => {
    page = await readFile(join(ROOT, "docs/authorization.md"), "utf8");
  });

  test.each(["organization", "platform"])("which role in the %s has which permission", async (kind) => {
    const { rows: granted } = await database.owner.query<{ role: string; permission: string }>(
      `select role::text, permission from app_public.${kind}_permissions`,
    );
    const { rows: roles } = await database.owner.query<{ role: string }>(
      `select unnest(enum_range(null::app_public.${kind}_role))::text as role`,
    );
    const told = rowsOf(page, `${kind}-roles`).flatMap(({ permission, ...cells }) =>
      Object.entries(cells).map(([role, cell]) => `${permission} ${role} ${cell}`),
    );
    const permissions = [...new Set(granted.map(({ permission }) => permission))];
    const has = new Set(granted.map(({ permission, role }) => `${permission} ${role}`));
    const right = permissions.flatMap((permission) =>
      roles.map(({ role }) => `${permission} ${role} ${has.has(`${permission} ${role}`) ? "yes" : "–"}`),
    );
    expect(told.toSorted()).toEqual(right.toSorted());
  });

  test("with which scope a function can be called, and with which it cannot", async () => {
    const scopes = rowsOf(page, "scopes").map(
      ({ scope, ...rest }) => [scope!, Object.values(rest).join()] as const,
    );
    expect(scopes.map(([scope]) => scope)).toEqual(choices["api_keys.scope"]);
    const functions = scopes.map(([, told]) => (told === "none; it reads" ? [] : told.split(", ")));
    // Whoever acts through a function acts by a scope.
    expect(functions.flat()).toEqual(
      expect.arrayContaining(rowsOf(page, "persons").map(({ function: name }) => name)),
    );
    for (const [place, [scope]] of scopes.entries()) {
      const { rows } = await database.owner.query<{ name: string; may: boolean }>(
        `select p.proname::text as name, bool_and(has_function_privilege($1, p.oid, 'execute')) as may
         from pg_proc as p where p.pronamespace = 'app_public'::regnamespace and p.proname = any ($2)
         group by p.proname`,
        [scope, functions.flat()],
      );
      const may = rows.filter((row) => row.may).map(({ name }) => name);
      expect([scope, may.toSorted()]).toEqual([
        scope,
        functions
          .slice(0, place + 1)
          .flat()
          .toSorted(),
      ]);
    }
  });

  test("which functions a person may call, and which argument names them", async () => {
    const { rows } = await database.owner.query<{ name: string; may: boolean; arguments: string[] }>(
      `select proname::text as name, has_function_privilege('api_person', oid, 'execute') as may, proargnames as arguments
       from pg_proc where pronamespace = 'app_public'::regnamespace`,
    );
    const found = new Map(rows.map((row) => [row.name, row]));
    const told = rowsOf(page, "persons");
    expect(told.length).toBeGreaterThan(10);
    for (const { function: name, "who acts with a key": who, "with a person's token": token } of told) {
      const { may, arguments: names } = found.get(name!)!;
      expect([name, token]).toEqual([name, may ? "that person" : "refused: no GRANT"]);
      const [, actor] = /^whom (\w+) names$/.exec(who!) ?? [];
      if (actor === undefined) expect([name, who]).toEqual([name, "nobody; it looks somebody up"]);
      else expect([name, names]).toEqual([name, expect.arrayContaining([actor])]);
    }
  });
});
