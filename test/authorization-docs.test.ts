// docs/authorization.md says what the database does. `UPDATE_DOCS=1 npm test -- test/authorization-docs` rewrites its
// tables; what stands around them is written by hand.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { authorizationTables, permissionChecks } from "./support/authorization-tables.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

const FILE = join(import.meta.dirname, "../docs/authorization.md");

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test("the tables of docs/authorization.md are those of the database", async () => {
  const text = await readFile(FILE, "utf8");
  const tables = await authorizationTables(database.owner);
  const places = [...text.matchAll(/<!-- table: ([\w-]+) -->\n([\s\S]*?)<!-- end -->/g)];
  expect(places.map((place) => place[1]!).toSorted()).toEqual(Object.keys(tables).toSorted());
  if (process.env["UPDATE_DOCS"] === "1") {
    const updated = places.reduce(
      (document, [whole, name]) =>
        document.replace(whole, () => `<!-- table: ${name} -->\n\n${tables[name!]}\n\n<!-- end -->`),
      text,
    );
    await writeFile(FILE, updated);
    return;
  }
  for (const [, name, written] of places) expect(written!.trim()).toBe(tables[name!]);
});

test("every permission that a role has is asked for somewhere, and every one that is asked for is some role's", async () => {
  const { rows } = await database.owner.query<{ permission: string }>(
    `select permission from app_public.organization_permissions
     union select permission from app_public.platform_permissions`,
  );
  const asked = (await permissionChecks(database.owner)).map((check) => check.permission);
  expect(asked.toSorted()).toEqual(rows.map((row) => row.permission).toSorted());
});
