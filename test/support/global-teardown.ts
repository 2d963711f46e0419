import { rm } from "node:fs/promises";

export default async function globalTeardown(): Promise<void> {
  await globalThis.testPostgres?.stop();
  const dir = process.env["TEST_POSTGRES_DIR"];
  if (dir) await rm(dir, { recursive: true, force: true });
}
