// What is taken for the value of an option, by every command of the operator's tool.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Command } from "commander";
import { AdminContext } from "../admin/context.ts";
import { buildProgram } from "../admin/main.ts";
import { loadConfig } from "../config.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { tool } from "./support/tool.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Each option that takes a value, with the words of its command. */
const options = (
  command: Command,
  words: string[] = [],
): { words: string[]; long: string; flags: string }[] => [
  ...command.options
    .filter(({ required }) => required)
    .map(({ long, flags }) => ({ words, long: long!, flags })),
  ...command.commands.flatMap((part) => options(part, [...words, part.name()])),
];
const all = options(buildProgram(new AdminContext(loadConfig({}))));

test("no option is taken for the value of another", async () => {
  expect(all.length).toBeGreaterThan(30);
  for (const { words, long, flags } of all) {
    for (const value of ["--help", "--json", "--no-such", "--"]) {
      const { code, stdout, stderr } = await tool([...words, long, value], {
        DATABASE_URL: "postgres://nowhere.invalid/x",
      });
      expect({ words, code, stdout, stderr }).toEqual({
        ...{ words, code: 2, stdout: value === "--json" ? expect.stringContaining('"usage"') : "" },
        stderr: expect.stringContaining(
          `error: option '${flags}' argument missing; one that begins so is written ${long}=${value}\n`,
        ),
      });
    }
  }
});

test("a value that begins so is one behind a sign of equality, and others need none", async () => {
  const issued = async (...label: string[]) => {
    const { stdout } = await tool(["keys", "issue", ...label, "--scope", "api_read", "--json"], {
      DATABASE_URL: database.url,
    });
    return JSON.parse(stdout).label as string;
  };
  expect(await issued("--label=--help")).toBe("--help");
  expect(await issued("--label", "-x")).toBe("-x");
  expect(await issued("--label", "a --help")).toBe("a --help");
});

test("what stands behind two dashes is no option", async () => {
  const { code, stderr } = await tool(["keys", "show", "--", "--label", "--help"], {
    DATABASE_URL: database.url,
  });
  expect([code, stderr]).toEqual([2, expect.stringContaining("too many arguments")]);
});
