// From release 0.1.0, with data of every kind, to this version: nothing is lost, and everything works on it.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { loadConfig } from "../config.ts";
import { DEMO_KEY } from "../db/demo/load.ts";
import { createProjector } from "../worker/projection.ts";
import { countDifferences, verify } from "../worker/verify.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { run } from "./support/process.ts";
import type { Outcome } from "./support/process.ts";
import { call, startTestServiceWithGraph } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { columnsOf, restoreRelease, rowsOf } from "./support/release.ts";
import type { Columns, Rows } from "./support/release.ts";

/** Keys of the release in the fixture, by what they are called there. */
const key = (label: "live" | "revoked" | "expired") => `ek_release-0-1-0-${label}`;

const LISTS = [
  { path: "needs", list: "needs", id: "needId", table: "needs", column: "need_id" },
  {
    path: "commitments",
    list: "commitments",
    id: "commitmentId",
    table: "commitments",
    column: "commitment_id",
  },
  {
    path: "engagement-claims",
    list: "claims",
    id: "claimId",
    table: "engagement_claims",
    column: "claim_id",
  },
] as const;

let database: TestDatabase;
/** What npm run migrate found, did and left, once and then again. */
let before: { rows: Rows; columns: Columns };
let first: { outcome: Outcome; rows: Rows; kept: Rows; columns: Columns };
let again: { outcome: Outcome; rows: Rows };

const npmRunMigrate = () => run(process.execPath, ["admin/migrate.ts"], { DATABASE_URL: database.url });

// All before the first test: the service goes on from there.
beforeAll(async () => {
  database = await createTestDatabase({ template: false });
  const { owner } = database;
  await restoreRelease(database.url);
  before = { rows: await rowsOf(owner), columns: await columnsOf(owner) };
  const outcome = await npmRunMigrate();
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  first = {
    ...{ outcome, rows: await rowsOf(owner), kept: await rowsOf(owner, before.columns) },
    columns: await columnsOf(owner),
  };
  again = { outcome: await npmRunMigrate(), rows: await rowsOf(owner) };
});

describe("npm run migrate on a database of release 0.1.0", () => {
  test("applies every migration since, and finds nothing to do the second time", () => {
    expect(before.rows["app_migrations.applied"]!.length).toBeGreaterThan(0);
    expect(first.outcome.stdout).toContain("0030_one_place");
    expect(again.outcome).toMatchObject({ code: 0, stderr: "" });
    expect(again.outcome.stdout).toContain("up to date");
    expect(again.rows).toEqual(first.rows);
  });

  test("keeps every row as it was, column by column", () => {
    for (const [table, old] of Object.entries(before.rows)) {
      // Written by the rules, or what the graph and the worker go by: see the tests of these.
      if (/^graphile_worker\.|^app_migrations\.|_permissions$|free_mail|\.graph_/.test(table)) continue;
      // A later release may bring settings of its own.
      const now =
        table === "app_private.settings"
          ? first.kept[table]!.filter(({ name }) => old.some((row) => row["name"] === name))
          : first.kept[table];
      expect({ table, rows: now }).toEqual({ table, rows: old });
    }
    expect(before.rows["app_private.role_history"]!.length).toBeGreaterThan(10);
    expect(before.rows["app_private.mails"]!.length).toBeGreaterThan(5);
  });

  test("leaves each column either as it was or with the type and checks of a new database", async () => {
    const fresh = await createTestDatabase();
    try {
      expect(first.columns).toEqual(await columnsOf(fresh.owner));
    } finally {
      await fresh.drop();
    }
    // The fixture is worth something only while it differs from today.
    expect(first.columns["app_private.role_history"]).not.toEqual(before.columns["app_private.role_history"]);
  });
});

