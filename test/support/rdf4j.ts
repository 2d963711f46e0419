// A real RDF4J server for tests.
import { fetchRdf4j } from "../../graph/rdf4j/fetch.ts";
import { launchRdf4j, type Rdf4j, type Rdf4jOptions } from "../../graph/rdf4j/launch.ts";
import { isAvailable, JAVA_OPTIONS, onFreePort } from "./java.ts";

/** Whether this machine can run RDF4J. */
export const rdf4jIsAvailable = await isAvailable(fetchRdf4j());

/** Starts an RDF4J server on a folder; a second one on the same folder finds what the first one left. */
export function startRdf4j(options: Rdf4jOptions): Promise<Rdf4j> {
  return onFreePort(() => launchRdf4j({ javaOptions: JAVA_OPTIONS, ...options }));
}
