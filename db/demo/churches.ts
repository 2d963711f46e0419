// Well-known churches to search for, with facts about them that anybody can look up; what is uncertain is left
// out. Locations are rounded to a hundred metres, some to a kilometre.
import { createReadStream } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { importChurches } from "../churches/import.ts";
import type { ChurchImport } from "../churches/import.ts";

/** Imports the demo churches; doing so again changes nothing. */
export function loadDemoChurches(pool: pg.Pool): Promise<ChurchImport> {
  const file = createReadStream(join(import.meta.dirname, "churches.jsonl"));
  return importChurches(pool, file, { format: "jsonl", strict: true });
}
