import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT } from "./support/process.ts";

/** Each way in which the source raises a registered code; `status` is what it stands for where the text has none. */
const PATTERNS: readonly { folder: string; extension: string; pattern: RegExp; status?: string }[] = [
  { folder: "db/rules", extension: ".sql", pattern: /^ +\((\d{3}), '([a-z_]+)',/gm },
  { folder: "server", extension: ".ts", pattern: /\b(?:ApiError|refuse)\(\s*(\d{3}),\s*"([a-z_]+)"/g },
  { folder: "server", extension: ".ts", pattern: /\b(\d{3}): \["([a-z_]+)",/g },
  { folder: "server", extension: ".ts", pattern: /\bunauthorized\(\s*()"([a-z_]+)"/g, status: "401" },
  { folder: "server", extension: ".ts", pattern: /\bmissing: \{\s*()code: "([a-z_]+)"/g, status: "404" },
];

/** Each file of the rules, whole. */
async function rules(): Promise<string[]> {
  const folder = join(ROOT, "db/rules");
  return Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), "utf8")));
}

async function raised(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const { folder, extension, pattern, status } of PATTERNS) {
    const files = await readdir(join(ROOT, folder), { recursive: true });
    for (const file of files.filter((name) => name.endsWith(extension))) {
      const text = await readFile(join(ROOT, folder, file), "utf8");
      for (const match of text.matchAll(pattern)) found.add(`${status ?? match[1]!} ${match[2]!}`);
    }
  }
  return found;
}

async function registered(): Promise<string[]> {
  const page = await readFile(join(ROOT, "docs/errors.md"), "utf8");
  return [...page.matchAll(/^\| (\d{3}) +\| `([a-z_]+)` +\| (\S.*?) +\| (\S.*?) +\|$/gm)].map(
    ([, status, code]) => `${status!} ${code!}`,
  );
}

test("docs/errors.md registers every code that is raised, and none that is not", async () => {
  const [inSource, onPage] = await Promise.all([raised(), registered()]);
  expect([...inSource].toSorted()).toEqual(onPage.toSorted());
});

test("a code has one status and one row", async () => {
  const codes = (await registered()).map((entry) => entry.split(" ")[1]);
  expect(codes).toEqual([...new Set(codes)]);
});

test("the rules raise every code that app_private.errors() has, and no other", async () => {
  const texts = await rules();
  const codes = (pattern: RegExp) =>
    [...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map((match) => match[1]!)))].toSorted();
  expect(codes(/\bapp_private\.refuse\('([a-z_]+)'/g)).toEqual(codes(/^ +\(\d{3}, '([a-z_]+)',/gm));
});
