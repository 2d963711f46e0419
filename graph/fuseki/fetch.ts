// Fetches Fuseki with Maven, for tests and benchmarks.
import { fetchArtifact } from "../java/maven.ts";

/**
 * The path of the server's jar.
 * @throws JavaServerNotAvailable
 */
export function fetchFuseki(): Promise<string> {
  return fetchArtifact({
    group: "org.apache.jena",
    artifact: "jena-fuseki-server",
    // The newest 5.x, the last series that runs on Java 17.
    version: "5.6.0",
  });
}
