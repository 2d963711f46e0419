// The history of a record over REST.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, contributor, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const common = { orgUri: ORG, orgName: "River Mission" };
const declared = { ...common, declaredByEmail: contributor };

test.each([
  ["needs", "", "needId", { ...declared, needDescription: "Wells", accelerators: ["PRA"] }, ["open", "met"]],
  [
    "commitments",
    "",
    "commitmentId",
    { ...declared, commitmentDescription: "Wells", acceleratorScope: ["PRA"] },
    ["declared", "fulfilled"],
  ],
  [
    "engagement-claims",
    "/submit",
    "claimId",
    { ...common, claimedByEmail: contributor, engagementAccelerators: ["PRA"], countryCode: "KE" },
    ["active", "paused"],
  ],
])("of %s: each change once, first to last", async (path, submit, id, body, [first, second]) => {
  const post = (at: string, sent: object) =>
    call(`${service.url}/v0/${at}`, "POST", service.keys.write, sent);
  const made = (await post(`${path}${submit}`, body)).body[id] as string;
  const others = (await post(`${path}${submit}`, body)).body[id] as string;
  for (const status of [second, second, first]) {
    await post(`${path}/status`, { [id]: made, status, actorEmail: admin });
  }
  const read = (of: string) => call(`${service.url}/v0/${path}/${of}/history`, "GET", service.keys.read);
  const { history } = (await read(made)).body as { history: Record<string, string>[] };
  expect(history.map((change) => [change["status"], change["changedByEmail"]])).toEqual([
    [first, contributor],
    [second, admin],
    [first, admin],
  ]);
  const times = history.map((change) => String(change["changedAt"]));
  expect(times).toEqual(times.toSorted());
  const item = await call(`${service.url}/v0/${path}/${made}`, "GET", service.keys.read);
  expect([times[0], times.at(-1)]).toEqual([item.body.createdAt, item.body.updatedAt]);
  expect((await read(others)).body.history).toHaveLength(1);

  const absent = await read("00000000-0000-4000-8000-000000000000");
  expect(absent).toMatchObject({ status: 404, body: { error: expect.stringMatching(/_not_found$/) } });
  expect((await read("no-id")).status).toBe(400);
});
