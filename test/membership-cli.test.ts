import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { addOrganization } from "./support/membership.ts";
import { tool } from "./support/tool.ts";

let database: TestDatabase;
let settings: { DATABASE_URL: string };
beforeAll(async () => {
  database = await createTestDatabase();
  settings = { DATABASE_URL: database.url };
});
afterAll(() => database.drop());

/** Runs a command with --json and returns its value; standard output may contain nothing else. */
async function json(...args: string[]): Promise<any> /* oxlint-disable-line typescript/no-explicit-any */ {
  const { code, stdout, stderr } = await tool([...args, "--json"], settings);
  return code === 0 ? JSON.parse(stdout) : { code, error: JSON.parse(stdout).error, line: stderr };
}

describe("members", () => {
  let org: string;
  beforeEach(async () => {
    ({ uri: org } = await addOrganization(database.owner));
  });

  const add = (email: string, role: string, ...more: string[]) =>
    json("members", "add", "--org", org, "--email", email, "--role", role, ...more);
  const status = (email: string, to: string) =>
    json("members", "status", "--org", org, "--email", email, "--status", to);

  test("are added, listed, suspended and made active again", async () => {
    expect(
      await add("ana@river.example", "org_admin", "--first-name", " Ana ", "--last-name", " Silva "),
    ).toEqual({
      orgUri: org,
      email: "ana@river.example",
      firstName: "Ana",
      lastName: "Silva",
      role: "org_admin",
      status: "active",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    await add("ben@river.example", "org_member");
    expect(await status("BEN@river.example", "suspended")).toMatchObject({
      email: "ben@river.example",
      status: "suspended",
    });
    const listed = await json("members", "list", "--org", org);
    expect(listed.map((one: Record<string, string>) => [one["email"], one["role"], one["status"]])).toEqual([
      ["ana@river.example", "org_admin", "active"],
      ["ben@river.example", "org_member", "suspended"],
    ]);
    expect(await add("ben@river.example", "org_contributor")).toMatchObject({
      role: "org_contributor",
      status: "active",
    });
    // Whom the service knows keeps the name that it knows.
    const again = ["--first-name", "Eve", "--last-name", "Souza"];
    expect(await add("ana@river.example", "org_admin", ...again)).toMatchObject({
      ...{ firstName: "Ana", lastName: "Silva" },
    });
    const { stdout } = await tool(["members", "list", "--org", org], settings);
    expect(stdout).toMatch(
      /^e-mail +role +status +since +name\nana@river\.example +org_admin +active +\d{4}-\d{2}-\d{2} +Ana Silva\n/,
    );
  });

  test("must name an organization and a person, and leave the last org_admin", async () => {
    expect(await json("members", "list", "--org", `${org}-not`)).toMatchObject({
      code: 2,
      error: "organization_not_found",
    });
    const nowhere = [
      "members",
      "add",
      "--org",
      `${org}-not`,
      "--email",
      "a@b.example",
      "--role",
      "org_member",
    ];
    expect(await json(...nowhere)).toMatchObject({ code: 2, error: "organization_not_found" });
    expect(await add("not an address", "org_member")).toMatchObject({ code: 2, error: "validation_failed" });
    expect(await status("nobody@river.example", "revoked")).toMatchObject({
      code: 2,
      error: "member_not_found",
    });
    await add("head@river.example", "org_admin");
    expect(await status("head@river.example", "revoked")).toMatchObject({ code: 2, error: "last_admin" });
    expect(await add("head@river.example", "org_member")).toMatchObject({ code: 2, error: "last_admin" });
    const { code, stderr } = await tool(
      ["members", "add", "--org", org, "--email", "a@b.example", "--role", "boss"],
      settings,
    );
    expect(code).toBe(2);
    expect(stderr).toContain("org_contributor");
  });
});

describe("users", () => {
  const grant = (email: string, role: string) => json("users", "grant", "--email", email, "--role", role);
  const revoke = (email: string, role: string) => json("users", "revoke", "--email", email, "--role", role);

  test("are given platform roles, which are taken away again, except for the last admin's", async () => {
    expect(await grant("root@platform.example", "admin")).toMatchObject({
      email: "root@platform.example",
      platformRoles: ["admin"],
    });
    expect(await grant("ROOT@platform.example", "support")).toMatchObject({
      platformRoles: ["admin", "support"],
    });
    expect(await revoke("root@platform.example", "support")).toMatchObject({ platformRoles: ["admin"] });
    expect(await revoke("root@platform.example", "admin")).toMatchObject({ code: 2, error: "last_admin" });
    await grant("second@platform.example", "admin");
    const taken = await tool(
      ["users", "revoke", "--email", "root@platform.example", "--role", "admin"],
      settings,
    );
    expect(taken).toMatchObject({
      code: 0,
      stdout: "root@platform.example is without a role on the platform.\n",
    });
    expect(await revoke("nobody@platform.example", "admin")).toMatchObject({
      code: 2,
      error: "user_not_found",
    });
    const users = await json("users", "list");
    const root = users.find((user: { email: string }) => user.email === "root@platform.example");
    expect(root).toMatchObject({ platformRoles: [] });
    const times = users.map((user: { createdAt: string }) => user.createdAt);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(users.find((user: { email: string }) => user.email === "second@platform.example")).toEqual({
      userId: expect.any(String),
      email: "second@platform.example",
      firstName: null,
      lastName: null,
      platformRoles: ["admin"],
      organizations: 0,
      createdAt: expect.any(String),
    });
  });
});
