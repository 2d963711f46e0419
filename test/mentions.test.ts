// Comments and pages name files so that a reader can find them; a file that has moved must not be named by its old path.
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT } from "./support/process.ts";

const FILES = globSync(["**/*", ".ci/*", ".*.toml"], {
  cwd: ROOT,
  exclude: ["**/node_modules/**", ".data/**", "**/node_modules", ".data"],
});
const READ = FILES.filter((file) => /(\.(ts|sql|ttl|md|js|yml|toml|jsonc)|Dockerfile|run)$/.test(file));
// Names for files of an operator's, or of whoever writes a client.
const OF_THE_READER = /^(published-|src\/|codegen\.ts$)/;

/** The names of our kinds of files in comments, and anywhere in prose. */
function mentionsIn(file: string, text: string): string[] {
  const prose = file.endsWith(".md")
    ? text
    : [...text.matchAll(/\/\/.*|\/\*[\s\S]*?\*\/|^\s*--.*|^\s*#.*/gm)].map(([comment]) => comment).join("\n");
  return [...prose.matchAll(/(?<![\w/.{}-])((?:[\w-]+\/)*[\w.-]+\.(?:ts|sql|ttl))(?![\w-])/g)].map(
    ([, name]) => name!,
  );
}

test("every source file that a comment or a page names exists", async () => {
  const lost: string[] = [];
  for (const file of READ) {
    const text = await readFile(join(ROOT, file), "utf8").catch(() => "");
    for (const name of mentionsIn(file, text)) {
      if (OF_THE_READER.test(name)) continue;
      if (!FILES.some((known) => known === name || known.endsWith(`/${name}`)))
        lost.push(`${file} names ${name}`);
    }
  }
  expect(lost).toEqual([]);
});
