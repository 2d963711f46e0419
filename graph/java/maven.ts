// Fetches artifacts from Maven Central into Maven's own cache.
import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface Coordinates {
  group: string;
  artifact: string;
  version: string;
  /** "jar" by default */
  packaging?: "jar" | "war";
}

const DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";
const FETCH_TIMEOUT_MS = 600_000;
const run = promisify(execFile);

/** Java or Maven is not on this machine, or the artifact cannot be fetched. */
export class JavaServerNotAvailable extends Error {
  override name = "JavaServerNotAvailable";
}

/**
 * The path of an artifact, fetched first if it is not in Maven's cache. Also checks
 * that there is a Java to run it.
 * @throws JavaServerNotAvailable
 */
export async function fetchArtifact(coordinates: Coordinates): Promise<string> {
  await requireCommand("java", ["-version"]);
  const { group, artifact, version, packaging = "jar" } = coordinates;
  const repository = process.env.MAVEN_REPOSITORY ?? join(homedir(), ".m2", "repository");
  const file = join(
    repository,
    ...group.split("."),
    artifact,
    version,
    `${artifact}-${version}.${packaging}`,
  );
  if (await exists(file)) return file;
  await requireCommand("mvn", ["--version"]);
  const options = [`-Dartifact=${group}:${artifact}:${version}:${packaging}`, "-Dtransitive=false"];
  if (process.env.MAVEN_REPOSITORY) options.push(`-Dmaven.repo.local=${repository}`);
  try {
    await run("mvn", ["-q", "-B", `${DEPENDENCY_PLUGIN}:get`, ...options], { timeout: FETCH_TIMEOUT_MS });
  } catch (error) {
    throw new JavaServerNotAvailable(`Maven could not fetch ${artifact} ${version}.`, { cause: error });
  }
  if (!(await exists(file))) {
    throw new JavaServerNotAvailable(`Maven fetched ${artifact} ${version}, but it is not at ${file}.`);
  }
  return file;
}

async function requireCommand(command: string, versionOption: string[]): Promise<void> {
  try {
    await run(command, versionOption);
  } catch (error) {
    throw new JavaServerNotAvailable(`${command} is not on this machine.`, { cause: error });
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
