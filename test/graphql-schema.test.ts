// What the GraphQL schema shows, and that its committed text is up to date.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  printSchema,
} from "graphql";
import type { GraphQLField, GraphQLSchema, GraphQLType } from "graphql";
import { codeDefinitions } from "../graph/ontology.ts";
import { RECORDS } from "../records/index.ts";
import { fieldsOf as describedIn } from "../records/record.ts";
import { createGraphql } from "../server/graphql/door.ts";
import { Postgres } from "../server/postgres/postgres.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

let database: TestDatabase;
let schema: GraphQLSchema;
let release: () => Promise<void>;

beforeAll(async () => {
  database = await createTestDatabase();
  const postgres = new Postgres({
    url: database.serverUrl,
    poolSize: 1,
    statementTimeoutMs: 600_000,
    onError: console.error,
  });
  const graphql = await createGraphql({ postgres, logger: console, answerMaxBytes: 1 });
  schema = await graphql.schema();
  release = async () => {
    await graphql.release();
    await postgres.end();
  };
});
afterAll(async () => {
  await release();
  await database.drop();
});

const fieldsOf = (name: string): string[] => {
  const type = schema.getType(name);
  return isObjectType(type) || isInputObjectType(type) ? Object.keys(type.getFields()).toSorted() : [];
};
const inputOf = (name: string): Record<string, string> => {
  const type = schema.getType(name);
  if (!isInputObjectType(type)) return {};
  return Object.fromEntries(
    Object.values(type.getFields())
      .filter((field) => field.name !== "clientMutationId")
      .map((field) => [field.name, String(field.type)]),
  );
};

test("mutations are the functions of the lifecycle and of review, nothing generated", () => {
  expect(fieldsOf("Mutation")).toEqual([
    "appointAdministrator",
    "claimOrganization",
    "declareCommitment",
    "declareNeed",
    "leaveOrganization",
    "reviewOrganizationClaim",
    "setMemberRole",
    "setMemberStatus",
    "setPlatformRole",
    "submitEngagementClaim",
    "updateCommitmentStatus",
    "updateEngagementClaimStatus",
    "updateNeedStatus",
    "updateOrganization",
    "withdrawOrganizationClaim",
  ]);
  for (const field of Object.values(schema.getMutationType()!.getFields())) {
    expect(field.description).toMatch(/Errors: /);
  }
});

test("queries are the records, their lists and the functions that read", () => {
  expect(fieldsOf("Query")).toEqual([
    "accelerator",
    "accelerators",
    "checkUser",
    "church",
    "churches",
    "commitment",
    "commitments",
    "countries",
    "country",
    "engagementClaim",
    "engagementClaims",
    "need",
    "needs",
    "node",
    "organization",
    "organizationClaimsForReview",
    "organizationMembers",
    "organizations",
    "ownOrganizationClaims",
    "peopleGroup",
    "peopleGroups",
    "platformUsers",
    "statusChanges",
  ]);
});

test("a record uses the words of REST, and has its links", () => {
  expect(fieldsOf("Need")).toEqual(
    [
      ...["needId", "orgUri", "orgName", "declaredByEmail", "needDescription", "accelerators"],
      ...["concernsPeopleGroupRop3", "concernsCountryCode", "status", "createdAt", "updatedAt"],
      ...["id", "graphStatus", "graphErrors", "organization", "commitments", "statusHistory"],
    ].toSorted(),
  );
  expect(fieldsOf("Commitment")).toEqual(
    [
      ...[
        "commitmentId",
        "orgUri",
        "orgName",
        "declaredByEmail",
        "commitmentDescription",
        "acceleratorScope",
      ],
      ...[
        "concernsNeedId",
        "concernsPeopleGroupRop3",
        "concernsCountryCode",
        "targetCompletionDate",
        "status",
      ],
      ...["id", "createdAt", "updatedAt", "graphStatus", "graphErrors"],
      ...["organization", "concernsNeed", "engagementClaims", "statusHistory"],
    ].toSorted(),
  );
  expect(fieldsOf("EngagementClaim")).toEqual(
    [
      ...[
        "id",
        "claimId",
        "engagementClaimId",
        "orgUri",
        "orgName",
        "claimedByEmail",
        "engagementAccelerators",
        "peopleGroupRop3",
      ],
      ...["peopleGroupName", "peopleGroupRog3", "countryCode", "countryName", "description"],
      ...["fulfillsCommitmentId", "status", "createdAt", "updatedAt", "graphStatus", "graphErrors"],
      ...["organization", "fulfillsCommitment", "statusHistory"],
    ].toSorted(),
  );
});

