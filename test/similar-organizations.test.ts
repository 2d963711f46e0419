// GET /v0/admin/claims: what is like the organization of each claim, within what the caller may see.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { issueTestKey } from "./support/database.ts";
import * as m from "./support/membership.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

let service: TestService;
let claimed: m.TestOrganization;
let active: m.TestOrganization;
let proposed: string;
const head = () => `head@${claimed.domain}`;

const db = () => service.database.owner;
const rename = (uri: string, name: string) =>
  db().query("update app_public.organizations set name = $2 where org_uri = $1", [uri, name]);
const claim = async (body: object) => {
  const answer = await call(`${service.url}/v0/onboarding/claim-org`, "POST", service.keys.write, body);
  expect(answer.status).toBe(200);
  return answer.body as { claimId: string; orgUri: string };
};
const list = async (email: string, query = "", key = service.keys.review) => {
  const headers = { "x-admin-email": email };
  const { status, body } = await call(
    `${service.url}/v0/admin/claims?${query}`,
    "GET",
    key,
    undefined,
    headers,
  );
  expect(status).toBe(200);
  return body as {
    claims: { id: string; org_uri: string; roles: string[]; similar_organizations: object[] }[];
    total: number;
  };
};
const likeOf = async (...asked: Parameters<typeof list>) =>
  (await list(...asked)).claims.filter(({ org_uri }) => org_uri === claimed.uri);

beforeAll(async () => {
  service = await startTestService({ world: false });
  await m.addPlatformPeople(db());
  claimed = await m.addOrganization(db(), { head: "org_admin" });
  await rename(claimed.uri, "Waterfall Bible Trust");
  active = await m.addOrganization(db(), { head: "org_admin", gone: "org_member" });
  await rename(active.uri, "Waterfal Bible Trust");
  // Nobody's domain: what is alike is the name alone.
  await db().query(
    "update app_public.organizations set type = 'translation', website = 'https://trust.example/' where org_uri = $1",
    [active.uri],
  );
  await db().query(
    "update app_public.memberships set status = 'revoked' where org_uri = $1 and role = 'org_member'",
    [active.uri],
  );
  await claim({ ...m.claimOf(active, "ana@elsewhere.example") });
  await claim({ ...m.claimOf(claimed, "ana@elsewhere.example"), roles: ["digs", "prays"] });
  await claim({ ...m.claimOf(claimed, "bo@elsewhere.example"), roles: [] });
  const { orgUri: _, ...proposal } = m.claimOf(claimed, "cy@far.example");
  proposed = (await claim({ ...proposal, orgName: "Waterfall Bible Trus", isNewOrg: true })).orgUri;
});
afterAll(() => service.stop());

const activeOne = (waiting: number | null) => ({
  org_uri: active.uri,
  org_name: "Waterfal Bible Trust",
  ...{ org_type: "translation", org_website: "https://trust.example/", org_domain: active.domain },
  ...{ status: "active", alike: ["name"], members: 1, waiting },
});
const proposedOne = () => expect.objectContaining({ org_uri: proposed, status: "proposed", waiting: 1 });

test("whoever sees all claims is told of all that is like it, the likeliest first, beside the claimant's own roles", async () => {
  for (const query of ["", "status=pending"]) {
    const claims = await likeOf(m.support, query);
    expect(claims.map(({ roles }) => roles)).toEqual([[], ["digs", "prays"]]);
    for (const { similar_organizations: similar } of claims)
      expect(similar).toEqual([activeOne(1), proposedOne()]);
  }
});

test("each claim has what is like its own organization, in the order of the list and page by page", async () => {
  const { claims, total } = await list(m.support);
  expect(total).toBe(claims.length);
  const alike = [proposed, claimed.uri, active.uri];
  const among = claims.filter(({ org_uri }) => alike.includes(org_uri));
  expect(among.map(({ org_uri }) => org_uri)).toEqual([proposed, claimed.uri, claimed.uri, active.uri]);
  for (const { org_uri, similar_organizations: similar } of among) {
    const uris = similar.map((each) => (each as { org_uri: string }).org_uri);
    expect(uris.toSorted()).toEqual(alike.filter((uri) => uri !== org_uri).toSorted());
  }
  for (const [offset, one] of claims.entries())
    expect((await list(m.support, `limit=1&offset=${offset}`)).claims).toEqual([one]);
  expect(await list(m.support, `offset=${total}`)).toEqual({ claims: [], total });
});

test("an administrator of the organization is told of what is public alone, and not who claims it", async () => {
  const claims = await likeOf(head());
  expect(claims).toHaveLength(2);
  for (const { similar_organizations: similar } of claims) expect(similar).toEqual([activeOne(null)]);
});

test("so is whoever comes with a key for certain organizations", async () => {
  const key = await issueTestKey(db(), "api_review", { organizations: [claimed.uri] });
  const { claims } = await list(m.support, "", key);
  expect(claims).toHaveLength(2);
  for (const { similar_organizations: similar } of claims) expect(similar).toEqual([activeOne(null)]);
});

test("there is an empty list where nothing is like it, and what the organization is by its address alone is told", async () => {
  const alone = await m.addOrganization(db(), { head: "org_admin" });
  await rename(alone.uri, "Zyx Quv");
  await claim(m.claimOf(alone, "ana@nowhere.example"));
  const [none] = (await list(`head@${alone.domain}`)).claims;
  expect(none!.similar_organizations).toEqual([]);
  await claim(m.claimOf(alone, `someone@${active.domain}`));
  const claims = await list(`head@${alone.domain}`);
  expect(claims.claims.map(({ similar_organizations: similar }) => similar)).toEqual([
    [{ ...activeOne(null), alike: ["domain"] }],
    [],
  ]);
});

test("a change of a claim is told with the claimant's own roles, and without what is like the organization", async () => {
  const { body } = await call(
    `${service.url}/v0/admin/claims/changes`,
    "GET",
    service.keys.review,
    undefined,
    {
      "x-admin-email": m.support,
    },
  );
  expect(body.changes.length).toBeGreaterThan(3);
  for (const { item } of body.changes) {
    expect(item.roles).toEqual(expect.any(Array));
    expect(Object.keys(item)).not.toContain("similar_organizations");
  }
});

test("where looking takes long, the claims come without what is like the others", async () => {
  const { rows } = await db().query<{ claims: { similar_organizations: object[] | null }[] }>(
    `select app_private.claims_with_similar_organizations($1, null, 50, 0) -> 'claims' as claims
     from (select pg_sleep(2.1) offset 0) as late`,
    [m.support],
  );
  const { total } = await list(m.support);
  expect(rows[0]!.claims.map((each) => each.similar_organizations)).toEqual(
    Array.from({ length: total }, () => null),
  );
});
