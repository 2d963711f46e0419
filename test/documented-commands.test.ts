// Each command that a page, an example or a file of the deployment names is one that there is, with the options that it takes.
import { readFile } from "node:fs/promises";
import { globSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import type { Command } from "commander";
import { AdminContext } from "../admin/context.ts";
import { buildProgram } from "../admin/main.ts";
import { loadConfig } from "../config.ts";
import { DEMO_KEY, DEMO_KEY_ID } from "../db/demo/load.ts";
import { ROOT } from "./support/process.ts";

const FILES = [
  ...["README.md", "CONTRIBUTING.md", "docker-compose.yml"],
  ...globSync(["docs/*.md", "deploy/**/*.*"], { cwd: ROOT }).toSorted(),
];
const texts = new Map<string, string>();
beforeAll(async () => {
  for (const file of FILES) texts.set(file, await readFile(join(ROOT, file), "utf8"));
});

/** What is found in any of the files, each with its file. */
function named(pattern: RegExp): { file: string; text: string }[] {
  return [...texts].flatMap(([file, text]) =>
    // A command that goes on in the next line is one.
    [...text.replaceAll(/\\\n#?\s*/g, " ").matchAll(pattern)].map((match) => ({ file, text: match[1]! })),
  );
}

test("npm has each script that is named", async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const run = named(/\bnpm run ([a-z][a-z:]*)/g);
  expect(run.length).toBeGreaterThan(40);
  expect(run.filter(({ text }) => scripts[text] === undefined)).toEqual([]);
});

test("the operator's tool has each command that is named, with each of its options", () => {
  // Each of them in a process of its own would take half a minute; that a process shows its help is in test/cli.
  const program = buildProgram(new AdminContext(loadConfig({})));
  const subjects = program.commands.map((subject) => subject.name());
  expect(subjects).toEqual(expect.arrayContaining(["keys", "people-groups", "authorization"]));
  const calls = [
    ...named(/npm run admin -- (?!…)([^`\n|]*)/g),
    ...named(/docker compose run --rm admin ([^`\n|]*)/g),
    // In prose a command is named without what stands before all of them.
    ...named(new RegExp(`\`((?:${subjects.join("|")}) [a-z-]+(?: [^\`]*)?)\``, "g")),
  ].map(({ file, text }) => {
    const words = text
      .replaceAll(/"[^"]*"/g, "text")
      .trim()
      .split(/\s+/);
    const command = words.slice(0, 2).filter((word) => /^[a-z-]+$/.test(word) && !word.startsWith("--"));
    return { file, command, options: words.filter((word) => /^--[a-z]/.test(word)) };
  });
  expect(calls.length).toBeGreaterThan(30);
  for (const { file, command, options } of calls) {
    const name = command.join(" ");
    let found: Command | undefined = program;
    for (const word of command) found = found?.commands.find((each) => each.name() === word);
    expect([file, name, found?.name()]).toEqual([file, name, command.at(-1) ?? program.name()]);
    const known = [...found!.helpInformation().matchAll(/(?<=^ .*)--[a-z-]+/gm)].map(([option]) => option);
    for (const option of options)
      expect([file, name, known]).toEqual([file, name, expect.arrayContaining([option])]);
  }
});

test("the demo's key and its id are the ones that are printed", () => {
  const keys = named(/\b(ek_demo-[\w-]+)/g).map(({ text }) => text);
  expect(new Set(keys)).toEqual(new Set([DEMO_KEY]));
  expect(named(/keys revoke ([0-9a-f]{8}-[0-9a-f-]+)/g).map(({ text }) => text)).toEqual([DEMO_KEY_ID]);
});
