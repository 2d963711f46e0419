// The log of the embedded PostgreSQL, which nobody rotates.
import { mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import type { EmbeddedPostgres } from "../db/embedded.ts";

const LONG = 11 * 1024 * 1024;

let dir: string;
let log: string;
let postgres: EmbeddedPostgres;
beforeAll(async () => {
  dir = join(await mkdtemp(join(tmpdir(), "embedded-log-")), "postgres");
  log = join(dir, "postgres.log");
  await mkdir(dir);
  await writeFile(log, "what was before\n");
  await truncate(log, LONG);
  postgres = await startEmbeddedPostgres(dir, { fsync: "off" });
});
afterAll(async () => {
  await postgres.stop();
  await rm(join(dir, ".."), { recursive: true });
});

test("does not grow with what callers are refused, nor tell what they sent", async () => {
  const before = (await stat(log)).size;
  const client = new pg.Client(postgres.url);
  await client.connect();
  try {
    for (let i = 0; i < 50; i++) {
      await expect(client.query("select 'Jane Roe <jane@roe.example>'::integer")).rejects.toThrow();
    }
    await client.query("checkpoint");
  } finally {
    await client.end();
  }
  expect((await stat(log)).size).toBe(before);
  expect(await readFile(log, "utf8")).not.toContain("Jane");
});

test("is set aside at a start when it has become long", async () => {
  expect((await stat(`${log}.1`)).size).toBe(LONG);
  expect((await stat(log)).size).toBeLessThan(LONG);
});
