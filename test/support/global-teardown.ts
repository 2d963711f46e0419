import { rm } from "node:fs/promises";

export default async function globalTeardown(): Promise<void> {
  await globalThis.testPostgres?.stop();
  await rm(process.env["TEST_POSTGRES_DIR"]!, { recursive: true, force: true });
}
