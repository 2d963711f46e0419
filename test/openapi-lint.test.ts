// The OpenAPI document as it is served passes the linters that its readers use, with every rule they have.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Ruleset, Spectral } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let document: object;
beforeAll(async () => {
  service = await startTestService({ world: false });
  document = (await call(`${service.url}/v0/openapi.json`, "GET", service.keys.read)).body;
});
afterAll(() => service.stop());

test("Spectral finds nothing, by all of its rules for OpenAPI", async () => {
  const spectral = new Spectral();
  spectral.setRuleset(
    new Ruleset({
      extends: [[oas, "all"]],
      rules: {
        // Tags are in the order in which a reader needs them.
        "openapi-tags-alphabetical": "off",
        // Whom to write to is the operator's to say; the service knows no address of theirs.
        "contact-properties": "off",
      },
    }),
  );
  const found = await spectral.run(JSON.stringify(document));
  expect(found.map(({ code, path, message }) => `${code}: ${message} (${path.join("/")})`)).toEqual([]);
});

test("Redocly finds nothing, by its recommended rules, warnings included", async () => {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const found = await lintFromString({ source: JSON.stringify(document), config });
  expect(
    found.map(({ ruleId, location, message }) => `${ruleId}: ${message} (${location[0]?.pointer})`),
  ).toEqual([]);
});
