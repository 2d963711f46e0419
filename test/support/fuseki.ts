// A real Fuseki for tests. Without Java and Maven the tests that need it are skipped, unless REQUIRE_FUSEKI=1.
import { fetchFuseki, FusekiNotAvailable } from "../../graph/fuseki/fetch.ts";
import { launchFuseki, type Fuseki, type FusekiOptions } from "../../graph/fuseki/launch.ts";

/** Whether this machine can run Fuseki. */
export const fusekiIsAvailable: boolean = await fetchFuseki().then(
  () => true,
  (error: unknown) => {
    if (error instanceof FusekiNotAvailable && process.env["REQUIRE_FUSEKI"] !== "1") return false;
    throw error;
  },
);

/** Starts a Fuseki on a folder; a second one on the same folder finds what the first one left. */
export function startFuseki(options: FusekiOptions): Promise<Fuseki> {
  return launchFuseki({ javaOptions: "-Xmx768m -XX:TieredStopAtLevel=1", ...options });
}
