// Releases of PostgreSQL besides the one that the service brings along: npm packages of their own, which only the tests
// install (test/postgres), and the one of this machine's distribution, which alone has pg_dump and plpgsql_check.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { PostgresPrograms } from "../../db/embedded.ts";

const PACKAGES = join(import.meta.dirname, "../postgres/node_modules");
const DISTRIBUTION = "/usr/lib/postgresql";

/** The programs in a folder. Before 17 PostgreSQL had no locale of its own: the machine's orders by code point, too. */
export function programsIn(folder: string): PostgresPrograms {
  return { initdb: join(folder, "initdb"), pg_ctl: join(folder, "pg_ctl"), locale: ["--locale=C.UTF-8"] };
}

/**
 * What TEST_POSTGRES asks for: a number of a release in test/postgres, such as 15, or a folder of programs.
 * @returns undefined when it asks for nothing: the release that the service brings along
 */
export function chosenPrograms(): PostgresPrograms | undefined {
  const choice = process.env["TEST_POSTGRES"];
  if (!choice) return undefined;
  const folder = /^\d+$/.test(choice) ? join(PACKAGES, `pg${choice}`, "native/bin") : choice;
  if (!existsSync(folder)) throw new Error(`TEST_POSTGRES: there is no ${folder}; run npm run test:postgres`);
  return programsIn(folder);
}

/** The folder of the newest release that Debian or Ubuntu has installed here, with pg_dump and psql in it. */
export function distributionFolder(): string | undefined {
  if (!existsSync(DISTRIBUTION)) return undefined;
  const releases = readdirSync(DISTRIBUTION).filter((name) =>
    ["initdb", "pg_dump", "psql"].every((file) => existsSync(join(DISTRIBUTION, name, "bin", file))),
  );
  const newest = releases.map(Number).toSorted((a, b) => b - a)[0];
  return newest === undefined ? undefined : join(DISTRIBUTION, String(newest), "bin");
}
