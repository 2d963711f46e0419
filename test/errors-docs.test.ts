// Every error is registered once: those of the rules in db/rules/errors.sql, the server's own in server/errors.ts.
// docs/errors.md explains each, and each is raised somewhere.
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { errors as raisedByRules } from "../db/catalog.ts";
import { ERRORS } from "../server/errors.ts";
import { ROOT } from "./support/process.ts";

async function textOf(pattern: string, except: string): Promise<string> {
  const files = globSync(pattern, { cwd: ROOT }).filter((file) => file !== except);
  return (await Promise.all(files.map((file) => readFile(join(ROOT, file), "utf8")))).join("\n");
}

test("docs/errors.md explains every registered error, with its status, and no other", async () => {
  const page = await readFile(join(ROOT, "docs/errors.md"), "utf8");
  const explained = [...page.matchAll(/^\| (\d{3}) +\| `([a-z_]+)` +\| (\S.*?) +\| (\S.*?) +\|$/gm)].map(
    ([, status, code]) => `${status} ${code}`,
  );
  const registered = Object.entries(ERRORS).map(([code, [status]]) => `${status} ${code}`);
  expect(explained.toSorted()).toEqual(registered.toSorted());
});

test("the rules raise every error of db/rules/errors.sql, and no other", async () => {
  const rules = await textOf("db/rules/*.sql", "db/rules/errors.sql");
  const raised = new Set(
    [...rules.matchAll(/\bapp_private\.refuse\(\s*'([a-z_]+)'/g)].map(([, code]) => code!),
  );
  expect([...raised].toSorted()).toEqual(Object.keys(raisedByRules).toSorted());
});

test("the server raises every error of its own", async () => {
  const source = await textOf("server/**/*.ts", "server/errors.ts");
  const own = await readFile(join(ROOT, "server/errors.ts"), "utf8");
  const raising = `${source}\n${own.slice(own.indexOf("export function apiErrorFrom"))}`;
  const never = Object.keys(ERRORS).filter(
    (code) => !(code in raisedByRules) && !raising.includes(`"${code}"`),
  );
  expect(never).toEqual([]);
});
