// Runs a Fuseki with our own configuration on this machine, for tests and benchmarks.
import { fileURLToPath } from "node:url";
import { freePort, startJavaServer, type JavaServer } from "../java/server.ts";
import { fetchFuseki } from "./fetch.ts";

export interface FusekiOptions {
  /** holds the database; created if it does not exist, reused if it does */
  dir: string;
  /** any free one by default */
  port?: number;
  queryTimeoutMs?: number;
  password?: string;
  javaOptions?: string;
}

export interface Fuseki extends JavaServer {
  /** the dataset's URL, as in FUSEKI_URL */
  url: string;
  port: number;
  user: string;
  password: string;
}

const START_SCRIPT = fileURLToPath(new URL("./start.sh", import.meta.url));
const USER = "engagement";

/**
 * Resolves when the server answers.
 * @throws JavaServerNotAvailable; Error with the server's last words if it does not start
 */
export async function launchFuseki(options: FusekiOptions): Promise<Fuseki> {
  const jar = await fetchFuseki();
  const port = options.port ?? (await freePort());
  const password = options.password ?? "engagement";
  const authorization = `Basic ${Buffer.from(`${USER}:${password}`).toString("base64")}`;
  const server = await startJavaServer({
    name: "Fuseki",
    command: "sh",
    args: [START_SCRIPT],
    env: {
      FUSEKI_JAR: jar,
      FUSEKI_DATA: options.dir,
      FUSEKI_PASSWORD: password,
      FUSEKI_PORT: String(port),
      FUSEKI_HOST: "loopback",
      ...(options.queryTimeoutMs !== undefined && { FUSEKI_TIMEOUT_MS: String(options.queryTimeoutMs) }),
      JAVA_OPTS: options.javaOptions ?? "-Xmx1g",
    },
    probe: new Request(`http://localhost:${port}/$/ping`, { headers: { authorization } }),
  });
  return { ...server, url: `http://localhost:${port}/engagement`, port, user: USER, password };
}
