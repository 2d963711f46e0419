// npm run generate: rewrites the generated files from the database that the migrations
// and rules in this tree create.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import { serverLogin } from "../db/logins.ts";
import { migrate } from "../db/migrate.ts";
import { createOwnerPool, createPool } from "../db/pool.ts";
import { GENERATED } from "./index.ts";

const ROOT = join(import.meta.dirname, "..");
const dir = await mkdtemp(join(tmpdir(), "engagement-graph-generate-"));
const postgres = await startEmbeddedPostgres(dir);
try {
  await migrate(postgres.url);
  const owner = createOwnerPool(postgres.url);
  const server = createPool(await serverLogin(owner, postgres.url));

  for (const generated of GENERATED) {
    const { file, text } = await generated();
    const written = await readFile(join(ROOT, file), "utf8").catch(() => "");
    const wanted = await text({ owner, server }, written);
    if (wanted !== written) await writeFile(join(ROOT, file), wanted);
    process.stdout.write(`${wanted === written ? "unchanged" : "written  "}  ${file}\n`);
  }
  await Promise.all([owner.end(), server.end()]);
} finally {
  await postgres.stop();
  await rm(dir, { recursive: true, force: true });
}