describe("the service on the upgraded database", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestServiceWithGraph({ database, world: false });
  });
  afterAll(() => service.stop());

  test("knows its keys: the live one with its own limit, not the revoked and the expired one", async () => {
    const ask = (bearer: string) => call(`${service.url}/v0/needs`, "GET", bearer);
    expect((await ask(key("live"))).status).toBe(200);
    expect((await ask(DEMO_KEY)).status).toBe(200);
    for (const label of ["revoked", "expired"] as const) {
      expect(await ask(key(label))).toMatchObject({ status: 401, body: { error: "invalid_api_key" } });
    }
  });

  test.each(LISTS)("shows all $path, with totals, over REST", async ({ path, list, id, table, column }) => {
    const old = before.rows[`app_public.${table}`]!;
    const status = path === "engagement-claims" ? ["active", "paused", "completed"] : [undefined];
    const listed: Record<string, unknown>[] = [];
    for (const one of status) {
      const query = one ? `&status=${one}` : "";
      const { body } = await call(`${service.url}/v0/${path}?limit=200${query}`, "GET", key("live"));
      expect(body.total).toBe(body[list].length);
      listed.push(...body[list]);
    }
    expect(new Set(listed.map((item) => item[id]))).toEqual(new Set(old.map((row) => row[column])));
    expect(listed).toHaveLength(old.length);
    for (const row of old) {
      const item = listed.find((each) => each[id] === row[column])!;
      expect(item).toMatchObject({
        status: row["status"],
        orgUri: row["org_uri"],
        orgName: row["org_name"],
      });
      const one = await call(`${service.url}/v0/${path}/${String(row[column])}`, "GET", key("live"));
      expect({ ...one.body, graphErrors: undefined, graphStatus: undefined }).toEqual({
        ...{ ...item, graphErrors: undefined, graphStatus: undefined },
      });
    }
  });

  test("shows them over GraphQL, each with the history that it had", async () => {
    const history = "statusHistory { nodes { statusHistoryId fromStatus toStatus changedByEmail } }";
    const query = `{
      needs(first: 200) { nodes { needId ${history} } }
      commitments(first: 200) { nodes { commitmentId ${history} } }
      engagementClaims(first: 200) { nodes { claimId ${history} } }
    }`;
    const { body } = await call(`${service.url}/graphql`, "POST", key("live"), { query });
    expect(body.errors).toBeUndefined();
    for (const { table, column, id } of LISTS) {
      const name = table === "engagement_claims" ? "engagementClaims" : table;
      type Node = Record<string, unknown> & { statusHistory: { nodes: unknown[] } };
      const nodes = body.data[name].nodes as Node[];
      for (const row of before.rows[`app_public.${table}`]!) {
        const steps = before.rows["app_public.status_history"]!.filter((step) =>
          Object.values(step).includes(row[column]),
        ).toSorted((a, b) => Number(a["status_history_id"]) - Number(b["status_history_id"]));
        expect(steps.length).toBeGreaterThan(0);
        expect(nodes.find((node) => node[id] === row[column])?.statusHistory.nodes).toEqual(
          steps.map((step) => ({
            statusHistoryId: String(step["status_history_id"]),
            fromStatus: step["from_status"],
            toStatus: step["to_status"],
            changedByEmail: step["changed_by_email"],
          })),
        );
      }
    }
  });

  test("writes everything to the graph, which then is exactly what the tables say", async () => {
    // Until the worker has looked at this store, the records are as the release had written them to its own.
    await eventually(async () => {
      const { rows } = await database.owner.query(
        "select state from app_private.graph_store where turn > 0 and app_private.graph_behind_since() is null",
      );
      expect(rows).toEqual([{ state: "current" }]);
    });
    const old = LISTS.flatMap(({ table, column }) =>
      before.rows[`app_public.${table}`]!.map((row) => row[column]),
    );
    const { rows } = await database.owner.query<{ state: string; records: number }>(
      `select state::text, count(*)::int as records from app_private.graph_records
        where record_id = any ($1) group by state`,
      [old],
    );
    expect(new Map(rows.map((row) => [row.state, row.records]))).toEqual(
      new Map([
        ["rejected", 1],
        ["synced", old.length - 1],
      ]),
    );
    await eventually(async () => {
      const projector = createProjector(loadConfig({}));
      const result = await verify({ pool: database.owner, store: service.store, projector });
      expect({ result, differences: countDifferences(result) }).toMatchObject({ differences: 0 });
    });
  });

  test("lets people act as their memberships of before say, and counts what they write", async () => {
    const declare = (declaredByEmail: string) =>
      call(`${service.url}/v0/needs`, "POST", key("live"), {
        ...{ orgUri: "https://data.example.org/org/northern-light", orgName: "Northern Light" },
        ...{ declaredByEmail, needDescription: "After the upgrade", accelerators: ["PRA"] },
      });
    const total = async () =>
      (await call(`${service.url}/v0/needs?status=open`, "GET", key("live"))).body.total as number;
    const open = await total();
    expect((await declare("olga@northern-light.example")).status).toBe(201);
    expect((await declare("lena@cedar-gate.example")).status).toBe(403);
    expect(await declare("member@northern-light.example")).toMatchObject({
      status: 403,
      body: { error: "membership_required" },
    });
    expect(await total()).toBe(open + 1);
    // What else is tested here is what came from the release.
    await database.owner.query("delete from app_public.needs where need_description = 'After the upgrade'");
    expect(await total()).toBe(open);
  });
});
