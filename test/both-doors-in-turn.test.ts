// What people do one after another leaves the same behind, whether they come through REST or GraphQL: each random
// sequence is lived through twice, in two worlds that begin alike, and each is asked through its own door what is there.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { z } from "zod";
import { enums } from "../db/catalog.ts";
import { RECORDS } from "../records/index.ts";
import { fieldsOf, idOf } from "../records/record.ts";
import type { RecordDescription } from "../records/record.ts";
import { allRoutes } from "../server/resources/index.ts";
import { ask, send } from "./support/graphql.ts";
import { addPlatformPeople, DOORS, membershipDoor, platformAdmin, support } from "./support/membership.ts";
import type { MembershipDoor } from "./support/membership.ts";
import { chance, SEEDS } from "./support/random.ts";
import { call, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";
import * as world from "./support/world.ts";

type Values = Record<string, unknown>;
/** What can be named later, in the order in which it came to be. */
type Kind = keyof typeof MADE_BY;
type Twin = { service: TestService; door: (typeof DOORS)[number]; made: Record<Kind, string[]> };
/** Something that somebody does; made is which of those that are there by then. */
type Step = { operation: string; input: Values; made: number };

let twins: Twin[];
beforeAll(async () => {
  twins = await Promise.all(
    DOORS.map(async (door) => ({
      service: await startTestService({ world: false }),
      door,
      made: { need: [], commitment: [], engagement_claim: [], organization_claim: [], organization: [] },
    })),
  );
});
afterAll(() => Promise.all(twins.map(({ service }) => service.stop())));

/** What makes something that can be named later, and what of its answer the name is. */
const MADE_BY = {
  need: { operation: "declareNeed", answer: "need", id: "needId" },
  commitment: { operation: "declareCommitment", answer: "commitment", id: "commitmentId" },
  engagement_claim: { operation: "submitEngagementClaim", answer: "engagementClaim", id: "claimId" },
  organization_claim: { operation: "claimOrganization", answer: "claim", id: "claimId" },
  organization: { operation: "claimOrganization", answer: "claim", id: "orgUri" },
} as const;

const UNKNOWN = "00000000-0000-4000-8000-000000000000";
const NEW_DOMAIN = "fresh.example";
const PEOPLE = [
  `newcomer@${NEW_DOMAIN}`,
  "newcomer@river.example",
  world.contributor,
  world.member,
  world.claimant,
  world.stranger,
  world.admin,
];
const REVIEWERS = [world.admin, platformAdmin, world.admin, support, world.otherAdmin];
const WRITERS = [world.admin, world.admin, world.contributor, world.otherAdmin];

/** By the name of the field: what is usual, the first of it good for anything, and what is wrong. */
const FIELDS: Readonly<Record<string, [usual: readonly unknown[], odd: unknown]>> = {
  orgUri: [[world.ORG, world.ORG, world.ORG, world.OTHER_ORG], "https://data.example.org/org/nobody"],
  orgName: [["River Mission", "Fresh Fields"], " "],
  declaredByEmail: [WRITERS, world.stranger],
  claimedByEmail: [WRITERS, world.suspended],
  actorEmail: [WRITERS, world.member],
  adminEmail: [REVIEWERS, "x"],
  userEmail: [PEOPLE, "x"],
  needDescription: [["Wells", "Water for two camps"], ""],
  commitmentDescription: [["Two wells"], "\u00a0"],
  accelerators: [[["PRA"], ["PRA-INT", "PRA"]], [world.DEPRECATED_CODE]],
  acceleratorScope: [[["PRA"]], ["NO"]],
  engagementAccelerators: [[["PRA"], ["PRA-INT"]], []],
  concernsPeopleGroupRop3: [[undefined, ["104425"]], ["x"]],
  concernsCountryCode: [[undefined, ["KE"], ["KE", "UG"]], ["ZZ"]],
  targetCompletionDate: [[undefined, "2030-01-05"], "tomorrow"],
  peopleGroupRop3: [[undefined, "104425"], "x"],
  peopleGroupName: [[undefined, "Somali"], "a\nb"],
  peopleGroupRog3: [[undefined, "KE"], "k"],
  countryCode: [[undefined, "KE"], "ke"],
  countryName: [[undefined, "Kenya"], ""],
  description: [[undefined, "Done"], ""],
  firstName: [["Ana"], ""],
  lastName: [["Silva"], null],
  roles: [[[], ["translator"]], [""]],
  isNewOrg: [[true, false], "yes"],
  newOrgName: [[undefined, "Fresh Fields International"], "a\nb"],
  newOrgType: [[undefined, "sending agency"], "a\nb"],
  newOrgWebsite: [[undefined, "", "https://fresh.example/"], "x"],
  orgDomain: [[undefined, NEW_DOMAIN], "gmail.com"],
  notes: [[undefined, "Not known to us"], " "],
  name: [[undefined, "River"], ""],
  type: [[undefined, "", "mission"], "a\nb"],
  website: [[undefined, "", "https://river.example/"], "x"],
  domain: [[undefined, "", "river.example", "delta.example"], "gmail.com"],
};

const REFERENCES: Readonly<Record<string, Kind>> = {
  needId: "need",
  concernsNeedId: "need",
  commitmentId: "commitment",
  fulfillsCommitmentId: "commitment",
};

/** What the field names of what was made before, if it does. */
function referenceOf(operation: string, field: string): Kind | undefined {
  if (field === "claimId")
    return operation === "updateEngagementClaimStatus" ? "engagement_claim" : "organization_claim";
  return REFERENCES[field];
}

const MADE = "(made)";
// What is only sent by clients of the earlier service has no place in GraphQL.
const WRITES = allRoutes({} as Parameters<typeof allRoutes>[0]).flatMap(({ operationId, path, body }) =>
  body && operationId !== "checkUserByPost"
    ? [{ operationId, path, fields: Object.entries(body.omit(unused(body)).shape) }]
    : [],
);

function unused({ shape }: z.ZodObject): Record<string, true> {
  return "web3authVerifier" in shape ? { web3authVerifier: true } : {};
}

function choicesOf(field: z.ZodType): readonly unknown[] | undefined {
  if (field instanceof z.ZodOptional || field instanceof z.ZodNullable || field instanceof z.ZodDefault)
    return choicesOf(field.unwrap() as z.ZodType);
  return field instanceof z.ZodEnum ? field.options : undefined;
}

function formsOf(operation: string, name: string, field: z.ZodType): (typeof FIELDS)[string] {
  if (referenceOf(operation, name)) return [field.isOptional() ? [MADE, undefined] : [MADE], UNKNOWN];
  const [usual, odd] = FIELDS[name] ?? [choicesOf(field) ?? [], "nonsense"];
  // Also of an organization that somebody has proposed.
  return [name === "orgUri" && operation !== "claimOrganization" ? [...usual, MADE] : usual, odd];
}

function valueOf(operation: string, name: string, field: z.ZodType): fc.Arbitrary<unknown> {
  const [usual, odd] = formsOf(operation, name, field);
  return fc.oneof(
    { weight: 80, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constant(odd) },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

/** So that there is something to begin with. */
const BEGINNING = WRITES.filter(({ operationId }) => /^(?:declare|submit|claim)/.test(operationId)).map(
  ({ operationId: operation, fields }): Step => ({
    operation,
    input: Object.fromEntries(
      fields.map(([name, field]) => [name, formsOf(operation, name, field as z.ZodType)[0][0]]),
    ),
    made: 0,
  }),
);

const steps = fc.array(
  fc.oneof(
    ...WRITES.map(({ operationId, fields }) => ({
      weight: /^declare|^submit|^claim/.test(operationId) ? 3 : 2,
      arbitrary: fc.record<Step>({
        operation: fc.constant(operationId),
        input: fc.record(
          Object.fromEntries(
            fields.map(([name, field]) => [name, valueOf(operationId, name, field as z.ZodType)]),
          ),
        ),
        made: fc.nat(5),
      }),
    })),
  ),
  { minLength: 10, maxLength: 30 },
);

/** The input of a step in one world. */
function inputOf({ made }: Twin, step: Step): Values {
  const given = Object.entries(step.input).map(([name, value]) => {
    if (value !== MADE) return [name, value];
    const there = made[referenceOf(step.operation, name) ?? "organization"];
    return [name, there[step.made % there.length] ?? (name === "orgUri" ? world.ORG : UNKNOWN)];
  });
  const input = Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Values;
  // A new organization has no name in the graph yet.
  if (input["isNewOrg"] === true && input["orgUri"] === world.ORG) delete input["orgUri"];
  return input;
}

/** Does it, and says what was answered: what it has made, or why it was refused. */
async function take(twin: Twin, step: Step): Promise<unknown> {
  const { service, door, made } = twin;
  const input = inputOf(twin, step);
  const makes = (Object.keys(MADE_BY) as Kind[]).filter((kind) => MADE_BY[kind].operation === step.operation);
  const note = (answer: Values) => {
    for (const kind of makes) made[kind].push(String(answer[MADE_BY[kind].id]));
    return makes.map((kind) => answer[MADE_BY[kind].id]);
  };
  if (door === "REST") {
    const { path } = WRITES.find(({ operationId }) => operationId === step.operation)!;
    const { status, body } = await call(`${service.url}${path}`, "POST", service.keys.review, input);
    return status < 300 ? note(body) : { status, code: body.error, details: body.details };
  }
  const name = step.operation;
  const ids = [...new Set(makes.map((kind) => MADE_BY[kind].id))].join(" ");
  const selection = makes[0] ? `${MADE_BY[makes[0]].answer} { ${ids} }` : "clientMutationId";
  const { data, errors } = await send(
    service,
    `mutation ($input: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { ${selection} } }`,
    { input },
    "review",
  );
  if (!errors) return note(makes[0] ? data[name][MADE_BY[makes[0]].answer] : {});
  const { code, statusCode: status, details } = errors[0]!.extensions;
  return { status, code, details };
}

/** The records of a kind, newest first, each with the statuses that it has had. */
async function recordsOf({ service, door }: Twin, record: RecordDescription): Promise<unknown[]> {
  const id = idOf(record);
  const names = [...fieldsOf(record).map(({ name }) => name), "graphStatus"];
  if (door === "GraphQL") {
    const list = record.table.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    const data = await ask(
      service,
      `{ ${list}(first: 200) { nodes { ${names.join(" ")}
           statusHistory(orderBy: [STATUS_HISTORY_ID_ASC]) { nodes { toStatus changedAt changedByEmail } } } } }`,
    );
    return (data[list].nodes as Answer["body"][]).map(({ statusHistory, ...item }) => ({
      ...item,
      history: statusHistory.nodes.map(({ toStatus: status, ...change }: Values) => ({ status, ...change })),
    }));
  }
  const get = async (path: string) =>
    (await call(`${service.url}/v0/${record.path}${path}`, "GET", service.keys.read)).body;
  const found: Answer["body"][] = [];
  // One status at a time: attestations are listed by theirs.
  for (const status of (enums as Record<string, readonly string[]>)[record.statuses]!) {
    const { total, ...lists } = await get(`?limit=200&status=${status}`);
    const [items] = Object.values<Values[]>(lists);
    expect(items).toHaveLength(total);
    for (const item of items!) found.push({ ...item, ...(await get(`/${String(item[id])}/history`)) });
  }
  // Of a time the zeros at the end are left out, and what follows them would be compared with digits.
  const at = ({ createdAt }: Answer["body"]) => String(createdAt).split("+")[0]!;
  return found.toSorted((one, other) => at(other).localeCompare(at(one)));
}

/** Everything that is there, as a door shows it. */
async function look(twin: Twin): Promise<unknown> {
  const door: MembershipDoor = membershipDoor(twin.door, () => twin.service);
  const records: unknown[] = [];
  for (const record of Object.values(RECORDS)) records.push(await recordsOf(twin, record));
  const people: unknown[] = [];
  for (const email of PEOPLE)
    people.push(await door.checkUser(email, "review"), await door.ownClaims(email, {}, "review"));
  return {
    records,
    people,
    claims: await door.claims(platformAdmin),
    members: [
      await door.members(world.ORG, world.admin),
      await door.members(world.OTHER_ORG, world.otherAdmin),
    ],
    users: await door.users(platformAdmin),
  };
}

/** With ids as numbers, in the order in which they appear, and without times. */
function named(value: unknown): unknown {
  const seen = new Map<string, string>();
  const text = JSON.stringify(sorted(value))
    .replaceAll(/"\d{4}-\d\d-\d\dT[^"]+"/g, '"a time"')
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      if (!seen.has(id)) seen.set(id, `(${seen.size})`);
      return seen.get(id)!;
    });
  return JSON.parse(text) as unknown;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, item]) => [name, sorted(item)]),
  );
}

