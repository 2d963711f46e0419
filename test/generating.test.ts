// npm run generate, in a copy of the project, and the places in documents that it fills.
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, jest, test } from "@jest/globals";
import { GENERATED } from "../generate/index.ts";
import { markdown, withTables } from "../generate/tables.ts";
import { ROOT } from "./support/process.ts";

// It starts a PostgreSQL of its own, which takes a while on a machine that is busy.
jest.setTimeout(600_000);

test("writes what is stale or missing, and nothing else, and leaves nothing behind", async () => {
  const base = await mkdtemp(join(tmpdir(), "engagement-graph-generating-"));
  const [project, temporary] = [join(base, "project"), join(base, "tmp")];
  try {
    // PostgreSQL runs as a user of its own, and has its data in there.
    await chmod(base, 0o755);
    await mkdir(temporary);
    await mkdir(project);
    // What is generated, and what that takes.
    const KEPT = /^(\.git|\.data|node_modules|secrets|imports|test|bench|mutants)$/;
    for (const name of (await readdir(ROOT)).filter((each) => !KEPT.test(each)))
      await cp(join(ROOT, name), join(project, name), { recursive: true });
    await symlink(join(ROOT, "node_modules"), join(project, "node_modules"));

    await rm(join(project, "schema.graphql"));
    const page = join(project, "docs/authorization.md");
    const right = await readFile(page, "utf8");
    await writeFile(page, right.replace(/(?<=<!-- table: scopes -->\n)[^]*?(?=<!-- end -->)/, ""));
    expect(await readFile(page, "utf8")).not.toBe(right);

    const { stdout } = await promisify(execFile)(process.execPath, ["generate/main.ts"], {
      cwd: project,
      env: { ...process.env, NODE_OPTIONS: "", TMPDIR: temporary },
    });
    const files = (await Promise.all(GENERATED.map((generated) => generated()))).map(({ file }) => file);
    const stale = ["schema.graphql", "docs/authorization.md"];
    expect(stdout.trimEnd().split("\n")).toEqual(
      files.map((file) => `${stale.includes(file) ? "written  " : "unchanged"}  ${file}`),
    );
    for (const file of files)
      expect([file, await readFile(join(project, file), "utf8")]).toEqual([
        file,
        await readFile(join(ROOT, file), "utf8"),
      ]);
    expect((await readdir(temporary)).filter((name) => name.startsWith("engagement-"))).toEqual([]);
  } finally {
    await rm(base, { recursive: true, force: true });
  }
});

test("fills each place with its table, whatever is in it, and leaves the text around them", () => {
  const page = (one: string, two: string) =>
    `# A page\n\n<!-- table: one -->\n${one}<!-- end -->\n\nand\n\n<!-- table: two-b -->\n${two}<!-- end -->\nend\n`;
  const tables = { one: markdown(["a", "b"], [["$&", "`longer`"]]), "two-b": "second" };
  const filled = page("\n| a   | b        |\n| --- | -------- |\n| $&  | `longer` |\n\n", "\nsecond\n\n");
  expect(withTables(page("", "old\n"), tables)).toBe(filled);
  expect(withTables(filled, tables)).toBe(filled);
});

test("stops at a table without a place, and at a place without a table", () => {
  const page = "<!-- table: one -->\n<!-- end -->\n";
  expect(() => withTables(page, { one: "1", two: "2" })).toThrow("There is no place for the table two.");
  expect(() => withTables(page, {})).toThrow("There is no table one for its place.");
});
