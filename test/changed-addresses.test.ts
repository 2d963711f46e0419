// A provider may give the account of a person another address. By their address people are known here: what was answered or is told
// to who had the one is nothing for who has the other, though the provider calls them the same.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { eventually } from "./support/eventually.ts";
import { AUDIENCE, TestProvider } from "./support/oidc.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { overServerSentEvents, overWebSocket } from "./support/subscriber.ts";
import type { TestSubscriber } from "./support/subscriber.ts";
import { admin, ORG, OTHER_ORG, otherAdmin } from "./support/world.ts";

let provider: TestProvider;
let service: TestService;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  provider = await TestProvider.start();
  service = await startTestService({
    config: { oidc: { issuers: [provider.issuer], audience: AUDIENCE } },
  });
  await provider.isKnownTo(service.url);
  for (const email of [admin, otherAdmin, admin.toUpperCase()])
    tokens[email] = await provider.sign({ sub: "one account", email });
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

const need = { orgUri: ORG, orgName: "River Mission", needDescription: "Wells", accelerators: ["PRA-INT"] };
const headers = { "idempotency-key": "of one account" };

test("an Idempotency-Key of theirs is for the address with which it was sent, in any case of it", async () => {
  const byRest = (email: string) => call(`${service.url}/v0/needs`, "POST", tokens[email], need, headers);
  const declared = await byRest(admin);
  expect(declared.status).toBe(201);
  expect((await byRest(admin.toUpperCase())).body).toEqual(declared.body);
  expect(await byRest(otherAdmin)).toMatchObject({ status: 409, body: { error: "idempotency_key_reused" } });

  const query = "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }";
  const byGraphql = (email: string) =>
    call(
      `${service.url}/graphql`,
      "POST",
      tokens[email],
      { query, variables: { input: need } },
      { "idempotency-key": "of one account, by GraphQL" },
    );
  const made = await byGraphql(admin);
  expect(made.body.data.declareNeed.need).toHaveProperty("needId");
  expect((await byGraphql(admin.toUpperCase())).body).toEqual(made.body);
  expect((await byGraphql(otherAdmin)).body).toMatchObject({
    errors: [{ extensions: { code: "idempotency_key_reused" } }],
  });
});

test.each([
  ["server-sent events", overServerSentEvents],
  ["WebSocket", overWebSocket],
])("each address is told of the claims that it reviews, over %s", async (transport, subscribe) => {
  const query = `subscription ($after: String) { claimsToReview(after: $after) { id orgUri } }`;
  const { body } = await call(`${service.url}/v0/admin/claims/changes`, "GET", tokens[admin]);
  // Side by side, and what was before first.
  const subscribers = Object.fromEntries(
    [admin, otherAdmin].map((email) => [
      email,
      subscribe(service.url, tokens[email]!, query, { after: body.next }),
    ]),
  );
  const toldOf = ({ events }: TestSubscriber) => [
    ...new Set(events.map(({ data }) => data?.["claimsToReview"]?.["orgUri"])),
  ];
  try {
    for (const orgUri of [ORG, OTHER_ORG]) {
      const claim = { firstName: "Ana", lastName: "Silva", roles: [], orgName: "Claimed", isNewOrg: false };
      const userEmail = `${transport.replaceAll(" ", "")}@elsewhere.example`;
      const { status } = await call(`${service.url}/v0/onboarding/claim-org`, "POST", service.keys.write, {
        ...{ ...claim, userEmail, orgUri },
      });
      expect(status).toBe(200);
    }
    await eventually(() => {
      expect(toldOf(subscribers[admin]!)).toEqual([ORG]);
      expect(toldOf(subscribers[otherAdmin]!)).toEqual([OTHER_ORG]);
    });
  } finally {
    for (const subscriber of Object.values(subscribers)) subscriber.stop();
  }
});
