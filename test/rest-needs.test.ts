import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { contributor, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const declaration = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Audio Scriptures",
  accelerators: ["PRA-INT"],
};

test("a declared need is answered with its id, and listed", async () => {
  const created = await call(`${service.url}/v0/needs`, "POST", service.keys.write, declaration);
  expect(created).toMatchObject({ status: 201, body: { status: "open" } });
  const { needId } = created.body;
  const listed = await call(`${service.url}/v0/needs`, "GET", service.keys.read);
  expect(listed.body).toEqual({
    needs: [
      {
        needId,
        ...declaration,
        concernsPeopleGroupRop3: [],
        concernsCountryCode: [],
        status: "open",
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        graphStatus: "pending",
      },
    ],
    total: 1,
  });
  const one = await call(`${service.url}/v0/needs/${needId}`, "GET", service.keys.read);
  expect(one.body).toEqual(listed.body.needs[0]);
});
