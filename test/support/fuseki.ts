// A real Fuseki for tests.
import { fetchFuseki } from "../../graph/fuseki/fetch.ts";
import { launchFuseki, type Fuseki, type FusekiOptions } from "../../graph/fuseki/launch.ts";
import { isAvailable, JAVA_OPTIONS, onFreePort } from "./java.ts";

/** Whether this machine can run Fuseki. */
export const fusekiIsAvailable = await isAvailable(fetchFuseki());

/** Starts a Fuseki on a folder; a second one on the same folder finds what the first one left. */
export function startFuseki(options: FusekiOptions): Promise<Fuseki> {
  // No test looks at a graph for longer, and what one leaves behind is not to burn a processor for an hour.
  return onFreePort(() =>
    launchFuseki({ javaOptions: JAVA_OPTIONS.join(" "), queryTimeoutMs: 30_000, ...options }),
  );
}
