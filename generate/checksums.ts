// db/migrations/SHA256SUMS: a line for each migration, written once. An existing line is never rewritten, so
// that a migration edited after its release fails a test.
// db/rules/SHA256SUMS: a line for each file of the rules in its current state. Together these lines name the
// edition of the rules (db/release.ts).
import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Generated } from "./generated.ts";

const DB = join(import.meta.dirname, "../db");

/** The checksums of the SQL files in a folder, in the format of `sha256sum`. */
async function sumsOf(folder: string, isWanted: (file: string) => boolean = () => true): Promise<string> {
  const names = await readdir(join(DB, folder));
  const files = names.filter((file) => file.endsWith(".sql") && isWanted(file)).toSorted();
  const lines = await Promise.all(
    files.map(async (file) => {
      const sum = hash("sha256", await readFile(join(DB, folder, file)), "hex");
      return `${sum}  ${file}\n`;
    }),
  );
  return lines.join("");
}

export const checksumsFile: Generated = {
  file: "db/migrations/SHA256SUMS",
  text: async (_, written) =>
    written + (await sumsOf("migrations", (file) => !written.includes(`  ${file}\n`))),
};

export const rulesFile: Generated = {
  file: "db/rules/SHA256SUMS",
  text: () => sumsOf("rules"),
};
