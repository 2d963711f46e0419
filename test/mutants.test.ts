// Mistakes are data that go stale with the code: each must still be one that can be made.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { mistaken } from "../mutants/mistake.ts";
import { MISTAKES } from "../mutants/mistakes/index.ts";

const root = join(import.meta.dirname, "..");

test.each(MISTAKES)("$file: $rule", (mistake) => {
  const text = readFileSync(join(root, mistake.file), "utf8");
  expect(mistaken(mistake, text)).not.toBe(text);
  expect(mistake.tests.filter((name) => !existsSync(join(root, `test/${name}.test.ts`)))).toEqual([]);
});

test("there are enough of them, and few are given up", () => {
  expect(MISTAKES.length).toBeGreaterThanOrEqual(150);
  expect(MISTAKES.filter(({ survives }) => survives).length).toBeLessThan(MISTAKES.length / 10);
});

test("no rule is named twice", () => {
  const names = MISTAKES.map(({ file, rule }) => `${file}: ${rule}`);
  expect(new Set(names).size).toBe(names.length);
});
