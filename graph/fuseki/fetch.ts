// Fetches Fuseki with Maven by its coordinates, into Maven's own cache. `node graph/fuseki/fetch.ts` prints the path.
import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** The newest 5.x, the last series that runs on Java 17. */
const FUSEKI_VERSION = "5.6.0";

const GROUP = "org.apache.jena";
const ARTIFACT = "jena-fuseki-server";
const DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";
const FETCH_TIMEOUT_MS = 600_000;
const run = promisify(execFile);

/** Java or Maven is not on this machine, or the artifact cannot be fetched. */
export class FusekiNotAvailable extends Error {
  override name = "FusekiNotAvailable";
}

/**
 * The path of the server's jar, fetched first if it is not in Maven's cache.
 * @throws FusekiNotAvailable
 */
export async function fetchFuseki(): Promise<string> {
  await requireCommand("java", ["-version"]);
  const repository = process.env.MAVEN_REPOSITORY ?? join(homedir(), ".m2", "repository");
  const jar = join(
    repository,
    ...GROUP.split("."),
    ARTIFACT,
    FUSEKI_VERSION,
    `${ARTIFACT}-${FUSEKI_VERSION}.jar`,
  );
  if (await exists(jar)) return jar;
  await requireCommand("mvn", ["--version"]);
  const options = [`-Dartifact=${GROUP}:${ARTIFACT}:${FUSEKI_VERSION}`, "-Dtransitive=false"];
  if (process.env.MAVEN_REPOSITORY) options.push(`-Dmaven.repo.local=${repository}`);
  try {
    await run("mvn", ["-q", "-B", `${DEPENDENCY_PLUGIN}:get`, ...options], { timeout: FETCH_TIMEOUT_MS });
  } catch (error) {
    throw new FusekiNotAvailable("Maven could not fetch Fuseki.", { cause: error });
  }
  if (!(await exists(jar))) throw new FusekiNotAvailable(`Maven fetched Fuseki, but it is not at ${jar}.`);
  return jar;
}

async function requireCommand(command: string, versionOption: string[]): Promise<void> {
  try {
    await run(command, versionOption);
  } catch (error) {
    throw new FusekiNotAvailable(`${command} is not on this machine.`, { cause: error });
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

if (import.meta.main) console.log(await fetchFuseki());
