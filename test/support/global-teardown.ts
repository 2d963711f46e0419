import { rm } from "node:fs/promises";

export default async function globalTeardown(): Promise<void> {
  await globalThis.testPostgres?.stop();
  for (const folder of [process.env["TEST_POSTGRES_DIR"], globalThis.testFolder]) {
    if (folder) await rm(folder, { recursive: true, force: true });
  }
}
