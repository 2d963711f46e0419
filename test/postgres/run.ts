// npm run test:postgres: what depends on the database, on each release that the suite itself does not run on. Releases, or
// folders of programs, can be named: npm run test:postgres -- 15 /usr/lib/postgresql/17/bin
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/** SQL, authorization, lifecycle, graph and search; without what is slow and asks PostgreSQL nothing of its own. */
const SUITES =
  "authorization|catalog|church-(columns|places)|churches|closed-lists|expiry|graph-verification|graphql-aggregates|" +
  "input|keys|lifecycle|membership-(authority|concurrency|domains|lifecycle|refusals|roles)|migrate|plans|projection|" +
  "record|rest-records|upgrade|vocabulary";

/** The other stores are asked by the whole suite; what a release of PostgreSQL changes does not depend on them. */
const EMBEDDED_STORE = "^(?!.*with (Fuseki|RDF4J))";

function run(command: string, args: readonly string[], settings: Record<string, string>): boolean {
  const { status } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, ...settings },
  });
  return status === 0;
}

const { dependencies } = JSON.parse(readFileSync(join(import.meta.dirname, "package.json"), "utf8")) as {
  dependencies: Record<string, string>;
};
const packaged = Object.keys(dependencies).map((name) => name.replace("pg", ""));
if (!run("npm", ["ci", "--no-audit", "--no-fund", "--prefix", import.meta.dirname], {})) process.exit(1);

const asked = process.argv.slice(2);
const releases = asked.length > 0 ? asked : packaged;
for (const release of releases) {
  if (!packaged.includes(release) && !existsSync(release)) {
    process.stderr.write(`test:postgres: there is no release ${release}; there are ${packaged.join(", ")}\n`);
    process.exit(2);
  }
}
const failed = releases.filter((release) => {
  process.stdout.write(`\nPostgreSQL ${release}\n`);
  const tests = ["-t", EMBEDDED_STORE, "--silent", "--testPathPatterns", `/test/(${SUITES})[^/]*\\.test`];
  return !run("npm", ["test", "--", ...tests], { TEST_POSTGRES: release });
});
if (failed.length > 0) {
  process.stderr.write(`test:postgres: failed on PostgreSQL ${failed.join(", ")}\n`);
  process.exit(1);
}