async function beginAnew({ service, made }: Twin): Promise<void> {
  for (const ids of Object.values(made)) ids.length = 0;
  await service.database.owner.query(
    `truncate app_public.organizations, app_public.users, app_public.accelerators, app_public.needs,
       app_public.commitments, app_private.rate_limits cascade`,
  );
  await world.buildWorld(service.database.owner);
  await addPlatformPeople(service.database.owner);
  // Whoever came in one transaction came at one time, and would be listed by ids, which are random.
  await service.database.owner.query(`
    set session_replication_role = replica;
    update app_public.users set created_at = timestamptz '2026-01-01' + hashtext(email) * interval '1 microsecond';
    update app_public.organization_claims as claim set created_at = person.created_at
      from app_public.users as person where person.user_id = claim.user_id;
    set session_replication_role = origin`);
}

test.each(SEEDS)("a random sequence of what people do, from seed %i", async (seed) => {
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const [rest, graphql] = await Promise.all(
        twins.map(async (twin) => {
          await beginAnew(twin);
          const answers: unknown[] = [];
          for (const step of [...BEGINNING, ...sequence])
            answers.push([step.operation, await take(twin, step)]);
          return named([answers, await look(twin)]);
        }),
      );
      for (const [operation, answer] of (rest as [[string, { code?: string }][]])[0])
        outcomes.add(`${operation} ${answer.code ?? "done"}`);
      expect(graphql).toEqual(rest);
    }),
    { ...chance(5), seed },
  );
  // Enough of it happened.
  expect(outcomes.size).toBeGreaterThan(15);
});
