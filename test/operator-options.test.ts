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
          `error: option '${flags}' argument missing; if it is ${value}, write ${long}=${value}\n`,
        ),
      });
    }
  }
});

/** What a command does not do without, by its words: the rest of its line is as it should be. */
const NEEDED = {
  "keys issue": ["--label <text>", "--scope <scope>"],
  "orgs add": ["--uri <uri>", "--name <text>"],
  "members add": ["--org <uri>", "--email <email>", "--role <role>"],
  "members list": ["--org <uri>"],
  "members status": ["--org <uri>", "--email <email>", "--status <status>"],
  "users grant": ["--email <email>", "--role <role>"],
  "users revoke": ["--email <email>", "--role <role>"],
  "people export": ["--email <email>"],
  "people erase": ["--email <email>"],
  "authorization explain": ["--email <email>", "--org <uri>", "--permission <permission>"],
  "authorization who-can": ["--org <uri>", "--permission <permission>"],
};
/** Of those that take one of a few. */
const WORDS: Record<string, string> = { "--scope": "api_read", "--status": "active" };

test.each(
  Object.entries(NEEDED).flatMap(([command, flags]) => flags.map((flag) => [command, flag, flags] as const)),
)("%s asks for %s, and for no database before it has that", async (command, lacking, flags) => {
  const given = flags
    .filter((flag) => flag !== lacking)
    .flatMap((flag) => {
      const [name] = flag.split(" ") as [string];
      const role = command.startsWith("users") ? "support" : "org_admin";
      return [name, name === "--role" ? role : (WORDS[name] ?? "https://x.example/")];
    });
  const { code, stdout, stderr } = await tool([...command.split(" "), ...given], {
    DATABASE_URL: "postgres://nowhere.invalid/x",
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(new RegExp(`^error: required option '${lacking}' not specified\\n`));
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
