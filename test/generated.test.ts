// What is generated from the database is committed and up to date.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
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
