// What becomes of a command of the operator's tool whose answer cannot be written, or not all of it.
import { existsSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { run } from "./support/process.ts";
import type { Outcome } from "./support/process.ts";

// Where nothing can be written; other systems have no such file.
const FULL = "/dev/full";

let database: TestDatabase;
let dir: string;
beforeAll(async () => {
  database = await createTestDatabase();
  dir = await mkdtemp(join(tmpdir(), "engagement-graph-output-"));
});
afterAll(async () => {
  await database.drop();
  await rm(dir, { recursive: true });
});

/** Runs one of the operator's programs by a shell, which says where to. */
const shell = (command: string, before = ""): Promise<Outcome> =>
  run("sh", ["-c", `${before} exec "${process.execPath}" admin/${command}`], { DATABASE_URL: database.url });
const keys = async () =>
  (await database.owner.query("select label, expires_at from app_private.api_keys order by created_at")).rows;
const line = (reason: string) => expect.stringMatching(new RegExp(`^\\w+: standard output: ${reason}.*\\n$`));

(existsSync(FULL) ? describe : describe.skip)("where nothing can be written", () => {
  test("no key is issued, nor another one's time cut short", async () => {
    expect(await shell(`main.ts keys issue --label one --scope api_read > ${FULL}`)).toEqual({
      ...{ code: 2, stdout: "", stderr: line("ENOSPC") },
    });
    expect(await keys()).toEqual([]);
    const issued = await shell("main.ts keys issue --label two --scope api_read --json");
    expect(issued).toMatchObject({ code: 0, stderr: "" });
    const { keyId } = JSON.parse(issued.stdout);
    expect(await shell(`main.ts keys rotate ${keyId} > ${FULL}`)).toMatchObject({
      code: 2,
      stderr: line("ENOSPC"),
    });
    expect(await keys()).toEqual([{ label: "two", expires_at: null }]);
  });

  test.each([
    "main.ts --help",
    "main.ts keys list --json",
    "main.ts keys show none --json",
    "migrate.ts --help",
  ])("a command has failed, and says so in one line: %s", async (command) => {
    const { code, stderr } = await shell(`${command} > ${FULL}`);
    expect([code, stderr.split("\n")]).toEqual([2, [expect.stringMatching(/^(error|migrate): /), ""]]);
  });

  test("what goes wrong has its exit code though nobody can be told", async () => {
    expect(await shell(`main.ts keys show none 2> ${FULL}`)).toMatchObject({ code: 2 });
    expect(await shell(`main.ts keys list 2> ${FULL}`)).toMatchObject({ code: 0 });
  });
});

test("an answer of which only a part can be written has failed", async () => {
  const file = join(dir, "help");
  const outcome = await shell(`main.ts keys issue --help > ${file}`, "ulimit -f 1;");
  expect(outcome).toEqual({ code: 2, stdout: "", stderr: line("EFBIG") });
  expect((await stat(file)).size).toBeGreaterThan(0);
});

test("an answer is written whole, also to a pipe that refuses what it cannot take yet", async () => {
  // Whoever looks at Node's own stream makes it one.
  const program = `
    process.stdout.write("");
    const { writeOut } = await import("./admin/output.ts");
    writeOut("ñ".repeat(1_000_000));`;
  const { code, stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", program]);
  expect([code, stderr, stdout.length]).toEqual([0, "", 1_000_000]);
});