test("inputs require what REST requires: not who acts, whom a person may leave out", () => {
  expect(inputOf("DeclareNeedInput")).toEqual({
    orgUri: "String!",
    orgName: "String!",
    declaredByEmail: "String",
    needDescription: "String!",
    accelerators: "[String!]!",
    concernsPeopleGroupRop3: "[String!]",
    concernsCountryCode: "[String!]",
  });
  expect(inputOf("DeclareCommitmentInput")).toEqual({
    orgUri: "String!",
    orgName: "String!",
    declaredByEmail: "String",
    commitmentDescription: "String!",
    acceleratorScope: "[String!]!",
    concernsNeedId: "UUID",
    concernsPeopleGroupRop3: "[String!]",
    concernsCountryCode: "[String!]",
    targetCompletionDate: "Date",
  });
  expect(inputOf("SubmitEngagementClaimInput")).toEqual({
    orgUri: "String!",
    orgName: "String!",
    claimedByEmail: "String",
    engagementAccelerators: "[String!]!",
    peopleGroupRop3: "String",
    peopleGroupName: "String",
    peopleGroupRog3: "String",
    countryCode: "String",
    countryName: "String",
    description: "String",
    fulfillsCommitmentId: "UUID",
  });
  expect(inputOf("UpdateNeedStatusInput")).toEqual({
    needId: "UUID!",
    status: "NeedStatus!",
    actorEmail: "String",
  });
});

test("statuses are spelt as everywhere else", () => {
  const status = schema.getType("CommitmentStatus");
  expect(isEnumType(status) && status.getValues().map(({ name }) => name)).toEqual([
    ...["declared", "funded", "in_progress", "fulfilled", "partially_fulfilled", "abandoned", "expired"],
  ]);
});

test("keys, users, memberships and the projection's own state are not visible", () => {
  const names = Object.keys(schema.getTypeMap()).filter((name) => !name.startsWith("__"));
  expect(
    names.filter((name) =>
      /key|setting|password|^user(s|Connection)?$|^membership(s|Connection)?$|wakeup|graphrecord|idempotent|^rest/i.test(
        name,
      ),
    ),
  ).toEqual([]);
});

test("a person's address is in the records that they made, and in what reviewers and administrators ask for", () => {
  const places = Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type))
    .flatMap((type) => Object.keys(type.getFields()).map((field) => `${type.name}.${field}`))
    .filter((place) => /email$/i.test(place) && !place.includes("DistinctCount"))
    .toSorted();
  expect(places).toEqual([
    "ChangedCommitment.declaredByEmail",
    "ChangedEngagementClaim.claimedByEmail",
    "ChangedNeed.declaredByEmail",
    "Commitment.declaredByEmail",
    "EngagementClaim.claimedByEmail",
    "Need.declaredByEmail",
    "OrganizationClaimItem.userEmail",
    "OrganizationClaimStep.changedByEmail",
    "OrganizationMember.userEmail",
    "PlatformUser.email",
    "StatusChange.changedByEmail",
  ]);
});

/** Every type, field, argument, input field and value of the schema that is ours, by its path. */
function partsOf(): { path: string; description: string | null | undefined; type?: GraphQLType }[] {
  return Object.values(schema.getTypeMap())
    .filter(({ name }) => !name.startsWith("__"))
    .flatMap((type) => [
      { path: type.name, description: type.description },
      ...(isEnumType(type)
        ? type.getValues().map(({ name, description }) => ({ path: `${type.name}.${name}`, description }))
        : []),
      ...("getFields" in type
        ? Object.values(type.getFields()).flatMap((field) => [
            { path: `${type.name}.${field.name}`, description: field.description, type: field.type },
            ...("args" in field
              ? (field as GraphQLField<unknown, unknown>).args.map((arg) => ({
                  path: `${type.name}.${field.name}(${arg.name}:)`,
                  ...arg,
                }))
              : []),
          ])
        : []),
    ]);
}

