// What an orchestrator asks: whether the process is alive, and whether requests may be sent to it.
import type { Door } from "./door.ts";
import { RESPONSE_HEADERS } from "./headers.ts";

/** The paths of the probes. */
export const PROBES: readonly string[] = ["/healthz", "/readyz"];

/** @param ready whether the parts that the service depends on answer */
export function probes(ready: () => Promise<boolean>): Door {
  return (app) => {
    app.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
    app.get("/readyz", async (_request, response) => {
      const isReady = await ready();
      if (!isReady) response.set(RESPONSE_HEADERS.retryAfter, "1");
      response.status(isReady ? 200 : 503).json({ status: isReady ? "ready" : "not_ready" });
    });
  };
}
