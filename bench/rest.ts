// REST against a hand-written route with the same SQL, and against pgbench on the same function.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { needRoutes } from "../server/resources/needs.ts";
import { contributor, ORG } from "../test/support/world.ts";
import { against, inTurns, requestsPerSecond, startBenchDatabase, startChild } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const NEED = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Audio Scriptures in the heart language of the people of the upper river",
  accelerators: ["PRA", "PRA-INT"],
  concernsPeopleGroupRop3: ["104425"],
  concernsCountryCode: ["KE"],
};

export async function benchRest(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  const [served, handwritten] = await Promise.all([
    startChild("served.ts", { DATABASE_URL: database.serverUrl }),
    startChild("handwritten.ts", { DATABASE_URL: database.serverUrl }),
  ]);
  try {
    const create = (url: string) => () =>
      requestsPerSecond({
        url: `${url}/v0/needs`,
        method: "POST",
        headers: { authorization: `Bearer ${database.key}`, "content-type": "application/json" },
        body: JSON.stringify(NEED),
      });
    const list = (url: string) => () =>
      requestsPerSecond({ url: `${url}/v0/needs`, headers: { authorization: `Bearer ${database.key}` } });

    const pgbench = await pgbenchOf(database);
    const creating = await inTurns(5, {
      served: create(served.url),
      handwritten: create(handwritten.url),
      pgbench: pgbench ?? (() => Promise.resolve(Number.NaN)),
    });
    // A list's cost grows with what it counts, so both get the same table, of a realistic size.
    await database.owner.query("truncate app_public.needs cascade");
    await database.owner.query("truncate app_private.graph_records");
    for (let i = 0; i < 1000; i++) await declare(database);
    await database.owner.query("vacuum analyze");
    const listing = await inTurns(5, { served: list(served.url), handwritten: list(handwritten.url) });

    return [
      {
        subject: "POST /v0/needs against a hand-written route with the same SQL",
        measured: against(creating.served, creating.handwritten),
        aim: "≥ 0.85",
      },
      {
        subject: "GET /v0/needs, 50 of 1,000, against a hand-written route with the same SQL",
        measured: against(listing.served, listing.handwritten),
        aim: "≥ 0.85",
      },
      {
        subject: "POST /v0/needs against pgbench on the same function",
        measured: creating.pgbench
          ? against(creating.served, creating.pgbench)
          : "not measured: pgbench is not installed",
      },
    ];
  } finally {
    await Promise.all([served.stop(), handwritten.stop()]);
    await database.stop();
  }
}

function declare(database: BenchDatabase): Promise<unknown> {
  return database.owner.query("select app_private.run_as('api_write', $1, $2)", [
    needRoutes.find((route) => route.operationId === "declareNeed")!.statement,
    JSON.stringify(NEED),
  ]);
}

/** Transactions per second of pgbench on the call that a route makes; undefined if there is no pgbench. */
async function pgbenchOf(database: BenchDatabase): Promise<(() => Promise<number>) | undefined> {
  const run = promisify(execFile);
  try {
    await run("pgbench", ["--version"]);
  } catch {
    return undefined;
  }
  const script = join(database.dir, "declare.sql");
  const { statement } = needRoutes.find((route) => route.operationId === "declareNeed")!;
  const oneLine = String(statement).replaceAll(/\s+/g, " ");
  // pgbench takes :name for one of its own variables, so the casts in the statement are split.
  const text = oneLine.replaceAll("'", "''").replaceAll("::", "' || chr(58) || chr(58) || '");
  await writeFile(
    script,
    `select app_private.run_as('api_write', '${text}', '${JSON.stringify(NEED)}'::jsonb);\n`,
  );
  return async () => {
    const { stdout } = await run("pgbench", [
      "-n",
      "-M",
      "prepared",
      "-c",
      "16",
      "-T",
      "3",
      "-f",
      script,
      database.serverUrl,
    ]);
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
  };
}
