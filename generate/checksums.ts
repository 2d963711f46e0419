// db/migrations/SHA256SUMS: a line for each migration, written once. An existing line is never rewritten, so that
// a migration edited after its release fails a test.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Generated } from "./generated.ts";

const FOLDER = join(import.meta.dirname, "../db/migrations");

export const checksumsFile: Generated = {
  file: "db/migrations/SHA256SUMS",
  text: async (_, written) => {
    const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".sql")).toSorted();
    const lines = await Promise.all(
      files
        .filter((file) => !written.includes(`  ${file}\n`))
        .map(async (file) => {
          const sum = createHash("sha256")
            .update(await readFile(join(FOLDER, file)))
            .digest("hex");
          return `${sum}  ${file}\n`;
        }),
    );
    return written + lines.join("");
  },
};
