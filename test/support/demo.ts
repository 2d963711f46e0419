import { loadConfig } from "../../config.ts";
import { DEMO_KEY, loadDemo } from "../../db/demo/load.ts";
import { createNames } from "../../graph/namespaces.ts";
import { readStarterVocabulary } from "../../graph/skos.ts";
import { importVocabulary } from "../../worker/imports.ts";
import { startTestServiceWithGraph } from "./service.ts";
import type { TestService } from "./service.ts";

/** A service with what npm start loads into an untouched database: the starter vocabulary and the demo. */
export async function startDemoService(): Promise<TestService & { demoKey: string }> {
  // What the graph's state is shown to be must not depend on when somebody looks at it.
  const config = loadConfig({ GRAPH_VERIFY_SHARE: "0" });
  const { graphVerification } = config;
  const service = await startTestServiceWithGraph({ world: false, config: { graphVerification } });
  await importVocabulary(service.database.owner, readStarterVocabulary(), createNames(config));
  await loadDemo(service.database.owner, config.graphDataUrl);
  return { ...service, demoKey: DEMO_KEY };
}