test("every type, field, argument, input field and value says what it means, in English", () => {
  const parts = partsOf();
  expect(parts.length).toBeGreaterThan(1_000);
  expect(parts.filter(({ description }) => !description).map(({ path }) => path)).toEqual([]);
  expect(parts.filter(({ description }) => /\bA `?[AEIOU]/.test(description ?? ""))).toEqual([]);
});

test("a field of a record, and each of its statuses, means what records/ and the ontology say", () => {
  const saidOf = new Map(partsOf().map(({ path, description }) => [path, description]));
  for (const record of Object.values(RECORDS)) {
    const type = record.statuses
      .replace(/_status$/, "")
      .replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
    for (const { name, description } of describedIn(record))
      expect([type, name, saidOf.get(`${type}.${name}`)]).toEqual([type, name, description]);
    for (const [status, definition] of codeDefinitions(record.fields.status.graph))
      expect([type, status, saidOf.get(`${type}Status.${status}`)]).toEqual([type, status, definition]);
  }
});

test("no list has a null in it, but for what groups have in common", () => {
  const nullable = partsOf().filter(({ type }) => {
    const list = type && getNullableType(type);
    return isListType(list) && !isNonNullType(list.ofType);
  });
  expect(nullable.map(({ path }) => path)).toEqual(
    partsOf()
      .map(({ path }) => path)
      .filter((path) => path.endsWith("Aggregates.keys")),
  );
});

test("counts are Ints, and the statuses of histories and the ways of claims are enums", () => {
  const typeOf = (path: string) => String(partsOf().find((part) => part.path === path)?.type);
  const totals = partsOf().filter(
    ({ path }) => /\.(total|totalCount|count)$/.test(path) && !/Filter|Having/.test(path),
  );
  expect(totals.length).toBeGreaterThan(10);
  for (const { type } of totals) expect(String(type)).toBe("Int!");
  expect(typeOf("NeedDistinctCountAggregates.orgUri")).toBe("Int");
  expect(typeOf("StatusChange.fromStatus")).toBe("RecordStatus");
  expect(typeOf("StatusChange.toStatus")).toBe("RecordStatus!");
  expect(typeOf("OrganizationClaimItem.routedTo")).toBe("ClaimRoute");
  expect(typeOf("OwnOrganizationClaim.resultVariant")).toBe("ClaimResultVariant");
  expect(typeOf("OrganizationClaimResult.resultVariant")).toBe("ClaimResultVariant!");
});

test("filters are those that an index or one pass over the rows can serve: no patterns", () => {
  const operators = partsOf()
    .map(({ path }) => path)
    .filter((path) => /^\w+(Filter|ListFilter)\./.test(path) && /like|regex|match/i.test(path));
  expect(operators).toEqual([]);
  expect(fieldsOf("StringFilter")).toEqual([
    ...["equalTo", "greaterThan", "greaterThanOrEqualTo", "in", "includesInsensitive", "isNull", "lessThan"],
    ...["lessThanOrEqualTo", "notEqualTo", "notIn", "startsWith", "startsWithInsensitive"],
  ]);
});

test("every field that lists records is paged, or has a limit of its own", () => {
  const unbounded = Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !type.name.startsWith("__"))
    .flatMap((type) =>
      isObjectType(type) ? Object.values(type.getFields()).map((field) => ({ type, field })) : [],
    )
    .filter(({ field }) => /Connection!?$/.test(String(field.type)))
    .filter(({ field }) => !field.args.some(({ name }) => name === "first"));
  expect(unbounded.map(({ type, field }) => `${type.name}.${field.name}`)).toEqual([]);
});

test("no description has the apostrophe of an SQL string in it", () => {
  expect(printSchema(schema)).not.toMatch(/\w''/);
});
