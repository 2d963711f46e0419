// Tests that need what only a distribution's PostgreSQL has: pg_dump, psql, plpgsql_check.
import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describe, test } from "@jest/globals";
import type { PostgresPrograms } from "../../db/embedded.ts";
import { distributionFolder, programsIn } from "./postgres-releases.ts";

/**
 * Tests with the programs of that release. Without one, or without an extension that they need, they are skipped, or fail
 * where REQUIRE_POSTGRES is set.
 */
export function describeWithDistribution(
  name: string,
  tests: (programs: PostgresPrograms & { folder: string }) => void,
  extension?: string,
): void {
  const folder = distributionFolder();
  const missing =
    folder === undefined ? "pg_dump in /usr/lib/postgresql" : missingExtension(folder, extension);
  if (folder !== undefined && missing === undefined) {
    describe(name, () => tests({ ...programsIn(folder), folder }));
  } else if (process.env["REQUIRE_POSTGRES"]) {
    test(name, () => {
      throw new Error(`REQUIRE_POSTGRES is set, and there is no ${missing}.`);
    });
  } else {
    describe.skip(name, () => test.todo(`needs ${missing}`));
  }
}

function missingExtension(folder: string, extension?: string): string | undefined {
  const release = basename(dirname(folder));
  const isThere = existsSync(`/usr/share/postgresql/${release}/extension/${extension}.control`);
  return extension === undefined || isThere
    ? undefined
    : `postgresql-${release}-${extension.replaceAll("_", "-")}`;
}
