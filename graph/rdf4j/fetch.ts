// Fetches an RDF4J server, and a Jetty to run it in, with Maven, for tests and benchmarks.
import { fetchArtifact } from "../java/maven.ts";

/** The files that make up a server. */
export interface Rdf4jFiles {
  jetty: string;
  war: string;
}

/** @throws JavaServerNotAvailable */
export async function fetchRdf4j(): Promise<Rdf4jFiles> {
  return {
    // The last series for programs written to javax.servlet, as RDF4J 5 is.
    jetty: await fetchArtifact({
      group: "org.eclipse.jetty",
      artifact: "jetty-runner",
      version: "9.4.58.v20250814",
    }),
    // The newest 5.x that Maven Central has as a war.
    war: await fetchArtifact({
      group: "org.eclipse.rdf4j",
      artifact: "rdf4j-http-server",
      version: "5.0.3",
      packaging: "war",
    }),
  };
}
