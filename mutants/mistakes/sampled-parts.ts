// How the parts of the server, of a whole service and of the operator's tool are handed to each other, and what each keeps to.
import type { Mistake } from "../mistake.ts";

export const SAMPLED_PARTS: readonly Mistake[] = [
  {
    rule: "sessions that are tried on pages count among the keys that are tried elsewhere",
    file: "server/app.ts",
    before: 'holdBack.slowly(orNobody(identified("session of a page")))',
    after:
      'holdBack.slowly(orNobody(limitUnknownKeys(config.unknownKeysPerMinute, credentials)("session of a page")))',
    tests: ["hold-back"],
    only: "made up for a page",
  },
  {
    rule: "a network that tries too many sessions on pages waits for its refusals",
    file: "server/app.ts",
    before: 'holdBack.slowly(orNobody(identified("session of a page")))',
    after: 'orNobody(identified("session of a page"))',
    tests: ["hold-back"],
    only: "made up for a page",
  },
  {
    rule: "the place of a query whose caller has left comes back at once where the store ends it then",
    file: "start.ts",
    before: ", endsWhenLeft: true }",
    after: " }",
    tests: ["start-parts"],
    only: "takes the place of a query back",
  },
  {
    rule: "the description of REST names the service's public address",
    file: "server/main.ts",
    before: "withOpenApi(ownRoutes, config)",
    after: "withOpenApi(ownRoutes, { ...config, platformUrl: undefined })",
    tests: ["settings-in-effect"],
    only: "the description of REST",
  },
  {
    rule: "the examples of the description are of the graph of this installation",
    file: "server/main.ts",
    before: "withOpenApi(ownRoutes, config)",
    after: 'withOpenApi(ownRoutes, { ...config, graphDataUrl: "https://data.example.org" })',
    tests: ["settings-in-effect"],
    only: "the description of REST",
  },
  {
    rule: "the queries of the description are in the words of this installation",
    file: "server/main.ts",
    before: "withOpenApi(ownRoutes, config)",
    after: 'withOpenApi(ownRoutes, { ...config, namespaceUrl: "https://ontology.example.org/core#" })',
    tests: ["settings-in-effect"],
    only: "the description of REST",
  },
];
