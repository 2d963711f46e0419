// Runs an RDF4J server with our own repository on this machine, for tests and benchmarks.
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort, startJavaServer, type JavaServer } from "../java/server.ts";
import type { StoreUrls } from "../store.ts";
import { fetchRdf4j } from "./fetch.ts";

export interface Rdf4jOptions {
  /** holds the repository; created if it does not exist, reused if it does */
  dir: string;
  queryTimeoutMs?: number;
  javaOptions?: readonly string[];
}

/** A server without authentication, on loopback. */
export interface Rdf4j extends JavaServer {
  urls: StoreUrls;
}

const REPOSITORY = new URL("./repository.ttl", import.meta.url);
const CONTEXT = "/rdf4j-server";
// RDF4J walks through an update by recursion: without this, 500 replaced records overflow the stack.
const STACK = "-Xss16m";
const ALREADY_THERE = 409;

/**
 * Resolves when the repository can be used.
 * @throws JavaServerNotAvailable; Error with the server's last words if it does not start
 */
export async function launchRdf4j(options: Rdf4jOptions): Promise<Rdf4j> {
  const { jetty, war } = await fetchRdf4j();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}${CONTEXT}`;
  // Jetty unpacks the war here, and a killed one leaves it behind.
  const temporary = join(options.dir, "tmp");
  await mkdir(temporary, { recursive: true });
  const server = await startJavaServer({
    name: "RDF4J",
    command: "java",
    args: [
      ...[STACK, "-Xmx1g", ...(options.javaOptions ?? [])],
      `-Djava.io.tmpdir=${temporary}`,
      `-Dorg.eclipse.rdf4j.appdata.basedir=${options.dir}`,
      ...["-jar", jetty, "--host", "127.0.0.1", "--port", String(port), "--path", CONTEXT, war],
    ],
    probe: new Request(`${url}/protocol`),
  });
  const repository = `${url}/repositories/engagement`;
  try {
    await makeRepository(repository);
  } catch (error) {
    await server.kill();
    throw error;
  }
  // RDF4J takes the time limit of a query from its URL, in seconds.
  const seconds = Math.ceil((options.queryTimeoutMs ?? 30_000) / 1_000);
  return {
    ...server,
    urls: {
      queryUrl: `${repository}?timeout=${seconds}`,
      updateUrl: `${repository}/statements`,
      graphStoreUrl: `${repository}/rdf-graphs/service`,
    },
  };
}

async function makeRepository(url: string): Promise<void> {
  const answer = await fetch(url, {
    method: "PUT",
    headers: { "content-type": "text/turtle" },
    body: await readFile(REPOSITORY, "utf8"),
  });
  const text = await answer.text();
  if (!answer.ok && answer.status !== ALREADY_THERE) {
    throw new Error(`RDF4J made no repository: ${answer.status} ${text}`);
  }
}
