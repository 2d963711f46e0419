// Whose word a claim stands on: the claimant's own token proves the address, an application states it, and the domain of a
// new organization is what the claimant says it is.
import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { composeMail } from "../worker/mail-texts.ts";
import * as m from "./support/membership.ts";
import { AUDIENCE, TestProvider } from "./support/oidc.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let provider: TestProvider;
let service: TestService;
beforeAll(async () => {
  provider = await TestProvider.start();
  service = await startTestService({
    world: false,
    config: { oidc: { issuers: [provider.issuer], audience: AUDIENCE } },
  });
  await provider.isKnownTo(service.url);
  await m.addPlatformPeople(service.database.owner);
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

const db = () => service.database.owner;
const askForProof = (asked: boolean) =>
  db().query("update app_private.settings set value = to_jsonb($2::boolean) where name = $1", [
    "auto_approval_needs_verified_email",
    asked,
  ]);
afterEach(() => askForProof(false));

describe.each(m.DOORS)("through %s", (name) => {
  const byKey = m.membershipDoor(name, () => service);

  async function byToken(email: string): Promise<m.MembershipDoor> {
    const token = await provider.tokenOf(email);
    return m.membershipDoor(name, () => ({ ...service, keys: { read: token, write: token, review: token } }));
  }

  /** A claim as the platform's reviewers see it. */
  async function seen(claimId: string) {
    const { value } = await byKey.claims(m.support, { limit: 200 });
    return value.claims.find((claim: { claimId: string }) => claim.claimId === claimId);
  }

  test("a token proves the address, a key that names the person does not; reviewers and claimants see which", async () => {
    for (const isProven of [true, false]) {
      const org = await m.addOrganization(db());
      const email = `${randomBytes(4).toString("hex")}@elsewhere.example`;
      const door = isProven ? await byToken(email) : byKey;
      const { claimId } = (await door.claim(m.claimOf(org, email))).value;
      expect(await seen(claimId)).toMatchObject({ emailVerified: isProven, orgDomainStated: false });
      expect((await byKey.ownClaims(email)).value.claims).toMatchObject([
        { claimId, emailVerified: isProven },
      ]);
      // Whoever has proven it is not asked to.
      const { rowCount: asked } = await db().query(
        "select from app_private.mails where kind = 'confirm_claim' and recipient = $1",
        [email],
      );
      expect(asked).toBe(isProven ? 0 : 1);
      const { rows } = await db().query(
        "select kind, data from app_private.mails where data ->> 'claimId' = $1 order by created_at limit 1",
        [claimId],
      );
      const { text } = composeMail(rows[0].kind, rows[0].data, null, service.url);
      expect(text).toContain(`${email} (${isProven ? "proven" : "not proven"}:`);
    }
  });

  test("whom the service knows, only their own token renames; an application cannot", async () => {
    const email = `${randomBytes(4).toString("hex")}@elsewhere.example`;
    const own = await byToken(email);
    const claimAs = async (door: m.MembershipDoor, firstName: string, lastName: string) => {
      await door.claim({ ...m.claimOf(await m.addOrganization(db()), email), firstName, lastName });
      const { firstName: first, lastName: last } = (await own.checkUser(email)).value;
      return `${first} ${last}`;
    };
    expect(await claimAs(byKey, "Ana", "Silva")).toBe("Ana Silva");
    expect(await claimAs(byKey, "Eve", "Else")).toBe("Ana Silva");
    expect(await claimAs(own, "Anna", "Sousa")).toBe("Anna Sousa");
    expect(await claimAs(byKey, "Eve", "Else")).toBe("Anna Sousa");
  });

  test("by default an address that is only stated is approved by itself too", async () => {
    const org = await m.addOrganization(db());
    const { value } = await byKey.claim(m.claimOf(org, `first@${org.domain}`));
    expect(value.resultVariant).toBe("claimed");
  });

  test("where an operator asks for proof, only a proven address is approved by itself, also after one that was not", async () => {
    await askForProof(true);
    const org = await m.addOrganization(db());
    const email = `first@${org.domain}`;
    const stated = (await byKey.claim(m.claimOf(org, email))).value;
    expect(stated).toMatchObject({ resultVariant: "manual-review", status: "pending" });
    const own = await byToken(email);
    await own.withdraw({ claimId: stated.claimId });
    expect((await own.claim(m.claimOf(org, email))).value.resultVariant).toBe("claimed");
    const elsewhere = await m.addOrganization(db());
    expect((await own.claim(m.claimOf(elsewhere, email))).value.resultVariant).toBe("manual-review");
  });

  test("the domain of a new organization is the claimant's word, also to whoever claims it meanwhile", async () => {
    const id = randomBytes(4).toString("hex");
    const email = `founder@${id}.example`;
    const proposal = { firstName: "Ana", lastName: "Silva", roles: [], orgName: `New ${id}`, isNewOrg: true };
    const door = await byToken(email);
    const { claimId, orgUri } = (await door.claim({ ...proposal, orgDomain: `${id}.example` })).value;
    expect(await seen(claimId)).toMatchObject({ domainMatch: true, orgDomainStated: true });
    const org = { uri: orgUri, name: proposal.orgName, domain: `${id}.example` };
    const second = (await byKey.claim(m.claimOf(org, `second@${org.domain}`))).value;
    expect(second.resultVariant).toBe("manual-review");
    expect(await seen(second.claimId)).toMatchObject({ domainMatch: true, orgDomainStated: true });
    // A reviewer has looked at it since.
    await byKey.review({ claimId, action: "approve", adminEmail: m.support });
    const third = (await byKey.claim(m.claimOf(org, `third@${org.domain}`))).value;
    expect(await seen(third.claimId)).toMatchObject({ domainMatch: true, orgDomainStated: false });
    const { rows } = await db().query(
      "select kind, data from app_private.mails where data ->> 'claimId' = $1 order by created_at limit 1",
      [claimId],
    );
    const { text } = composeMail(rows[0].kind, rows[0].data, null, service.url);
    expect(text).toContain(`${org.domain} (as stated by them;`);
  });
});
