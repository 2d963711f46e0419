// Every field of every list: whoever may read can ask for it, and is answered the same as anybody else.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ask, refusal } from "./support/graphql.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
  // One record of each kind with nothing that may be left out, and one with all of it.
  await service.database.owner.query(`
    insert into app_public.people_groups (rop3, name) values ('109392', 'Somali'), ('100123', 'Testers')
      on conflict (rop3) do nothing;
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
    values ('${ORG}', 'River', '${admin}', 'few', '{PRA}');
    insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators,
      concerns_people_group_rop3, concerns_country_code)
    values ('${ORG}', 'River', '${admin}', 'all', '{PRA}', '{109392}', '{KE}');
    insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope)
    values ('${ORG}', 'River', '${admin}', 'few', '{PRA}');
    insert into app_public.commitments (org_uri, org_name, declared_by_email, commitment_description, accelerator_scope,
      concerns_need_id, concerns_people_group_rop3, concerns_country_code, target_completion_date)
    select '${ORG}', 'River', '${admin}', 'all', '{PRA}', need_id, '{109392}', '{KE}', '2028-02-29'
    from app_public.needs where need_description = 'all';
    insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators)
    values ('${ORG}', 'River', '${admin}', '{PRA}');
    insert into app_public.engagement_claims (org_uri, org_name, claimed_by_email, engagement_accelerators,
      people_group_rop3, people_group_name, people_group_rog3, country_code, country_name, description, fulfills_commitment_id)
    select '${ORG}', 'River', '${admin}', '{PRA}', '109392', 'Somali', 'KE', 'KE', 'Kenya', 'all', commitment_id
    from app_public.commitments where commitment_description = 'all';`);
});
afterAll(() => service.stop());

/** What the histories remember of keys and programs, which is for those who review. */
const TRAIL = ["changedByIdentity", "changedByKey", "changedByKeyLabel", "changedThrough", "requestId"];

const LISTS: [list: string, type: string, forReviewers: string[]][] = [
  ["needs", "Need", []],
  ["commitments", "Commitment", []],
  ["engagementClaims", "EngagementClaim", []],
  ["organizations", "Organization", []],
  ["accelerators", "Accelerator", []],
  ["countries", "Country", []],
  ["peopleGroups", "PeopleGroup", []],
  ["statusChanges", "StatusChange", TRAIL],
];

type Described = { name: string; args: object[]; type: { kind: string; ofType: Described["type"] | null } };

/** The fields of a type that have a value of their own. */
async function valuesOf(type: string): Promise<string[]> {
  const { __type } = await ask(
    service,
    `{ __type(name: "${type}") { fields { name args { name } type { kind ofType { kind ofType { kind ofType { kind } } } } } } }`,
  );
  const kindOf = ({ kind, ofType }: Described["type"]): string => (ofType ? kindOf(ofType) : kind);
  return (__type.fields as Described[])
    .filter(({ args, type: of }) => args.length === 0 && ["SCALAR", "ENUM"].includes(kindOf(of)))
    .map(({ name }) => name);
}

test.each(LISTS)(
  "each value of %s is there for every key, but for what reviewers alone may see",
  async (list, type, forReviewers) => {
    const values = await valuesOf(type);
    expect(values.length).toBeGreaterThan(2);
    expect(values).toEqual(expect.arrayContaining(forReviewers));
    const query = (fields: string[]) => `{ list: ${list}(first: 20) { nodes { ${fields.join(" ")} } } }`;
    const all = await ask(service, query(values), {}, "review");
    expect(all.list.nodes.length).toBeGreaterThan(1);
    const forAll = values.filter((name) => !forReviewers.includes(name));
    const shown = await ask(service, query(forAll), {}, "review");
    for (const scope of ["read", "write"] as const) {
      expect(await ask(service, query(forAll), {}, scope)).toEqual(shown);
      for (const name of forReviewers)
        expect([name, ...(await refusal(service, query([name]), {}, scope))]).toEqual([
          name,
          "insufficient_scope",
          403,
        ]);
    }
  },
);
