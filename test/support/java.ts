// Stores that are Java programs. Without Java and Maven the tests that need them are skipped, unless REQUIRE_FUSEKI=1.
import { JavaServerNotAvailable } from "../../graph/java/maven.ts";

/** What keeps a JVM small and makes it start quickly, at the cost of its speed later. */
export const JAVA_OPTIONS = ["-Xmx768m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/** Starts a server on a port that was free, and again where somebody else has taken it by the time the server is up. */
export async function onFreePort<T>(start: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start();
    } catch (error) {
      if (tries === 3 || !/already in use|failed to bind/i.test((error as Error).message)) throw error;
    }
  }
}

/** Whether this machine has, or can fetch, what a store needs. */
export function isAvailable(fetched: Promise<unknown>): Promise<boolean> {
  return fetched.then(
    () => true,
    (error: unknown) => {
      if (error instanceof JavaServerNotAvailable && process.env["REQUIRE_FUSEKI"] !== "1") return false;
      throw error;
    },
  );
}
